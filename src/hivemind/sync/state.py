"""What a device remembers about the folder it shares, in one file beside the store that only its owner can read."""

import json
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from hivemind.errors import StoreDamaged
from hivemind.formats.codec import from_plain, to_plain
from hivemind.sync.files import Epoch, Segment

FILE = "devices.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceState:
    """A device's keys, its published files, and what it has seen of the others."""

    location: str
    """A folder, or the address of a git repository."""
    name: str
    directory: str
    private_key: bytes
    secret: bytes
    """The secret of the newest epoch, for the phrase."""
    epochs: tuple[Epoch, ...]
    counter: int = 0
    generation: int = 0
    segments: tuple[Segment, ...] = ()
    seen: dict[str, int] = field(default_factory=dict)
    """The newest counter of each other directory."""
    generations: dict[str, int] = field(default_factory=dict)
    read: dict[str, int] = field(default_factory=dict)
    position: int = 0
    """The position in the log up to which erasures were carried into our files."""
    adopted: tuple[str, ...] = ()
    """Chains of removed devices, which this device publishes in their place."""
    removed: tuple[str, ...] = ()
    with_sessions: bool = False
    excluded_repos: tuple[str, ...] = ()
    excluded_tags: tuple[str, ...] = ()
    is_paused: bool = False
    must_announce: bool = True
    must_rewrite: bool = False
    """Whether what may travel has changed, so that all segments are written again."""
    synchronised_at: str = ""

    @property
    def epoch(self) -> Epoch:
        """The epoch whose key seals new files."""
        return max(self.epochs, key=lambda epoch: (epoch.number, epoch.name))

    @property
    def epoch_keys(self) -> dict[str, bytes]:
        """The key of every known epoch by its name."""
        return {epoch.name: epoch.key for epoch in self.epochs}


def load_state(store_directory: Path) -> DeviceState | None:
    """Load the state; None if nothing was set up."""
    file = store_directory / FILE
    if not file.exists():
        return None
    try:
        return from_plain(DeviceState, json.loads(file.read_text()))
    except (ValueError, KeyError, TypeError) as error:
        raise StoreDamaged(f"{file} cannot be read; remove it and run 'hivemind sync setup' again") from error


def save_state(store_directory: Path, state: DeviceState) -> None:
    """Save the state whole or not at all."""
    file = store_directory / FILE
    new_file = store_directory / f"{FILE}.{secrets.token_hex(4)}"
    new_file.touch(mode=0o600)
    new_file.write_text(json.dumps(to_plain(state)))
    new_file.replace(file)
