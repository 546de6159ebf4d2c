"""One exchange with a shared folder: read what the other devices published, then publish what is new here.

Nothing is agreed upon and nobody waits: a device reads the chains of the others as far as their files have arrived,
and writes only its own files. An exchange may stop anywhere and be repeated.
"""

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from hivemind.context import Progress, quietly
from hivemind.store import chains, log, sync_state
from hivemind.store.store import Store
from hivemind.sync import folder_epochs, folder_keys
from hivemind.sync.folder_files import HEAD, UNREADABLE, DeviceState, FormatTooNew, Head, pack_head, unpack_head
from hivemind.sync.folder_keys import Epoch
from hivemind.sync.folder_segments import (
    EraseFollowUp,
    EraseFromBackups,
    SegmentReader,
    SegmentWriter,
    count_waiting,
    find_ends,
    load_segment,
)
from hivemind.sync.folders import EPOCHS, Folder, new_name

EPOCH_SHIFT = 40
"""A head of a later epoch is newer, whatever its counter: a device that was removed knows only earlier keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherDevice:
    """A device as its files show it."""

    directory: str
    head: Head
    waiting_for: int = 0
    """How many of its entries are announced, but have not arrived."""
    unread: int = 0
    """How many entries of this device it has not read, as far as its files say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeReport:
    """What an exchange did."""

    sent: int = 0
    received: int = 0
    erased: int = 0
    others: tuple[OtherDevice, ...] = ()
    problems: tuple[str, ...] = ()


def exchange(
    store: Store,
    folder: Folder,
    state: DeviceState,
    *,
    now: str,
    follow: EraseFollowUp,
    clean: EraseFromBackups,
    save: Callable[[DeviceState], None],
    progress: Progress = quietly,
    removing: str = "",
) -> tuple[DeviceState, ExchangeReport]:
    """Read the others, publish what is new, and return the new state and a report; after ``settle_identity``.

    ``follow`` and ``clean`` carry out erasures here, and ``save`` stores the state. ``removing`` is the directory of a
    device that no longer belongs to the others.
    """
    problems: list[str] = []
    heads, versions = _read_heads(folder, state, problems)
    reader = SegmentReader(store, folder, state, follow, clean, progress)
    for directory, head in heads.items():
        if versions[directory] >= state.seen.get(directory, 0):
            reader.read(directory, head)
        else:
            problems.append(f"{head.name}: the folder has an old copy of its files; waiting for the newer one")
    if reader.erased:
        store.checkpoint()
    state = replace(
        state,
        seen=state.seen | {name: max(version, state.seen.get(name, 0)) for name, version in versions.items()},
        generations=state.generations | reader.generations,
        read=reader.find_progress(),
    )
    # Only once everything of them has arrived, because their files are deleted.
    gone_names = {name for name in state.former if name not in heads or not count_waiting(store, heads[name])}
    gone_names |= {name for name, head in heads.items() if head.has_left and not count_waiting(store, head)}
    # With what the others saw end, because their own lists end when they leave.
    state = replace(
        state,
        removed=tuple(sorted({*state.removed, removing} - {""})),
        gone=tuple(sorted({*_list_gone(state, heads), *gone_names})),
    )
    staying = {
        name: head
        for name, head in heads.items()
        if name not in {*state.gone, *state.former, *state.removed} and not head.has_left
    }
    state = _adopt(store, _note_others(state, heads, staying), staying)
    # Also if two devices removed others at the same time.
    if folder_epochs.is_open(state):
        state = folder_epochs.begin_epoch(folder, state)
    state, sent = _publish(store, folder, state, staying, reader.missing, now, save)
    # At every exchange, because a carrier may bring files late, or bring them back; they may contain erased text.
    _delete_unlisted(folder, state, {*state.gone, *state.removed})
    return replace(state, former=tuple(set(state.former) - gone_names)), ExchangeReport(
        sent=sent, received=reader.received, erased=reader.erased, others=_describe_others(store, state, staying),
        problems=(*problems, *reader.problems, *folder.problems.values()),
    )  # fmt: skip


def look(store: Store, folder: Folder, state: DeviceState) -> tuple[tuple[OtherDevice, ...], list[str]]:
    """Return the other devices and what is wrong with their files, without changing anything."""
    problems: list[str] = []
    heads, _ = _read_heads(folder, state, problems)
    return _describe_others(store, state, heads), [*problems, *folder.problems.values()]


def _describe_others(store: Store, state: DeviceState, heads: Mapping[str, Head]) -> tuple[OtherDevice, ...]:
    own_end = find_ends(state.segments).get(store.device, 0)
    return tuple(
        OtherDevice(
            directory=name, head=head, waiting_for=count_waiting(store, head),
            unread=max(0, own_end - head.read.get(store.device, 0)),
        )
        for name, head in heads.items()
    )  # fmt: skip


def settle_identity(
    store: Store, folder: Folder, state: DeviceState, save: Callable[[DeviceState], None], removing: str = ""
) -> DeviceState:
    """Take in new keys, and give this device a new place if its store was restored, put back or copied."""
    # First, because a new epoch is sealed for the old place.
    state = folder_epochs.take_in_epochs(folder, state, removing=removing)
    heads, _ = _read_heads(folder, state, [])
    if state.device != store.device:
        # What it published before is read back, because the backup may be older, and published under its new name.
        return _begin_anew(state, store.device, former=(*state.former, state.directory))
    for directory, head in heads.items():
        if head.device == store.device and directory not in state.former:
            fork, is_copy = _find_fork(store, folder, state, directory, head)
            if is_copy:
                return _separate(store, state, fork, former=(*state.former, state.directory))
            # Left behind when this machine was set up before.
            state = replace(state, former=(*state.former, directory))
    foreign_head = _find_foreign_head(folder, state)
    if foreign_head:
        fork, _ = _find_fork(store, folder, state, state.directory, foreign_head)
        return _separate(store, state, fork, former=state.former)
    if _is_put_back(store, heads):
        # From its first entry, because nobody publishes the older chain, so the last common entry is not known.
        state = replace(state, gone=(*state.gone, state.directory), moved=state.moved | {state.device: 0})
        # Saved first: after a crash in between, what this machine wrote since must not be read back as its older chain.
        save(state)
        return _begin_anew(state, store.separate_from_copy(0), former=state.former)
    if state.directory in _list_gone(state, heads):
        # A copy of this machine was restored from a backup, and took this directory for its own.
        return _begin_anew(state, store.device, former=state.former)
    return state


def _find_foreign_head(folder: Folder, state: DeviceState) -> Head | None:
    """Return the head in this device's directory, if another machine wrote it."""
    content = folder.read(f"{state.directory}/{HEAD}")
    if content is None or _digest(content) == state.head_digest:
        return None
    try:
        own_keys = {state.directory: folder_keys.find_verify_key(state.private_key)}
        head, _ = unpack_head(content, state.epochs, state.directory, own_keys)
    except UNREADABLE:
        # Torn by the carrier, or made by a machine that was removed; the next publication replaces it.
        return None
    # The state is saved before a head is written, so a head that is not older was written by another machine.
    return head if head.counter >= state.counter else None


def _is_put_back(store: Store, heads: Mapping[str, Head]) -> bool:
    """Return whether others have read entries of this device's chain that it does not have, or has differently.

    Its own head does not show this if the folder lost it, or if the folder was put back together with the store.
    """
    return any(
        store.device in head.hashes
        and sync_state.find_hash(store.db, store.device, head.read.get(store.device, 0)) != head.hashes[store.device]
        for head in heads.values()
    )


def _separate(store: Store, state: DeviceState, fork: int, *, former: tuple[str, ...]) -> DeviceState:
    """Go on in a new place and a new chain, which begins with the entries behind the fork."""
    # Entries of still earlier chains begin the new one only if it begins with all entries of this one.
    moved = {state.device: fork} if fork else state.moved | {state.device: 0}
    return replace(_begin_anew(state, store.separate_from_copy(fork), former=former), moved=moved)


def _begin_anew(state: DeviceState, device: str, *, former: tuple[str, ...]) -> DeviceState:
    return replace(
        state, device=device, directory=new_name(), private_key=folder_keys.new_private_key(), counter=0,
        head_digest="", segments=(), position=0, former=tuple(sorted(set(former) - set(state.gone))),
    )  # fmt: skip


def _find_fork(store: Store, folder: Folder, state: DeviceState, directory: str, head: Head) -> tuple[int, bool]:
    """Return the last entry of this store's chain that a directory has, too, and whether it has others after that."""
    last_common = 0
    for segment in sorted((s for s in head.segments if s.chain == store.device), key=lambda segment: segment.first):
        for entry in load_segment(folder, directory, segment, state.epochs) or ():
            if not chains.has_header(store.db, entry.header):
                return last_common, True
            last_common = entry.header.seq
    return last_common, False


def _read_heads(folder: Folder, state: DeviceState, problems: list[str]) -> tuple[dict[str, Head], dict[str, int]]:
    """Read the heads of the other devices, and the version of each."""
    heads: dict[str, Head] = {}
    versions: dict[str, int] = {}
    # Removed ones are ignored even if their files come back, which a carrier or the removed device may cause.
    ended_names = {EPOCHS, state.directory, *state.removed}
    directories = {name.partition("/")[0] for name in folder.list_names()}
    for directory in sorted(directories - ended_names):
        file = f"{directory}/{HEAD}"
        machine = (
            f"machine {state.names[directory]} ({directory})" if directory in state.names else f"machine {directory}"
        )
        content = folder.read(file)
        if content is None:
            # Unless it was refused, which is told already.
            if file not in folder.problems:
                problems.append(f"{machine}: its list of files has not arrived yet")
            continue
        try:
            head, epoch = unpack_head(content, state.epochs, directory, state.verify_keys)
        except FormatTooNew as error:
            problems.append(f"{error}: it uses a newer hivemind; upgrade this one: pip install -U hivemind-memory")
        except UNREADABLE as error:
            problems.append(f"{machine}: its list of files cannot be read, {error}")
        else:
            if _is_member(state, directory, epoch):
                heads[directory], versions[directory] = head, epoch.number << EPOCH_SHIFT | head.counter
            else:
                problems.append(
                    f"{machine}: it uses an old key; if it is yours, run 'hivemind sync' there, or"
                    f" 'hivemind sync setup' with the newest phrase; if you removed it, delete the folder {directory}"
                )
    gone_names = _list_gone(state, heads)
    return {name: head for name, head in heads.items() if name not in gone_names}, versions


def _is_member(state: DeviceState, directory: str, epoch: Epoch) -> bool:
    """Whether a device belongs: it is known, or shows that it knows the newest key."""
    # A removed device knows the keys of earlier epochs, and could invent further devices with them.
    return directory in state.verify_keys or (epoch == state.epoch and not folder_epochs.is_open(state))


def _list_gone(state: DeviceState, heads: Mapping[str, Head]) -> set[str]:
    return {*state.gone, *(name for head in heads.values() for name in head.gone)}


def _note_others(state: DeviceState, heads: Mapping[str, Head], staying: Mapping[str, Head]) -> DeviceState:
    """Note who the other devices are, for times when their files cannot be read."""
    names = state.names | {name: head.name for name, head in staying.items()}
    left_names = {*state.former, *state.removed, *state.gone, *(set(heads) - set(staying))}
    return replace(
        state,
        names={name: label for name, label in names.items() if name not in left_names},
        chains=state.chains | {name: head.device for name, head in staying.items()},
        public_keys=state.public_keys | {name: head.public_key for name, head in staying.items()},
        verify_keys={name: key for name, key in state.verify_keys.items() if name not in left_names}
        | {name: head.verify_key for name, head in staying.items() if head.verify_key},
    )


def _adopt(store: Store, state: DeviceState, staying: Mapping[str, Head]) -> DeviceState:
    """Answer for chains of devices that are gone, if nobody publishes as much of them as this device has."""
    live_chains = {store.device, *(state.chains.get(name, "") for name in state.names)}
    ends = find_ends(segment for head in staying.values() for segment in head.segments)
    own_chains = sync_state.list_private_chains(store.db)
    orphans = {chain for chain, last in own_chains.items() if last > ends.get(chain, 0)}
    # Until their new chain has arrived, it is not known whether these entries belong to the older one.
    orphans -= {chain for head in staying.values() if head.device not in own_chains for chain in head.moved}
    return replace(state, adopted=tuple(sorted({*state.adopted, *orphans} - live_chains)))


def _publish(
    store: Store,
    folder: Folder,
    state: DeviceState,
    others: Mapping[str, Head],
    missing: Collection[str],
    now: str,
    save: Callable[[DeviceState], None],
) -> tuple[DeviceState, int]:
    """Write new segments, then the state, then the head."""
    position = log.read_last_position(store.db)
    writer = SegmentWriter(store, folder, state)
    segments = writer.write_all(_find_damage(folder, state, others))
    new_state = replace(state, segments=segments, position=position, synchronised_at=now)
    head = Head(
        counter=state.counter, device=store.device, name=state.name,
        public_key=folder_keys.find_public_key(state.private_key).hex(), generation=state.generation,
        segments=segments, read=state.read, missing=tuple(sorted(missing)), removed=state.removed,
        hashes={chain: sync_state.find_hash(store.db, chain, last) for chain, last in state.read.items()},
        moved=state.moved, gone=state.gone, has_left=state.has_left, written_at="",
    )  # fmt: skip
    fingerprint = _digest(f"{head} {state.epoch.name}".encode())
    content = folder.read(f"{state.directory}/{HEAD}")
    if fingerprint == state.announced and content is not None and _digest(content) == state.head_digest:
        save(new_state)
        return new_state, writer.sent
    head = replace(head, counter=state.counter + 1, written_at=now)
    content_of_head = pack_head(head, state.epoch, state.directory, state.private_key)
    announced = _digest(f"{replace(head, written_at='')} {state.epoch.name}".encode())
    new_state = replace(new_state, counter=head.counter, head_digest=_digest(content_of_head), announced=announced)
    # Saved first: after a crash in between, the head in the folder is older than the state, and is written again.
    save(new_state)
    folder.write(f"{state.directory}/{HEAD}", content_of_head)
    return new_state, writer.sent


def _find_damage(folder: Folder, state: DeviceState, others: Mapping[str, Head]) -> set[str]:
    """Find our segments that are not in the folder, or that other devices could not read: torn, or of an older key."""
    names = set(folder.list_names())
    requested_names = {name for head in others.values() for name in head.missing}
    return {
        segment.name
        for segment in state.segments
        if f"{state.directory}/{segment.name}" not in names
        or (
            segment.name in requested_names
            and (
                segment.epoch != state.epoch.name
                or _digest(folder.read(f"{state.directory}/{segment.name}") or b"") != segment.digest
            )
        )
    }


def _delete_unlisted(folder: Folder, state: DeviceState, absorbed_names: Collection[str]) -> None:
    """Delete what the new list of files does not name; afterwards, so that no reader is sent to a file that is gone."""
    listed_names = {f"{state.directory}/{name}" for name in (HEAD, *(segment.name for segment in state.segments))}
    for name in folder.list_names():
        if name.partition("/")[0] in {state.directory, *absorbed_names} and name not in listed_names:
            folder.delete(name)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
