"""Memories as files: exports, as lines of JSON or pages of Markdown, and all that is imported."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from hivemind.context import Context
from hivemind.errors import InvalidInput
from hivemind.memory.claims import check_confidence
from hivemind.model.code import Anchor
from hivemind.model.codec import from_plain, to_json, to_plain
from hivemind.model.events import MemoryRemembered, find_shape_error
from hivemind.model.ids import MemoryId
from hivemind.model.memory import Channel, Kind, Memory, Source, Status, Trace
from hivemind.model.metadata import validate_metadata
from hivemind.model.scope import Scope
from hivemind.model.session import MAX_RAW_CHARACTERS, SkippedInput
from hivemind.model.timestamps import parse_date
from hivemind.model.wire import UNSTORABLE
from hivemind.sessions.quarantine import ItemOrigin, set_aside
from hivemind.store import log
from hivemind.store.projections import memories
from hivemind.text.clean import escape_json, expand_path, parse_tags, validate_label, validate_text
from hivemind.text.untrusted import MAX_MESSAGE_BYTES, parse_json
from hivemind.transfer.imports import Entry, FileSyncReport, ImportReport, NoteReport, record_entries
from hivemind.transfer.notes import sync_notes
from hivemind.transfer.other_tools import import_store
from hivemind.transfer.rules_files import sync_rules_files

FORMAT = 1
"""Of an exported line."""
SHARED_STATUSES = (Status.ACTIVE, Status.DISPUTED)
"""What somebody decided to share is no proposal, and was not taken back."""


class Files:
    """Exports and imports memories, and syncs instruction files."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def export_lines(
        self, *, everywhere: bool = False, session: str = "", owner: str = "", shared: bool = False
    ) -> Iterator[str]:
        """Export the visible memories as lines of JSON; ``shared`` ones are those of the team that are in force."""
        selection = self._select_memories(everywhere=everywhere, session=session, owner=owner, shared=shared)
        return render_lines(selection)

    def export_pages(
        self, *, everywhere: bool = False, session: str = "", owner: str = "", shared: bool = False
    ) -> Iterator[tuple[str, str]]:
        """Export the visible memories as Markdown files: name and content, one per memory."""
        selection = self._select_memories(everywhere=everywhere, session=session, owner=owner, shared=shared)
        return map(render_page, selection)

    def import_lines(self, lines: Iterable[str], *, approve: bool = False, name: str = "") -> ImportReport:
        """Import exported memories as proposals of low trust; what was rejected or erased here stays out.

        With ``approve`` the person vouches for the file, and they are believed as if just said. Lines that cannot be
        read go to the quarantine under the file's name; if no line can be read, nothing is done.
        """
        context = self._context
        if approve:
            context.require_person("an approved import")
        factory = context.new_batch("import")
        read = list(parse_export(lines))
        memories_to_import = [item for item in read if not isinstance(item, SkippedInput)]
        unreadable = [item for item in read if isinstance(item, SkippedInput)]
        # Not one line could be read: this is the wrong file, and no case for the quarantine.
        if unreadable and not memories_to_import:
            raise InvalidInput(f"{unreadable[0].where} is {unreadable[0].reason}")
        ids, db = {fact.memory_id for _, _, fact in memories_to_import}, context.store.db
        known_ids = {memory_id for memory_id in ids if log.has_entries_about(db, [memory_id])}
        erased_ids = known_ids - log.find_ids_with_content(db, known_ids)
        unknown = [item for item in memories_to_import if item[2].memory_id not in known_ids]
        channel = Channel.PERSON if approve else Channel.IMPORT
        new, refused_count = record_entries(context, unknown, factory, channel)
        file = name or "standard input"
        set_aside(context, ItemOrigin.IMPORT, [replace(item, where=f"{file}, {item.where}") for item in unreadable])
        return ImportReport(
            new=new, known=len(memories_to_import) - len(unknown) - len(erased_ids),
            refused=refused_count + len(erased_ids), batch=factory.batch,
            unreadable=tuple(f"{item.where} is {item.reason}" for item in unreadable),
        )  # fmt: skip

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
        return sync_rules_files(self._context, dry_run=dry_run)

    def _select_memories(self, *, everywhere: bool, session: str, owner: str, shared: bool) -> Iterator[Memory]:
        visible = memories.iterate_visible(self._context.store.db, self._context.limit_sight(everywhere=everywhere))
        return (
            memory
            for memory in visible
            if (not session or memory.session_id == session)
            and (not owner or memory.owner == owner)
            and (not shared or (memory.scope is Scope.TEAM and memory.status in SHARED_STATUSES))
        )


def render_lines(to_export: Iterable[Memory]) -> Iterator[str]:
    """Yield a line of JSON for each memory."""
    for memory in to_export:
        yield escape_json(to_json({"hivemind": FORMAT}).removesuffix("}") + "," + to_json(memory).removeprefix("{"))


def render_page(memory: Memory) -> tuple[str, str]:
    """Return the name and text of a Markdown file for a memory, with its other fields in the front matter."""
    # Named by its id, so that exporting again replaces the file even if the text has changed.
    fields = {
        name: value for name, value in to_plain(memory).items() if name != "text" and value not in ("", [], {}, None)
    }
    front_matter = "\n".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items())
    return f"{memory.kind}/{memory.id}.md", f"---\n{front_matter}\n---\n\n{memory.text}\n"


def parse_export(lines: Iterable[str]) -> Iterator[Entry | SkippedInput]:
    """Parse the lines of an export into scope, repository and fact; a bad line becomes a ``SkippedInput``."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                yield _parse_memory(_parse_object(line))
            # A field may have any type, and each of these is raised by some wrong one.
            except (ArithmeticError, ValueError, LookupError, TypeError, AttributeError, InvalidInput) as error:
                problem = f"the field {error} is missing" if isinstance(error, KeyError) else str(error)
                reason = f"not an exported memory: {problem}"
                yield SkippedInput(reason=reason, where=f"line {number}", raw=line[:MAX_RAW_CHARACTERS])


def _parse_object(line: str) -> dict[str, Any]:
    if len(line) > MAX_MESSAGE_BYTES:
        raise InvalidInput(f"it is longer than {MAX_MESSAGE_BYTES:,} characters")
    record = parse_json(line)
    if not isinstance(record, dict):
        raise InvalidInput(f"it is a JSON {type(record).__name__}; expected an object")
    return record


def _parse_memory(record: dict[str, Any]) -> Entry:
    if record.get("hivemind") != FORMAT:
        raise InvalidInput(f"it does not say \"hivemind\": {FORMAT}; use a file that 'hivemind export' wrote")
    trace = record.get("trace")
    fact = MemoryRemembered(
        memory_id=_check_id(record["id"]),
        kind=Kind.parse(record["kind"]),
        text=validate_text(record["text"]),
        owner=validate_label(record["owner"], "the owner"),
        tags=parse_tags(record.get("tags") or []),
        sources=tuple(from_plain(Source, source) for source in record.get("sources") or []),
        links=tuple(validate_label(link, "a link") for link in record.get("links") or _list_labels(record)),
        subject=str(record.get("subject") or ""),
        confidence=check_confidence(float(record.get("confidence", 1.0))),
        # A memory without a start was valid when it was recorded, not only from the import on.
        valid_from=_read_date(record, "valid_from") or _read_date(record, "recorded_at"),
        valid_to=_read_date(record, "valid_to"),
        expires_at=_read_date(record, "expires_at"),
        verify_by=_read_date(record, "verify_by"),
        trace=Trace(**{name: str(value) for name, value in trace.items()}) if trace else None,
        metadata=validate_metadata(record.get("metadata") or {}),
    )
    repo = str(record.get("repo") or "")
    if problem := find_shape_error(fact):
        raise InvalidInput(problem)
    if any(UNSTORABLE.search(text) for text in _walk_strings([repo, to_plain(fact)])):
        raise InvalidInput("it contains a NUL byte or half of a character; save it as UTF-8")
    return Scope.parse(record["scope"]), repo, fact


def _list_labels(record: dict[str, Any]) -> list[str]:
    """List the code that a memory was linked to later than it was written; its fingerprints are of another tree."""
    anchors = [from_plain(Anchor, anchor) for anchor in record.get("anchors") or ()]
    return [anchor.label for anchor in anchors]


def _walk_strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _walk_strings(inner)


def _check_id(text: str) -> MemoryId:
    if len(text) != 32 or set(text) - set("0123456789abcdef"):
        raise InvalidInput(f"{text!r} is not a memory id")
    return MemoryId(text)


def _read_date(record: dict[str, Any], name: str) -> str:
    return parse_date(record[name]) if record.get(name) else ""
