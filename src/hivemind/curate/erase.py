"""Deletion that really deletes, and says of each place whether it is done.

An erasure is noted on disk first (``unfinished``). One transaction then destroys the memories with every version, what
was derived from them, and whatever else in the log quotes them (``model/quotation.py`` says what counts as quoting).
Files beside the store and backups are cleaned, everything below the home directory is searched, and the receipt is
recorded. A crash anywhere is finished on the next open.
"""

import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from hivemind.curate import residue, unfinished
from hivemind.curate.exclusion import compute_imprints, list_text_forms
from hivemind.curate.pen import Pen
from hivemind.curate.unfinished import Plan
from hivemind.errors import StoreError
from hivemind.model.erasure import Erasure, Place
from hivemind.model.events import (
    ErasureFinished,
    Event,
    MemoryErased,
    MemoryRemembered,
    MemoryRevised,
    MemoryRolledBack,
    ObservationsDropped,
)
from hivemind.model.ids import EventId, MemoryId, short
from hivemind.model.life import memory_from
from hivemind.model.memory import Memory
from hivemind.model.moments import written
from hivemind.model.quotation import Quotation, Run
from hivemind.model.scope import Scope, Sight
from hivemind.model.values import value
from hivemind.model.writer import Writer
from hivemind.store import FILE, Store, backup, ballast, checkup, log
from hivemind.store.database import Database
from hivemind.store.projections import memories, receipts
from hivemind.store.repair import FOLDER
from hivemind.store.sqlite import Sqlite

FEWEST_WORDS_OF_A_MEMORY = 6
"""So many words of the erased text in another memory are worth naming; two claims often begin with the same few."""
FEWEST_WORDS_OF_METADATA, SHORTEST_NAME = 3, 8
"""A value of metadata is looked for elsewhere from so many words on, or as a name with digits of so many characters."""
EVERYWHERE = Sight(repos=(), everywhere=True)
"""A receipt belongs to no repository."""
NAMED = 5
"""So many of the other memories that quote it are named one by one."""
BEING_READ = "another process still reads the old pages; it is tried again when the store is opened next"


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """What to erase: memories, log entries that only repeat (observations, receipts, refusals), and more texts."""

    memories: tuple[Memory, ...] = ()
    entries: tuple[EventId, ...] = ()
    texts: tuple[str, ...] = ()
    """Looked for in addition to everything that the memories ever said."""


@dataclass(frozen=True, slots=True)
class Quoting:
    """What quotes the texts and is not among what is erased anyway."""

    entries: list[EventId] = field(default_factory=list)
    """Entries whose content goes."""
    memories: dict[str, list[Run]] = field(default_factory=dict)
    """Other memories that say some of it."""
    reasons: list[log.Saying] = field(default_factory=list)
    """Other entries that quote it, such as why another memory was taken back."""


def erase(store: Store, pen: Pen, targets: Targets, reason: str = "", *, home: Path | None = None) -> Erasure:
    """Destroy targets and all that came of them, look whether a trace is left, and record the receipt.

    ``home`` is the folder in which every file is searched; without one, the store's own.
    """
    if store.directory and ballast.is_needed(store.directory):
        ballast.release(store.directory)
    with unfinished.noted(store.directory, _planned(store, pen, targets, reason)) as note:
        return _carried_out(store, pen, note, home)


def finish(store: Store, clock: Callable[[], datetime], *, home: Path | None = None) -> list[Erasure]:
    """Carry out the erasures that were begun and broke off."""
    done: list[Erasure] = []
    for note in unfinished.notes(store.directory) if store.directory else ():
        plan = note.plan
        writer = Writer(actor=plan.actor, channel=plan.channel, session_id=plan.session)
        done.append(_carried_out(store, Pen(writer=writer, clock=clock, redact=str), note, home))
    return done


def receipt_of(db: Database, batch: str) -> Erasure | None:
    """The newest receipt of an erasure, by the name of its batch."""
    found = log.entries(db, EVERYWHERE, batch=batch, facts=["erasure.finished"], limit=1) if batch else []
    fact = found[0].event.fact if found and found[0].event else None
    if not isinstance(fact, ErasureFinished):
        return None
    return Erasure(memories=fact.memories, at=fact.at, places=fact.places, batch=batch)


def note_receipt(store: Store, pen: Pen, receipt: Erasure) -> None:
    """Record what a receipt says now."""
    ids = tuple(MemoryId(one) for one in receipt.memories)
    fact = ErasureFinished(at=receipt.at, memories=ids, places=receipt.places)
    store.record([replace(pen, batch=receipt.batch).event(fact, Scope.USER, "")])


def follow(store: Store, pen: Pen, erased: Iterable[str], *, home: Path | None = None) -> list[Event]:
    """What has to go from here because others erased these memories: what repeats them or was derived from them.

    Ask before their content goes; a person's own memories that merely say the same stay theirs.
    """
    gone = set(erased)
    derived = {one.id: one for source in gone for one in _derived(store, source) if one.scope is not Scope.TEAM}
    texts = _texts(store, {*gone, *derived}) | _metadata(store, {*gone, *derived})
    if not texts:
        return []
    quotation = Quotation.of(texts)
    doomed = [*memories.get_all(store.db, gone), *derived.values()]
    if store.directory:
        list(residue.clean(dict.fromkeys((home or store.directory, store.directory)), quotation))
    quoting = _quoting(store.db, quotation, {*gone, *derived})
    others = log.with_content(store.db, {*_traces(store.db, doomed, quotation), *quoting.entries})
    why = "the team erased what it repeated"
    return [*_goodbyes(store, pen, list(derived.values()), why), *_dropped(pen, others)]


def with_derived(store: Store, targets: Targets) -> list[Memory]:
    """The memories of a target, and all that were derived from them."""
    known = {memory.id: memory for memory in targets.memories}
    return list({**known, **{one.id: one for source in known for one in _derived(store, source)}}.values())


def _planned(store: Store, pen: Pen, targets: Targets, reason: str) -> Plan:
    doomed = with_derived(store, targets)
    ids = [one.id for one in doomed]
    texts = sorted(_texts(store, ids) | _metadata(store, ids) | set(targets.texts))
    quotation, outside, reason = Quotation.of(texts), list(_outside(doomed)), pen.redact(reason)
    if reason and quotation.runs_in(reason):
        reason = ""
        outside.append(Place(name="reason", state="done", detail="not recorded, as it quotes what is erased"))
    return Plan(
        batch=f"erase-{secrets.token_hex(6)}", at=written(pen.clock()), actor=pen.writer.actor,
        channel=pen.writer.channel, session=pen.writer.session_id, reason=reason,
        memories=tuple(one.id for one in doomed), texts=tuple(texts),
        entries=tuple(sorted({*targets.entries, *_traces(store.db, doomed, quotation)})), places=tuple(outside),
    )  # fmt: skip


def _carried_out(store: Store, pen: Pen, note: unfinished.Note, home: Path | None) -> Erasure:
    plan, quotation = note.plan, Quotation.of(note.plan.texts)
    pen = replace(pen, batch=plan.batch)
    with store.db.transaction():
        quoting = _quoting(store.db, quotation, plan.memories)
        others = log.with_content(store.db, {*plan.entries, *quoting.entries})
        doomed = [memory for one in plan.memories if (memory := last_known(store.db, one))]
        store.record([*_goodbyes(store, pen, doomed, plan.reason), *_dropped(pen, others)])
    places = [Place(name="memories", state="done", detail="with every version, their words and vectors")]
    places += [Place(name="log", state="done", detail=f"other entries whose content went with it: {len(others)}")]
    remaining = list(_remaining(quoting))
    places += remaining
    if store.directory:
        home = home or store.directory
        raw = [one for one in residue.stretches(plan.texts) if not store.db.index.is_said_elsewhere(one, plan.memories)]
        places += residue.clean(dict.fromkeys((home, store.directory)), quotation)
        places += _backups(store, pen, plan, quotation, raw)
        is_folded = store.fold_in_log()
        places += _files(store, home, quotation, raw, is_folded=is_folded, is_named=bool(remaining))
    else:
        is_folded = True
        places += store.sweep(plan.at)
    receipt = Erasure(memories=plan.memories, at=plan.at, places=(*places, *plan.places), batch=plan.batch)
    note_receipt(store, pen, receipt)
    if is_folded:
        note.remove()
    return receipt


def last_known(db: Database, memory_id: str) -> Memory | None:
    """A memory as it is, or as it was before a rollback took it away."""
    return memory_from(event for event in log.about(db, memory_id) if not isinstance(event.fact, MemoryRolledBack))


def _derived(store: Store, memory_id: str) -> list[Memory]:
    """Everything that was derived from a memory, and from that in turn."""
    found: dict[str, Memory] = {}
    queue = [memory_id]
    while queue:
        source = queue.pop()
        copies = memories.get_all(store.db, log.published(store.db, source))
        for one in [*memories.derived_from(store.db, source), *copies]:
            if one.id not in found and one.id != memory_id:
                found[one.id] = one
                queue.append(one.id)
    return list(found.values())


def _texts(store: Store, doomed: Iterable[str]) -> set[str]:
    """Everything these memories ever said, rival edits and what was rolled back among it."""
    facts = [event.fact for one in doomed for event in log.about(store.db, one)]
    return {fact.text for fact in facts if isinstance(fact, MemoryRemembered | MemoryRevised) and fact.text}


def _metadata(store: Store, doomed: Iterable[str]) -> set[str]:
    """The strings in the metadata these memories ever had; the word of a language or a purpose gives nothing away."""
    facts = [event.fact for one in doomed for event in log.about(store.db, one)]
    values = {value for fact in facts for value in getattr(fact, "metadata", {}).values() if isinstance(value, str)}
    return {value for value in values if len(value.split()) >= FEWEST_WORDS_OF_METADATA or _is_unusual(value)}


def _is_unusual(word: str) -> bool:
    return len(word) >= SHORTEST_NAME and any(map(str.isdigit, word))


def _traces(db: Database, doomed: Sequence[Memory], quotation: Quotation) -> set[EventId]:
    """The observations that memories were read from, and the questions they answered that have their words."""
    sources = {EventId(source.event) for one in doomed for source in one.sources if source.event}
    questions = receipts.questions(db, [one.id for one in doomed])
    return sources | {entry for entry, question in questions if quotation.is_asked_in(question)}


def _goodbyes(store: Store, pen: Pen, doomed: Sequence[Memory], reason: str) -> list[Event]:
    """An erasure of each, with digests by which its values stay out."""
    texts = {form for one in doomed for form in list_text_forms(one, _texts(store, [one.id]))}
    stones = {
        scope: tuple(sorted(value(text, store.key_for(scope)) for text in texts))
        for scope in {one.scope for one in doomed}
    }
    return [pen.about(one, _erasure(store, one, stones[one.scope], reason)) for one in doomed]


def _erasure(store: Store, memory: Memory, values: tuple[str, ...], reason: str) -> MemoryErased:
    left = compute_imprints(store, memory.scope, list_text_forms(memory, _texts(store, [memory.id])))
    return MemoryErased(memory_id=memory.id, values=values, imprints=left, reason=reason)


def _dropped(pen: Pen, others: Sequence[EventId]) -> list[Event]:
    """That entries went which repeated it; this stays here, whatever travels to a team."""
    dropped = ObservationsDropped(bodies=tuple(others), reason="repeated what was erased")
    return [pen.event(dropped, Scope.USER, "")] if others else []


def _quoting(db: Database, quotation: Quotation, doomed: Iterable[str]) -> Quoting:
    """Who else says it: entries that go with it, and other memories and reasons, which are a person's to decide on."""
    passed_over, found = set(doomed), Quoting()
    repeating: list[tuple[log.Saying, list[Run]]] = []
    texts: dict[str, list[str]] = {}
    for entry in log.saying(db, quotation.patterns, quotation.is_possible_in):
        runs = quotation.runs_in(entry.content) if entry.about not in passed_over or entry.may_go else []
        if not runs or entry.fact in ("memory.erased", "erasure.finished"):
            continue
        if entry.may_go:
            repeating.append((entry, runs))
            continue
        told = json.loads(entry.content)
        told.pop("reason", None)
        said = quotation.runs_in(json.dumps(told, ensure_ascii=False))
        if said and entry.fact.startswith("memory."):
            found.memories.setdefault(entry.about, []).extend(said)
            texts.setdefault(entry.about, []).append(str(told.get("text", "")))
        else:
            found.reasons.append(entry)
    others = [(Quotation.of(texts[memory_id]), runs) for memory_id, runs in found.memories.items()]
    found.entries.extend(entry.id for entry, runs in repeating if not _is_of_others(entry.content, runs, others))
    return found


def _is_of_others(content: str, runs: Iterable[Run], others: Iterable[tuple[Quotation, list[Run]]]) -> bool:
    """Whether all that a content repeats comes from other memories, which it quotes as well."""
    said = [run for text, their_runs in others if text.runs_in(content) for run in their_runs]
    return all(run.is_within(said) for run in runs)


def _remaining(quoting: Quoting) -> Iterator[Place]:
    """What still says it and was not asked to go."""
    worth_naming = {
        memory_id: max(runs, key=lambda run: run.stop - run.start)
        for memory_id, runs in quoting.memories.items()
        if any(run.is_whole or run.stop - run.start >= FEWEST_WORDS_OF_A_MEMORY for run in runs)
    }
    for memory_id, run in list(worth_naming.items())[:NAMED]:
        said = "contains all of it" if run.is_whole else f"contains {run.stop - run.start} of its {run.of} words"
        detail = f"{said}; to erase it too: hivemind erase {short(memory_id)}"
        yield Place(name=f"memory {short(memory_id)}", state="remains", detail=detail)
    if len(worth_naming) > NAMED:
        yield Place(name="other memories", state="remains", detail=f"{len(worth_naming) - NAMED} more contain it")
    for entry in quoting.reasons:
        remedy = f"; it goes with that memory: hivemind erase {short(entry.about)}" if entry.about else ""
        yield Place(name=f"log entry {entry.id}", state="remains", detail=f"a {entry.fact} quotes it{remedy}")


def _backups(store: Store, pen: Pen, plan: Plan, quotation: Quotation, raw: list[str]) -> Iterator[Place]:
    """Copies beside the store lose it too."""
    assert store.directory is not None
    files = sorted((store.directory / FOLDER).glob("*.db"))
    recorded = [event for one in plan.memories if files for event in log.about(store.db, one)]
    events = [event for event in recorded if isinstance(event.fact, MemoryErased)]
    for file in files:
        name = f"{FOLDER}/{file.name}"
        try:
            with backup.opened(file) as copy:
                yield from _in_copy(copy, pen, plan, quotation, events, name)
            if residue.holds_bytes(file, _encoded(raw)) and not _is_explained(file, raw):
                yield Place(name=name, state="remains", detail="pages of it still hold it; remove that file")
        except (StoreError, *checkup.UNREADABLE):
            yield Place(name=name, state="pending", detail="it cannot be opened and may hold it; remove that file")


def _in_copy(
    copy: Sqlite, pen: Pen, plan: Plan, quotation: Quotation, events: list[Event], name: str
) -> Iterator[Place]:
    quoting = _quoting(copy, quotation, plan.memories)
    others = log.with_content(copy, {*plan.entries, *quoting.entries})
    is_held = bool(others or log.ids_about(copy, plan.memories))
    if is_held:
        backup.record(copy, [*events, *_dropped(pen, others)])
    remaining = [place.name for place in _remaining(quoting)]
    if remaining:
        yield Place(name=name, state="remains", detail=f"erased there too, but not {', '.join(remaining)}")
    elif is_held:
        yield Place(name=name, state="done", detail="erased there too")


def _is_explained(file: Path, raw: list[str]) -> bool:
    """Whether an entry that stays has these bytes, too few of its words to be a quotation."""
    with Sqlite.open_for_reading(file) as copy:
        return log.holds(copy, raw)


def _files(
    store: Store, home: Path, quotation: Quotation, raw: list[str], *, is_folded: bool, is_named: bool
) -> Iterator[Place]:
    """Every file below the home directory, after the write-ahead log was folded in.

    ``is_named`` says that the receipt names entries of the store that still have it.
    """
    assert store.directory is not None
    own = [store.directory / f"{FILE}{suffix}" for suffix in ("", "-wal", "-shm")]
    if not is_folded:
        yield Place(name="files", state="pending", detail=BEING_READ)
    elif any(residue.holds_bytes(file, _encoded(raw)) for file in own) and not log.holds(store.db, raw):
        why = "pages that nothing uses still hold it, which should never be; 'hivemind doctor' looks at the file"
        yield Place(name="files", state="remains", detail=why)
    elif is_named:
        yield Place(name="files", state="remains", detail=f"{FILE} holds what is named above")
    else:
        yield Place(name="files", state="done", detail="no byte of it is left")
    copies = (store.directory / FOLDER).glob("*.db")
    for file in residue.left_in(home, quotation, raw, [*own, *copies]):
        yield Place(name=str(file.relative_to(home)), state="remains", detail=_advice(file, home))


def _advice(file: Path, home: Path) -> str:
    if not os.access(file, os.R_OK):
        return "it cannot be read and may hold it; look into it"
    if file.is_relative_to(home / "index"):
        return "the code of a working tree says it; this copy of it can be deleted at any time"
    if file.name.startswith(FILE):
        return "another store says it; erase it there: hivemind --store NAME erase ID"
    return "it quotes what was erased; edit or remove that file"


def _encoded(raw: Iterable[str]) -> list[bytes]:
    return [piece.encode("utf-8", "replace") for piece in raw]


def _outside(doomed: list[Memory]) -> Iterator[Place]:
    """Copies that are not ours to destroy, named so that a person can."""
    sources = [source for one in doomed for source in one.sources]
    told = [(f"{one.actor or 'agent'} transcript", f"session {one.session_id}") for one in sources if one.session_id]
    told += [(one.file, f"lines {one.lines or 'unknown'}") for one in sources if one.file]
    told += [("exports", "files you exported, backups kept elsewhere")]
    if any(one.scope is Scope.TEAM for one in doomed):
        told += [("backups of teammates", "copies that others made of their stores keep it until they erase it there")]
    for name, detail in dict.fromkeys(told):
        yield Place(name=name, state="outside", detail=detail)
