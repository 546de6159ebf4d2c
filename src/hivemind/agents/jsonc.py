"""Edit JSON files that people also edit by hand, and keep their comments, order and layout.

The file is not parsed and printed again. A member is inserted as text right after the opening brace, an element right
after the last one, so that removing it restores the file byte for byte. In a container that was empty before, the new
content directly follows the bracket; in one that we created, it follows a space or a line break. This tells
``remove`` which containers to remove as well, without keeping a record.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from hivemind.errors import InvalidInput
from hivemind.text.untrusted import parse_json, parse_json_prefix

KeyPath = Sequence[str | int]

STRING = r'("(?:[^"\\]|\\.)*")'
COMMENT = re.compile(rf"{STRING}|//[^\n]*|/\*.*?\*/", re.DOTALL)
TRAILING_COMMA = re.compile(rf"{STRING}|,(?=\s*[}}\]])", re.DOTALL)
NOT_A_LINE_BREAK = re.compile(r"[^\n]")
SPACE = re.compile(r"\s*")


class JsonMember(NamedTuple):
    """A member of an object or an element of an array, with its offsets in the text."""

    key: str | int
    start: int
    value: int
    end: int


def load(text: str) -> Any:
    """Parse the text, ignoring comments and trailing commas."""
    plain = _make_plain(text)
    try:
        return parse_json(plain) if plain.strip() else {}
    except ValueError as error:
        reason = str(error).removeprefix("not JSON: ")
        raise InvalidInput(f"not valid JSON ({reason}); fix the file by hand and try again") from None


def get(text: str, path: KeyPath) -> Any:
    """Return the value at a path, or None."""
    value = load(text)
    for key in path:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def put(text: str, path: KeyPath, value: Any) -> str:
    """Return the text with the value at the path; missing objects on the way are created."""
    if not text.strip():
        return _dump(_nest(path, value), "", 2) + "\n"
    plain, member = _find_member(text, ())
    for depth, key in enumerate(path):
        members_by_key = {inner.key: inner for inner in _list_members(plain, member.value)}
        if key not in members_by_key:
            if plain[member.value] != "{":
                raise InvalidInput(f"{path[depth - 1]!r} is not an object; edit the file by hand")
            return _insert(text, member.value, path[depth:], value)
        member = members_by_key[key]
    # An equal value stays as it is laid out, so that installing twice changes nothing.
    if parse_json_prefix(plain, member.value)[0] == value:
        return text
    new_value = _dump(value, _get_line_indent(text, member.value), _detect_indent(text))
    return text[: member.value] + new_value + text[member.end :]


def append(text: str, path: KeyPath, value: Any) -> str:
    """Return the text with one more element at the end of the array at the path."""
    array = get(text, path) if text.strip() else None
    if array is None:
        return put(text, path, [value])
    if not isinstance(array, list):
        raise InvalidInput(f"{path[-1]!r} is not a list; edit the file by hand")
    plain, member = _find_member(text, path)
    elements = _list_members(plain, member.value)
    if not elements:
        start = member.value + 1
        return text[:start] + json.dumps(value, ensure_ascii=False) + text[start:]
    last = elements[-1]
    if "\n" in text[member.value : last.start]:
        indent = _get_line_indent(text, last.start)
        return f"{text[: last.end]},\n{indent}{_dump(value, indent, _detect_indent(text))}{text[last.end :]}"
    return f"{text[: last.end]}, {json.dumps(value, ensure_ascii=False)}{text[last.end :]}"


def remove(text: str, path: KeyPath) -> str:
    """Return the text without the value at the path and the containers created for it; empty if nothing is left."""
    if not path:
        return ""
    plain, container = _find_member(text, path[:-1])
    siblings = _list_members(plain, container.value)
    index = max(i for i, member in enumerate(siblings) if member.key == path[-1])
    member = siblings[index]
    if len(siblings) == 1:
        lead, tail = text[container.value + 1 : member.start], text[member.end : container.end - 1]
        # Only a space or line break before the member: we created this container, so it goes too.
        if lead and not lead.strip() and not tail.strip():
            return remove(text, path[:-1])
        return text[: member.start] + text[member.end :]
    # The comma goes with the value: the one behind it where ours came first, else the one before it.
    comma = _skip_space(plain, member.end)
    if index == 0 or (isinstance(member.key, str) and plain[comma] == ","):
        before = len(text[: member.start].rstrip())
        return text[:before] + text[comma + 1 :]
    return text[: siblings[index - 1].end] + text[member.end :]


def _make_plain(text: str) -> str:
    """Return the text with spaces for comments and trailing commas, so that all offsets are those of the file."""
    plain = COMMENT.sub(lambda match: match[1] or NOT_A_LINE_BREAK.sub(" ", match[0]), text)
    return TRAILING_COMMA.sub(lambda match: match[1] or " ", plain)


def _list_members(plain: str, at: int) -> list[JsonMember]:
    """Return the members of the object or array that starts at this offset, in order; none of any other value."""
    members: list[JsonMember] = []
    closing = {"{": "}", "[": "]"}.get(plain[at])
    position = at + 1
    while closing and plain[position := _skip_space(plain, position)] != closing:
        if plain[position] == ",":
            position += 1
            continue
        start, key = position, len(members)
        if closing == "}":
            key, position = parse_json_prefix(plain, position)
            position = _skip_space(plain, _skip_space(plain, position) + 1)
        members.append(JsonMember(key, start, position, end := parse_json_prefix(plain, position)[1]))
        position = end
    return members


def _insert(text: str, at: int, path: KeyPath, value: Any) -> str:
    siblings = _list_members(_make_plain(text), at)
    comma = "," if siblings else ""
    if siblings and "\n" in text[at : siblings[0].start]:
        indent = _get_line_indent(text, siblings[0].start)
        key, nested_value = json.dumps(path[0]), _nest(path[1:], value)
        member = f"\n{indent}{key}: {_dump(nested_value, indent, _detect_indent(text))}"
    else:
        member = _render_on_one_line(path, value)
    return f"{text[: at + 1]}{member}{comma}{text[at + 1 :]}"


def _render_on_one_line(path: KeyPath, value: Any) -> str:
    """Render a member; a space inside the new containers marks them as ours for ``remove``."""
    text = json.dumps(value, ensure_ascii=False)
    text = f"[ {text[1:-1]} ]" if isinstance(value, list) else text
    for key in reversed(path[1:]):
        text = f"{{ {json.dumps(key)}: {text} }}"
    return f"{json.dumps(path[0])}: {text}"


def _nest(path: KeyPath, value: Any) -> Any:
    for key in reversed(path):
        value = {str(key): value}
    return value


def _dump(value: Any, indent: str, step: int | str) -> str:
    return json.dumps(value, ensure_ascii=False, indent=step).replace("\n", f"\n{indent}")


def _detect_indent(text: str) -> int | str:
    """Return the indent of one level, as the file uses it; two spaces if it has none."""
    plain, root = _find_member(text, ())
    first = _list_members(plain, root.value)[:1]
    indent = _get_line_indent(text, first[0].start) if first else ""
    return indent if indent and "\n" in text[: first[0].start] else 2


def _get_line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _find_member(text: str, path: KeyPath) -> tuple[str, JsonMember]:
    """Return the plain text and where the value at a path is in it; the whole object for an empty path."""
    load(text)
    plain = _make_plain(text)
    at = _skip_space(plain, 0)
    if plain[at : at + 1] != "{":
        raise InvalidInput("not a JSON object; fix the file by hand and try again")
    target = JsonMember("", at, at, parse_json_prefix(plain, at)[1])
    for key in path:
        # Of a key that is written twice the last one counts, as for every parser.
        target = [member for member in _list_members(plain, target.value) if member.key == key][-1]
    return plain, target


def _skip_space(plain: str, position: int) -> int:
    space = SPACE.match(plain, position)
    return space.end() if space else position
