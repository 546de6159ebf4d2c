"""Imports the notes that agents keep for themselves: Markdown files in their own folders and in working trees.

Which files, and in which form, was taken from the agents' sources and documentation. Cursor keeps its memories on a
server, and Windsurf encrypts its own; of Windsurf only the rules that a person wrote for all projects are readable.
"""

import hashlib
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlparse

from hivemind.code.repository import is_directory, list_known_trees
from hivemind.context import Context
from hivemind.errors import InvalidInput, did_you_mean
from hivemind.model.events import MemoryRestored, MemoryRetracted
from hivemind.model.memory import Kind, Status
from hivemind.model.scope import KnownTrees, Scope
from hivemind.model.timestamps import format_timestamp
from hivemind.store.projections import memories
from hivemind.text import switch
from hivemind.text.untrusted import Unreadable, parse_json, read_limited
from hivemind.transfer import rules_files
from hivemind.transfer.imports import ForeignNote, NoteReport, count_origins, make_new_entries, record_entries
from hivemind.transfer.markdown import MarkdownPoint, split_front_matter, split_points
from hivemind.transfer.rules_files import find_verdict

BATCH = f"{rules_files.BATCH}-notes"
"""Prefix of the batches that read notes. Like all batches that read files, what it takes back is no verdict."""
LARGEST_FILE_BYTES = 1024 * 1024
LONGEST_NOTE = 1500
"""Characters up to which a file on one topic is one note; a longer one is read point by point."""
FEWEST_WORDS = 4
"""A point with fewer words, such as "None yet", says nothing."""
MOST_NOTES = 1000
"""Notes of one run: a folder that holds more is not an agent's memory."""

CLAUDE_TYPES = {"user": Kind.PREFERENCE, "feedback": Kind.CONVENTION, "project": Kind.FACT, "reference": Kind.FACT}
"""The types of Claude Code's notes; those of type ``user`` are about the person, the others about the project."""
HEADING_KINDS = (
    (Kind.PREFERENCE, re.compile(r"prefer|user profile|working style", re.IGNORECASE)),
    (Kind.DECISION, re.compile(r"decision|decided|why ", re.IGNORECASE)),
    (Kind.FIX, re.compile(r"fix|gotcha|failure|pitfall|bug|troubleshoot|debug", re.IGNORECASE)),
    (Kind.PROCEDURE, re.compile(r"command|build|test|deploy|workflow|how to|running", re.IGNORECASE)),
    (Kind.CONVENTION, re.compile(r"convention|style|rule|guideline|standard", re.IGNORECASE)),
)
"""What the heading above a point says about its kind; the first match counts."""
LINK_TO_NOTE = re.compile(r"\[[^\]]*\]\((?P<file>[^)#?]+\.md)\)")
CODEX_HANDBOOK = ".codex/memories/MEMORY.md"
CODEX_PLACE = re.compile(r"\bcwd=(?P<directory>[^;,)\n]+)")
CODEX_INDEX = re.compile(r"\A(?:rollout_summary_files|keywords|What's in Memory)\b", re.IGNORECASE)
"""Headings of parts that list sessions and search words, and not what was learned."""
CODEX_HEADER = re.compile(r"\A(?:scope|applies_to|description|keywords|rollout_summary_files):")
CODEX_REFERENCE = re.compile(r"\s*\[Task[^\]]*\]\s*\Z")
# On Linux, on macOS, and on a remote machine.
VSCODE_USERS = (".config/Code/User", "Library/Application Support/Code/User", ".vscode-server/data/User")
VSCODE_WORKSPACES = "workspaceStorage/*/GitHub.copilot-chat/memory-tool/memories/repo/**/*.md"
VSCODE_PERSON = "globalStorage/github.copilot-chat/memory-tool/memories/*.md"
NOT_ALPHANUMERIC = re.compile(r"[^A-Za-z0-9]")


class NoteFiles(NamedTuple):
    """Files below the home directory in which an agent keeps notes."""

    origin: str
    pattern: str
    read: Callable[[Path, str], Iterator[ForeignNote]]
    """Reads the notes of a file, given its repository, which is empty for notes about the person."""
    locate: Callable[[Path, KnownTrees], str | None] = lambda path, trees: ""
    """Finds the repository of a file; None if its directory is not known."""


def sync_notes(
    context: Context, origins: Sequence[str] = (), *, home: Path | None = None, dry_run: bool = False
) -> NoteReport:
    """Propose what agents have noted since the last time, and withdraw proposals whose note is gone."""
    if unknown := [origin for origin in origins if origin not in ORIGINS]:
        suggestion = did_you_mean(unknown[0], ORIGINS) or f" Notes are read of: {', '.join(ORIGINS)}."
        raise InvalidInput(f"{unknown[0]!r} keeps no notes that can be read.{suggestion}")
    # By id, because clones of one repository have the same notes in their trees.
    trees = list_known_trees(context)
    # Lazily, so that a folder of a million files is not read before the limit applies.
    notes = islice(find_notes(home or Path.home(), trees, origins or ORIGINS), MOST_NOTES)
    notes_by_id = {note.memory_id: note for note in notes}
    earlier = [
        memory for memory in memories.find_by_batch(context.store.db, BATCH) if not origins or memory.agent in origins
    ]
    factory = context.new_batch(BATCH)
    # A person's decision stands whatever becomes of the note: only what nobody has decided about is withdrawn.
    missing = [memory for memory in earlier if memory.status is Status.PROPOSED and memory.id not in notes_by_id]
    # Taken back because their note was gone, and not by a person.
    withdrawn = [memory for memory in earlier if memory.status is Status.RETRACTED and memory.id in notes_by_id]
    again = [memory for memory in withdrawn if not find_verdict(context.store.db, memory.id)]
    repos_off = {repo for directory, repo in trees.repos.items() if switch.is_off(directory)}
    unknown_entries = [entry for entry in make_new_entries(context, notes_by_id.values()) if entry[1] not in repos_off]
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
        notes=len(notes_by_id), new=new_count + len(again), gone=len(missing),
        refused=len(unknown_entries) - len(entries),
        batch=factory.batch, by_origin=count_origins(notes_by_id.values()),
    )  # fmt: skip


def find_notes(home: Path, trees: KnownTrees, names: Collection[str]) -> Iterator[ForeignNote]:
    """Find the notes of agents with these names about known repositories and about the person."""
    for files in HOME_FILES:
        for path in _list_files(home, files.pattern) if files.origin in names else ():
            repo = files.locate(path, trees)
            notes = files.read(path, repo) if repo is not None else iter(())
            yield from _name_source(notes, files.origin, path, f"~/{path.relative_to(home)}")
    # The one file of which each part names the directory it applies to.
    for path in _list_files(home, CODEX_HANDBOOK) if "codex" in names else ():
        yield from _name_source(_read_codex_handbook(path, trees), "codex", path, f"~/{path.relative_to(home)}")
    for directory, repo in trees.repos.items():
        for origin, pattern in TREE_FILES:
            for path in _list_files(Path(directory), pattern) if origin in names else ():
                yield from _name_source(_read_topic(path, repo), origin, path, str(path.relative_to(directory)))


def _list_files(top: Path, pattern: str) -> Iterator[Path]:
    # A tree may be gone, and its name may be anything that an agent reported.
    for path in sorted(top.glob(pattern)) if is_directory(top) else ():
        # A symbolic link could lead to any file; a large file is no note.
        is_inside = path.is_file() and path.resolve().is_relative_to(top.resolve())
        if is_inside and path.stat().st_size <= LARGEST_FILE_BYTES and os.access(path, os.R_OK):
            yield path


def _read(path: Path) -> str:
    """Read a file; nothing if it was replaced by something else since it was listed."""
    try:
        return read_limited(path, LARGEST_FILE_BYTES).decode("utf-8", "replace")
    except (OSError, Unreadable):
        return ""


def _name_source(notes: Iterable[ForeignNote], origin: str, path: Path, name: str) -> Iterator[ForeignNote]:
    """Say of notes where they come from and when they were written."""
    written_at = format_timestamp(datetime.fromtimestamp(path.stat().st_mtime, UTC))
    for note in notes:
        if len(note.text.split()) >= FEWEST_WORDS:
            yield replace(note, origin=origin, file=name.replace(os.sep, "/"), written_at=written_at)


def _read_topic(path: Path, repo: str) -> Iterator[ForeignNote]:
    """Read a file on one topic as one note, or point by point if it is long or has no front matter."""
    text = _read(path)
    fields, body = split_front_matter(text)
    if not fields or len(body.strip()) > LONGEST_NOTE:
        yield from _read_points(path, repo, body)
        return
    # Newer versions of Claude Code nest the type in `metadata`; fields are found by their own names either way.
    note_type = fields.get("type", "")
    is_about_person = not repo or note_type == "user"
    first_line = 1 + len(body) - len(body.lstrip("\n"))
    yield ForeignNote(
        text=body.strip() or fields.get("description", ""),
        kind=CLAUDE_TYPES.get(note_type) or suggest_kind(fields.get("name", "")),
        scope=Scope.USER if is_about_person else Scope.PROJECT,
        repo="" if is_about_person else repo,
        lines=f"{first_line}-{len(text.splitlines())}",
    )


def _read_points(path: Path, repo: str, body: str) -> Iterator[ForeignNote]:
    for point in split_points(body):
        link = LINK_TO_NOTE.search(point.text)
        # An index repeats the titles of notes that have files of their own.
        if link is None or not (path.parent / link["file"]).is_file():
            yield _make_note(point, repo)


def _make_note(point: MarkdownPoint, repo: str) -> ForeignNote:
    return ForeignNote(
        text=point.titled_text,
        kind=suggest_kind(point.heading),
        scope=Scope.PROJECT if repo else Scope.USER,
        repo=repo,
        lines=point.lines,
    )


def _read_plain_points(path: Path, repo: str) -> Iterator[ForeignNote]:
    return _read_points(path, repo, _read(path))


def _read_added_memories(path: Path, repo: str) -> Iterator[ForeignNote]:
    """Read one section: the bullets that an agent's tool appends to a file that a person writes."""
    for point in split_points(_read(path)):
        if point.heading in ("Gemini Added Memories", "Qwen Added Memories"):
            # The heading only says who wrote it.
            yield replace(_make_note(replace(point, heading=""), repo), kind=Kind.PREFERENCE)


def _read_codex_handbook(path: Path, trees: KnownTrees) -> Iterator[ForeignNote]:
    """Read Codex's handbook: groups of points, each after a line that names the directory it applies to."""
    lines = _read(path).splitlines()
    # Older handbooks name the directory only beside the sessions that a group was learned from.
    marker = "applies_to:" if any(line.startswith("applies_to:") for line in lines) else "cwd="
    places = [
        (number, trees.find(match["directory"].strip()))
        for number, line in enumerate(lines, start=1)
        if marker in line and (match := CODEX_PLACE.search(line))
    ]
    for point in split_points("\n".join(lines)):
        line = int(point.lines.partition("-")[0])
        repo = next((repo for number, repo in reversed(places) if number <= line), "")
        is_bookkeeping = CODEX_HEADER.match(point.text) or CODEX_PLACE.search(point.text)
        # Without a directory that is known, nobody could say where it holds.
        if repo and not is_bookkeeping and not CODEX_INDEX.match(point.heading):
            yield _make_note(replace(point, text=CODEX_REFERENCE.sub("", point.text)), repo)


def _read_codex_summary(path: Path, repo: str) -> Iterator[ForeignNote]:
    """Read what Codex's summary says about the person; its index repeats the handbook."""
    points = split_points(_read(path))
    return (_make_note(point, repo) for point in points if not CODEX_INDEX.match(point.heading))


def suggest_kind(heading: str) -> Kind:
    """Return the kind that the heading or category of a note suggests; a fact if it suggests none."""
    return next((kind for kind, words in HEADING_KINDS if words.search(heading)), Kind.FACT)


def _locate_claude(path: Path, trees: KnownTrees) -> str | None:
    name = path.parts[path.parts.index("projects") + 1]
    # Claude Code's name for the folder of a project.
    return next((repo for directory, repo in trees.repos.items() if NOT_ALPHANUMERIC.sub("-", directory) == name), None)


def _locate_gemini(path: Path, trees: KnownTrees) -> str | None:
    project = path.parent.parent
    marker = project / ".project_root"
    repo = trees.find(_read(marker).strip()) if marker.is_file() else ""
    # In older versions of Gemini CLI, the folder of a project has the digest of its directory as its name.
    digests = ((hashlib.sha256(os.fsencode(directory)).hexdigest(), repo) for directory, repo in trees.repos.items())
    return repo or next((repo for digest, repo in digests if digest == project.name), None)


def _locate_vscode(path: Path, trees: KnownTrees) -> str | None:
    storage = next(parent.parent for parent in path.parents if parent.name == "GitHub.copilot-chat")
    try:
        folder = str(parse_json(_read(storage / "workspace.json"))["folder"])
    except (ValueError, LookupError, TypeError):
        # A workspace of several folders has none of its own.
        return None
    return trees.find(unquote(urlparse(folder).path)) or None


HOME_FILES = (
    # A folder for each repository, which its worktrees share.
    NoteFiles("claude-code", ".claude/projects/*/memory/**/*.md", _read_topic, _locate_claude),
    # Beside the handbook: a summary about the person, and what the person asked it to note.
    NoteFiles("codex", ".codex/memories/memory_summary.md", _read_codex_summary),
    NoteFiles("codex", ".codex/memories/extensions/ad_hoc/notes/*.md", _read_plain_points),
    NoteFiles("gemini", ".gemini/GEMINI.md", _read_added_memories),
    NoteFiles("gemini", ".gemini/tmp/*/memory/*.md", _read_plain_points, _locate_gemini),
    # Qwen Code began as a copy of Gemini CLI, and notes in the same way.
    NoteFiles("qwen", ".qwen/QWEN.md", _read_added_memories),
    NoteFiles("windsurf", ".codeium/windsurf/memories/global_rules.md", _read_plain_points),
    NoteFiles("serena", ".serena/memories/global/**/*.md", _read_topic),
    # Copilot in VS Code keeps notes about a workspace and about the person.
    *(NoteFiles("copilot", f"{user}/{VSCODE_WORKSPACES}", _read_topic, _locate_vscode) for user in VSCODE_USERS),
    *(NoteFiles("copilot", f"{user}/{VSCODE_PERSON}", _read_topic) for user in VSCODE_USERS),
)
TREE_FILES = (("serena", ".serena/memories/**/*.md"), ("claude-code", ".claude/agent-memory/*/*.md"))
"""Notes that lie in the working tree itself."""
ORIGINS = tuple(dict.fromkeys([*(files.origin for files in HOME_FILES), *(origin for origin, _ in TREE_FILES)]))
