"""The files of a shared folder and the state beside the store, as values.

Every device has a directory of its own, and only that device writes in it.

    <directory>/head            counter, name, public key, list of segments, how far it has read the others
    <directory>/<random name>   a segment: consecutive entries of a chain
    epochs/<number>-<random>    the secret of an epoch, sealed for each device that stayed

Directories and files have random names. What a host sees is the number of devices, when each of them writes, and
roughly how much. What a device remembers about the folder is in one file beside its store that only its owner can read.
"""

import json
import secrets
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hivemind.errors import StoreDamaged
from hivemind.model.codec import from_plain, to_plain
from hivemind.paths import DEVICES_FILE
from hivemind.sync.folder_keys import Epoch, SealBroken, seal, unseal

HEAD = "head"
FORMAT = 1
"""Raised when an older program could no longer read the files."""
CHECKSUM = "checksum"
"""A flipped bit in a key would otherwise be noticed only when it opens nothing."""


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


class FormatTooNew(Exception):
    """A newer program wrote a file."""


def pack_head(head: Head, epoch: Epoch, directory: str) -> bytes:
    """Seal a head; the epoch's name stands before it in the clear, to know which key opens it."""
    content = seal(epoch.key, json.dumps(to_plain(head)).encode(), f"{directory}/{HEAD}")
    return epoch.name.encode() + b"\n" + content


def unpack_head(content: bytes, epochs: Iterable[Epoch], directory: str) -> tuple[Head, Epoch]:
    """Open a head and return it with its epoch; raises SealBroken or FormatTooNew if it cannot be read."""
    name, _, sealed = content.partition(b"\n")
    epoch = next((epoch for epoch in epochs if epoch.name.encode() == name), None)
    if epoch is None:
        raise SealBroken("its key is not known here")
    values: Any = json.loads(unseal(epoch.key, sealed, f"{directory}/{HEAD}"))
    if values["format"] > FORMAT:
        raise FormatTooNew(str(values.get("name", directory)))
    return from_plain(Head, values), epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What a person wants to travel."""

    with_sessions: bool = False
    excluded_repos: tuple[str, ...] = ()
    excluded_tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceState:
    """A device's keys, its published files, and what it has seen of the others."""

    location: str
    """A folder, or the address of a git repository."""
    name: str
    directory: str
    device: str
    """The id of its chain; the store gets another one when a backup is restored."""
    private_key: bytes
    epochs: tuple[Epoch, ...]
    counter: int = 0
    head_digest: str = ""
    """Of the head it wrote last, to notice that another machine writes its files."""
    announced: str = ""
    """A digest of what that head says, to write another one only if something changed."""
    generation: int = 0
    segments: tuple[Segment, ...] = ()
    seen: dict[str, int] = field(default_factory=dict)
    """The newest version of the head of each other directory."""
    names: dict[str, str] = field(default_factory=dict)
    """The directories and names of the other devices, also while their files cannot be read."""
    chains: dict[str, str] = field(default_factory=dict)
    """The chain of each of them."""
    public_keys: dict[str, str] = field(default_factory=dict)
    """The key of each directory, for which new epochs are sealed."""
    generations: dict[str, int] = field(default_factory=dict)
    read: dict[str, int] = field(default_factory=dict)
    position: int = 0
    """The position in the log up to which erasures were carried into our files."""
    adopted: tuple[str, ...] = ()
    """Chains of devices that are gone, which this device publishes in their place."""
    former: tuple[str, ...] = ()
    """Directories that this device had before a backup was restored."""
    removed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    """Directories that nobody writes any more."""
    moved: dict[str, int] = field(default_factory=dict)
    """See ``Head.moved``."""
    has_left: bool = False
    erasures: tuple[str, ...] = ()
    """The batches of erasures that other devices have not confirmed yet."""
    choices: Choices = Choices()
    is_paused: bool = False
    synchronised_at: str = ""

    @property
    def epoch(self) -> Epoch:
        """The epoch whose key seals new files."""
        return max(self.epochs, key=lambda epoch: (epoch.number, epoch.name))


def load_state(store_directory: Path) -> DeviceState | None:
    """Load the state; None if nothing was set up."""
    file = store_directory / DEVICES_FILE
    if not file.exists():
        return None
    try:
        values = json.loads(file.read_text("utf-8"))
        state = from_plain(DeviceState, values)
        is_whole = values[CHECKSUM] == _compute_checksum(state)
    except (ValueError, KeyError, TypeError, AttributeError):
        is_whole = False
    if not is_whole:
        raise StoreDamaged(f"{file} is damaged; remove it and run 'hivemind sync setup' again")
    return state


def save_state(store_directory: Path, state: DeviceState) -> None:
    """Save the state whole or not at all."""
    file = store_directory / DEVICES_FILE
    new_file = store_directory / f"{DEVICES_FILE}.{secrets.token_hex(4)}"
    # Created with its mode before the keys are written into it.
    new_file.touch(mode=0o600)
    new_file.write_text(json.dumps(to_plain(state) | {CHECKSUM: _compute_checksum(state)}), "utf-8")
    new_file.replace(file)


def _compute_checksum(state: DeviceState) -> int:
    return zlib.crc32(json.dumps(to_plain(state), sort_keys=True).encode())


def delete_state(store_directory: Path) -> None:
    """Forget the folder and its keys."""
    (store_directory / DEVICES_FILE).unlink(missing_ok=True)
