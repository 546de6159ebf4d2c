"""Erases memories permanently, and reports for each place whether it is done.

The plan of an erasure is saved to disk first (``erase/plan.py``). One transaction then destroys the memories with every
version, what was derived from them, and other log entries that quote them (``erase/quotation.py`` defines quoting).
Then files beside the store and backups are cleaned, everything below the home directory is searched, and the receipt is
recorded. After a crash, the next opening of the store finishes the erasure.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from hivemind.erase import residue
from hivemind.erase.plan import (
    ErasurePlan,
    Targets,
    find_derived,
    find_traces,
    load_ignoring_rollbacks,
    load_texts,
    load_texts_and_details,
    make_plan,
    save_plan,
)
from hivemind.erase.quotation import Quotation, QuotedRun
from hivemind.erase.receipt import record_receipt
from hivemind.errors import StoreError
from hivemind.model.erasure import ErasedLocation, Erasure
from hivemind.model.events import Event, MemoryErased, ObservationsDropped
from hivemind.model.ids import EventId, MemoryId, shorten_id
from hivemind.model.memory import Channel, Memory, strip_heading
from hivemind.model.scope import Scope
from hivemind.model.timestamps import format_timestamp
from hivemind.store import backup, disk_space, integrity, log
from hivemind.store.database import Database
from hivemind.store.event_factory import EventFactory
from hivemind.store.projections import memories, receipts
from hivemind.store.sqlite import Sqlite
from hivemind.store.store import Store
from hivemind.text.excluded_text import digest_value, make_imprint

FEWEST_WORDS_OF_A_MEMORY = 6
"""Another memory is reported from so many words of the erased text on; many claims share their first few words."""
MOST_NAMED = 5
"""How many other memories that quote the text are reported one by one."""
UNREADABLE_BACKUP = "cannot be opened and may contain it; delete that file"
ERASURE_RECORDS = ("memory.erased", "erasure.finished")


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
    plan = make_plan(store, factory, targets, reason)
    with save_plan(store.directory, plan) as note:
        return carry_out(store, factory, plan, Quotation.of(plan.texts), home, note)


def follow_erasure(
    store: Store, factory: EventFactory, erased_ids: Iterable[str], *, home: Path | None = None
) -> list[Event]:
    """Make the events that erase what repeats or was derived from memories that were erased on another machine.

    Call it before the content of those memories is gone. A person's own memories with the same text stay.
    """
    ids = set(erased_ids)
    derived_memories = {
        memory.id: memory for source in ids for memory in find_derived(store, source) if memory.scope is not Scope.TEAM
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
        store.db, {*find_traces(store.db, erased_memories, quotation), *quotations.entries}
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


def carry_out(
    store: Store,
    factory: EventFactory,
    plan: ErasurePlan,
    quotation: Quotation,
    home: Path | None,
    note: Path | None = None,
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
        places += residue.check_files(store, home, quotation, pieces, is_folded=is_folded, holders=holders)
    else:
        is_folded = True
        places += store.clear_residue(plan.at)
    receipt = Erasure(memories=plan.memories, at=plan.at, places=(*places, *plan.places), batch=plan.batch)
    record_receipt(store, factory, receipt)
    # Otherwise the next opening of the store tries again.
    if is_folded and note:
        note.unlink(missing_ok=True)
    return receipt


def _collect_entries(db: Database, plan: ErasurePlan, quotations: Quotations, quotation: Quotation) -> list[EventId]:
    """Collect the entries whose content is erased, with questions about them that repeat their words."""
    entries = {*plan.entries, *quotations.entries}
    recalls = receipts.find_session_queries(db, entries)
    questions = {entry for entry, question in recalls if quotation.matches_question(question)}
    return log.filter_with_content(db, entries | questions)


def load_from_backups(store: Store, memory_ids: Sequence[str]) -> set[str]:
    """Load all that these memories say in the backups beside a store."""
    texts: set[str] = set()
    for file in residue.list_backups(store):
        # What cannot be opened is reported when it is cleaned, and by the doctor; restoring it applies the erasure.
        with suppress(StoreError, *integrity.DAMAGE_ERRORS), Sqlite.open_for_reading(file) as copy:
            texts |= load_texts_and_details(copy, memory_ids)
    return texts


def make_erasures(
    store: Store, factory: EventFactory, erased_memories: Sequence[Memory], source: Database, reason: str = ""
) -> list[Event]:
    """Make an erasure of each memory, with digests by which the texts it has in ``source`` are refused from then on."""
    texts = {memory.id: _list_text_forms(memory, load_texts(source, [memory.id])) for memory in erased_memories}
    digests = {
        scope: tuple(sorted(digest_value(text, store.get_key_for(scope)) for text in set().union(*texts.values())))
        for scope in {memory.scope for memory in erased_memories}
    }
    events = []
    for memory in erased_memories:
        key = store.get_key_for(memory.scope)
        imprints = tuple(sorted(filter(None, {make_imprint(text, key) for text in texts[memory.id]})))
        values = digests[memory.scope]
        fact = MemoryErased(memory_id=memory.id, values=values, imprints=imprints, reason=reason)
        events.append(factory.about(memory, fact))
    return events


def _list_text_forms(memory: Memory, texts: Iterable[str]) -> set[str]:
    """List the texts of a memory; if it came from an instruction file, also without the heading before them."""
    all_texts = set(texts)
    return all_texts | {strip_heading(text) for text in all_texts} if memory.channel is Channel.FILE else all_texts


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


def _clean_backups(
    store: Store, factory: EventFactory, plan: ErasurePlan, quotation: Quotation, pieces: list[str]
) -> Iterator[ErasedLocation]:
    files = residue.list_backups(store)
    history = [event for memory_id in plan.memories if files for event in log.read_events_about(store.db, memory_id)]
    events = [event for event in history if isinstance(event.fact, MemoryErased)]
    for file in files:
        name = residue.name_backup(file)
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
    is_in_copy = bool(entries or log.has_entries_about(copy, plan.memories))
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
