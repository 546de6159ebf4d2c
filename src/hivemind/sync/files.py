"""The files of a shared folder: every device has a directory of its own, and only that device writes in it.

    <directory>/head            counter, name, public key, list of segments, how far it has read the others
    <directory>/<random name>   a segment: consecutive entries of a chain
    epochs/<number>-<random>    the key of an epoch, sealed for each device that was left

Directories and files have random names. What a host sees is the number of devices, when each of them writes, and
roughly how much.
"""

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from hivemind.formats.codec import from_plain, to_plain
from hivemind.model.wire import WireEntry, pack_entry, unpack_entry
from hivemind.sync import keys

HEAD, EPOCHS = "head", "epochs"
FORMAT = 1
"""Raised when an older program could no longer read the files."""


class Folder(Protocol):
    """A place for files that something else carries to the other devices."""

    def list_names(self) -> list[str]:
        """Return the names of all files, relative to the folder."""

    def read(self, name: str) -> bytes | None:
        """Return a file's content, or None if it is not there (yet)."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file whole or not at all."""

    def delete(self, name: str) -> None:
        """Delete a file, if it is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A file with consecutive entries of one chain."""

    name: str
    chain: str
    first: int
    last: int
    bodies: int
    """How many of its entries have content; fewer than in the store means that something was erased."""
    epoch: str
    digest: str
    """Of the file, so that a torn or old copy is recognised before it is opened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What a device says about itself and its files."""

    format: int = FORMAT
    counter: int
    """Grows with every version, so that an old copy of the file is recognised."""
    device: str
    """The id of its chain."""
    name: str
    public_key: str
    secret: str
    """The key of its digests of rejected and erased values, with which the others recognise these values."""
    generation: int
    """Grows when segments contain more than before, and have to be read again from the start."""
    written_at: str
    segments: tuple[Segment, ...] = ()
    read: dict[str, int] = field(default_factory=dict)
    """The last entry it has taken in of each other chain; this confirms erasures, too."""
    removed: tuple[str, ...] = ()
    """Directories of devices that it removed; the others ignore them from then on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """A key, by which files are sealed from some time on."""

    number: int
    name: str
    key: bytes


def new_name() -> str:
    """Make a name that says nothing."""
    return secrets.token_hex(8)


def pack_head(head: Head, epoch: Epoch, directory: str) -> bytes:
    """Seal a head; the epoch's name stands before it in the clear, to know which key opens it."""
    return _add_epoch(epoch, keys.seal(epoch.key, json.dumps(to_plain(head)).encode(), f"{directory}/{HEAD}"))


def unpack_head(content: bytes, epoch_keys: dict[str, bytes], directory: str) -> Head:
    """Open a head; raises SealBroken if it cannot be read."""
    key, sealed = _split_epoch(content, epoch_keys)
    values: Any = json.loads(keys.unseal(key, sealed, f"{directory}/{HEAD}"))
    return from_plain(Head, values)


def pack_segment(entries: Sequence[WireEntry], epoch: Epoch, name: str) -> bytes:
    """Seal consecutive entries."""
    lines = "\n".join(json.dumps(pack_entry(entry), ensure_ascii=False) for entry in entries)
    return keys.seal(epoch.key, lines.encode(), name)


def unpack_segment(content: bytes, key: bytes, name: str) -> list[WireEntry]:
    """Open a segment; raises SealBroken if it cannot be read, InvalidInput if an entry is malformed."""
    lines = keys.unseal(key, content, name).decode().split("\n")
    return [unpack_entry(json.loads(line)) for line in lines if line]


def pack_epoch(epoch: Epoch, secret: bytes, previous: Epoch | None, public_keys: dict[str, bytes]) -> bytes:
    """Write an epoch's file: its secret for each device, and the key of the epoch before."""
    before = {"name": previous.name, "key": previous.key.hex(), "number": previous.number} if previous else None
    return json.dumps(
        {
            "for": {directory: keys.seal_for(key, secret).hex() for directory, key in public_keys.items()},
            "previous": keys.seal(epoch.key, json.dumps(before).encode(), epoch.name).hex(),
        }
    ).encode()


def find_epoch_secret(content: bytes, directory: str, private_key: bytes) -> bytes | None:
    """Return the secret of an epoch that was sealed for this device; None if it was left out."""
    sealed = json.loads(content)["for"].get(directory)
    return keys.unseal_with(private_key, bytes.fromhex(sealed)) if sealed else None


def find_previous_epoch(content: bytes, epoch: Epoch) -> Epoch | None:
    """Return the epoch before, or None for the first one; raises SealBroken if the key is another's."""
    sealed = bytes.fromhex(json.loads(content)["previous"])
    before = json.loads(keys.unseal(epoch.key, sealed, epoch.name))
    return Epoch(number=before["number"], name=before["name"], key=bytes.fromhex(before["key"])) if before else None


def _add_epoch(epoch: Epoch, sealed: bytes) -> bytes:
    return epoch.name.encode() + b"\n" + sealed


def _split_epoch(content: bytes, epoch_keys: dict[str, bytes]) -> tuple[bytes, bytes]:
    name, _, sealed = content.partition(b"\n")
    key = epoch_keys.get(name.decode(errors="replace"))
    if key is None:
        raise keys.SealBroken("its key is not known here")
    return key, sealed
