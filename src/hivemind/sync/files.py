"""The files of a shared folder: every device has a directory of its own, and only that device writes in it.

    <directory>/head            counter, name, public key, list of segments, how far it has read the others
    <directory>/<random name>   a segment: consecutive entries of a chain
    epochs/<number>-<random>    the secret of an epoch, sealed for each device that stayed

Directories and files have random names. What a host sees is the number of devices, when each of them writes, and
roughly how much.
"""

import json
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hivemind.model.codec import from_plain, to_plain
from hivemind.model.wire import WireEntry, pack_entry, unpack_entry
from hivemind.sync import keys

HEAD, EPOCHS = "head", "epochs"
FORMAT = 1
"""Raised when an older program could no longer read the files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A file with consecutive entries of one chain."""

    name: str
    chain: str
    first: int
    last: int
    epoch: str
    digest: str
    """Of the file, so that a torn or old copy is recognised before it is opened."""
    needs: int = 0
    """The last entry of the chain when the file was written; erasures up to there may have emptied entries of it."""


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
    generation: int
    """Grows when segments contain more than before, and have to be read again from the start."""
    written_at: str
    segments: tuple[Segment, ...] = ()
    read: dict[str, int] = field(default_factory=dict)
    """The last entry it has taken in of each other chain; this confirms erasures, too."""
    hashes: dict[str, str] = field(default_factory=dict)
    """The hash of each of these entries, by which a machine that was put back notices that others know more of it."""
    moved: dict[str, int] = field(default_factory=dict)
    """Chains that it wrote before, each with the number of entries that stayed; the rest begins its present chain."""
    missing: tuple[str, ...] = ()
    """Files of others that it could not read; their writer checks them and writes them again."""
    removed: tuple[str, ...] = ()
    """Directories of devices that it removed; the others ignore them from then on."""
    gone: tuple[str, ...] = ()
    """Directories that nobody writes any more: their device left, or goes on in another one."""
    has_left: bool = False
    """Whether it shares nothing any more; the others take over its files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """A time in which files are sealed with the same key."""

    number: int
    name: str
    secret: bytes

    @property
    def key(self) -> bytes:
        """The key that seals its files."""
        return keys.derive_key(self.secret)

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{EPOCHS}/{self.number}-{self.name}"


class FormatTooNew(Exception):
    """A newer program wrote a file."""


def new_name() -> str:
    """Make a name that says nothing."""
    return secrets.token_hex(8)


def pack_head(head: Head, epoch: Epoch, directory: str) -> bytes:
    """Seal a head; the epoch's name stands before it in the clear, to know which key opens it."""
    content = keys.seal(epoch.key, json.dumps(to_plain(head)).encode(), f"{directory}/{HEAD}")
    return epoch.name.encode() + b"\n" + content


def unpack_head(content: bytes, epochs: Iterable[Epoch], directory: str) -> tuple[Head, Epoch]:
    """Open a head and return it with its epoch; raises SealBroken or FormatTooNew if it cannot be read."""
    name, _, sealed = content.partition(b"\n")
    epoch = next((epoch for epoch in epochs if epoch.name.encode() == name), None)
    if epoch is None:
        raise keys.SealBroken("its key is not known here")
    values: Any = json.loads(keys.unseal(epoch.key, sealed, f"{directory}/{HEAD}"))
    if values["format"] > FORMAT:
        raise FormatTooNew(str(values.get("name", directory)))
    return from_plain(Head, values), epoch


def pack_segment(entries: Sequence[WireEntry], epoch: Epoch, name: str) -> bytes:
    """Seal consecutive entries."""
    lines = "\n".join(json.dumps(pack_entry(entry), ensure_ascii=False) for entry in entries)
    return keys.seal(epoch.key, lines.encode(), name)


def unpack_segment(content: bytes, key: bytes, name: str) -> list[WireEntry]:
    """Open a segment; raises SealBroken if it cannot be read, InvalidInput if an entry is malformed."""
    lines = keys.unseal(key, content, name).decode().split("\n")
    return [unpack_entry(json.loads(line)) for line in lines if line]
