"""Memories as lines of JSON, out of one store and into another."""

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
    """A line of JSON for each memory."""
    for memory in memories:
        yield escaped(as_json({"hivemind": FORMAT}).removesuffix("}") + "," + as_json(memory).removeprefix("{"))


def page(memory: Memory) -> tuple[str, str]:
    """A memory as a Markdown file with its contract in the front matter; the name stays the same for ever."""
    held = {name: value for name, value in plain(memory).items() if name != "text" and value not in ("", [], {}, None)}
    front = "\n".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in held.items())
    return f"{memory.kind}/{memory.id}.md", f"---\n{front}\n---\n\n{memory.text}\n"


def imported(lines: Iterable[str]) -> Iterator[tuple[Scope, str, MemoryRemembered] | Skipped]:
    """The memories that lines of an export hold, with the place each belongs to; a line that holds none says why."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                yield _read(_parsed(line))
            except (ArithmeticError, ValueError, LookupError, TypeError, AttributeError, InvalidInput) as error:
                reason = f"not an exported memory: {_told(error)}"
                yield Skipped(reason=reason, where=f"line {number}", raw=line[:LONGEST_RAW])


def _told(error: Exception) -> str:
    return f"it has no {error}" if isinstance(error, KeyError) else str(error)


def _parsed(line: str) -> dict[str, Any]:
    if len(line) > LONGEST_MESSAGE:
        raise InvalidInput(f"it is longer than {LONGEST_MESSAGE:,} characters")
    held = parse_json(line)
    if not isinstance(held, dict):
        raise InvalidInput(f"a {type(held).__name__} where an object belongs")
    return held


def _read(held: dict[str, Any]) -> tuple[Scope, str, MemoryRemembered]:
    if held.get("hivemind") != FORMAT:
        raise InvalidInput(f"it does not say \"hivemind\": {FORMAT}; use a file that 'hivemind export' wrote")
    trace = held.get("trace")
    fact = MemoryRemembered(
        memory_id=_id(held["id"]),
        kind=Kind.parse(held["kind"]),
        text=checked(held["text"]),
        owner=checked_label(held["owner"], "the owner"),
        tags=tags(held.get("tags") or []),
        sources=tuple(revived(Source, one) for one in held.get("sources") or []),
        links=tuple(checked_label(link, "a link") for link in held.get("links") or ()),
        subject=str(held.get("subject") or ""),
        confidence=confidence(float(held.get("confidence", 1.0))),
        valid_from=_date(held, "valid_from") or _date(held, "recorded_at"),
        valid_to=_date(held, "valid_to"),
        expires_at=_date(held, "expires_at"),
        verify_by=_date(held, "verify_by"),
        trace=Trace(**{name: str(value) for name, value in trace.items()}) if trace else None,
        metadata=checked_metadata(held.get("metadata") or {}),
    )
    repo = str(held.get("repo") or "")
    if wrong := ill_shaped(fact):
        raise InvalidInput(wrong)
    if any(UNSTORABLE.search(text) for text in _strings([repo, plain(fact)])):
        raise InvalidInput("it contains a NUL byte or half of a character; save it as UTF-8")
    return Scope.parse(held["scope"]), repo, fact


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


def _id(written: str) -> MemoryId:
    if len(written) != 32 or set(written) - set("0123456789abcdef"):
        raise InvalidInput(f"{written!r} is not a memory id")
    return MemoryId(written)


def _date(held: dict[str, Any], name: str) -> str:
    return parse_date(held[name]) if held.get(name) else ""
