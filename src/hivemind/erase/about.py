"""Finds everything that names a person, customer, ticket or value, and erases what a person confirms."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path

from hivemind.erase.erase import (
    UNREADABLE_BACKUP,
    Targets,
    drop_entries,
    erase,
    list_backups,
    load_ignoring_rollbacks,
    make_erasures,
    name_backup,
)
from hivemind.erase.names import NamePattern
from hivemind.erase.residue import QUARANTINE_FOLDER
from hivemind.errors import StoreError
from hivemind.model.erasure import ErasedLocation, Erasure, Mention, Mentions, MentionSort
from hivemind.model.events import (
    Event,
    Fact,
    MemoriesRecalled,
    MemoryErased,
    MemoryFact,
    MemoryRemembered,
    MemoryRevised,
    ObservationMade,
    RepositorySeen,
    WriteRefused,
)
from hivemind.model.free_text import iterate_text
from hivemind.model.ids import EventId, MemoryId
from hivemind.model.memory import Memory
from hivemind.model.scope import Scope
from hivemind.model.session import ObservationKind
from hivemind.model.team import TeamMember
from hivemind.store import backup, log
from hivemind.store.database import Database
from hivemind.store.event_factory import EventFactory
from hivemind.store.projections import memories
from hivemind.store.sqlite import Sqlite
from hivemind.store.store import Store

Progress = Callable[[int, int], None]

ORIGIN_FIELDS = {"owner", "actor", "directory", "model", "agent", "session_id", "event", "observation"}
"""Fields about the writer and the place, not about content; log headers keep the same values permanently."""
LARGEST_FILE = 1 << 24
"""Bytes of a quarantined file that are searched."""


@dataclass(slots=True)
class LogMentions:
    """Where a log mentions a name: entries, and for each memory its last event with an excerpt."""

    entries: list[Mention] = field(default_factory=list)
    memories: dict[str, tuple[Event, str]] = field(default_factory=dict)
    titles: dict[str, Mention] = field(default_factory=dict)
    """Sessions whose title, their first prompt, mentions it."""


def find_mentions(
    store: Store, home: Path, name: NamePattern, progress: Progress, kept_ids: Set[str] = frozenset()
) -> Mentions:
    """Find everything in this store that mentions a name: in its log, its backups and its quarantine.

    A backup that only mentions it in ``kept_ids`` is not listed.
    """
    log_mentions = _search_log(store.db, name, progress)
    mentions = [
        *_list_memories(store, store.db, log_mentions, name),
        *log_mentions.titles.values(),
        *log_mentions.entries,
    ]
    mentions += [mention for file in list_backups(store) for mention in _search_backup(file, name, progress, kept_ids)]
    mentions += _search_quarantine(home, name)
    return Mentions(about=name.label, found=tuple(mentions))


def erase_mentions(
    store: Store,
    home: Path,
    factory: EventFactory,
    name: NamePattern,
    mentions: Sequence[Mention],
    kept_ids: Set[str],
    reason: str,
    progress: Progress,
) -> Erasure:
    """Erase the chosen mentions, search again, and return one receipt for everything."""
    ids = {mention.id for mention in mentions}
    memory_mentions = [
        mention for mention in mentions if mention.sort in (MentionSort.MEMORY, MentionSort.VERSION, MentionSort.TRACE)
    ]
    entry_ids = [
        EventId(mention.id)
        for mention in mentions
        if mention.sort in (MentionSort.OBSERVATION, MentionSort.QUESTION, MentionSort.RECORD)
    ]
    erased_memories = [
        memory for mention in memory_mentions if (memory := load_ignoring_rollbacks(store.db, mention.id))
    ]
    receipt = erase(
        store, factory, Targets(memories=tuple(erased_memories), entries=tuple(entry_ids)), reason, home=home
    )
    backup_places = [
        place
        for file in list_backups(store)
        if name_backup(file) in ids
        for place in _erase_in_backup(store, factory, file, name, kept_ids)
    ]
    if backup_places:
        store.checkpoint()
    quarantine_places = _delete_items(
        home, [mention.id for mention in mentions if mention.sort is MentionSort.QUARANTINE]
    )
    remaining = _report_remaining(find_mentions(store, home, name, progress, kept_ids), ids)
    return replace(receipt, places=(*_merge_places([*receipt.places, *backup_places]), *quarantine_places, remaining))


def _search_log(db: Database, name: NamePattern, progress: Progress) -> LogMentions:
    mentions = LogMentions()
    for event in log.find_events_matching(db, name.may_be_in, progress):
        # The search filters whole entries quickly; only a free text that names it counts as a mention.
        excerpt = next(filter(None, map(name.excerpt, _iterate_texts(event.fact))), "")
        if not excerpt:
            continue
        if isinstance(event.fact, MemoryFact) and not isinstance(event.fact, MemoryErased):
            mentions.memories[event.about] = event, excerpt
            continue
        sort, stays = _classify_entry(event.fact)
        mention = _make_mention(sort, event, excerpt, stays)
        mentions.entries.append(mention)
        match event.fact:
            case ObservationMade(seen=ObservationKind.PROMPT, subagent="", session_id=session):
                mentions.titles.setdefault(session, replace(mention, sort=MentionSort.SESSION, id=session))
    return mentions


def _classify_entry(fact: Fact) -> tuple[MentionSort, str]:
    """Return the sort of an entry that is not about a memory, and why it stays; empty if it can be erased."""
    match fact:
        case ObservationMade():
            return MentionSort.OBSERVATION, ""
        case MemoriesRecalled():
            return MentionSort.QUESTION, ""
        case WriteRefused():
            return MentionSort.RECORD, ""
        case RepositorySeen():
            return MentionSort.RECORD, "the name of a repository or folder, which its entries contain"
        case MemoryErased():
            return MentionSort.RECORD, "the reason of an erasure, which its receipt keeps"
        case _:
            return MentionSort.RECORD, "a record of what was done to the store"


def _make_mention(sort: MentionSort, event: Event, excerpt: str, stays: str) -> Mention:
    session = str(getattr(event.fact, "session_id", ""))
    return Mention(sort=sort, id=event.id, repo=event.repo, at=event.at, excerpt=excerpt, session=session, stays=stays)


def _list_memories(store: Store, db: Database, log_mentions: LogMentions, name: NamePattern) -> Iterator[Mention]:
    current_memories = {memory.id: memory for memory in memories.get_all(db, log_mentions.memories)}
    for memory_id, (event, excerpt) in log_mentions.memories.items():
        # A memory that was rolled back is no longer listed, but its texts are still in the log.
        memory = current_memories.get(MemoryId(memory_id)) or load_ignoring_rollbacks(db, memory_id)
        current_excerpt = memory is not None and name.excerpt(memory.text)
        if memory is not None and memory.trace:
            sort = MentionSort.TRACE
        else:
            is_version = isinstance(event.fact, MemoryRemembered | MemoryRevised)
            sort = MentionSort.VERSION if is_version and not current_excerpt else MentionSort.MEMORY
        stays = _explain_ownership(store, memory) if memory else ""
        yield replace(_make_mention(sort, event, current_excerpt or excerpt, stays), id=memory_id)


def _explain_ownership(store: Store, memory: Memory) -> str:
    """Return why this person may not erase a memory; empty if they may."""
    member = store.membership
    if memory.scope is not Scope.TEAM or member is None or memory.owner == member.person:
        return ""
    if TeamMember(person=member.person, role=member.role).may_review:
        return ""
    return f"not yours: ask {memory.owner} or a reviewer"


def _iterate_texts(fact: Fact) -> Iterator[str]:
    """Yield every free text in a fact; for an observation, without its working directory."""
    texts = (text for _, text in iterate_text(fact, skipped=ORIGIN_FIELDS))
    # The directory is in the header of the entry, which stays; a path below it is not a mention.
    directory = fact.directory if isinstance(fact, ObservationMade) else ""
    return (text.replace(directory, "") for text in texts) if directory else texts


def _search_backup(file: Path, name: NamePattern, progress: Progress, kept_ids: Set[str]) -> Iterator[Mention]:
    mention = Mention(sort=MentionSort.BACKUP, id=name_backup(file), repo="", at="", excerpt="")
    try:
        with Sqlite.open_for_reading(file) as copy:
            log_mentions = _search_log(copy, name, progress)
    except StoreError:
        yield replace(mention, excerpt="(cannot be read)", stays=UNREADABLE_BACKUP)
        return
    count = len({*log_mentions.memories, *(entry.id for entry in log_mentions.entries if not entry.stays)} - kept_ids)
    if count:
        yield replace(mention, excerpt="one entry names it" if count == 1 else f"{count} entries name it")


def _erase_in_backup(
    store: Store, factory: EventFactory, file: Path, name: NamePattern, kept_ids: Set[str]
) -> list[ErasedLocation]:
    """Erase from a backup what mentions the name there; the store itself may have dropped it long ago."""
    with Sqlite.open_for_reading(file) as copy:
        log_mentions = _search_log(copy, name, lambda position, total: None)
        erased_memories = [
            memory
            for memory_id in log_mentions.memories
            if memory_id not in kept_ids and (memory := load_ignoring_rollbacks(copy, memory_id))
        ]
        events = make_erasures(store, factory, erased_memories, copy)
    erasable_ids = {mention.id for mention in log_mentions.entries if not mention.stays} - kept_ids
    events += drop_entries(factory, [EventId(entry_id) for entry_id in sorted(erasable_ids)])
    if not events:
        return []
    # Recorded in the store as well, so that it refuses these values from now on.
    store.record(events)
    try:
        with backup.open_backup(file) as copy:
            backup.record(copy, events)
    except StoreError:
        return [ErasedLocation(name=name_backup(file), state="pending", detail=UNREADABLE_BACKUP)]
    return [ErasedLocation(name=name_backup(file), state="done", detail="erased there too")]


def _search_quarantine(home: Path, name: NamePattern) -> Iterator[Mention]:
    for file in sorted((home / QUARANTINE_FOLDER).glob("*")):
        if file.is_file():
            with file.open("rb") as raw:
                text = raw.read(LARGEST_FILE).decode("utf-8", "replace")
            if excerpt := name.excerpt(text):
                yield Mention(
                    sort=MentionSort.QUARANTINE, id=f"{QUARANTINE_FOLDER}/{file.name}", repo="", at="", excerpt=excerpt
                )


def _delete_items(home: Path, names: Sequence[str]) -> list[ErasedLocation]:
    for name in names:
        (home / name).unlink(missing_ok=True)
    return (
        [ErasedLocation(name=QUARANTINE_FOLDER, state="done", detail=f"files deleted: {len(names)}")] if names else []
    )


def _report_remaining(after: Mentions, chosen_ids: set[str]) -> ErasedLocation:
    """Report what a second search finds of the chosen mentions."""
    remaining_ids = [mention.id for mention in after.erasable if mention.id in chosen_ids]
    if remaining_ids:
        examples = ", ".join(mention_id[:12] for mention_id in remaining_ids[:5])
        detail = f"still there: {len(remaining_ids)} ({examples}); erase again"
        return ErasedLocation(name="second search", state="pending", detail=detail)
    if after.found:
        return ErasedLocation(
            name="second search", state="outside", detail=f"{len(after.found)} left as you chose, or not yours"
        )
    return ErasedLocation(name="second search", state="done", detail="nothing mentions it any more")


def _merge_places(places: Iterable[ErasedLocation]) -> list[ErasedLocation]:
    """Merge the reports on each place into one, with the worst state."""
    order: Mapping[str, int] = {"done": 0, "outside": 1, "pending": 2, "remains": 3}
    by_name: dict[str, ErasedLocation] = {}
    for place in places:
        earlier = by_name.get(place.name)
        if earlier is None or order[place.state] > order[earlier.state]:
            by_name[place.name] = place
        elif place.detail not in earlier.detail and place.state == earlier.state:
            by_name[place.name] = replace(earlier, detail=f"{earlier.detail}; {place.detail}")
    return list(by_name.values())
