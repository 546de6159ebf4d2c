"""Notes of agents and of other memory tools as proposals, and the recording that all imports share."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hivemind.code.repository import list_known_trees
from hivemind.context import Context
from hivemind.errors import InvalidInput, did_you_mean
from hivemind.memory.claims import ClaimRefused, accept_claim, record_claim
from hivemind.model.claim import Claim
from hivemind.model.code import Anchor
from hivemind.model.events import MemoryRemembered, MemoryRestored, MemoryRetracted
from hivemind.model.ids import EventId, derive_id
from hivemind.model.memory import Channel, Memory, Source, Status
from hivemind.model.scope import Scope
from hivemind.model.session import SkippedInput
from hivemind.sessions.quarantine import ItemOrigin, set_aside
from hivemind.store import log
from hivemind.store.event_factory import EventFactory
from hivemind.store.projections import memories
from hivemind.text.clean import neutralise
from hivemind.transfer import agent_notes as notes
from hivemind.transfer import rules_files as files
from hivemind.transfer import stores
from hivemind.transfer.agent_notes import ForeignNote

BATCH = f"{files.BATCH}-notes"
"""Prefix of the batches that read notes. Like all batches that read files, what it takes back is no verdict."""
LONGEST_TEXT = 4000
"""Characters of a note; a longer one is cut, as a memory is a short text."""

IMPORT_TOOLS = tuple(stores.TOOLS)
"""The other memory tools whose stores can be imported."""

Exported = tuple[Scope, str, MemoryRemembered]
"""A memory to import: its scope, its repository, and the fact that it was remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteReport:
    """The result of reading notes."""

    notes: int
    new: int
    gone: int
    """Proposals that were withdrawn, because the note behind them is gone."""
    refused: int
    """Notes that stay out, because they were rejected or erased before."""
    batch: str
    """The id of the run, for a rollback."""
    by_origin: tuple[tuple[str, int], ...] = ()
    skipped: tuple[tuple[str, int], ...] = ()
    """Why items of a store were left out, and how many."""


def sync_notes(
    context: Context, origins: Sequence[str] = (), *, home: Path | None = None, dry_run: bool = False
) -> NoteReport:
    """Propose what agents have noted since the last time, and withdraw proposals whose note is gone."""
    if unknown := [origin for origin in origins if origin not in notes.ORIGINS]:
        suggestion = did_you_mean(unknown[0], notes.ORIGINS) or f" Notes are read of: {', '.join(notes.ORIGINS)}."
        raise InvalidInput(f"{unknown[0]!r} keeps no notes that can be read.{suggestion}")
    # By id, because clones of one repository have the same notes in their trees.
    found_notes = {
        note.memory_id: note for note in notes.find_notes(home or Path.home(), list_known_trees(context), origins)
    }
    earlier = [
        memory for memory in memories.find_by_batch(context.store.db, BATCH) if not origins or memory.agent in origins
    ]
    factory = context.new_batch(BATCH)
    # A person's decision stands whatever becomes of the note: only what nobody has decided about is withdrawn.
    missing = [memory for memory in earlier if memory.status is Status.PROPOSED and memory.id not in found_notes]
    again = [memory for memory in earlier if memory.id in found_notes and _is_withdrawn(context, memory)]
    unknown_entries = _make_entries(context, _select_unknown(context, found_notes.values()))
    gate = context.store.load_gate()
    # Without a record of the refusal, unlike in an import: the note stays in its file and is read again every day.
    entries = [(scope, repo, fact) for scope, repo, fact in unknown_entries if not gate.find_claim_refusal(fact, repo)]
    new_count = len(entries) if dry_run else record_entries(context, entries, factory)[0]
    if not dry_run:
        context.record(
            [
                factory.about(memory, MemoryRetracted(memory_id=memory.id, reason="the note is gone"))
                for memory in missing
            ]
            + [factory.about(memory, MemoryRestored(memory_id=memory.id, reason="noted again")) for memory in again]
        )
    return NoteReport(
        notes=len(found_notes), new=new_count + len(again), gone=len(missing),
        refused=len(unknown_entries) - len(entries),
        batch=factory.batch, by_origin=_count_origins(found_notes.values()),
    )  # fmt: skip


def import_store(context: Context, tool: str, path: Path | None, *, approve: bool = False) -> NoteReport:
    """Import the store or an export of another memory tool; with ``approve`` the person vouches for it."""
    factory = context.new_batch(f"import-{tool}")
    items = stores.read_items(tool, path, Path.home(), list_known_trees(context), context.repository.id)
    imported_notes = list(
        {item.memory_id: item for item in items if isinstance(item, ForeignNote) and item.text}.values()
    )
    # Bad lines go to the quarantine; what is left out on purpose is only counted.
    skips = [item for item in items if isinstance(item, SkippedInput)]
    set_aside(context, ItemOrigin.IMPORT, [item for item in skips if item.raw])
    unknown_notes = _select_unknown(context, imported_notes)
    channel = Channel.PERSON if approve else Channel.IMPORT
    new_count, refused_count = record_entries(context, _make_entries(context, unknown_notes), factory, channel)
    return NoteReport(
        notes=len(imported_notes), new=new_count, gone=0, refused=refused_count, batch=factory.batch,
        by_origin=_count_origins(imported_notes),
        skipped=tuple(Counter(item.reason for item in skips).most_common()),
    )  # fmt: skip


def record_entries(
    context: Context, entries: Sequence[Exported], factory: EventFactory, channel: Channel = Channel.IMPORT
) -> tuple[int, int]:
    """Record imported memories, each as a whole; return how many are new, and how many were refused."""
    new_count, refused_count = 0, 0

    def record(item: tuple[Exported, tuple[Anchor, ...]]) -> None:
        nonlocal new_count, refused_count
        (scope, repo, fact), anchors = item
        # Derived, so that importing a file twice records each memory once.
        event_id = EventId(derive_id("import", fact.memory_id))
        result = accept_claim(context.store, factory, fact, scope, repo, channel=channel, id=event_id, anchors=anchors)
        try:
            memory_id = record_claim(context, result)
        except ClaimRefused as error:
            # The refusal is part of this transaction, unlike that of `remember`, which rolls back.
            context.record(error.events)
            refused_count += 1
        else:
            new_count += memory_id == fact.memory_id

    context.store.db.write_in_turns(zip(entries, _find_anchors(context, entries), strict=True), record)
    return new_count, refused_count


def _find_anchors(context: Context, entries: Iterable[Exported]) -> list[tuple[Anchor, ...]]:
    """Find the code of this tree that imported memories are about."""
    checkout = context.checkout
    claims = [
        Claim(text=fact.text, scope=scope if repo in checkout.names else Scope.USER, links=fact.links)
        for scope, repo, fact in entries
    ]
    return checkout.anchors_for(claims, context.edited_files)


def _make_entries(context: Context, imported_notes: Iterable[ForeignNote]) -> list[Exported]:
    return [(note.scope, note.repo, _make_fact(note, context.settings.person)) for note in imported_notes]


def _make_fact(note: ForeignNote, owner: str) -> MemoryRemembered:
    return MemoryRemembered(
        memory_id=note.memory_id,
        kind=note.kind,
        # A note can contain anything, at any length.
        text=neutralise(note.text)[:LONGEST_TEXT].strip(),
        owner=owner,
        sources=(Source(channel=Channel.IMPORT, actor=note.origin, file=note.file, lines=note.lines),),
        links=note.links,
        # What was noted in March was believed from March on, not only from the import.
        valid_from=note.written_at,
    )


def _select_unknown(context: Context, candidates: Iterable[ForeignNote]) -> list[ForeignNote]:
    return [note for note in candidates if not log.find_ids_about(context.store.db, [note.memory_id])]


def _is_withdrawn(context: Context, memory: Memory) -> bool:
    """Whether a memory was taken back because its note was gone, and not by a person."""
    return memory.status is Status.RETRACTED and not files.find_verdict(context.store.db, memory.id)


def _count_origins(imported_notes: Iterable[ForeignNote]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(Counter(note.origin for note in imported_notes).items()))
