"""Shortens long texts in their middle: build logs have their errors at the beginning and at the end."""

import json
import re
from collections.abc import Callable
from typing import Any

from hivemind.text.untrusted import MAX_DEPTH, parse_json

LONGEST = 64 * 1024
"""Characters kept of one text."""
LONGEST_PAYLOAD = 1024 * 1024
"""Characters of a payload that are redacted and kept as they are."""
MOST_VALUES = 2_000_000
"""A payload with more values is not parsed; each takes some hundred bytes of memory."""
SIZE_STEPS = ((1, 1_000), (8, 100), (64, 10))
"""Tried in order until a payload fits: a divisor of the longest string, and the most members of a list or object."""
HEAD = 4 * LONGEST
"""Characters kept of a payload that cannot be shortened as JSON."""
MARGIN = 8 * 1024
"""Characters redacted beyond the head and then dropped: a secret that is cut in two would not be recognised."""


def cut_middle(text: str, longest: int = LONGEST) -> str:
    """Return a text, or its beginning and end if it is too long."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"


def clean_payload(text: str, redact: Callable[[str], str]) -> str:
    """Redact and shorten a long payload so that it stays valid JSON; where that fails, keep only its beginning.

    It is shortened before redaction, to save time, and again after it, because the first cut may have left half of a
    secret.
    """
    shorter = _shorten_json(text, 2 * LONGEST)
    clean = _shorten_json(redact(shorter), LONGEST) if shorter else ""
    return clean or close_json(redact(text[: HEAD + MARGIN])[:-MARGIN])


def close_json(head: str) -> str:
    """Close the open brackets and strings of a cut JSON text; return it unchanged where that gives no valid JSON."""
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
    # Drop half of an escape: the string's match ends before a lone backslash, and this removes a short \\uXXXX.
    whole = re.sub(r"(?<!\\)((?:\\\\)*)\\u[0-9a-fA-F]{0,3}\Z", r"\1", head[:end]) + '"' if in_string else head
    # Otherwise the text ends in half a number, a name without its value, or a name; then cut it at the last comma.
    for candidate in (whole + ending, head[:comma] + ending[len(brackets) - at_comma :]):
        try:
            parse_json(candidate)
        except ValueError:
            continue
        return candidate
    return head


def _shorten_json(text: str, longest: int) -> str:
    """Shorten strings and lists of JSON to fit LONGEST_PAYLOAD; return "" if it cannot be parsed or does not fit."""
    if text.count(",") + text.count("[") + text.count("{") > MOST_VALUES:
        return ""
    try:
        value = parse_json(text)
    except ValueError:
        return ""
    for divisor, most_members in SIZE_STEPS:
        shorter_text = json.dumps(_shorten_value(value, longest // divisor, most_members), ensure_ascii=False)
        if len(shorter_text) <= LONGEST_PAYLOAD:
            return shorter_text
    return ""


def _shorten_value(value: Any, longest: int, most_members: int) -> Any:
    if isinstance(value, str):
        return cut_middle(value, longest)
    if isinstance(value, list):
        return [_shorten_value(inner, longest, most_members) for inner in _keep_ends(value, most_members)]
    if isinstance(value, dict):
        names = list(value)[:most_members]
        return {cut_middle(name, longest): _shorten_value(value[name], longest, most_members) for name in names}
    return value


def _keep_ends(values: list[Any], most_members: int) -> list[Any]:
    if len(values) <= most_members:
        return values
    half = most_members // 2
    return [*values[:half], f"… {len(values) - 2 * half:,} items left out …", *values[-half:]]
