"""Memories in files: exports, imports, and the instruction files of a repository."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

from hivemind.context import Context
from hivemind.errors import InvalidInput
from hivemind.model.claim import Claim
from hivemind.model.events import Event, Fact, MemoryAnchored, MemoryRemembered, MemoryRestored, MemoryRetracted
from hivemind.model.ids import MemoryId
from hivemind.model.memory import Channel, Kind, Memory, Source, Status, strip_heading
from hivemind.model.scope import Scope
from hivemind.model.session import SkippedInput
from hivemind.sessions.quarantine import ItemOrigin, set_aside
from hivemind.store import log
from hivemind.store.event_factory import EventFactory
from hivemind.store.projections import memories
from hivemind.store.projections.tombstones import Exclusion
from hivemind.text.clean import expand_path
from hivemind.text.imprint import normalise
from hivemind.transfer import export
from hivemind.transfer import rules_files as files
from hivemind.transfer.notes import NoteReport, import_store, record_entries, sync_notes
from hivemind.transfer.rules_files import Point


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


class Files:
    """Exports and imports memories, and syncs instruction files."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def export_lines(self, *, everywhere: bool = False, session: str = "", owner: str = "") -> Iterator[str]:
        """Export the visible memories as lines of JSON."""
        return export.export_lines(self._to_export(everywhere=everywhere, session=session, owner=owner))

    def export_pages(
        self, *, everywhere: bool = False, session: str = "", owner: str = ""
    ) -> Iterator[tuple[str, str]]:
        """Export the visible memories as Markdown files: name and content, one per memory."""
        return map(export.render_page, self._to_export(everywhere=everywhere, session=session, owner=owner))

    def import_lines(self, lines: Iterable[str], *, approve: bool = False, name: str = "") -> ImportReport:
        """Import exported memories as proposals of low trust; what was rejected or erased here stays out.

        With ``approve`` the person vouches for the file, and they are believed as if just said. Lines that cannot be
        read go to the quarantine under the file's name; if no line can be read, nothing is done.
        """
        context = self._context
        if approve:
            context.require_person("an approved import")
        factory = context.new_batch("import")
        read = list(export.parse_export(lines))
        memories_to_import = [item for item in read if not isinstance(item, SkippedInput)]
        unreadable = [item for item in read if isinstance(item, SkippedInput)]
        # Not one line could be read: this is the wrong file, and no case for the quarantine.
        if unreadable and not memories_to_import:
            raise InvalidInput(f"{unreadable[0].where} is {unreadable[0].reason}")
        unknown = [item for item in memories_to_import if not log.find_ids_about(context.store.db, [item[2].memory_id])]
        channel = Channel.PERSON if approve else Channel.IMPORT
        new, refused_count = record_entries(context, unknown, factory, channel)
        file = name or "standard input"
        set_aside(context, ItemOrigin.IMPORT, [replace(item, where=f"{file}, {item.where}") for item in unreadable])
        return ImportReport(
            new=new, known=len(memories_to_import) - len(unknown), refused=refused_count, batch=factory.batch,
            unreadable=tuple(f"{item.where} is {item.reason}" for item in unreadable),
        )  # fmt: skip

    def _to_export(self, *, everywhere: bool, session: str, owner: str) -> Iterator[Memory]:
        visible = memories.iterate_visible(self._context.store.db, self._context.sight(everywhere=everywhere))
        return (
            memory
            for memory in visible
            if (not session or memory.session_id == session) and (not owner or memory.owner == owner)
        )

    def sync_notes(self, origins: Sequence[str] = (), *, home: Path | None = None, dry_run: bool = False) -> NoteReport:
        """Propose what agents keep in notes of their own, and withdraw proposals whose note is gone."""
        return sync_notes(self._context, origins, home=home, dry_run=dry_run)

    def import_from(self, tool: str, path: str | PathLike[str] | None = None, *, approve: bool = False) -> NoteReport:
        """Import the store or an export of another memory tool; what it says arrives as proposals."""
        context = self._context
        if approve:
            context.require_person("an approved import")
        place = None if path is None else expand_path(path, "the path")
        return import_store(context, tool, place, approve=approve)

    def sync_instructions(self, *, dry_run: bool = False) -> FileSyncReport:
        """Import the points of AGENTS.md and similar files, and retract those that were removed."""
        context, repo = self._context, self._context.repository.id
        factory = context.new_batch(files.BATCH)
        points = {point.memory_id(repo): point for point in files.read_points(context.checkout.root)}
        before = {memory.id: memory for memory in memories.find_from_files(context.store.db, repo)}
        # A person's verdict stays in force although the line is still in the file.
        kept_out = self._kept_out(points, before)
        new = [memory_id for memory_id in points if memory_id not in before and memory_id not in kept_out]
        retractions = [memory for memory in before.values() if memory.status is Status.RETRACTED]
        again = [memory for memory in retractions if memory.id in points and memory.id not in kept_out]
        missing = [memory for memory in before.values() if memory.id not in points and memory not in retractions]
        events = self._from_points({memory_id: points[memory_id] for memory_id in new}, factory)
        events += [
            factory.about(memory, MemoryRestored(memory_id=memory.id, reason="in the file again")) for memory in again
        ]
        events += [
            factory.about(memory, MemoryRetracted(memory_id=memory.id, reason=f"no longer in {memory.sources[0].file}"))
            for memory in missing
        ]
        if not dry_run:
            context.record(events)
        return FileSyncReport(
            said=len(points), new=len(new) + len(again), gone=len(missing), kept_out=tuple(kept_out.values())
        )

    def _from_points(self, points: Mapping[MemoryId, Point], factory: EventFactory) -> list[Event]:
        """Make the events that store points of instruction files."""
        context, commit = self._context, self._context.checkout.head()
        claims = [Claim(text=point.text) for point in points.values()]
        anchors_of_each = context.checkout.anchors_for(claims, context.edited_files)
        events = []
        for (memory_id, point), anchors in zip(points.items(), anchors_of_each, strict=True):
            fact = MemoryRemembered(
                memory_id=memory_id,
                kind=Kind.CONVENTION,
                text=point.text,
                owner=context.settings.person,
                sources=(Source(channel=Channel.FILE, file=point.file, lines=point.lines, commit=commit),),
            )
            facts: list[Fact] = [fact, *([MemoryAnchored(memory_id=memory_id, anchors=anchors)] if anchors else ())]
            events += [
                factory.event(event_fact, Scope.PROJECT, context.repository.id, channel=Channel.FILE)
                for event_fact in facts
            ]
        return events

    def _kept_out(
        self, points: Mapping[MemoryId, Point], before: Mapping[MemoryId, Memory]
    ) -> dict[MemoryId, ExcludedLine]:
        """Find the points of instruction files that a person rejected, retracted or erased before."""
        retractions = [memory for memory in before.values() if memory.status is Status.RETRACTED]
        decisions = ((memory.id, files.find_verdict(self._context.store.db, memory.id)) for memory in retractions)
        verdicts = {memory_id: verdict for memory_id, verdict in decisions if verdict}
        # The same line under another heading or in another file is the same line.
        lines = {normalise(strip_heading(before[memory_id].text)): verdict for memory_id, verdict in verdicts.items()}
        return {
            memory_id: ExcludedLine(
                file=point.file, lines=point.lines, why=why, text="" if why is Exclusion.ERASED else point.text
            )
            for memory_id, point in points.items()
            if (memory_id not in before or before[memory_id].status is Status.RETRACTED)
            and (why := verdicts.get(memory_id) or lines.get(normalise(point.bare)) or self._why_out(memory_id, point))
        }

    def _why_out(self, memory_id: MemoryId, point: Point) -> Exclusion | None:
        context = self._context
        if log.find_erasure(context.store.db, memory_id, context.sight()):
            return Exclusion.ERASED
        gate, repo = context.store.load_gate(), context.repository.id
        return gate.find_text_refusal(point.text, repo) or gate.find_text_refusal(point.bare, repo)
