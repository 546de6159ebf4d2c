r"""Undo escapes, so that a text is found however it is written: `\u00e9`, `&amp;`, `%20`, `\303\251`, base64."""

import re
from base64 import b64decode
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from operator import itemgetter

MAX_DEPTH = 4
"""JSON in JSON in a URL has three levels."""

ESCAPES = (
    r"(?P<units>(?:\\+u[0-9a-fA-F]{4})+)"
    r"|(?P<point>\\+u\{[0-9a-fA-F]{1,6}\})"
    r"|(?P<percent>(?:%[0-9a-fA-F]{2})+)"
    r"|(?P<hex>(?:\\+x[0-9a-fA-F]{2})+)"
    r"|(?P<octal>(?:\\[0-3][0-7]{2})+)"
    r"|(?P<entity>&(?:\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});)"
    r"|(?P<space>\\+[nrtbf])"
)
"""Escapes of JSON and JavaScript, URLs, C strings as Git writes paths, and HTML."""
BASE64 = r"|(?P<base64>(?<![\w+/-])[A-Za-z0-9+/_-]{16,}={0,2})"
"""Shorter than 16 characters it holds at most two words."""
UNIT, HEXADECIMAL, OCTAL = map(re.compile, (r"[0-9a-fA-F]{4}", r"[0-9a-fA-F]{2}", r"[0-7]{3}"))


@dataclass(frozen=True, slots=True)
class _Layer:
    """One level of escapes: where each replacement is in the decoded text, and what it replaced."""

    replacements: tuple[tuple[int, int, tuple[int, int]], ...]
    """Start and end in the decoded text, and the span in the original."""

    def locate(self, start: int, end: int) -> tuple[int, int]:
        return self._locate(start)[0], self._locate(end - 1)[1]

    def _locate(self, position: int) -> tuple[int, int]:
        index = bisect_right(self.replacements, position, key=itemgetter(0)) - 1
        if index < 0:
            return position, position + 1
        _, end, original_span = self.replacements[index]
        original = original_span[1] + position - end
        return original_span if position < end else (original, original + 1)


@dataclass(frozen=True, slots=True)
class DecodedText:
    """A text without its escapes, which knows where everything stood in the original."""

    text: str
    layers: tuple[_Layer, ...]

    def locate(self, start: int, end: int) -> tuple[int, int]:
        """Start and end in the original text of a passage of the decoded text."""
        for layer in reversed(self.layers):
            start, end = layer.locate(start, end)
        return start, end


def decode(text: str) -> DecodedText | None:
    """The text without escapes and with base64 decoded; None if it has neither."""
    layers: list[_Layer] = []
    for _ in range(MAX_DEPTH):
        decoded = _decode_once(text, _compile(ESCAPES + BASE64))
        if decoded is None:
            break
        text, layer = decoded
        layers.append(layer)
    return DecodedText(text, tuple(layers)) if layers else None


def iterate_forms(text: str) -> Iterator[str]:
    """A text as it is, then without escapes if it has any."""
    yield text
    if decoded := decode(text):
        yield decoded.text


def unescape(text: str) -> str:
    """The text without escapes; base64 stays."""
    for _ in range(MAX_DEPTH):
        if "\\" not in text and "%" not in text and "&" not in text:
            break
        before, text = text, _compile(ESCAPES).sub(lambda escape: _decode_escape(escape) or escape[0], text)
        if text == before:
            break
    return text


# Compiled when it is first used: the hook needs none of them.
@cache
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _decode_once(text: str, pattern: re.Pattern[str]) -> tuple[str, _Layer] | None:
    pieces: list[str] = []
    replacements: list[tuple[int, int, tuple[int, int]]] = []
    position = length = 0
    for escape in pattern.finditer(text):
        plain = _decode_escape(escape)
        if not plain:
            continue
        length += escape.start() - position
        pieces += (text[position : escape.start()], plain)
        replacements.append((length, length + len(plain), escape.span()))
        length += len(plain)
        position = escape.end()
    return ("".join(pieces) + text[position:], _Layer(tuple(replacements))) if replacements else None


def _decode_escape(escape: "re.Match[str]") -> str:
    """What an escape stands for; empty if it only looks like one."""
    decoder = DECODERS[escape.lastgroup or ""]
    try:
        return decoder(escape[0])
    except ValueError:
        return ""


def _decode_units(escape: str) -> str:
    # Half of a pair, where an output was cut, must not keep the rest from being read.
    return b"".join(map(bytes.fromhex, UNIT.findall(escape))).decode("utf-16-be", "replace")


def _decode_entity(escape: str) -> str:
    # A table of two thousand names, which hardly any text needs.
    import html

    plain = html.unescape(escape)
    return "" if plain == escape else plain


def _decode_base64(token: str) -> str:
    body = token.rstrip("=").replace("-", "+").replace("_", "/")
    plain = b64decode(body + "=" * (-len(body) % 4), validate=True).decode()
    # A path or a name decodes to control characters, if it decodes at all.
    return f" {plain} " if all(letter.isprintable() or letter in "\n\r\t" for letter in plain) else ""


DECODERS: dict[str, Callable[[str], str]] = {
    "units": _decode_units,
    "point": lambda escape: chr(int(escape[escape.index("{") + 1 : -1], 16)),
    **dict.fromkeys(("percent", "hex"), lambda escape: bytes.fromhex("".join(HEXADECIMAL.findall(escape))).decode()),
    "octal": lambda escape: bytes(int(code, 8) for code in OCTAL.findall(escape)).decode(),
    "entity": _decode_entity,
    "space": lambda escape: " ",
    "base64": _decode_base64,
}
