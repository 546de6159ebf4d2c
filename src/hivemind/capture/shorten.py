"""What is too long, made shorter in its middle: a build log says its errors at the beginning and at the end."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LONGEST = 64 * 1024
LONGEST_PAYLOAD = 1024 * 1024
"""Characters of a payload that are redacted and kept as they are."""
MOST_VALUES = 2_000_000
"""Values of a payload that are parsed; each takes some hundred bytes of memory."""
ROOM = ((1, 1_000), (8, 100), (64, 10))
"""What is tried until a payload fits: the part of the longest string, and the most members of a list or object."""
HEAD = 4 * LONGEST
MARGIN = 8 * 1024
"""Characters looked at beyond a head: a secret that the cut leaves in two would not be recognised."""


def middle_out(text: str, longest: int = LONGEST) -> str:
    """Beginning and end of a text that is too long."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"


def clean_payload(text: str, redact: Callable[[str], str]) -> str:
    """A long payload without secrets, shortened so that it is still JSON; only its beginning where that fails.

    It is shortened before, to be quick, and again after, where a secret may have been cut in two.
    """
    shorter = _shortened(text, 2 * LONGEST)
    clean = _shortened(redact(shorter), LONGEST) if shorter else ""
    return clean or closed(redact(text[: HEAD + MARGIN])[:-MARGIN])


def closed(head: str) -> str:
    """The beginning of a JSON text, with what it leaves open closed; the same text where that makes no JSON of it."""
    import re

    from hivemind.model.untrusted import MAX_DEPTH, parse_json

    brackets: list[str] = []
    comma = at_comma = end = 0
    in_string = False
    for token in re.finditer(r'"(?:[^"\\]++|\\.)*+("?)|[\[\]{},]', head, re.DOTALL):
        match token[0]:
            case "[" | "{":
                brackets.append("]" if token[0] == "[" else "}")
            case "]" | "}":
                del brackets[-1:]
            case ",":
                comma, at_comma = token.start(), len(brackets)
            case _:
                in_string, end = not token[1], token.end()
    if len(brackets) > MAX_DEPTH:
        return head
    ending = "".join(reversed(brackets))
    # Half of an escape goes: the string's match ends before a lone backslash, and this takes a short \\uXXXX.
    whole = re.sub(r"(?<!\\)((?:\\\\)*)\\u[0-9a-fA-F]{0,3}\Z", r"\1", head[:end]) + '"' if in_string else head
    # Else the end is half a number, a name without its value, or a name itself; then all up to the last comma is kept.
    for candidate in (whole + ending, head[:comma] + ending[len(brackets) - at_comma :]):
        try:
            parse_json(candidate)
        except ValueError:
            continue
        return candidate
    return head


def _shortened(text: str, longest: int) -> str:
    """JSON of at most the longest payload, its strings and lists shortened; empty where it cannot be read or fit."""
    import json

    from hivemind.model.untrusted import parse_json

    if text.count(",") + text.count("[") + text.count("{") > MOST_VALUES:
        return ""
    try:
        value = parse_json(text)
    except ValueError:
        return ""
    for part, most in ROOM:
        shorter = json.dumps(_shorter(value, longest // part, most), ensure_ascii=False)
        if len(shorter) <= LONGEST_PAYLOAD:
            return shorter
    return ""


def _shorter(value: Any, longest: int, most: int) -> Any:
    if isinstance(value, str):
        return middle_out(value, longest)
    if isinstance(value, list):
        return [_shorter(inner, longest, most) for inner in _ends(value, most)]
    if isinstance(value, dict):
        names = list(value)[:most]
        return {middle_out(name, longest): _shorter(value[name], longest, most) for name in names}
    return value


def _ends(values: list[Any], most: int) -> list[Any]:
    if len(values) <= most:
        return values
    half = most // 2
    return [*values[:half], f"… {len(values) - 2 * half:,} items left out …", *values[-half:]]
