"""Exports memories as lines of JSON and reads them back."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from hivemind.curate.claims import confidence
from hivemind.errors import InvalidInput
from hivemind.model.events import MemoryRemembered, ill_shaped
from hivemind.model.ids import MemoryId
from hivemind.model.memory import Kind, Memory, Source, Trace
from hivemind.model.metadata import checked_metadata
from hivemind.model.moments import parse_date
from hivemind.model.plain import as_json, plain, revived
from hivemind.model.scope import Scope
from hivemind.model.session import LONGEST_RAW, Skipped
from hivemind.model.text import checked, checked_label, escaped, tags
from hivemind.model.untrusted import LONGEST_MESSAGE, parse_json
from hivemind.model.wire import UNSTORABLE

FORMAT = 1


def exported(memories: Iterable[Memory]) -> Iterator[str]:
    """Yield a line of JSON for each memory."""
    for memory in memories:
        yield escaped(as_json({"hivemind": FORMAT}).removesuffix("}") + "," + as_json(memory).removeprefix("{"))


def page(memory: Memory) -> tuple[str, str]:
    """Return the name and text of a Markdown file for a memory, with its other fields in the front matter."""
    # Named by its id, so that exporting again replaces the file even if the text has changed.
    fields = {
        name: value for name, value in plain(memory).items() if name != "text" and value not in ("", [], {}, None)
    }
    front_matter = "\n".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items())
    return f"{memory.kind}/{memory.id}.md", f"---\n{front_matter}\n---\n\n{memory.text}\n"


def imported(lines: Iterable[str]) -> Iterator[tuple[Scope, str, MemoryRemembered] | Skipped]:
    """Parse the lines of an export into scope, repository and fact; a bad line becomes a ``Skipped``."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                yield _parse_memory(_parse_object(line))
            # A field may have any type, and each of these is raised by some wrong one.
            except (ArithmeticError, ValueError, LookupError, TypeError, AttributeError, InvalidInput) as error:
                reason = f"not an exported memory: {_describe_error(error)}"
                yield Skipped(reason=reason, where=f"line {number}", raw=line[:LONGEST_RAW])


def _describe_error(error: Exception) -> str:
    return f"the field {error} is missing" if isinstance(error, KeyError) else str(error)


def _parse_object(line: str) -> dict[str, Any]:
    if len(line) > LONGEST_MESSAGE:
        raise InvalidInput(f"it is longer than {LONGEST_MESSAGE:,} characters")
    record = parse_json(line)
    if not isinstance(record, dict):
        raise InvalidInput(f"it is a JSON {type(record).__name__}; expected an object")
    return record


def _parse_memory(record: dict[str, Any]) -> tuple[Scope, str, MemoryRemembered]:
    if record.get("hivemind") != FORMAT:
        raise InvalidInput(f"it does not say \"hivemind\": {FORMAT}; use a file that 'hivemind export' wrote")
    trace = record.get("trace")
    fact = MemoryRemembered(
        memory_id=_check_id(record["id"]),
        kind=Kind.parse(record["kind"]),
        text=checked(record["text"]),
        owner=checked_label(record["owner"], "the owner"),
        tags=tags(record.get("tags") or []),
        sources=tuple(revived(Source, source) for source in record.get("sources") or []),
        links=tuple(checked_label(link, "a link") for link in record.get("links") or ()),
        subject=str(record.get("subject") or ""),
        confidence=confidence(float(record.get("confidence", 1.0))),
        # A memory without a start was valid when it was recorded, not only from the import on.
        valid_from=_read_date(record, "valid_from") or _read_date(record, "recorded_at"),
        valid_to=_read_date(record, "valid_to"),
        expires_at=_read_date(record, "expires_at"),
        verify_by=_read_date(record, "verify_by"),
        trace=Trace(**{name: str(value) for name, value in trace.items()}) if trace else None,
        metadata=checked_metadata(record.get("metadata") or {}),
    )
    repo = str(record.get("repo") or "")
    if problem := ill_shaped(fact):
        raise InvalidInput(problem)
    if any(UNSTORABLE.search(text) for text in _walk_strings([repo, plain(fact)])):
        raise InvalidInput("it contains a NUL byte or half of a character; save it as UTF-8")
    return Scope.parse(record["scope"]), repo, fact


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
