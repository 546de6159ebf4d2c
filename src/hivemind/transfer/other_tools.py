"""Imports the stores and exports of other memory tools, in the formats that their own code writes."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hivemind.agents.json_input import get_list, get_object, get_objects, get_text, parse_object, parse_timestamp
from hivemind.code.repository import list_known_trees
from hivemind.context import Context
from hivemind.errors import InvalidInput, did_you_mean
from hivemind.model.memory import Channel, Kind
from hivemind.model.scope import KnownTrees, Scope
from hivemind.model.session import MAX_RAW_CHARACTERS, SkippedInput
from hivemind.sessions.quarantine import ItemOrigin, set_aside
from hivemind.store.sqlite import read_foreign_rows
from hivemind.text.untrusted import Unreadable, open_regular, parse_json, read_limited, read_text_lines
from hivemind.transfer.imports import ForeignNote, NoteReport, count_origins, make_new_entries, record_entries
from hivemind.transfer.markdown import split_front_matter, split_points
from hivemind.transfer.notes import suggest_kind

Item = ForeignNote | SkippedInput

LARGEST_JSON_BYTES = 256 << 20
SQLITE_HEADER = b"SQLite format 3\0"
CLAUDE_MEM_COLUMNS = (
    *("type", "title", "subtitle", "facts", "narrative", "text", "project", "merged_into_project"),
    *("learned", "created_at_epoch"),
)
CLAUDE_MEM_KINDS = {"decision": Kind.DECISION, "bugfix": Kind.FIX}
CLAUDE_MEM_WORK = ("feature", "refactor", "change")
"""Types of observations that say what was done in a session, which git has anyway."""
AGENTMEMORY_KINDS = {
    "pattern": Kind.CONVENTION, "preference": Kind.PREFERENCE, "architecture": Kind.DECISION, "bug": Kind.FIX,
    "workflow": Kind.PROCEDURE,
}  # fmt: skip
ENGRAM_COLUMNS = ("type", "title", "content", "project", "scope", "updated_at", "created_at", "deleted_at")
ENGRAM_KINDS = {
    "decision": Kind.DECISION, "architecture": Kind.DECISION, "bugfix": Kind.FIX, "pattern": Kind.CONVENTION,
    "policy": Kind.CONVENTION, "preference": Kind.PREFERENCE,
}  # fmt: skip
ENGRAM_WORK = ("session_summary", "tool_use", "file_change", "file_read", "command", "search")
"""Types of observations that say what was done in a session, whose transcript has it."""
UTC_LENGTH = len("2026-01-05 10:00:00")
"""SQLite writes the time in UTC, without saying so."""
OBSERVATION = re.compile(r"\[(?P<category>[^\[\]()]{2,})\]\s+(?P<text>.+)")
"""A point of Basic Memory: ``[category] text #tag (context)``; one character in brackets is a checkbox."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """What a reader needs: the file or folder, the known repositories, and the one to import into."""

    path: Path
    trees: KnownTrees
    repo: str


def import_store(context: Context, tool: str, path: Path | None, *, approve: bool = False) -> NoteReport:
    """Import the store or an export of another memory tool; with ``approve`` the person vouches for it."""
    factory = context.new_batch(f"import-{tool}")
    items = read_items(tool, path, Path.home(), list_known_trees(context), context.repository.id)
    imported_notes = list(
        {item.memory_id: item for item in items if isinstance(item, ForeignNote) and item.text}.values()
    )
    # Bad lines go to the quarantine; what is left out on purpose is only counted.
    skips = [item for item in items if isinstance(item, SkippedInput)]
    set_aside(context, ItemOrigin.IMPORT, [item for item in skips if item.raw])
    entries = make_new_entries(context, imported_notes)
    channel = Channel.PERSON if approve else Channel.IMPORT
    new_count, refused_count = record_entries(context, entries, factory, channel)
    return NoteReport(
        notes=len(imported_notes), new=new_count, gone=0, refused=refused_count, batch=factory.batch,
        by_origin=count_origins(imported_notes),
        skipped=tuple(Counter(item.reason for item in skips).most_common()),
    )  # fmt: skip


def read_items(tool: str, path: Path | None, home: Path, trees: KnownTrees, repo: str) -> list[Item]:
    """Read the notes of a tool's store or export; without a path, of its store in the usual place."""
    if tool not in TOOLS:
        suggestion = did_you_mean(tool, TOOLS) or f" Supported are: {', '.join(TOOLS)}."
        raise InvalidInput(f"stores of {tool!r} cannot be imported.{suggestion}")
    read, default = TOOLS[tool]
    place = path or (home / default if default else None)
    if place is None or not place.exists():
        problem = f"there is no {tool} store at {place}" if place else f"{tool} has no usual place for its store"
        raise InvalidInput(f"{problem}; give its path: hivemind import --from {tool} PATH")
    # The folder of a tool means the store in it.
    if place.is_dir() and default and (place / Path(default).name).is_file():
        place /= Path(default).name
    try:
        # All of it before the first is recorded: a file that turns out to be of another kind changes nothing.
        items = list(read(Import(path=place, trees=trees, repo=repo)))
    except Unreadable as error:
        raise InvalidInput(f"{error}; give the file that the tool exported") from None
    if not items:
        raise InvalidInput(f"{place} holds nothing that {tool} has written")
    return [replace(item, origin=tool) if isinstance(item, ForeignNote) else item for item in items]


def _read_claude_mem(source: Import) -> Iterator[Item]:
    observations: Iterable[dict[str, Any]]
    summaries: Iterable[dict[str, Any]]
    if _is_database(source.path):
        observations = read_foreign_rows(source.path, "observations", CLAUDE_MEM_COLUMNS)
        summaries = read_foreign_rows(source.path, "session_summaries", CLAUDE_MEM_COLUMNS)
    else:
        export = parse_object(_read_json(source.path))
        observations, summaries = get_objects(export, "observations"), get_objects(export, "summaries")
    yield from (_decode_observation(source, row) for row in observations)
    for row in summaries:
        if learned := get_text(row, "learned"):
            yield _place(source, row, _make_note(source, learned, Kind.FACT, row.get("created_at_epoch")))


def _decode_observation(source: Import, row: dict[str, Any]) -> Item:
    kind = get_text(row, "type")
    if kind in CLAUDE_MEM_WORK:
        return SkippedInput(reason="an observation that only says what was done")
    # Older rows have everything in one text.
    detail = get_text(row, "narrative") or _join_facts(row.get("facts")) or get_text(row, "text", "subtitle")
    title = get_text(row, "title")
    text = f"{title}: {detail}" if title and detail else title or detail
    note = _make_note(source, text, CLAUDE_MEM_KINDS.get(kind, Kind.FACT), row.get("created_at_epoch"))
    return _place(source, row, note)


def _join_facts(value: Any) -> str:
    """Join the facts of an observation, which the database keeps as a JSON list."""
    try:
        facts = parse_json(value) if isinstance(value, str) else value
    except ValueError:
        return str(value)
    return " ".join(map(str, facts)) if isinstance(facts, list) else ""


def _place(source: Import, row: dict[str, Any], note: ForeignNote) -> Item:
    """Put a note into the repository of its project, which tools name by its directory or by the folder's name."""
    project = get_text(row, "merged_into_project", "project")
    # A worktree is named after its repository: "shop/feature".
    names = (project.casefold(), project.partition("/")[0].casefold())
    # Some tools write names in small letters.
    by_name = {repo for directory, repo in source.trees.repos.items() if Path(directory).name.casefold() in names}
    repos = {source.trees.find(project)} if project.startswith("/") else by_name
    repo = repos.pop() if len(repos) == 1 else ""
    # Two repositories may have folders of one name; a guess would tell one about the other.
    if not repo:
        return SkippedInput(reason=f"of project {project!r}, which is no repository that Hivemind has seen")
    return replace(note, repo=repo)


def _read_mem0(source: Import) -> Iterator[Item]:
    if _is_database(source.path):
        # Each row is a change of a memory; the last one says what it is now.
        last_changes: dict[str, dict[str, Any]] = {}
        for row in read_foreign_rows(
            source.path, "history", ("memory_id", "new_memory", "event", "created_at", "is_deleted")
        ):
            last_changes[get_text(row, "memory_id")] = row
        rows = [row for row in last_changes.values() if row.get("event") != "DELETE" and not row.get("is_deleted")]
    else:
        # ``get_all`` returns results, and some exports only their list.
        content = _read_json(source.path)
        export = content if isinstance(content, dict) else {"results": content}
        rows = get_objects(export, "results") or get_objects(export, "memories")
    for row in rows:
        text = get_text(row, "memory", "new_memory", "data", "text")
        yield _make_note(source, text, Kind.FACT, row.get("created_at"))


def _read_basic_memory(source: Import) -> Iterator[Item]:
    for path in sorted(source.path.rglob("*.md")) if source.path.is_dir() else [source.path]:
        fields, body = split_front_matter(read_limited(path, LARGEST_JSON_BYTES).decode("utf-8", "replace"))
        title = fields.get("title") or path.stem
        written_at = parse_timestamp(path.stat().st_mtime * 1000)
        for point in split_points(body):
            if match := OBSERVATION.fullmatch(point.text):
                note = _make_note(source, f"{title}: {match['text']}", suggest_kind(match["category"]), written_at)
                name = path.relative_to(source.path).as_posix() if source.path.is_dir() else path.name
                yield replace(note, file=name, lines=point.lines)


def _read_agentmemory(source: Import) -> Iterator[Item]:
    export = parse_object(_read_json(source.path))
    # The store of its server without a database has an object of memories by id.
    stored_rows = [row for row in get_object(export, "mem:memories").values() if isinstance(row, dict)]
    for row in (*stored_rows, *get_objects(export, "memories"), *get_objects(export, "lessons")):
        # Older versions of a memory stay in the store beside the latest, and so does what was deleted.
        if row.get("isLatest") is not False and not row.get("deleted"):
            title, content = get_text(row, "title"), get_text(row, "content")
            # The title is often the beginning of the content; lessons have none.
            text = content if content.startswith(title.rstrip("…. ")) else f"{title}: {content}"
            kind = AGENTMEMORY_KINDS.get(get_text(row, "type"), Kind.FACT)
            note = _make_note(source, text, kind, row.get("createdAt"))
            yield _place(source, row, note) if get_text(row, "project") else note


def _read_engram(source: Import) -> Iterator[Item]:
    rows: Iterable[dict[str, Any]]
    if _is_database(source.path):
        rows = read_foreign_rows(source.path, "observations", ENGRAM_COLUMNS)
    else:
        rows = get_objects(parse_object(_read_json(source.path)), "observations")
    for row in rows:
        kind = get_text(row, "type")
        if kind in ENGRAM_WORK:
            yield SkippedInput(reason="an observation that only says what was done")
        elif not row.get("deleted_at"):
            written_at = get_text(row, "updated_at", "created_at")
            stamp = f"{written_at}+00:00" if len(written_at) == UTC_LENGTH else written_at
            text = f"{get_text(row, 'title')}: {get_text(row, 'content')}"
            note = _make_note(source, text, ENGRAM_KINDS.get(kind, Kind.FACT), stamp)
            if row.get("scope") == "personal":
                note = replace(note, scope=Scope.USER, repo="")
            yield _place(source, row, note) if note.repo and get_text(row, "project") else note


def _read_deja_vu(source: Import) -> Iterator[Item]:
    """Read the notes of deja-vu, a line each; everything else it knows are transcripts, which we import ourselves."""
    last_notes: dict[str, tuple[int, dict[str, Any]]] = {}
    with open_regular(source.path) as file:
        for number, line in enumerate(read_text_lines(file), start=1):
            record = parse_object(line.strip())
            if record:
                # A later note about a session corrects the earlier one.
                last_notes[get_text(record, "session") or str(number)] = number, record
            elif line.strip():
                yield _skip_line(source, number, line)
    for number, record in last_notes.values():
        if get_text(record, "state") not in ("", "accepted"):
            yield SkippedInput(reason=f"a note that is {get_text(record, 'state')}")
            continue
        title, text = get_text(record, "title"), get_text(record, "text")
        note = _make_note(source, f"{title}: {text}" if title else text, Kind.FACT, get_text(record, "src_ts", "ts"))
        note = replace(note, lines=str(number))
        yield _place(source, record, note) if get_text(record, "project") else note


def _read_mcp_memory(source: Import) -> Iterator[Item]:
    """Read the knowledge graph of the reference memory server: a line for each entity and each relation."""
    with open_regular(source.path) as file:
        for number, line in enumerate(read_text_lines(file), start=1):
            record = parse_object(line.strip())
            texts = [f"{get_text(record, 'name')}: {text}" for text in get_list(record, "observations")]
            if record.get("type") == "relation":
                # Relations are names, such as depends_on.
                relation = get_text(record, "relationType").replace("_", " ")
                texts = [f"{get_text(record, 'from')} {relation} {get_text(record, 'to')}"]
            if not record and line.strip():
                yield _skip_line(source, number, line)
            for text in texts:
                kind = suggest_kind(get_text(record, "entityType"))
                yield replace(_make_note(source, text, kind), lines=str(number))


def _skip_line(source: Import, number: int, line: str) -> SkippedInput:
    where = f"{source.path.name}, line {number}"
    return SkippedInput(reason="not a line of JSON", where=where, raw=line[:MAX_RAW_CHARACTERS])


def _make_note(source: Import, text: str, kind: Kind, written_at: Any = "") -> ForeignNote:
    return ForeignNote(
        text=text,
        kind=kind,
        scope=Scope.PROJECT if source.repo else Scope.USER,
        repo=source.repo,
        file=source.path.name,
        written_at=parse_timestamp(written_at),
    )


def _is_database(path: Path) -> bool:
    with open_regular(path) as file:
        return file.read(len(SQLITE_HEADER)) == SQLITE_HEADER


def _read_json(path: Path) -> Any:
    content = read_limited(path, LARGEST_JSON_BYTES)
    try:
        return parse_json(content)
    except ValueError as error:
        raise InvalidInput(f"{path} is {error}; give the file that the tool exported") from None


TOOLS: Mapping[str, tuple[Callable[[Import], Iterable[Item]], str]] = {
    "claude-mem": (_read_claude_mem, ".claude-mem/claude-mem.db"),
    "mem0": (_read_mem0, ".mem0/history.db"),
    "basic-memory": (_read_basic_memory, "basic-memory"),
    "agentmemory": (_read_agentmemory, ".agentmemory/standalone.json"),
    "engram": (_read_engram, ".engram/engram.db"),
    "deja-vu": (_read_deja_vu, ".local/share/deja/notes.jsonl"),
    "mcp-memory": (_read_mcp_memory, ""),
}
"""For each tool, how its store is read, and where it is below the home directory; empty if that differs."""
