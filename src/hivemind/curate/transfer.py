"""Memories as lines of JSON, out of one store and into another."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from hivemind.errors import InvalidInput
from hivemind.model.events import MemoryRemembered
from hivemind.model.ids import MemoryId
from hivemind.model.memory import Kind, Memory, Source, Trace
from hivemind.model.moments import parse_date
from hivemind.model.plain import as_json, plain, revived
from hivemind.model.scope import Scope
from hivemind.model.text import checked, checked_label, escaped, tags

FORMAT = 1


def exported(memories: Iterable[Memory]) -> Iterator[str]:
    """A line of JSON for each memory."""
    for memory in memories:
        yield escaped(as_json({"hivemind": FORMAT}).removesuffix("}") + "," + as_json(memory).removeprefix("{"))


def page(memory: Memory) -> tuple[str, str]:
    """A memory as a Markdown file with its contract in the front matter; the name stays the same for ever."""
    held = {name: value for name, value in plain(memory).items() if name != "text" and value not in ("", [], None)}
    front = "\n".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in held.items())
    return f"{memory.kind}/{memory.id}.md", f"---\n{front}\n---\n\n{memory.text}\n"


def imported(lines: Iterable[str]) -> Iterator[tuple[Scope, str, MemoryRemembered]]:
    """The memories that lines of an export hold, with the place each belongs to."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                yield _read(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError, InvalidInput) as error:
                raise InvalidInput(f"line {number} is not an exported memory: {error}") from None


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
        confidence=float(held.get("confidence", 1.0)),
        valid_from=_date(held, "valid_from") or _date(held, "recorded_at"),
        valid_to=_date(held, "valid_to"),
        expires_at=_date(held, "expires_at"),
        verify_by=_date(held, "verify_by"),
        trace=Trace(**{name: str(value) for name, value in trace.items()}) if trace else None,
    )
    return Scope.parse(held["scope"]), str(held.get("repo") or ""), fact


def _id(written: str) -> MemoryId:
    if len(written) != 32 or set(written) - set("0123456789abcdef"):
        raise InvalidInput(f"{written!r} is not a memory id")
    return MemoryId(written)


def _date(held: dict[str, Any], name: str) -> str:
    return parse_date(held[name]) if held.get(name) else ""
