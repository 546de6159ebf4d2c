"""What every agent's module offers, and the few things they share."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from hivemind.agents.pieces import Launch, Piece, Place
from hivemind.model import moments
from hivemind.model.session import LONGEST_RAW, Observation, Skipped
from hivemind.model.untrusted import (
    BYTE_ORDER_MARK,
    LONGEST_LINE,
    Line,
    bounded_lines,
    parse_json,
    parse_json_prefix,
)

Told = Iterator[Observation | Skipped]
"""What was read: observations, and what could not be read. What we know and do not need gives neither."""

Payload = Mapping[str, Any]

LONGEST_FILE = 64 << 20
"""Bytes of a file that is read as a whole."""
SPACE = re.compile(r"\s*")


class Agent(Protocol):
    """One coding agent: a module of this package, found by ``agents.of``."""

    NAME: str
    TITLE: str
    HOMES: tuple[str, ...]
    """Below the user's home, the places of which one exists if the agent is on this machine."""
    SAME_IDS: bool
    """Whether its transcript gives a step the id its hook gave. If not, hooks and transcripts of one session
    must not both be recorded."""
    ANSWERS: dict[str, str]
    """The events at which it takes context, and of which sort: ``brief`` or ``recall``."""
    TRANSCRIPTS: tuple[str, ...]
    """Below the user's home, the patterns of the files in which it keeps what happened."""

    def decode(self, event: str, payload: Payload, at: str) -> Told:
        """What a hook payload says happened."""

    def reply(self, event: str, context: str) -> str:
        """What a hook prints so that the context reaches the model; empty where this event takes none."""

    def pieces(self, place: Place, launch: Launch) -> tuple[Piece, ...]:
        """Everything that connects the agent, and can be taken back."""

    def read_transcript(self, path: Path) -> Told:
        """What a transcript says happened, in order, one line at a time."""


def words(said: str) -> frozenset[str]:
    """A set of words, written as one would read them."""
    return frozenset(said.split())


def digest(text: str) -> str:
    """A short name for a text, for agents that give a step no id of its own."""
    return hashlib.sha256(text.strip().encode("utf-8", "surrogatepass")).hexdigest()[:16]


def moment(stamp: Any, otherwise: str = "") -> str:
    """An agent's timestamp, milliseconds or ISO text, as the log stores it."""
    try:
        if isinstance(stamp, int | float):
            return moments.written(datetime.fromtimestamp(stamp / 1000, UTC))
        return moments.written(datetime.fromisoformat(stamp)) if stamp else otherwise
    except (ValueError, TypeError, OverflowError, OSError):
        return otherwise


def written(path: Path) -> str:
    """When a file was last written: the moment of what it says without a time."""
    return moment(path.stat().st_mtime * 1000)


def named(held: Payload, *names: str) -> str:
    """The first of these members that says anything, as text."""
    return str(next(filter(None, map(held.get, names)), ""))


def unpacked(value: Any) -> dict[str, Any]:
    """An object, which may come as the text of one; an empty one, if it is none."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            value = parse_json(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def member(held: Payload, name: str) -> dict[str, Any]:
    """The object under a name; an empty one, if there is none."""
    found = held.get(name)
    return found if isinstance(found, dict) else {}


def listed(held: Payload, name: str) -> list[Any]:
    """The list under a name; an empty one, if there is none."""
    found = held.get(name)
    return found if isinstance(found, list) else []


def members(held: Payload, name: str) -> list[dict[str, Any]]:
    """The objects of the list under a name; none, if there is no such list."""
    return [one for one in listed(held, name) if isinstance(one, dict)]


def blocks(message: Payload) -> list[dict[str, Any]]:
    """The content of a message, which is one text or a list of blocks."""
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else members(message, "content")


def text(value: Any) -> str:
    """Free text out of a string, or out of a list of blocks or parts that hold some."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(filter(None, (text(item) for item in value)))
    if isinstance(value, dict) and not value.get("thought") and not value.get("synthetic"):
        return text(value.get("text") or "")
    return ""


def objects(path: Path) -> Iterator[dict[str, Any] | Skipped]:
    """The JSON objects of a file that holds one on each line; two glued together are two."""
    for _, held in _objects(path):
        yield held


def lines(path: Path, read: Callable[[dict[str, Any]], Told]) -> Told:
    """What the objects of such a file tell, each read by itself."""
    for line, held in _objects(path):
        if isinstance(held, Skipped):
            yield held
            continue
        try:
            yield from read(held)
        except Exception as error:  # noqa: BLE001 - an agent's next version may write anything, and other lines count
            yield _skipped(line, f"unexpected content: {type(error).__name__}: {error}")


def whole(path: Path, lists: str = "") -> dict[str, Any] | Skipped:
    """The one JSON object a file holds; a list is taken for its member of that name."""
    if path.stat().st_size > LONGEST_FILE:
        return Skipped(reason=f"a file that is too long: more than {LONGEST_FILE:,} bytes")
    text = path.read_text("utf-8", errors="replace")
    try:
        held = parse_json(text)
    except ValueError as error:
        return Skipped(reason=str(error), raw=text[:LONGEST_RAW])
    if lists and isinstance(held, list):
        return {lists: held}
    return held if isinstance(held, dict) else Skipped(reason=f"a {type(held).__name__} where an object belongs")


def _objects(path: Path) -> Iterator[tuple[Line, dict[str, Any] | Skipped]]:
    with path.open("rb") as file:
        for line in bounded_lines(file):
            if line.is_cut:
                yield line, _skipped(line, f"a line that is too long: more than {LONGEST_LINE:,} bytes")
            else:
                yield from ((line, held) for held in _objects_of(line))


def _objects_of(line: Line) -> Iterator[dict[str, Any] | Skipped]:
    text = line.content.decode("utf-8", "replace").removeprefix(BYTE_ORDER_MARK).strip()
    start = 0
    while start < len(text):
        try:
            held, end = parse_json_prefix(text, start)
        except ValueError as error:
            yield _skipped(line, str(error))
            return
        if isinstance(held, dict):
            yield held
        else:
            yield _skipped(line, f"a {type(held).__name__} where an object belongs")
        space = SPACE.match(text, end)
        start = space.end() if space else end


def _skipped(line: Line, reason: str) -> Skipped:
    raw = line.content[: 4 * LONGEST_RAW].decode("utf-8", "replace")
    return Skipped(reason=reason, where=f"line {line.number}", raw=raw[:LONGEST_RAW])


def answering(answers: Mapping[str, str], form: Callable[[str, str], Any]) -> Callable[[str, str], str]:
    """A ``reply``: the form as JSON, at the events that take an answer and if there is anything to say."""
    return lambda event, context: json.dumps(form(event, context)) if context and event in answers else ""


def unreadable(path: Path) -> Told:
    """For agents whose transcripts nobody can read, or we do not."""
    yield Skipped(reason="transcripts of this agent are not read")


NOT_THE_PERSONS = (
    "system-reminder",
    "system_reminder",
    "hook_context",
    "environment_context",
    "session_context",
    "current_datetime",
    "ide_opened_file",
    "ide_selection",
    "local-command-caveat",
    "hivemind-memory",
    r"qwen:[\w-]{1,40}-context",
)
"""Blocks that agents, and we, put around what a person or a tool said."""
INJECTED = re.compile(rf"<({'|'.join(NOT_THE_PERSONS)})(?=[\s>])[^<>]*>")
WRAPPING = re.compile(r"</?(?:user_input|user_query|untrusted_context)(?:\s[^<>]*)?>\n?")
GUIDANCE = re.compile(r'\n\nTool "[^"\n]*" succeeded\. Additional guidance from postToolUse hooks:\n')


def clean(said: str) -> str:
    """The text without what was injected into it: what we said must not come back as something learned."""
    kept, position, unclosed = [], 0, set()
    for opening in INJECTED.finditer(said):
        if opening.start() < position or opening[1] in unclosed:
            continue
        closing = said.find(f"</{opening[1]}", opening.end())
        end = said.find(">", closing) if closing >= 0 else -1
        if end < 0:
            # Without this a text of nothing but openings would be searched to its end for each of them.
            unclosed.add(opening[1])
            continue
        kept.append(said[position : opening.start()])
        position = end + 1
    rest = "".join(kept) + said[position:]
    return GUIDANCE.split(WRAPPING.sub("", rest), maxsplit=1)[0].strip()
