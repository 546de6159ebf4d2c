"""Plausible bugs in the exchange between own machines, each patched into the real program; each must be detected."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hivemind.store import sync_state
from hivemind.store.store import Store
from hivemind.sync import devices, folder_exchange, folder_segments
from hivemind.sync.folder_files import Choices
from hivemind.sync.folder_segments import SegmentReader

Change = tuple[object, str, Any]


def files_keep_what_was_erased() -> list[Change]:
    """An erasure leaves the files in the folder as they are."""
    return [(sync_state, "find_forgotten", lambda db, after: set())]


def announced_counts_as_read() -> list[Change]:
    """A device confirms what others have announced, not what has arrived."""
    real = SegmentReader.read

    def read(self: Any, directory: str, head: Any) -> None:
        self.announced = getattr(self, "announced", {}) | {segment.chain: segment.last for segment in head.segments}
        real(self, directory, head)

    def find_progress(self: Any) -> dict[str, int]:
        return getattr(self, "announced", {})

    return [
        (SegmentReader, "read", read),
        (SegmentReader, "find_progress", find_progress),
    ]


def other_keys_are_unknown() -> list[Change]:
    """Values that another machine erased are not recognised here."""
    return [(Store, "list_keys_for", lambda store, scope: (store.get_key_for(scope),))]


def copies_go_on_as_one() -> list[Change]:
    """A machine that was put back goes on under its old name."""
    return [
        (devices, "settle_identity", lambda store, folder, state, save: folder_exchange.take_in_keys(folder, state))
    ]


def damage_stays() -> list[Change]:
    """Files that are lost or torn are not written again."""
    return [(folder_exchange, "_find_damage", lambda folder, state, others: set())]


def removed_machines_get_the_key() -> list[Change]:
    """Removing a machine does not begin an epoch."""
    return [(folder_exchange, "_renew_epoch", lambda folder, state, staying, problems, is_due: state)]


def removed_chains_are_dropped() -> list[Change]:
    """What a removed machine had learned is gone for those who join later."""
    return [(folder_exchange, "_adopt", lambda store, state, staying: state)]


def everything_travels() -> list[Change]:
    """Sessions travel without being asked for."""
    real, choices = folder_segments.select_content, Choices(with_sessions=True)
    return [
        (folder_segments, "select_content", lambda entry, state, ids: real(entry, replace(state, choices=choices), ids))
    ]


def unreadable_machines_are_forgotten() -> list[Change]:
    """A machine forgets who else is there while their files cannot be read."""
    real = folder_exchange.exchange

    def forget(*values: Any, **options: Any) -> Any:
        state, report = real(*values, **options)
        return replace(state, names={other.directory: other.head.name for other in report.others}), report

    return [(devices, "exchange", forget)]


OWN_MUTANTS: tuple[Callable[[], list[Change]], ...] = (
    files_keep_what_was_erased, announced_counts_as_read, other_keys_are_unknown, copies_go_on_as_one, damage_stays,
    removed_machines_get_the_key, removed_chains_are_dropped, everything_travels, unreadable_machines_are_forgotten,
)  # fmt: skip
