"""Finds everything that names a person, customer, ticket or value, and erases what a person confirms."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hivemind.curate.erase import Targets, erase, load_ignoring_rollbacks, load_texts
from hivemind.curate.event_factory import EventFactory
from hivemind.curate.exclusion import compute_imprints, list_text_forms
from hivemind.errors import StoreError
from hivemind.model.erasure import ErasedLocation, Erasure
from hivemind.model.events import (
    NOT_FREE_TEXT,
    Event,
    Fact,
    MemoriesRecalled,
    MemoryErased,
    MemoryRemembered,
    MemoryRevised,
    ObservationMade,
    ObservationsDropped,
    RepositorySeen,
    WriteRefused,
)
from hivemind.model.ids import EventId, MemoryId
from hivemind.model.memory import Memory
from hivemind.model.reports import Mention, Mentions, MentionSort
from hivemind.model.scope import Scope
from hivemind.model.session import ObservationKind
from hivemind.model.team import Role
from hivemind.store import Store, backup, log
from hivemind.store.database import Database
from hivemind.store.projections import memories
from hivemind.store.repair import BACKUP_FOLDER
from hivemind.store.sqlite import Sqlite
from hivemind.text.names import NamePattern
from hivemind.text.normalise import digest_value

Progress = Callable[[int, int], None]

QUARANTINE = "quarantine"
"""The folder of input that could not be read."""
ORIGIN_FIELDS = {"owner", "actor", "directory", "model"}
"""Fields about the writer and the place, not about content; log headers keep the same values permanently."""
LARGEST_FILE = 1 << 24
"""Bytes of a quarantined file that are searched."""
REVIEWING_ROLES = (Role.REVIEWER, Role.ADMIN)
"""Roles that may erase what others own."""


@dataclass(slots=True)
class LogMentions:
    """Where a log mentions a name: entries, and for each memory its events with an excerpt."""

    entries: list[Mention] = field(default_factory=list)
    memories: dict[str, list[tuple[Event, str]]] = field(default_factory=dict)
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
    mentions += [mention for file in _list_backups(store) for mention in _search_backup(file, name, progress, kept_ids)]
    mentions += _search_quarantine(home, name)
    return Mentions(about=name.label, found=tuple(mentions))


def erase_mentions(
    store: Store,
    home: Path,
    factory: EventFactory,
    name: NamePattern,
    mentions: Sequence[Mention],
    kept: Set[str],
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
        for file in _list_backups(store)
        if _name_backup(file) in ids
        for place in _erase_in_backup(store, factory, file, name, kept)
    ]
    if backup_places:
        store.checkpoint()
    quarantine_places = _delete_items(
        home, [mention.id for mention in mentions if mention.sort is MentionSort.QUARANTINE]
    )
    remaining = _report_remaining(find_mentions(store, home, name, progress, kept), ids)
    return replace(receipt, places=(*_merge_places([*receipt.places, *backup_places]), *quarantine_places, remaining))


def _search_log(db: Database, name: NamePattern, progress: Progress) -> LogMentions:
    mentions = LogMentions()
    for event in log.find_events_matching(db, name.may_be_in, progress):
        # `containing` filters whole entries quickly; only a free text that names it counts as a mention.
        excerpt = next(filter(None, map(name.excerpt, _iterate_texts(event.fact))), "")
        if not excerpt:
            continue
        match event.fact:
            case ObservationMade() as observation:
                mentions.entries.append(
                    _make_mention(MentionSort.OBSERVATION, event, excerpt, session=observation.session_id)
                )
                if observation.seen is ObservationKind.PROMPT and not observation.subagent:
                    title = _make_mention(MentionSort.SESSION, event, excerpt, session=observation.session_id)
                    mentions.titles.setdefault(observation.session_id, replace(title, id=observation.session_id))
            case MemoriesRecalled() as recall:
                mentions.entries.append(_make_mention(MentionSort.QUESTION, event, excerpt, session=recall.session_id))
            case WriteRefused():
                mentions.entries.append(_make_mention(MentionSort.RECORD, event, excerpt))
            case RepositorySeen():
                stays = "the name of a repository or folder, which its entries contain"
                mentions.entries.append(_make_mention(MentionSort.RECORD, event, excerpt, stays=stays))
            case MemoryErased():
                stays = "the reason of an erasure, which its receipt keeps"
                mentions.entries.append(_make_mention(MentionSort.RECORD, event, excerpt, stays=stays))
            case fact if hasattr(fact, "memory_id"):
                mentions.memories.setdefault(event.about, []).append((event, excerpt))
            case _:
                stays = "a record of what was done to the store"
                mentions.entries.append(_make_mention(MentionSort.RECORD, event, excerpt, stays=stays))
    return mentions


def _make_mention(sort: MentionSort, event: Event, excerpt: str, *, session: str = "", stays: str = "") -> Mention:
    return Mention(
        sort=sort, id=event.id, repo=event.repo, at=event.at, excerpt=excerpt, session=session, stays=stays
    )  # fmt: skip


def _list_memories(store: Store, db: Database, log_mentions: LogMentions, name: NamePattern) -> Iterator[Mention]:
    current_memories = {memory.id: memory for memory in memories.get_all(db, log_mentions.memories)}
    for memory_id, entries in log_mentions.memories.items():
        # A memory that was rolled back is no longer listed, but its texts are still in the log.
        memory = current_memories.get(MemoryId(memory_id)) or load_ignoring_rollbacks(db, memory_id)
        event, excerpt = entries[-1]
        current_excerpt = memory is not None and name.excerpt(memory.text)
        if memory is not None and memory.trace:
            sort = MentionSort.TRACE
        else:
            sort = MentionSort.MEMORY if current_excerpt or not _is_version(event.fact) else MentionSort.VERSION
        stays = _explain_ownership(store, memory) if memory else ""
        yield replace(_make_mention(sort, event, current_excerpt or excerpt, stays=stays), id=memory_id)


def _is_version(fact: Fact) -> bool:
    return isinstance(fact, MemoryRemembered | MemoryRevised)


def _explain_ownership(store: Store, memory: Memory) -> str:
    """Return why this person may not erase a memory; empty if they may."""
    member = store.membership
    if (
        memory.scope is not Scope.TEAM
        or member is None
        or member.role in REVIEWING_ROLES
        or memory.owner == member.person
    ):
        return ""
    return f"not yours: ask {memory.owner} or a reviewer"


def _iterate_texts(node: Any) -> Iterator[str]:
    """Yield every free text in a fact; for an observation, without its working directory."""
    if isinstance(node, ObservationMade) and node.directory:
        # The directory is in the header of the entry, which stays; a path below it is not a mention.
        yield from (text.replace(node.directory, "") for text in _iterate_texts(replace(node, directory="")))
    elif dataclasses.is_dataclass(node):
        for attribute in dataclasses.fields(node):
            if attribute.name not in NOT_FREE_TEXT and attribute.name not in ORIGIN_FIELDS:
                yield from _iterate_texts(getattr(node, attribute.name))
    elif isinstance(node, tuple):
        for item in node:
            yield from _iterate_texts(item)
    # Not isinstance: enums are strings, too, and no free text.
    elif type(node) is str and node:
        yield node


def _list_backups(store: Store) -> list[Path]:
    return sorted((store.directory / BACKUP_FOLDER).glob("*.db")) if store.directory else []


def _name_backup(file: Path) -> str:
    return f"{BACKUP_FOLDER}/{file.name}"


def _search_backup(file: Path, name: NamePattern, progress: Progress, kept_ids: Set[str]) -> Iterator[Mention]:
    mention = Mention(sort=MentionSort.BACKUP, id=_name_backup(file), repo="", at="", excerpt="")
    try:
        with Sqlite.open_for_reading(file) as copy:
            log_mentions = _search_log(copy, name, progress)
    except StoreError:
        yield replace(
            mention, excerpt="(cannot be read)", stays="cannot be opened and may contain it; delete that file"
        )
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
        texts = {memory.id: load_texts(copy, [memory.id]) for memory in erased_memories}
    entry_ids = [
        EventId(mention.id) for mention in log_mentions.entries if not mention.stays and mention.id not in kept_ids
    ]
    events = [factory.about(memory, _make_erasure(store, memory, texts[memory.id])) for memory in erased_memories]
    events += [factory.event(ObservationsDropped(bodies=tuple(entry_ids)), Scope.USER, "")] if entry_ids else []
    if not events:
        return []
    # Recorded in the store as well, so that it refuses these values from now on.
    store.record(events)
    return _record_in_backup(file, events)


def _make_erasure(store: Store, memory: Memory, texts: set[str]) -> MemoryErased:
    all_texts = list_text_forms(memory, texts)
    values = tuple(sorted(digest_value(text, store.key_for(memory.scope)) for text in all_texts))
    return MemoryErased(memory_id=memory.id, values=values, imprints=compute_imprints(store, memory.scope, all_texts))


def _record_in_backup(file: Path, events: list[Event]) -> list[ErasedLocation]:
    try:
        with backup.open_backup(file) as copy:
            backup.record(copy, events)
    except StoreError:
        detail = "cannot be opened and may contain it; delete that file"
        return [ErasedLocation(name=_name_backup(file), state="pending", detail=detail)]
    return [ErasedLocation(name=_name_backup(file), state="done", detail="erased there too")]


def _search_quarantine(home: Path, name: NamePattern) -> Iterator[Mention]:
    for file in sorted((home / QUARANTINE).glob("*")):
        if file.is_file():
            with file.open("rb") as raw:
                text = raw.read(LARGEST_FILE).decode("utf-8", "replace")
            if excerpt := name.excerpt(text):
                yield Mention(
                    sort=MentionSort.QUARANTINE, id=f"{QUARANTINE}/{file.name}", repo="", at="", excerpt=excerpt
                )


def _delete_items(home: Path, names: Sequence[str]) -> list[ErasedLocation]:
    for name in names:
        (home / name).unlink(missing_ok=True)
    return [ErasedLocation(name=QUARANTINE, state="done", detail=f"files deleted: {len(names)}")] if names else []


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
