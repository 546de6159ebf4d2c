"""Erases memories permanently, and reports for each place whether it is done.

The plan of an erasure is saved to disk first (``unfinished``). One transaction then destroys the memories with every
version, what was derived from them, and other log entries that quote them (``erase/quotation.py`` defines quoting).
Then files beside the store and backups are cleaned, everything below the home directory is searched, and the receipt is
recorded. After a crash, the next opening of the store finishes the erasure.
"""

import json
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from hivemind.erase import residue, unfinished
from hivemind.erase.quotation import Quotation, QuotedRun, list_content_words
from hivemind.erase.unfinished import ErasurePlan
from hivemind.errors import StoreError
from hivemind.model.erasure import ErasedLocation, Erasure
from hivemind.model.events import (
    ErasureFinished,
    Event,
    MemoryErased,
    MemoryRemembered,
    MemoryRevised,
    MemoryRolledBack,
    ObservationsDropped,
)
from hivemind.model.fold import fold_memory
from hivemind.model.ids import EventId, MemoryId, shorten_id
from hivemind.model.memory import Channel, Memory, Writer, strip_heading
from hivemind.model.scope import Scope, Visibility
from hivemind.model.timestamps import format_timestamp
from hivemind.store import backup, disk_space, integrity, log
from hivemind.store.database import Database
from hivemind.store.event_factory import EventFactory
from hivemind.store.projections import memories, receipts
from hivemind.store.repair import BACKUP_FOLDER
from hivemind.store.sqlite import Sqlite
from hivemind.store.store import FILE, Store
from hivemind.text.imprint import digest_value, make_imprint

FEWEST_WORDS_OF_A_MEMORY = 6
"""Another memory is reported from so many words of the erased text on; many claims share their first few words."""
FEWEST_WORDS_OF_METADATA, FEWEST_WORDS_OF_A_TRACE, SHORTEST_NAME = 3, 4, 8
"""Metadata and parts of a trace are searched for from so many words on, or as a name with digits of so many letters."""
ANY_REPOSITORY = Visibility(repos=(), everywhere=True)
"""A receipt belongs to no repository."""
BATCH_PREFIX = "erase-"
MOST_RECEIPTS = 1_000
"""Versions of a receipt that are looked at; each machine that confirms an erasure adds one."""
MOST_NAMED = 5
"""How many other memories that quote the text are reported one by one."""
UNREADABLE_BACKUP = "cannot be opened and may contain it; delete that file"
UNUSED_PAGES = "unused pages still contain it, which should not happen; run 'hivemind doctor'"
IN_A_HEADER = "the name of a session, author or repository contains it, which entries keep"
ERASURE_RECORDS = ("memory.erased", "erasure.finished")
LINE_NUMBERS = re.compile(r"[\d\s,:L-]*")
PAGES_IN_USE = "another process is still reading old pages; this is retried when the store is opened next"


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """What to erase: memories, log entries that only repeat (observations, receipts, refusals), and further texts."""

    memories: tuple[Memory, ...] = ()
    entries: tuple[EventId, ...] = ()
    texts: tuple[str, ...] = ()
    """Searched for in addition to every text that the memories ever had."""


@dataclass(frozen=True, slots=True)
class Quotations:
    """Where the erased texts are quoted, apart from what is erased anyway."""

    entries: list[EventId] = field(default_factory=list)
    """Entries whose content is erased, too."""
    memories: dict[str, list[QuotedRun]] = field(default_factory=dict)
    """Other memories that contain some of the words."""
    reasons: list[log.QuotingEntry] = field(default_factory=list)
    """Other entries that quote a text, such as the reason why another memory was retracted."""


def erase(
    store: Store, factory: EventFactory, targets: Targets, reason: str = "", *, home: Path | None = None
) -> Erasure:
    """Erase targets and everything derived from them, search for remaining copies, and record the receipt.

    Every file below ``home`` is searched; without it, below the store's own directory.
    """
    # Erasing must work on a full disk, too.
    if store.directory and disk_space.is_disk_full(store.directory):
        disk_space.release(store.directory)
    plan = _plan(store, factory, targets, reason)
    with unfinished.save_plan(store.directory, plan) as note:
        return carry_out(store, factory, note, plan, Quotation.of(plan.texts), home)


def finish_by_notes(store: Store, clock: Callable[[], datetime], *, home: Path | None = None) -> list[Path]:
    """Finish the erasures that a crash interrupted, by their notes; return the notes that are damaged."""
    damaged_notes: list[Path] = []
    for note in unfinished.load_notes(store.directory) if store.directory else ():
        if note.plan is None:
            damaged_notes += [note.file] if note.file else []
            continue
        carry_out(store, make_factory(note.plan, clock), note, note.plan, Quotation.of(note.plan.texts), home)
    return damaged_notes


def make_factory(plan: ErasurePlan, clock: Callable[[], datetime]) -> EventFactory:
    """Make the factory that goes on in the name of whoever asked for an erasure."""
    writer = Writer(actor=plan.actor, channel=plan.channel, session_id=plan.session)
    # No redaction is needed: the plan's reason was redacted before it was saved.
    return EventFactory(writer=writer, clock=clock, redact=str)


def load_receipt(db: Database, batch: str) -> Erasure | None:
    """Load the newest receipt of an erasure by its batch; None if there is none."""
    if not batch:
        return None
    entries = log.read_entries(db, ANY_REPOSITORY, batch=batch, facts=["erasure.finished"], limit=MOST_RECEIPTS)
    # After a backup was restored, other machines return the entries that this one wrote, without their content.
    facts = (entry.event.fact for entry in entries if entry.event)
    fact = next((fact for fact in facts if isinstance(fact, ErasureFinished)), None)
    return Erasure(memories=fact.memories, at=fact.at, places=fact.places, batch=batch) if fact else None


def record_receipt(store: Store, factory: EventFactory, receipt: Erasure) -> None:
    """Record a receipt as it is now."""
    ids = tuple(MemoryId(memory_id) for memory_id in receipt.memories)
    fact = ErasureFinished(at=receipt.at, memories=ids, places=receipt.places)
    store.record([replace(factory, batch=receipt.batch).event(fact, Scope.USER, "")])


def follow_erasure(
    store: Store, factory: EventFactory, erased_ids: Iterable[str], *, home: Path | None = None
) -> list[Event]:
    """Make the events that erase what repeats or was derived from memories that were erased on another machine.

    Call it before the content of those memories is gone. A person's own memories with the same text stay.
    """
    ids = set(erased_ids)
    derived_memories = {
        memory.id: memory for source in ids for memory in _find_derived(store, source) if memory.scope is not Scope.TEAM
    }
    texts = load_texts_and_details(store.db, {*ids, *derived_memories})
    if not texts:
        return []
    quotation = Quotation.of(texts)
    erased_memories = [*memories.get_all(store.db, ids), *derived_memories.values()]
    if store.directory:
        # Consumes the generator; there is no receipt here to put its report into.
        list(residue.remove_quotations(dict.fromkeys((home or store.directory, store.directory)), quotation))
    quotations = _find_quotations(store.db, quotation, {*ids, *derived_memories})
    entries = log.filter_with_content(
        store.db, {*_find_traces(store.db, erased_memories, quotation), *quotations.entries}
    )
    reason = "what it repeated was erased elsewhere"
    erasures = make_erasures(store, factory, list(derived_memories.values()), store.db, reason)
    return [*erasures, *drop_entries(factory, entries)]


def clean_backups(store: Store, factory: EventFactory, erased_ids: Sequence[str]) -> None:
    """Erase memories that were erased on another machine from the backups beside this store, too."""
    texts = load_from_backups(store, erased_ids)
    if texts:
        plan = ErasurePlan(
            batch=factory.batch, at=format_timestamp(factory.clock()), actor=factory.writer.actor,
            channel=factory.writer.channel, memories=tuple(map(MemoryId, erased_ids)), texts=tuple(texts),
        )  # fmt: skip
        # Consumes the generator; the machine where it was erased has the receipt.
        list(_clean_backups(store, factory, plan, Quotation.of(texts), []))


def collect_with_derived(store: Store, targets: Targets) -> list[Memory]:
    """Return the memories of a target and all memories derived from them."""
    by_id = {memory.id: memory for memory in targets.memories}
    return list({**by_id, **{memory.id: memory for id in by_id for memory in _find_derived(store, id)}}.values())


def _plan(store: Store, factory: EventFactory, targets: Targets, reason: str) -> ErasurePlan:
    erased_memories = collect_with_derived(store, targets)
    ids = [memory.id for memory in erased_memories]
    texts = sorted(load_texts_and_details(store.db, ids) | set(targets.texts))
    quotation, reason = Quotation.of(texts), factory.redact(reason)
    places = list(_list_outside(erased_memories, quotation))
    if reason and quotation.find_runs(reason):
        reason = ""
        places.append(
            ErasedLocation(name="reason", state="done", detail="not recorded, because it quotes the erased text")
        )
    return ErasurePlan(
        batch=f"{BATCH_PREFIX}{secrets.token_hex(6)}", at=format_timestamp(factory.clock()), actor=factory.writer.actor,
        channel=factory.writer.channel, session=factory.writer.session_id, reason=reason,
        memories=tuple(memory.id for memory in erased_memories), texts=tuple(texts), places=tuple(places),
        entries=tuple(sorted({*targets.entries, *_find_traces(store.db, erased_memories, quotation)})),
    )  # fmt: skip


def carry_out(
    store: Store,
    factory: EventFactory,
    note: unfinished.ErasureNote,
    plan: ErasurePlan,
    quotation: Quotation,
    home: Path | None,
) -> Erasure:
    """Carry out a planned erasure, delete its note and return the receipt; it is recorded in the name of the plan."""
    factory = replace(factory, batch=plan.batch)
    # In one transaction, so that no new quotation comes in between search and erasure.
    with store.db.transaction():
        quotations = _find_quotations(store.db, quotation, plan.memories)
        entries = _collect_entries(store.db, plan, quotations, quotation)
        erased_memories = [
            memory for memory_id in plan.memories if (memory := load_ignoring_rollbacks(store.db, memory_id))
        ]
        erasures = make_erasures(store, factory, erased_memories, store.db, plan.reason)
        store.record([*erasures, *drop_entries(factory, entries)])
    remaining = list(_report_remaining(quotations))
    places = [
        ErasedLocation(name="memories", state="done", detail="erased with every version, their words and vectors"),
        ErasedLocation(name="log", state="done", detail=f"other entries whose content was erased: {len(entries)}"),
        *remaining,
    ]
    if store.directory:
        home = home or store.directory
        # A piece that other memories contain, too, would be found in the store's file even after the erasure.
        pieces = [
            piece
            for piece in residue.pick_search_pieces(plan.texts)
            if not store.db.index.is_word_elsewhere(piece, plan.memories)
        ]
        places += residue.remove_quotations(dict.fromkeys((home, store.directory)), quotation)
        places += _clean_backups(store, factory, plan, quotation, pieces)
        is_folded = store.try_checkpoint()
        holders = tuple(holder for place in remaining for holder in place.holders)
        places += _check_files(store, home, quotation, pieces, is_folded=is_folded, holders=holders)
    else:
        is_folded = True
        places += store.clear_residue(plan.at)
    receipt = Erasure(memories=plan.memories, at=plan.at, places=(*places, *plan.places), batch=plan.batch)
    record_receipt(store, factory, receipt)
    # Otherwise the next opening of the store tries again.
    if is_folded:
        note.remove()
    return receipt


def _collect_entries(db: Database, plan: ErasurePlan, quotations: Quotations, quotation: Quotation) -> list[EventId]:
    """Collect the entries whose content is erased, with questions about them that repeat their words."""
    entries = {*plan.entries, *quotations.entries}
    recalls = receipts.find_session_queries(db, entries)
    questions = {entry for entry, question in recalls if quotation.matches_question(question)}
    return log.filter_with_content(db, entries | questions)


def load_ignoring_rollbacks(db: Database, memory_id: str) -> Memory | None:
    """Load a memory as if no rollback had happened, because a rollback leaves its texts in the log."""
    return fold_memory(
        event for event in log.read_events_about(db, memory_id) if not isinstance(event.fact, MemoryRolledBack)
    )


def _find_derived(store: Store, memory_id: str) -> list[Memory]:
    """Find all memories derived from a memory, directly or indirectly, and its published copies."""
    derived_memories: dict[str, Memory] = {}
    queue = [memory_id]
    while queue:
        source = queue.pop()
        published_copies = memories.get_all(store.db, log.find_published_copies(store.db, source))
        for memory in [*memories.find_derived(store.db, source), *published_copies]:
            if memory.id not in derived_memories and memory.id != memory_id:
                derived_memories[memory.id] = memory
                queue.append(memory.id)
    return list(derived_memories.values())


def load_texts(db: Database, memory_ids: Iterable[str]) -> set[str]:
    """Load every text that these memories ever had, including conflicting edits and rolled back versions."""
    facts = [event.fact for memory_id in memory_ids for event in log.read_events_about(db, memory_id)]
    return {fact.text for fact in facts if isinstance(fact, MemoryRemembered | MemoryRevised) and fact.text}


def load_texts_and_details(db: Database, memory_ids: Iterable[str]) -> set[str]:
    """Load all that these memories ever said, also metadata and parts of traces, without common words and phrases."""
    ids = list(memory_ids)
    facts = [event.fact for memory_id in ids for event in log.read_events_about(db, memory_id)]
    values = {value for fact in facts for value in getattr(fact, "metadata", {}).values() if isinstance(value, str)}
    traces = [trace for fact in facts if (trace := getattr(fact, "trace", None))]
    parts = {part for trace in traces for part in (trace.action, trace.reasoning, trace.result)}
    details = [(value, FEWEST_WORDS_OF_METADATA) for value in values] + [
        (part, FEWEST_WORDS_OF_A_TRACE) for part in parts
    ]
    telling = {text for text, fewest in details if len(text.split()) >= fewest or _is_unusual(text)}
    return load_texts(db, ids) | telling


def load_from_backups(store: Store, memory_ids: Sequence[str]) -> set[str]:
    """Load all that these memories say in the backups beside a store."""
    texts: set[str] = set()
    for file in list_backups(store):
        # What cannot be opened is reported when it is cleaned, and by the doctor; restoring it applies the erasure.
        with suppress(StoreError, *integrity.DAMAGE_ERRORS), Sqlite.open_for_reading(file) as copy:
            texts |= load_texts_and_details(copy, memory_ids)
    return texts


def _is_unusual(word: str) -> bool:
    return len(word) >= SHORTEST_NAME and any(map(str.isdigit, word))


def _find_traces(db: Database, erased_memories: Sequence[Memory], quotation: Quotation) -> set[EventId]:
    """Find the observations that memories were learned from, and the queries they answered that repeat their words."""
    sources = {EventId(source.event) for memory in erased_memories for source in memory.sources if source.event}
    ids = [memory.id for memory in erased_memories]
    questions = receipts.find_queries(db, ids)
    return sources | {
        entry
        for entry, question in questions
        if quotation.matches_question(question) or _asks_in_own_words(db, question, quotation, ids)
    }


def _asks_in_own_words(db: Database, question: str, quotation: Quotation, ids: Sequence[str]) -> bool:
    """Whether a question has a word that only the erased memories have: it would still say what they were about."""
    own_words = quotation.list_words().intersection(list_content_words(question))
    return any(not db.index.is_word_elsewhere(word, ids) for word in own_words)


def make_erasures(
    store: Store, factory: EventFactory, erased_memories: Sequence[Memory], source: Database, reason: str = ""
) -> list[Event]:
    """Make an erasure of each memory, with digests by which the texts it has in ``source`` are refused from then on."""
    texts = {memory.id: _list_text_forms(memory, load_texts(source, [memory.id])) for memory in erased_memories}
    digests = {
        scope: tuple(sorted(digest_value(text, store.key_for(scope)) for text in set().union(*texts.values())))
        for scope in {memory.scope for memory in erased_memories}
    }
    return [
        factory.about(
            memory,
            MemoryErased(
                memory_id=memory.id,
                values=digests[memory.scope],
                imprints=_compute_imprints(store.key_for(memory.scope), texts[memory.id]),
                reason=reason,
            ),
        )
        for memory in erased_memories
    ]


def _list_text_forms(memory: Memory, texts: Iterable[str]) -> set[str]:
    """List the texts of a memory; if it came from an instruction file, also without the heading before them."""
    all_texts = set(texts)
    return all_texts | {strip_heading(text) for text in all_texts} if memory.channel is Channel.FILE else all_texts


def _compute_imprints(key: bytes, texts: Iterable[str]) -> tuple[str, ...]:
    """Compute the imprints by which erased texts are recognised inside others."""
    return tuple(sorted(filter(None, {make_imprint(text, key) for text in texts})))


def drop_entries(factory: EventFactory, entries: Sequence[EventId]) -> list[Event]:
    """Make the event that drops the content of entries; it stays on this machine, also for memories of a team."""
    fact = ObservationsDropped(bodies=tuple(entries), reason="repeated what was erased")
    return [factory.event(fact, Scope.USER, "")] if entries else []


def _find_quotations(db: Database, quotation: Quotation, erased_ids: Iterable[str]) -> Quotations:
    """Find entries that are erased too, and other memories and reasons, which only a person may decide to erase."""
    skipped_ids, quotations = set(erased_ids), Quotations()
    repetitions: list[tuple[log.QuotingEntry, list[QuotedRun]]] = []
    texts: dict[str, list[str]] = {}
    for entry in log.find_quoting_entries(db, quotation.patterns, quotation.is_possible_in):
        runs = quotation.find_runs(entry.content) if entry.about not in skipped_ids or entry.is_erasable else []
        if not runs:
            continue
        # A later erasure may find its text in the record of an earlier one, which stays.
        if entry.fact in ERASURE_RECORDS:
            quotations.reasons.append(entry)
            continue
        if entry.is_erasable:
            repetitions.append((entry, runs))
            continue
        content = json.loads(entry.content)
        # A quotation in the reason is reported by its entry, not as the text of that memory.
        content.pop("reason", None)
        own_runs = quotation.find_runs(json.dumps(content, ensure_ascii=False))
        if own_runs and entry.fact.startswith("memory."):
            quotations.memories.setdefault(entry.about, []).extend(own_runs)
            texts.setdefault(entry.about, []).append(str(content.get("text", "")))
        else:
            quotations.reasons.append(entry)
    other_quotations = [(Quotation.of(texts[memory_id]), runs) for memory_id, runs in quotations.memories.items()]
    quotations.entries.extend(
        entry.id for entry, runs in repetitions if not _is_from_others(entry.content, runs, other_quotations)
    )
    return quotations


def _is_from_others(
    content: str, runs: Iterable[QuotedRun], other_quotations: Iterable[tuple[Quotation, list[QuotedRun]]]
) -> bool:
    """Whether everything that an entry repeats is also in other memories that it quotes."""
    others_runs = [run for text, their_runs in other_quotations if text.find_runs(content) for run in their_runs]
    return all(run.is_within(others_runs) for run in runs)


def _report_remaining(quotations: Quotations) -> Iterator[ErasedLocation]:
    """Report memories and entries that still contain the text, because nobody asked to erase them."""
    worth_naming = {
        memory_id: max(runs, key=lambda run: run.stop - run.start)
        for memory_id, runs in quotations.memories.items()
        if any(run.is_whole or run.stop - run.start >= FEWEST_WORDS_OF_A_MEMORY for run in runs)
    }
    for memory_id, run in list(worth_naming.items())[:MOST_NAMED]:
        extent = "contains all of it" if run.is_whole else f"contains {run.stop - run.start} of its {run.of} words"
        detail = f"{extent}; to erase it too: hivemind erase {shorten_id(memory_id)}"
        name = f"memory {shorten_id(memory_id)}"
        yield ErasedLocation(name=name, state="remains", detail=detail, holders=(memory_id,))
    if others := tuple(worth_naming)[MOST_NAMED:]:
        detail = f"contained in {len(others)} more"
        yield ErasedLocation(name="other memories", state="remains", detail=detail, holders=others)
    for entry in quotations.reasons:
        is_removable = entry.about and entry.fact not in ERASURE_RECORDS
        remedy = f"; to erase it, erase that memory: hivemind erase {shorten_id(entry.about)}" if is_removable else ""
        detail = f"a {entry.fact} quotes it{remedy}"
        yield ErasedLocation(name=f"log entry {entry.id}", state="remains", detail=detail, holders=(entry.id,))


def list_backups(store: Store) -> list[Path]:
    """List the backups beside a store."""
    return sorted((store.directory / BACKUP_FOLDER).glob("*.db")) if store.directory else []


def name_backup(file: Path) -> str:
    """Return how a receipt names a backup."""
    return f"{BACKUP_FOLDER}/{file.name}"


def _clean_backups(
    store: Store, factory: EventFactory, plan: ErasurePlan, quotation: Quotation, pieces: list[str]
) -> Iterator[ErasedLocation]:
    """Erase from the backups beside the store."""
    files = list_backups(store)
    history = [event for memory_id in plan.memories if files for event in log.read_events_about(store.db, memory_id)]
    events = [event for event in history if isinstance(event.fact, MemoryErased)]
    for file in files:
        name = name_backup(file)
        try:
            with backup.open_backup(file) as copy:
                yield from _clean_copy(copy, factory, plan, quotation, events, name)
            if residue.contains_any(file, pieces) and not _is_in_log(file, pieces):
                detail = "some of its pages still contain it; delete that file"
                yield ErasedLocation(name=name, state="remains", detail=detail, file=name)
        except (StoreError, *integrity.DAMAGE_ERRORS):
            yield ErasedLocation(name=name, state="pending", detail=UNREADABLE_BACKUP, file=name)


def _clean_copy(
    copy: Sqlite, factory: EventFactory, plan: ErasurePlan, quotation: Quotation, events: list[Event], name: str
) -> Iterator[ErasedLocation]:
    quotations = _find_quotations(copy, quotation, plan.memories)
    entries = _collect_entries(copy, plan, quotations, quotation)
    is_in_copy = bool(entries or log.find_ids_about(copy, plan.memories))
    if is_in_copy:
        backup.record(copy, [*events, *drop_entries(factory, entries)])
    remaining = list(_report_remaining(quotations))
    if remaining:
        detail = f"erased there too, but not {', '.join(place.name for place in remaining)}"
        holders = tuple(holder for place in remaining for holder in place.holders)
        yield ErasedLocation(name=name, state="remains", detail=detail, holders=holders, file=name)
    elif is_in_copy:
        yield ErasedLocation(name=name, state="done", detail="erased there too")


def _is_in_log(file: Path, pieces: list[str]) -> bool:
    """Whether an entry that stays contains these pieces, with too few words to count as a quotation."""
    with Sqlite.open_for_reading(file) as copy:
        return log.contains_any(copy, pieces)


def _check_files(
    store: Store,
    home: Path,
    quotation: Quotation,
    pieces: list[str],
    *,
    is_folded: bool,
    holders: tuple[str, ...],
) -> Iterator[ErasedLocation]:
    """Search every file below the home directory, after the write-ahead log was merged into the database.

    ``holders`` are the entries of the store that still contain the text, as the receipt already says.
    """
    assert store.directory is not None
    store_files = [store.directory / f"{FILE}{suffix}" for suffix in ("", "-wal", "-shm")]
    if not is_folded:
        yield ErasedLocation(name="files", state="pending", detail=PAGES_IN_USE)
    elif any(residue.contains_any(file, pieces) for file in store_files) and not log.contains_any(store.db, pieces):
        is_in_header = log.is_in_header(store.db, pieces)
        detail = IN_A_HEADER if is_in_header else UNUSED_PAGES
        yield ErasedLocation(name="files", state="remains", detail=detail)
    elif holders:
        detail = f"{FILE} contains what is listed above"
        yield ErasedLocation(name="files", state="remains", detail=detail, holders=holders)
    else:
        yield ErasedLocation(name="files", state="done", detail="no byte of it is left")
    for file in residue.find_remaining_files(home, quotation, pieces, [*store_files, *list_backups(store)]):
        name = str(file.relative_to(home))
        yield ErasedLocation(name=name, state="remains", detail=_advise(file, home), file=name)


def _advise(file: Path, home: Path) -> str:
    if not os.access(file, os.R_OK):
        return "cannot be read and may contain it; check that file"
    if file.is_relative_to(home / "index"):
        return "code in a working tree contains it; this index of it can be deleted at any time"
    if file.name.startswith(FILE):
        return "another store contains it; erase it there: hivemind --store NAME erase ID"
    return "quotes the erased text; edit or delete that file"


def _list_outside(erased_memories: list[Memory], quotation: Quotation) -> Iterator[ErasedLocation]:
    """List copies outside our reach, so that a person can delete them; the list must not repeat the text itself."""
    sources = [source for memory in erased_memories for source in memory.sources]
    places = [
        (f"{source.actor or 'agent'} transcript", f"session {source.session_id}")
        for source in sources
        if source.session_id
    ]
    places += [
        (source.file, f"lines {(LINE_NUMBERS.fullmatch(source.lines) and source.lines) or 'unknown'}")
        for source in sources
        if source.file
    ]
    places += [("exports", "files you exported, backups kept elsewhere")]
    if any(memory.scope is Scope.TEAM for memory in erased_memories):
        places += [("backups of teammates", "copies that others made of their stores; they have to erase it there")]
    for place in dict.fromkeys(places):
        name, detail = place
        if quotation.find_runs(name) or quotation.find_runs(detail):
            name, detail = "a source", "not named here, because its name quotes the erased text"
        yield ErasedLocation(name=name, state="outside", detail=detail)
