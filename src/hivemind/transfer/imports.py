"""What all imports share: a note becomes a proposal, each memory is recorded as a whole, and a report counts them."""

from collections import Counter
from collections.abc import Iterable, Sequence

from hivemind.context import Context
from hivemind.memory.claims import ClaimRefused, accept_claim, record_claim
from hivemind.model.claim import Claim
from hivemind.model.code import Anchor
from hivemind.model.dataclass import dataclass
from hivemind.model.events import MemoryRemembered
from hivemind.model.ids import EventId, MemoryId, Timestamp, derive_id
from hivemind.model.memory import Channel, Kind, Source
from hivemind.model.scope import Scope
from hivemind.store import log
from hivemind.store.event_factory import EventFactory
from hivemind.text.clean import neutralise

LONGEST_TEXT = 4000
"""Characters of a note; a longer one is cut, as a memory is a short text."""

Entry = tuple[Scope, str, MemoryRemembered]
"""A memory to import: its scope, its repository, and the fact that it was remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignNote:
    """What an agent or another memory tool has stored on its own; a person decides whether it is correct."""

    text: str
    origin: str = ""
    """The agent or tool that stored it."""
    kind: Kind = Kind.FACT
    scope: Scope = Scope.PROJECT
    repo: str = ""
    """The repository it is about; empty if it is about the person."""
    file: str = ""
    lines: str = ""
    written_at: Timestamp = ""
    """When it was written; empty if nobody knows."""
    links: tuple[str, ...] = ()

    @property
    def memory_id(self) -> MemoryId:
        """The same id for the same text in the same place, so that reading it again changes nothing."""
        return MemoryId(derive_id("note", self.origin, self.repo, self.file, self.text))


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """The result of an import."""

    new: int
    known: int
    refused: int
    batch: str
    """The id of the import, for a rollback."""
    unreadable: tuple[str, ...] = ()
    """Lines that could not be read, and why; they are in the quarantine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcludedLine:
    """A line of an instruction file that was skipped because a person had decided against it."""

    file: str
    lines: str
    why: str
    """Rejected, retracted or erased."""
    text: str
    """Empty for an erased text, which must not be shown again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSyncReport:
    """The result of syncing instruction files: how many lines they have, how many are new or gone."""

    said: int
    new: int
    gone: int
    kept_out: tuple[ExcludedLine, ...] = ()


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewReport:
    """The result of reading review comments."""

    comments: int
    rules: int
    """Sentences that state a rule."""
    new: int
    """Rules that became proposals."""
    refused: int
    """Rules that stay out, because they were rejected or erased before."""
    batch: str
    """The id of the run, for a rollback."""
    skipped: tuple[tuple[str, int], ...] = ()
    """Why comments were left out before they were judged, and how many."""
    texts: tuple[str, ...] = ()
    """The new rules."""


def make_new_entries(context: Context, notes: Iterable[ForeignNote]) -> list[Entry]:
    """Make a memory of each note that was not imported before."""
    return [
        (note.scope, note.repo, _make_fact(note, context.settings.person))
        for note in notes
        if not log.has_entries_about(context.store.db, [note.memory_id])
    ]


def count_origins(notes: Iterable[ForeignNote]) -> tuple[tuple[str, int], ...]:
    """Count the notes of each agent or tool."""
    return tuple(sorted(Counter(note.origin for note in notes).items()))


def record_entries(
    context: Context, entries: Sequence[Entry], factory: EventFactory, channel: Channel = Channel.IMPORT
) -> tuple[int, int]:
    """Record imported memories, each as a whole; return how many are new, and how many were refused."""
    new_count, refused_count = 0, 0

    def record(item: tuple[Entry, tuple[Anchor, ...]]) -> None:
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


def _find_anchors(context: Context, entries: Iterable[Entry]) -> list[tuple[Anchor, ...]]:
    """Find the code of this tree that imported memories are about."""
    checkout = context.checkout
    claims = [
        Claim(text=fact.text, scope=scope if repo in checkout.names else Scope.USER, links=fact.links)
        for scope, repo, fact in entries
    ]
    return checkout.find_anchors(claims, context.list_edited_files)


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
