"""Small edits to JSON that people also write by hand: comments, order and layout stay as they are.

Nothing is parsed and printed again. A member is put in as text right after the opening brace, an element
right after the last one, so that taking it out gives back every byte. A container that was empty before gets
its content right behind the bracket; one that we made ourselves, after a space or on a new line. That is how
``dropped`` knows, without any record, what to leave behind.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from hivemind.errors import InvalidInput
from hivemind.model.untrusted import parse_json

Path = Sequence[str | int]

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|[{}\[\]:,]|[^\s{}\[\]:,"/]+|/', re.DOTALL)
OPENING, CLOSING = "{[", "}]"


class Member(NamedTuple):
    """One member of an object or element of an array, by where it stands in the text."""

    key: str | int
    start: int
    value: int
    end: int


def load(text: str) -> Any:
    """The plain value of the text, comments and trailing commas left aside."""
    kept: list[str] = []
    for token in TOKEN.finditer(text):
        if _is_comment(token[0]):
            continue
        if token[0] in CLOSING and kept and kept[-1] == ",":
            kept.pop()
        kept.append(token[0])
    try:
        return parse_json(" ".join(kept)) if kept else {}
    except ValueError as error:
        raise InvalidInput(f"it is not valid JSON ({error})") from None


def get(text: str, path: Path) -> Any:
    """The value at a path, or nothing."""
    held = load(text)
    for key in path:
        try:
            held = held[key]
        except (KeyError, IndexError, TypeError):
            return None
    return held


def put(text: str, path: Path, value: Any) -> str:
    """The text with the value at the path, and the objects on the way made where they are missing."""
    if not text.strip():
        return _written(_nested(path, value), "", 2) + "\n"
    at = _root(text)
    for depth, key in enumerate(path):
        held = {member.key: member for member in members(text, at)}
        if key not in held:
            if text[at] != "{":
                raise InvalidInput(f"{path[depth - 1]!r} is not an object there; add it by hand")
            return _inserted(text, at, path[depth:], value)
        at = held[key].value
    if load(text[at : _end(text, at)]) == value:
        return text
    return text[:at] + _written(value, _indent(text, at), _step(text)) + text[_end(text, at) :]


def append(text: str, path: Path, value: Any) -> str:
    """The text with one more element at the end of the array at the path."""
    there = get(text, path) if text.strip() else None
    if there is None:
        return put(text, path, [value])
    if not isinstance(there, list):
        raise InvalidInput(f"{path[-1]!r} is not a list there; add it by hand")
    at = _found(text, path).value
    held = members(text, at)
    if not held:
        return text[: at + 1] + json.dumps(value, ensure_ascii=False) + text[at + 1 :]
    last = held[-1]
    if "\n" in text[at : last.start]:
        indent = _indent(text, last.start)
        return f"{text[: last.end]},\n{indent}{_written(value, indent, _step(text))}{text[last.end :]}"
    return f"{text[: last.end]}, {json.dumps(value, ensure_ascii=False)}{text[last.end :]}"


def dropped(text: str, path: Path) -> str:
    """The text without what stands at the path, nor the containers made for it; maybe nothing at all."""
    if not path:
        return ""
    at = _found(text, path[:-1]).value
    held = members(text, at)
    index = next(i for i, member in enumerate(held) if member.key == path[-1])
    member = held[index]
    comma = _next(text, member.end)
    if len(held) == 1:
        lead, rest = text[at + 1 : member.start], text[member.end : _end(text, at) - 1]
        if lead and not lead.strip() and not rest.strip():
            return dropped(text, path[:-1])
        return text[: member.start] + text[member.end :]
    if index == 0 or (isinstance(member.key, str) and text[comma] == ","):
        before = len(text[: member.start].rstrip())
        return text[:before] + text[comma + 1 :]
    return text[: held[index - 1].end] + text[member.end :]


def members(text: str, at: int) -> list[Member]:
    """What the object or array that opens at this place holds, in order."""
    found: list[Member] = []
    if text[at] not in OPENING:
        return found
    position, closing = at + 1, CLOSING[OPENING.index(text[at])]
    while text[position := _next(text, position)] != closing:
        if text[position] == ",":
            position += 1
            continue
        start, key = position, len(found)
        if closing == "}":
            name = _token(text, position)
            key = json.loads(name[0])
            position = _next(text, _next(text, name.end()) + 1)
        found.append(Member(key, start, position, _end(text, position)))
        position = found[-1].end
    return found


def _inserted(text: str, at: int, path: Path, value: Any) -> str:
    held = members(text, at)
    comma = "," if held else ""
    if held and "\n" in text[at : held[0].start]:
        indent = _indent(text, held[0].start)
        key, below = json.dumps(path[0]), _nested(path[1:], value)
        member = f"\n{indent}{key}: {_written(below, indent, _step(text))}"
    else:
        member = _on_one_line(path, value)
    return f"{text[: at + 1]}{member}{comma}{text[at + 1 :]}"


def _on_one_line(path: Path, value: Any) -> str:
    """A member; containers made on the way to it are told by a space inside them."""
    said = json.dumps(value, ensure_ascii=False)
    said = f"[ {said[1:-1]} ]" if isinstance(value, list) else said
    for key in reversed(path[1:]):
        said = f"{{ {json.dumps(key)}: {said} }}"
    return f"{json.dumps(path[0])}: {said}"


def _nested(path: Path, value: Any) -> Any:
    for key in reversed(path):
        value = {str(key): value}
    return value


def _written(value: Any, indent: str, step: int | str) -> str:
    return json.dumps(value, ensure_ascii=False, indent=step).replace("\n", f"\n{indent}")


def _step(text: str) -> int | str:
    """How far the text is indented for each level."""
    first = members(text, _root(text))[:1]
    indent = _indent(text, first[0].start) if first else ""
    return indent if indent and "\n" in text[: first[0].start] else 2


def _indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _found(text: str, path: Path) -> Member:
    found = Member("", 0, _root(text), len(text))
    for key in path:
        found = next(member for member in members(text, found.value) if member.key == key)
    return found


def _root(text: str) -> int:
    load(text)
    at = _next(text, 0)
    if text[at] != "{":
        raise InvalidInput("it does not hold a JSON object")
    return at


def _next(text: str, position: int) -> int:
    """Where the next thing stands that is neither space nor comment."""
    while _is_comment((token := _token(text, position))[0]):
        position = token.end()
    return token.start()


def _end(text: str, at: int) -> int:
    """Where the value that begins here ends."""
    depth, position = 0, at
    while True:
        token = _token(text, position)
        depth += (token[0] in OPENING) - (token[0] in CLOSING)
        position = token.end()
        if depth == 0 and not _is_comment(token[0]):
            return position


def _token(text: str, position: int) -> re.Match[str]:
    token = TOKEN.search(text, position)
    if token is None:
        raise InvalidInput("it is not valid JSON (it ends too early)")
    return token


def _is_comment(token: str) -> bool:
    return token.startswith(("//", "/*"))
