"""Edit JSON files that people also edit by hand, and keep their comments, order and layout.

The file is not parsed and printed again. A member is inserted as text right after the opening brace, an element right
after the last one, so that removing it restores the file byte for byte. In a container that was empty before, the new
content directly follows the bracket; in one that we created, it follows a space or a line break. This tells
``dropped`` which containers to remove as well, without keeping a record.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from hivemind.errors import InvalidInput
from hivemind.formats.untrusted import parse_json

KeyPath = Sequence[str | int]

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|[{}\[\]:,]|[^\s{}\[\]:,"/]+|/', re.DOTALL)
NOT_A_LINE_BREAK = re.compile(r"[^\n]")
OPENING, CLOSING = "{[", "}]"


class JsonMember(NamedTuple):
    """A member of an object or an element of an array, with its offsets in the text."""

    key: str | int
    start: int
    value: int
    end: int


def load(text: str) -> Any:
    """Parse the text, ignoring comments and trailing commas."""
    # Both become spaces, so that an error names the line and column of the file.
    parts: list[str] = []
    position, comma = 0, -1
    for token in TOKEN.finditer(text):
        parts.append(text[position : token.start()])
        position = token.end()
        if _is_comment(token[0]):
            parts.append(NOT_A_LINE_BREAK.sub(" ", token[0]))
            continue
        if token[0] in CLOSING and comma >= 0:
            parts[comma] = " "
        comma = len(parts) if token[0] == "," else -1
        parts.append(token[0])
    plain = "".join(parts) + text[position:]
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
    at = _find_root(text)
    for depth, key in enumerate(path):
        members_by_key = {member.key: member for member in list_members(text, at)}
        if key not in members_by_key:
            if text[at] != "{":
                raise InvalidInput(f"{path[depth - 1]!r} is not an object; edit the file by hand")
            return _insert(text, at, path[depth:], value)
        at = members_by_key[key].value
    # An equal value stays as it is laid out, so that installing twice changes nothing.
    if load(text[at : _find_end(text, at)]) == value:
        return text
    return text[:at] + _dump(value, _line_indent(text, at), _detect_indent(text)) + text[_find_end(text, at) :]


def append(text: str, path: KeyPath, value: Any) -> str:
    """Return the text with one more element at the end of the array at the path."""
    array = get(text, path) if text.strip() else None
    if array is None:
        return put(text, path, [value])
    if not isinstance(array, list):
        raise InvalidInput(f"{path[-1]!r} is not a list; edit the file by hand")
    at = _find_member(text, path).value
    elements = list_members(text, at)
    if not elements:
        return text[: at + 1] + json.dumps(value, ensure_ascii=False) + text[at + 1 :]
    last = elements[-1]
    if "\n" in text[at : last.start]:
        indent = _line_indent(text, last.start)
        return f"{text[: last.end]},\n{indent}{_dump(value, indent, _detect_indent(text))}{text[last.end :]}"
    return f"{text[: last.end]}, {json.dumps(value, ensure_ascii=False)}{text[last.end :]}"


def remove(text: str, path: KeyPath) -> str:
    """Return the text without the value at the path and the containers created for it; empty if nothing is left."""
    if not path:
        return ""
    at = _find_member(text, path[:-1]).value
    siblings = list_members(text, at)
    index = next(i for i, member in enumerate(siblings) if member.key == path[-1])
    member = siblings[index]
    comma = _skip_space(text, member.end)
    if len(siblings) == 1:
        lead, tail = text[at + 1 : member.start], text[member.end : _find_end(text, at) - 1]
        # Only a space or line break before the member: we created this container, so it goes too.
        if lead and not lead.strip() and not tail.strip():
            return remove(text, path[:-1])
        return text[: member.start] + text[member.end :]
    # The comma goes with the value: the one behind it where ours came first, else the one before it.
    if index == 0 or (isinstance(member.key, str) and text[comma] == ","):
        before = len(text[: member.start].rstrip())
        return text[:before] + text[comma + 1 :]
    return text[: siblings[index - 1].end] + text[member.end :]


def list_members(text: str, at: int) -> list[JsonMember]:
    """Return the members of the object or array that starts at this offset, in order."""
    members: list[JsonMember] = []
    if text[at] not in OPENING:
        return members
    position, closing = at + 1, CLOSING[OPENING.index(text[at])]
    while text[position := _skip_space(text, position)] != closing:
        if text[position] == ",":
            position += 1
            continue
        start, key = position, len(members)
        if closing == "}":
            name = _next_token(text, position)
            key = json.loads(name[0])
            position = _skip_space(text, _skip_space(text, name.end()) + 1)
        members.append(JsonMember(key, start, position, _find_end(text, position)))
        position = members[-1].end
    return members


def _insert(text: str, at: int, path: KeyPath, value: Any) -> str:
    siblings = list_members(text, at)
    comma = "," if siblings else ""
    if siblings and "\n" in text[at : siblings[0].start]:
        indent = _line_indent(text, siblings[0].start)
        key, nested_value = json.dumps(path[0]), _nest(path[1:], value)
        member = f"\n{indent}{key}: {_dump(nested_value, indent, _detect_indent(text))}"
    else:
        member = _render_on_one_line(path, value)
    return f"{text[: at + 1]}{member}{comma}{text[at + 1 :]}"


def _render_on_one_line(path: KeyPath, value: Any) -> str:
    """Render a member; a space inside the new containers marks them as ours for ``dropped``."""
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
    first = list_members(text, _find_root(text))[:1]
    indent = _line_indent(text, first[0].start) if first else ""
    return indent if indent and "\n" in text[: first[0].start] else 2


def _line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _find_member(text: str, path: KeyPath) -> JsonMember:
    target = JsonMember("", 0, _find_root(text), len(text))
    for key in path:
        target = next(member for member in list_members(text, target.value) if member.key == key)
    return target


def _find_root(text: str) -> int:
    load(text)
    at = _skip_space(text, 0)
    if text[at] != "{":
        raise InvalidInput("not a JSON object; fix the file by hand and try again")
    return at


def _skip_space(text: str, position: int) -> int:
    """Return the offset of the next token that is not a comment."""
    while _is_comment((token := _next_token(text, position))[0]):
        position = token.end()
    return token.start()


def _find_end(text: str, at: int) -> int:
    """Return the offset behind the value that starts here."""
    depth, position = 0, at
    while True:
        token = _next_token(text, position)
        depth += (token[0] in OPENING) - (token[0] in CLOSING)
        position = token.end()
        if depth == 0 and not _is_comment(token[0]):
            return position


def _next_token(text: str, position: int) -> re.Match[str]:
    token = TOKEN.search(text, position)
    if token is None:
        raise InvalidInput("not valid JSON (it ends too early); fix the file by hand and try again")
    return token


def _is_comment(token: str) -> bool:
    return token.startswith(("//", "/*"))
