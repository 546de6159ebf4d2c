"""Read fields, texts and files of JSON that other programs wrote.

Payloads and transcripts change with every version of an agent, so each function here takes any value and returns an
empty one where the expected type is missing.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hivemind.model import timestamps
from hivemind.model.session import MAX_RAW_CHARACTERS, Observation, SkippedInput
from hivemind.text.untrusted import (
    BYTE_ORDER_MARK,
    MAX_LINE_BYTES,
    Line,
    Unreadable,
    open_regular,
    parse_json,
    parse_json_prefix,
    read_limited,
    read_lines,
)

Observations = Iterator[Observation | SkippedInput]
"""Observations in order, and a ``SkippedInput`` for what could not be read. Known but unneeded events yield neither."""

Payload = Mapping[str, Any]

MAX_FILE_BYTES = 64 << 20
"""A transcript that is one JSON document must fit in memory; longer ones are skipped."""
SPACE = re.compile(r"\s*")


def split_names(text: str) -> frozenset[str]:
    """Return the names in a text that separates them by spaces."""
    return frozenset(text.split())


def digest(text: str) -> str:
    """Return a short hash of a text, for agents that give a step no id."""
    return hashlib.sha256(text.strip().encode("utf-8", "surrogatepass")).hexdigest()[:16]


def parse_timestamp(stamp: Any, default: str = "") -> str:
    """Return an agent's timestamp, milliseconds or ISO text, in the log's format; the default if it is neither."""
    try:
        # Milliseconds since 1970, as JavaScript counts them.
        is_number = isinstance(stamp, int | float)
        moment = datetime.fromtimestamp(stamp / 1000, UTC) if is_number else datetime.fromisoformat(stamp)
        # Go and .NET write the year 1 where there is no time.
        is_time = timestamps.EARLIEST <= moment.year <= timestamps.LATEST
        return timestamps.format_timestamp(moment) if is_time else default
    except (ValueError, TypeError, OverflowError, OSError):
        return default


def get_modified_time(path: Path) -> str:
    """Return when a file was last written, the best time for a step that has none of its own."""
    return parse_timestamp(path.stat().st_mtime * 1000)


def get_text(fields: Payload, *names: str) -> str:
    """Return the first of these fields that is not empty, as text."""
    return str(next(filter(None, map(fields.get, names)), ""))


def parse_object(value: Any) -> dict[str, Any]:
    """Return a JSON object that may come as text; an empty one if it is something else."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            value = parse_json(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def get_object(fields: Payload, name: str) -> dict[str, Any]:
    """Return the object in a field; an empty one if there is none."""
    value = fields.get(name)
    return value if isinstance(value, dict) else {}


def get_list(fields: Payload, name: str) -> list[Any]:
    """Return the list in a field; an empty one if there is none."""
    value = fields.get(name)
    return value if isinstance(value, list) else []


def get_objects(fields: Payload, name: str) -> list[dict[str, Any]]:
    """Return the objects of the list in a field, without its other elements."""
    return [item for item in get_list(fields, name) if isinstance(item, dict)]


def get_blocks(message: Payload) -> list[dict[str, Any]]:
    """Return the content of a message as blocks; a plain text becomes one block."""
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else get_objects(message, "content")


def extract_text(value: Any) -> str:
    """Return the text of a string, block or list of blocks, without the model's thoughts and injected parts."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(filter(None, (extract_text(item) for item in value)))
    if isinstance(value, dict) and not value.get("thought") and not value.get("synthetic"):
        return extract_text(value.get("text") or "")
    return ""


def read_objects(path: Path) -> Iterator[dict[str, Any] | SkippedInput]:
    """Read the JSON objects of a JSONL file."""
    for _, value in _read_objects(path):
        yield value


def decode_lines(path: Path, decode: Callable[[dict[str, Any]], Observations]) -> Observations:
    """Decode each object of a JSONL file; an object that cannot be decoded is skipped."""
    for line, value in _read_objects(path):
        if isinstance(value, SkippedInput):
            yield value
            continue
        try:
            yield from decode(value)
        except Exception as error:  # noqa: BLE001 - an agent's next version may write anything, and other lines count
            yield _skip(line, f"unexpected content: {type(error).__name__}: {error}")


def read_json_file(path: Path, list_key: str = "") -> dict[str, Any] | SkippedInput:
    """Read a file that is one JSON object; a list becomes an object with that list under ``list_key``."""
    try:
        text = read_limited(path, MAX_FILE_BYTES).decode("utf-8", "replace")
    except Unreadable as error:
        return SkippedInput(reason=str(error))
    try:
        value = parse_json(text)
    except ValueError as error:
        return SkippedInput(reason=str(error), raw=text[:MAX_RAW_CHARACTERS])
    if list_key and isinstance(value, list):
        return {list_key: value}
    return (
        value if isinstance(value, dict) else SkippedInput(reason=f"expected an object, got a {type(value).__name__}")
    )


def _read_objects(path: Path) -> Iterator[tuple[Line, dict[str, Any] | SkippedInput]]:
    try:
        file = open_regular(path)
    except Unreadable as error:
        yield Line(0, b"", is_cut=False), SkippedInput(reason=str(error))
        return
    with file:
        for line in read_lines(file):
            if line.is_cut:
                yield line, _skip(line, f"line too long: more than {MAX_LINE_BYTES:,} bytes")
            else:
                yield from ((line, value) for value in _parse_line(line))


def _parse_line(line: Line) -> Iterator[dict[str, Any] | SkippedInput]:
    try:
        # A line can hold two objects, where an agent left out the line break between them.
        for value in split_values(line.content.decode("utf-8", "replace")):
            is_object = isinstance(value, dict)
            yield value if is_object else _skip(line, f"expected an object, got a {type(value).__name__}")
    except ValueError as error:
        yield _skip(line, str(error))


def split_values(text: str) -> Iterator[Any]:
    """Yield the JSON values of a text, which follow each other; raises Unreadable where there is none."""
    text = text.removeprefix(BYTE_ORDER_MARK).strip()
    position = 0
    while position < len(text):
        value, end = parse_json_prefix(text, position)
        yield value
        space = SPACE.match(text, end)
        position = space.end() if space else end


def _skip(line: Line, reason: str) -> SkippedInput:
    # A character takes at most four bytes in UTF-8.
    raw = line.content[: 4 * MAX_RAW_CHARACTERS].decode("utf-8", "replace")
    return SkippedInput(reason=reason, where=f"line {line.number}", raw=raw[:MAX_RAW_CHARACTERS])


INJECTED_TAGS = (
    r"system-reminder|system_reminder|hook_context|environment_context|session_context|current_datetime|ide_opened_file"
    r"|ide_selection|local-command-caveat|hivemind-memory|qwen:[\w-]{1,40}-context|ADDITIONAL_METADATA"
    r"|USER_SETTINGS_CHANGE"
)
"""Elements that agents and hivemind insert into the text of a person or a tool."""
INJECTED_OPENING = re.compile(rf"<({INJECTED_TAGS})(?=[\s>])[^<>]*>")
WRAPPER_TAG = re.compile(r"</?(?:user_input|user_query|untrusted_context|USER_REQUEST)(?:\s[^<>]*)?>\n?")
GUIDANCE = re.compile(r'\n\nTool "[^"\n]*" succeeded\. Additional guidance from postToolUse hooks:\n')


def strip_injected(text: str) -> str:
    """Return the text without injected blocks, so that memories we injected are not learned again."""
    parts, position, unclosed_tags = [], 0, set()
    for opening in INJECTED_OPENING.finditer(text):
        if opening.start() < position or opening[1] in unclosed_tags:
            continue
        closing = text.find(f"</{opening[1]}", opening.end())
        end = text.find(">", closing) if closing >= 0 else -1
        if end < 0:
            # Searching the rest of the text for each unclosed tag would take quadratic time.
            unclosed_tags.add(opening[1])
            continue
        parts.append(text[position : opening.start()])
        position = end + 1
    remaining = "".join(parts) + text[position:]
    return GUIDANCE.split(WRAPPER_TAG.sub("", remaining), maxsplit=1)[0].strip()
