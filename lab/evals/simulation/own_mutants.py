"""Plausible bugs in the exchange between own machines, each patched into the real program; each must be detected."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hivemind.store import sync_state
from hivemind.store.store import Store
from hivemind.sync import devices, folder_epochs, folder_exchange, folder_keys, folder_segments
from hivemind.sync.folder_epochs import take_in_epochs
from hivemind.sync.folder_files import Choices, Head
from hivemind.sync.folder_segments import SegmentReader

Change = tuple[object, str, Any]


def files_keep_what_was_erased() -> list[Change]:
    """An erasure leaves the files in the folder as they are."""
    return [(sync_state, "find_erased_entries", lambda db, after: set())]


def announced_counts_as_read() -> list[Change]:
    """A device confirms what others have announced, not what has arrived."""
    real = SegmentReader.read

    def read(self: Any, directory: str, head: Any) -> None:
        self.announced = getattr(self, "announced", {}) | {segment.chain: segment.last for segment in head.segments}
        real(self, directory, head)

    def find_progress(self: Any) -> dict[str, int]:
        return getattr(self, "announced", {})

    def make_head(**values: Any) -> Head:
        # Without a hash for what has not arrived, by which the others would notice.
        return Head(**values | {"hashes": {chain: found for chain, found in values["hashes"].items() if found}})

    return [
        (SegmentReader, "read", read),
        (SegmentReader, "find_progress", find_progress),
        (folder_exchange, "Head", make_head),
    ]


def other_keys_are_unknown() -> list[Change]:
    """Values that another machine erased are not recognised here."""
    return [(Store, "list_keys_for", lambda store, scope: (store.get_key_for(scope),))]


def copies_go_on_as_one() -> list[Change]:
    """A machine that was put back goes on under its old name."""
    return [(devices, "settle_identity", lambda store, folder, state, save, removing: take_in_epochs(folder, state))]


def damage_stays() -> list[Change]:
    """Files that are lost or torn are not written again."""
    return [(folder_exchange, "_find_damage", lambda folder, state, others: set())]


def removed_machines_get_the_key() -> list[Change]:
    """Removing a machine does not begin an epoch."""
    real = folder_epochs.begin_epoch
    return [(folder_epochs, "begin_epoch", lambda folder, state: state if state.epochs else real(folder, state))]


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


def anybody_begins_epochs() -> list[Change]:
    """An epoch is taken in without asking who signed it."""
    return [(folder_epochs, "_is_signed_by_member", lambda file, state: True)]


def epochs_follow_nothing() -> list[Change]:
    """An epoch is taken in without asking whether its writer knew the one before."""
    return [(folder_epochs, "_is_chained", lambda file, state: True)]


def removals_are_not_read() -> list[Change]:
    """An epoch of another machine brings a key, but neither who belongs nor who was removed."""

    def adopt(state: Any, epoch: Any, file: Any) -> Any:
        return replace(state, epochs=(*state.epochs, epoch))

    return [
        (folder_epochs, "_settle_removals", lambda removed, files: set(removed)),
        (folder_epochs, "_adopt", adopt),
    ]


def signatures_are_not_verified() -> list[Change]:
    """Everything counts as signed by whoever is named."""
    return [(folder_keys, "is_signed", lambda verify_key, content, signature: True)]


def old_keys_introduce_machines() -> list[Change]:
    """A machine belongs if it knows any key that was ever used."""
    return [(folder_exchange, "_is_member", lambda state, directory, epoch: True)]


def lost_keys_stay_lost() -> list[Change]:
    """The files of epochs are not repaired."""
    return [(folder_epochs, "_repair_epochs", lambda folder, state: state)]


def every_file_is_an_epoch() -> list[Change]:
    """A file that a program added beside the epochs is taken for one."""

    def list_names(folder: Any) -> list[tuple[int, str]]:
        names = [name.partition("/")[2].partition("-") for name in folder.list_names() if name.startswith("epochs/")]
        return [(int(number), name) for number, _, name in names]

    return [(folder_epochs, "_list_names", list_names)]


OWN_MUTANTS: tuple[Callable[[], list[Change]], ...] = (
    files_keep_what_was_erased, announced_counts_as_read, other_keys_are_unknown, copies_go_on_as_one, damage_stays,
    removed_machines_get_the_key, removed_chains_are_dropped, everything_travels, unreadable_machines_are_forgotten,
    anybody_begins_epochs, epochs_follow_nothing, removals_are_not_read, signatures_are_not_verified,
    old_keys_introduce_machines, lost_keys_stay_lost, every_file_is_an_epoch,
)  # fmt: skip
