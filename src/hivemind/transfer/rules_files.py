"""Imports the instruction files of a repository, and writes memories back into them.

AGENTS.md and similar files are what a team has agreed on: each point in them is a convention with the highest authority
in its project. Memories are written into a block of their own, which is never read back.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from hivemind.context import Context
from hivemind.errors import InvalidInput
from hivemind.model.claim import Claim
from hivemind.model.dataclass import dataclass
from hivemind.model.events import (
    Event,
    Fact,
    MemoryAnchored,
    MemoryRejected,
    MemoryRemembered,
    MemoryRestored,
    MemoryRetracted,
)
from hivemind.model.fold import filter_effective
from hivemind.model.ids import MemoryId, derive_id, shorten_id
from hivemind.model.memory import Channel, Kind, Memory, Source, Status, Trust, strip_heading
from hivemind.model.scope import Scope
from hivemind.store import log
from hivemind.store.database import Database
from hivemind.store.event_factory import EventFactory
from hivemind.store.projections import memories
from hivemind.store.projections.tombstones import Exclusion
from hivemind.text.clean import MAX_TEXT_BYTES, neutralise
from hivemind.text.excluded_text import normalise
from hivemind.text.untrusted import read_limited
from hivemind.transfer.imports import ExcludedLine, FileSyncReport
from hivemind.transfer.markdown import split_points

NAMES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md", "QWEN.md", ".github/copilot-instructions.md")
FOLDERS = (
    (".cursor/rules", "*.mdc"), (".cursor/rules", "*.md"), (".claude/rules", "*.md"), (".windsurf/rules", "*.md"),
    (".agents/rules", "*.md"), (".clinerules", "*.md"), (".continue/rules", "*.md"),
    (".github/instructions", "*.instructions.md"),
)  # fmt: skip
OWN_RULE = "hivemind"
"""The name of the rule that ``hivemind install`` writes: about Hivemind, not about the project."""
LARGEST_FILE = 1024 * 1024
BATCH = "files"
"""Prefix of the batches that read these files; what such a batch retracts, a later one may restore."""

BEGIN, END = "<!-- hivemind: what the team has learned -->", "<!-- hivemind: end -->"
BLOCK = re.compile(re.escape(BEGIN) + r".*?" + re.escape(END) + r"\n?", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A bullet or paragraph of a file, with its lines."""

    file: str
    lines: str
    text: str
    """With the heading above it."""
    bare: str
    """Without the heading."""

    def derive_memory_id(self, repo: str) -> MemoryId:
        """Return the id of its memory: the same for the same text and file, so that reading again changes nothing."""
        return MemoryId(derive_id("file", repo, self.file, self.text))


def sync_rules_files(context: Context, *, dry_run: bool = False) -> FileSyncReport:
    """Import the points of AGENTS.md and similar files, and retract those that were removed."""
    repo = context.repository.id
    factory = context.new_batch(BATCH)
    points = {point.derive_memory_id(repo): point for point in read_points(context.checkout.root)}
    before = {memory.id: memory for memory in memories.find_from_files(context.store.db, repo)}
    # A person's verdict stays in force although the line is still in the file.
    excluded_lines = _find_excluded(context, points, before)
    new = [memory_id for memory_id in points if memory_id not in before and memory_id not in excluded_lines]
    retractions = [memory for memory in before.values() if memory.status is Status.RETRACTED]
    again = [memory for memory in retractions if memory.id in points and memory.id not in excluded_lines]
    missing = [memory for memory in before.values() if memory.id not in points and memory not in retractions]
    events = _make_events(context, {memory_id: points[memory_id] for memory_id in new}, factory)
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
        said=len(points), new=len(new) + len(again), gone=len(missing), kept_out=tuple(excluded_lines.values())
    )


def _make_events(context: Context, points: Mapping[MemoryId, Point], factory: EventFactory) -> list[Event]:
    """Make the events that store points of instruction files."""
    commit = context.checkout.read_head()
    claims = [Claim(text=point.text) for point in points.values()]
    anchors_of_each = context.checkout.find_anchors(claims, context.list_edited_files)
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


def _find_excluded(
    context: Context, points: Mapping[MemoryId, Point], before: Mapping[MemoryId, Memory]
) -> dict[MemoryId, ExcludedLine]:
    """Find the points of instruction files that a person rejected, retracted or erased before."""
    retractions = [memory for memory in before.values() if memory.status is Status.RETRACTED]
    decisions = ((memory.id, find_verdict(context.store.db, memory.id)) for memory in retractions)
    verdicts = {memory_id: verdict for memory_id, verdict in decisions if verdict}
    # The same line under another heading or in another file is the same line.
    lines = {normalise(strip_heading(before[memory_id].text)): verdict for memory_id, verdict in verdicts.items()}
    return {
        memory_id: ExcludedLine(
            file=point.file, lines=point.lines, why=why, text="" if why is Exclusion.ERASED else point.text
        )
        for memory_id, point in points.items()
        if (memory_id not in before or before[memory_id].status is Status.RETRACTED)
        and (
            why := verdicts.get(memory_id)
            or lines.get(normalise(point.bare))
            or _find_exclusion(context, memory_id, point)
        )
    }


def _find_exclusion(context: Context, memory_id: MemoryId, point: Point) -> Exclusion | None:
    """Return how a person decided against the text of a point elsewhere; None if nobody did."""
    if log.find_erasure(context.store.db, memory_id, context.limit_sight()):
        return Exclusion.ERASED
    gate, repo = context.store.load_gate(), context.repository.id
    return gate.find_text_refusal(point.text, repo) or gate.find_text_refusal(point.bare, repo)


def read_points(root: Path) -> Iterator[Point]:
    """Read the points of a repository's instruction files."""
    for file in _find_files(root):
        content = read_limited(file, LARGEST_FILE, within=root).decode("utf-8", "replace")
        name = file.relative_to(root).as_posix()
        yield from (
            Point(file=name, lines=point.lines, text=point.titled_text[: MAX_TEXT_BYTES // 4], bare=point.text)
            # Empty lines take the place of our block, so that line numbers stay right.
            for point in split_points(BLOCK.sub(lambda block: "\n" * block[0].count("\n"), content))
            if point.text
        )


def find_verdict(db: Database, memory_id: str) -> Exclusion | None:
    """Return how a person decided against a memory; None if nobody did, or if it only left its file."""
    verdict: Exclusion | None = None
    for event in filter_effective(log.read_events_about(db, memory_id)):
        match event.fact:
            case MemoryRejected():
                verdict = Exclusion.REJECTED
            case MemoryRetracted():
                # Reading the instruction files retracts what is no longer in them; that is no verdict.
                verdict = None if event.batch.startswith(f"{BATCH}-") else Exclusion.RETRACTED
            case MemoryRestored():
                verdict = None
    return verdict


def check_reviewed(memory: Memory) -> None:
    """Refuse a memory that no person has approved, or that no longer stands."""
    if memory.status is not Status.ACTIVE or memory.trust is not Trust.HIGH:
        raise InvalidInput(
            f"{shorten_id(memory.id)} is {memory.status}, trust {memory.trust}; approve it before promoting it"
        )


def insert_memory(text: str, memory: Memory) -> str:
    """Return the file's text with a reviewed memory in our block; an older line of the same memory is replaced."""
    check_reviewed(memory)
    line = f"- {' '.join(neutralise(memory.text).split())} <!-- {shorten_id(memory.id)} -->"
    block = BLOCK.search(text)
    lines = block[0].splitlines()[1:-1] if block else []
    other_lines = [entry for entry in lines if f"<!-- {shorten_id(memory.id)} -->" not in entry]
    new_block = "\n".join([BEGIN, *other_lines, line, END]) + "\n"
    if block:
        return text[: block.start()] + new_block + text[block.end() :]
    return (text.rstrip("\n") + "\n\n" if text.strip() else "") + new_block


def _find_files(root: Path) -> Iterator[Path]:
    named_files = [root / name for name in NAMES]
    rule_files = [file for folder, pattern in FOLDERS for file in sorted((root / folder).glob(pattern))]
    for file in named_files + rule_files:
        # A symbolic link out of the repository is not the repository's own text, and could import any file.
        if (
            file.stem != OWN_RULE
            and file.is_file()
            and file.resolve().is_relative_to(root.resolve())
            and file.stat().st_size <= LARGEST_FILE
        ):
            yield file
