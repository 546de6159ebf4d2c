"""Finds everything that names a person, customer, ticket or value, and erases what a person confirms of it."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hivemind.curate.erase import Targets, erase, last_known
from hivemind.curate.exclusion import compute_imprints, list_text_forms
from hivemind.curate.pen import Pen
from hivemind.errors import StoreError
from hivemind.model.erasure import Erasure, Place
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
from hivemind.model.naming import Name
from hivemind.model.reports import Mention, Mentions, Sort
from hivemind.model.scope import Scope
from hivemind.model.session import Seen
from hivemind.model.team import Role
from hivemind.model.values import value
from hivemind.store import Store, backup, log
from hivemind.store.database import Database
from hivemind.store.projections import memories
from hivemind.store.repair import FOLDER
from hivemind.store.sqlite import Sqlite

Progress = Callable[[int, int], None]

QUARANTINE = "quarantine"
"""The folder for what could not be read."""
BY_WHOM_AND_WHERE = {"owner", "actor", "directory", "model"}
"""Fields that say who spoke and where, not what was said; headers of the log keep the same for ever."""
LARGEST = 1 << 24
"""Bytes of a quarantined file that are looked at."""
AT_ONCE = 500
SETTLED_BY = (Role.REVIEWER, Role.ADMIN)


@dataclass(slots=True)
class Found:
    """What one log says about a name: a log entry each, and for memories all that was said of them."""

    entries: list[Mention] = field(default_factory=list)
    memories: dict[str, list[tuple[Event, str]]] = field(default_factory=dict)
    titles: dict[str, Mention] = field(default_factory=dict)
    """Sessions by the prompt that they are listed under."""


def find(store: Store, home: Path, name: Name, progress: Progress, kept: Set[str] = frozenset()) -> Mentions:
    """Everything in this store that names something: its log, its backups and its quarantine.

    What is ``kept`` here is no reason to list a backup.
    """
    found = _in_log(store.db, name, progress)
    mentions = [*_memories(store, store.db, found, name), *found.titles.values(), *found.entries]
    mentions += [one for file in _backups(store) for one in _in_backup(file, name, progress, kept)]
    mentions += _in_quarantine(home, name)
    return Mentions(about=name.written, found=tuple(mentions))


def erase_chosen(
    store: Store,
    home: Path,
    pen: Pen,
    name: Name,
    mentions: Sequence[Mention],
    kept: Set[str],
    reason: str,
    progress: Progress,
) -> Erasure:
    """Erase what was chosen, look again, and say in one receipt what became of it."""
    ids = {one.id for one in mentions}
    whole = [one for one in mentions if one.sort in (Sort.MEMORY, Sort.VERSION, Sort.TRACE)]
    entries = [EventId(one.id) for one in mentions if one.sort in (Sort.OBSERVATION, Sort.QUESTION, Sort.RECORD)]
    doomed = [memory for one in whole if (memory := last_known(store.db, one.id))]
    receipt = erase(store, pen, Targets(memories=tuple(doomed), entries=tuple(entries)), reason, home=home)
    copies = [
        place for file in _backups(store) if _label(file) in ids for place in _erase_there(store, pen, file, name, kept)
    ]
    if copies:
        store.fold_in_log()
    aside = _discard(home, [one.id for one in mentions if one.sort is Sort.QUARANTINE])
    left = _left(find(store, home, name, progress, kept), ids)
    return replace(receipt, places=(*_merged([*receipt.places, *copies]), *aside, left))


def _in_log(db: Database, name: Name, progress: Progress) -> Found:
    found = Found()
    for event in log.containing(db, name.may_be_in, progress):
        excerpt = next(filter(None, map(name.excerpt, _said(event.fact))), "")
        if not excerpt:
            continue
        match event.fact:
            case ObservationMade() as seen:
                found.entries.append(_mention(Sort.OBSERVATION, event, excerpt, session=seen.session_id))
                if seen.seen is Seen.PROMPT and not seen.subagent:
                    title = _mention(Sort.SESSION, event, excerpt, session=seen.session_id)
                    found.titles.setdefault(seen.session_id, replace(title, id=seen.session_id))
            case MemoriesRecalled() as asked:
                found.entries.append(_mention(Sort.QUESTION, event, excerpt, session=asked.session_id))
            case WriteRefused():
                found.entries.append(_mention(Sort.RECORD, event, excerpt))
            case RepositorySeen():
                stays = "the name of a repository or folder, which its entries carry"
                found.entries.append(_mention(Sort.RECORD, event, excerpt, stays=stays))
            case MemoryErased():
                stays = "the reason of an erasure, which its receipt keeps"
                found.entries.append(_mention(Sort.RECORD, event, excerpt, stays=stays))
            case fact if hasattr(fact, "memory_id"):
                found.memories.setdefault(event.about, []).append((event, excerpt))
            case _:
                stays = "a record of what was done to the store"
                found.entries.append(_mention(Sort.RECORD, event, excerpt, stays=stays))
    return found


def _mention(sort: Sort, event: Event, excerpt: str, *, session: str = "", stays: str = "") -> Mention:
    return Mention(
        sort=sort, id=event.id, repo=event.repo, at=event.at, excerpt=excerpt, session=session, stays=stays
    )  # fmt: skip


def _memories(store: Store, db: Database, found: Found, name: Name) -> Iterator[Mention]:
    today = {one.id: one for one in memories.get_all(db, found.memories)}
    for memory_id, sayings in found.memories.items():
        memory = today.get(MemoryId(memory_id)) or last_known(db, memory_id)
        event, excerpt = sayings[-1]
        says_now = memory is not None and name.excerpt(memory.text)
        if memory is not None and memory.trace:
            sort = Sort.TRACE
        else:
            sort = Sort.MEMORY if says_now or not _is_version(event.fact) else Sort.VERSION
        stays = _whose(store, memory) if memory else ""
        yield replace(_mention(sort, event, says_now or excerpt, stays=stays), id=memory_id)


def _is_version(fact: Fact) -> bool:
    return isinstance(fact, MemoryRemembered | MemoryRevised)


def _whose(store: Store, memory: Memory) -> str:
    """Why a memory is not this person's to erase; empty if it is."""
    member = store.membership
    if memory.scope is not Scope.TEAM or member is None or member.role in SETTLED_BY or memory.owner == member.person:
        return ""
    return f"not yours: ask {memory.owner} or a reviewer"


def _said(said: Any) -> Iterator[str]:
    """Every piece of free text in a fact; of what was observed, without the folder it was observed in."""
    if isinstance(said, ObservationMade) and said.directory:
        yield from (text.replace(said.directory, "") for text in _said(replace(said, directory="")))
    elif dataclasses.is_dataclass(said):
        for one in dataclasses.fields(said):
            if one.name not in NOT_FREE_TEXT and one.name not in BY_WHOM_AND_WHERE:
                yield from _said(getattr(said, one.name))
    elif isinstance(said, tuple):
        for item in said:
            yield from _said(item)
    elif type(said) is str and said:
        yield said


def _backups(store: Store) -> list[Path]:
    return sorted((store.directory / FOLDER).glob("*.db")) if store.directory else []


def _label(file: Path) -> str:
    return f"{FOLDER}/{file.name}"


def _in_backup(file: Path, name: Name, progress: Progress, kept: Set[str]) -> Iterator[Mention]:
    one = Mention(sort=Sort.BACKUP, id=_label(file), repo="", at="", excerpt="")
    try:
        with Sqlite.open_for_reading(file) as copy:
            found = _in_log(copy, name, progress)
    except StoreError:
        yield replace(one, excerpt="(cannot be read)", stays="it cannot be opened and may hold it; remove that file")
        return
    count = len({*found.memories, *(entry.id for entry in found.entries if not entry.stays)} - kept)
    if count:
        yield replace(one, excerpt="one entry names it" if count == 1 else f"{count} entries name it")


def _erase_there(store: Store, pen: Pen, file: Path, name: Name, kept: Set[str]) -> list[Place]:
    """Erase from a copy what still names it there: the store may have let go of it long ago."""
    with Sqlite.open_for_reading(file) as copy:
        found = _in_log(copy, name, lambda done, total: None)
        gone = [memory for one in found.memories if one not in kept and (memory := last_known(copy, one))]
        texts = {memory.id: _texts(copy, memory) for memory in gone}
    lost = [EventId(one.id) for one in found.entries if not one.stays and one.id not in kept]
    events = [pen.about(memory, _erasure(store, memory, texts[memory.id])) for memory in gone]
    events += [pen.event(ObservationsDropped(bodies=tuple(lost)), Scope.USER, "")] if lost else []
    if not events:
        return []
    store.record(events)
    return _kept_out(file, events)


def _erasure(store: Store, memory: Memory, texts: set[str]) -> MemoryErased:
    said = list_text_forms(memory, texts)
    values = tuple(sorted(value(text, store.key_for(memory.scope)) for text in said))
    return MemoryErased(memory_id=memory.id, values=values, imprints=compute_imprints(store, memory.scope, said))


def _texts(db: Database, memory: Memory) -> set[str]:
    facts = [event.fact for event in log.about(db, memory.id)]
    return {fact.text for fact in facts if isinstance(fact, MemoryRemembered | MemoryRevised) and fact.text}


def _kept_out(file: Path, events: list[Event]) -> list[Place]:
    try:
        with backup.opened(file) as copy:
            backup.record(copy, events)
    except StoreError:
        detail = "it cannot be opened and may hold it; remove that file"
        return [Place(name=_label(file), state="pending", detail=detail)]
    return [Place(name=_label(file), state="done", detail="erased there too")]


def _in_quarantine(home: Path, name: Name) -> Iterator[Mention]:
    for file in sorted((home / QUARANTINE).glob("*")):
        if file.is_file():
            with file.open("rb") as raw:
                text = raw.read(LARGEST).decode("utf-8", "replace")
            if excerpt := name.excerpt(text):
                yield Mention(sort=Sort.QUARANTINE, id=f"{QUARANTINE}/{file.name}", repo="", at="", excerpt=excerpt)


def _discard(home: Path, names: Sequence[str]) -> list[Place]:
    for one in names:
        (home / one).unlink(missing_ok=True)
    return [Place(name=QUARANTINE, state="done", detail=f"{len(names)} files removed")] if names else []


def _left(after: Mentions, wanted: set[str]) -> Place:
    """What a second look finds: nothing of what was chosen, or it is named."""
    again = [one.id for one in after.erasable if one.id in wanted]
    if again:
        named = ", ".join(one[:12] for one in again[:5])
        return Place(name="looked again", state="pending", detail=f"{len(again)} still name it: {named}; run it again")
    if after.found:
        return Place(name="looked again", state="outside", detail=f"{len(after.found)} left as you chose, or not yours")
    return Place(name="looked again", state="done", detail="nothing here names it any more")


def _merged(places: Iterable[Place]) -> list[Place]:
    """A line for each place, with the worst that was said of it."""
    order: Mapping[str, int] = {"done": 0, "outside": 1, "pending": 2, "remains": 3}
    merged: dict[str, Place] = {}
    for place in places:
        before = merged.get(place.name)
        if before is None or order[place.state] > order[before.state]:
            merged[place.name] = place
        elif place.detail not in before.detail and place.state == before.state:
            merged[place.name] = replace(before, detail=f"{before.detail}; {place.detail}")
    return list(merged.values())
