"""The files of a shared folder and the state beside the store, as values.

Every device has a directory of its own, and only that device writes in it. It signs its head.

    <directory>/head            counter, name, public key, list of segments, how far it has read the others
    <directory>/<random name>   a segment: consecutive entries of a chain
    epochs/<number>-<random>    the secret of an epoch, sealed for each device that belongs; any of them repairs it

Directories and files have random names. What a host sees is the number of devices, when each of them writes, and
roughly how much. What a device remembers about the folder is in one file beside its store that only its owner can read.
"""

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hivemind.errors import StoreDamaged
from hivemind.model.codec import from_plain, to_plain
from hivemind.paths import DEVICES_FILE
from hivemind.sync import folder_keys
from hivemind.sync.folder_keys import Epoch, SealBroken, seal, unseal
from hivemind.sync.folders import NAME
from hivemind.system import replace_file

HEAD, SIGNATURE = "head", "signature"
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
    """For which new epochs are sealed."""
    verify_key: str = ""
    """By which others verify what it signs; versions before 0.3 sign nothing."""
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
    """Directories of devices that were removed, for versions before 0.3; others learn it from the epoch."""
    gone: tuple[str, ...] = ()
    """Directories that nobody writes any more: their device left, or goes on in another one."""
    has_left: bool = False
    """Whether it shares nothing any more; the others take over its files."""


class FormatTooNew(Exception):
    """A newer program wrote a file."""


UNREADABLE = (SealBroken, FormatTooNew, ValueError, KeyError, TypeError, AttributeError)
"""What reading a head may raise: torn, of another key, of somebody else, or of a newer program."""


def pack_head(head: Head, epoch: Epoch, directory: str, private_key: bytes) -> bytes:
    """Sign and seal a head; the epoch's name stands before it in the clear, to know which key opens it."""
    values = to_plain(replace(head, verify_key=folder_keys.find_verify_key(private_key)))
    values |= {SIGNATURE: folder_keys.sign(private_key, _make_signed_text(values, epoch, directory))}
    return epoch.name.encode() + b"\n" + seal(epoch.key, json.dumps(values).encode(), f"{directory}/{HEAD}")


def unpack_head(
    content: bytes, epochs: Iterable[Epoch], directory: str, verify_keys: Mapping[str, str]
) -> tuple[Head, Epoch]:
    """Open a head and return it with its epoch; raises one of ``UNREADABLE``.

    ``verify_keys`` are the keys of devices that are known. The head of another one is returned if it is signed with its
    own key, or not at all, as those of versions before 0.3.
    """
    name = read_epoch_name(content)
    epoch = next((epoch for epoch in epochs if epoch.name == name), None)
    if epoch is None:
        raise SealBroken("its key is not known here")
    values: Any = json.loads(unseal(epoch.key, content.partition(b"\n")[2], f"{directory}/{HEAD}"))
    if values["format"] > FORMAT:
        raise FormatTooNew(str(values.get("name", directory)))
    signature, verify_key = values.pop(SIGNATURE, ""), verify_keys.get(directory) or values.get("verify_key")
    if verify_key and not folder_keys.is_signed(verify_key, _make_signed_text(values, epoch, directory), signature):
        raise SealBroken("that machine did not sign it")
    return from_plain(Head, values), epoch


def read_epoch_name(content: bytes) -> str:
    """Return the name of the epoch that a head is sealed with; empty if it is torn."""
    name, newline, _ = content.partition(b"\n")
    return name.decode("ascii", "replace") if newline and NAME.fullmatch(name.decode("ascii", "replace")) else ""


def _make_signed_text(values: Mapping[str, Any], epoch: Epoch, directory: str) -> bytes:
    return json.dumps([directory, epoch.name, values], sort_keys=True).encode()


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
    verify_keys: dict[str, str] = field(default_factory=dict)
    """The keys of the devices that belong and sign; what else is in the folder must be of the newest epoch."""
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
        # Of what the file says, because another version may know more or fewer values.
        is_whole = values.pop(CHECKSUM) == _compute_checksum(values)
        state = from_plain(DeviceState, values)
    except (ValueError, KeyError, TypeError, AttributeError):
        is_whole = False
    if not is_whole:
        raise StoreDamaged(f"{file} is damaged; remove it and run 'hivemind sync setup' again")
    return state


def save_state(store_directory: Path, state: DeviceState) -> None:
    """Save the state whole or not at all."""
    values = to_plain(state)
    content = json.dumps(values | {CHECKSUM: _compute_checksum(values)}).encode()
    # It has the keys of this machine, which exist nowhere else.
    replace_file(store_directory / DEVICES_FILE, content, is_durable=True)


def _compute_checksum(values: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(values, sort_keys=True).encode())


def delete_state(store_directory: Path) -> None:
    """Forget the folder and its keys."""
    (store_directory / DEVICES_FILE).unlink(missing_ok=True)
