"""Read files, JSON and lines from outside within limits, so that bad input only causes an error.

Standard library only, because the hook loads this for long payloads.
"""

import json
import os
import stat
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

MAX_DEPTH = 200
"""Levels of nesting that are understood. Real payloads stay below 100; walking a value takes up to three Python frames
a level, of the 1,000 there are by default, and SQLite's JSON functions end at 1,000 levels."""
TOO_DEEP = f"nested too deeply: more than {MAX_DEPTH} levels"
MAX_MESSAGE_BYTES = 8 << 20
"""Bytes of one request to a server, over a pipe or over HTTP."""
MAX_LINE_BYTES = 16 << 20
"""Bytes of one line of a file; agents put screenshots of several megabytes into one."""

BYTE_ORDER_MARK = "\ufeff"
DECODER = json.JSONDecoder()


class Unreadable(ValueError):
    """Input that cannot be read; the message says why."""


class Line(NamedTuple):
    """A line of a file or pipe."""

    number: int
    content: bytes
    """Without the line end; only the beginning if the line is too long."""
    is_cut: bool


def open_regular(path: "str | os.PathLike[str]", within: "str | os.PathLike[str] | None" = None) -> BinaryIO:
    """Open a file that others may have put there; raises Unreadable if it is a pipe, device, socket or folder.

    With ``within``, it must also lie in that folder, not only a link to something outside.
    """
    target = os.path.realpath(path)
    if within is not None and not target.startswith(os.path.join(os.path.realpath(within), "")):
        raise Unreadable(f"{os.fspath(path)} leads out of {os.fspath(within)}")
    return open_resolved(target)


def open_resolved(target: str) -> BinaryIO:
    """Open a regular file by its real path, never waiting for the other end of a pipe."""
    # Before it is opened, which alone makes some devices act.
    if not stat.S_ISREG(os.lstat(target).st_mode):
        raise Unreadable(f"{target} is not a regular file")
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    file = os.fdopen(os.open(target, flags), "rb")
    # Once more, because somebody may have replaced it in between.
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise Unreadable(f"{target} is not a regular file")
    return file


def read_limited(path: "str | os.PathLike[str]", limit: int, within: "str | os.PathLike[str] | None" = None) -> bytes:
    """Read a file that others may have put there, as ``open_regular`` does; raises Unreadable if it is larger."""
    with open_regular(path, within) as file:
        # By its size, and again by what was read, because it may grow meanwhile.
        content = file.read(limit + 1) if os.fstat(file.fileno()).st_size <= limit else None
    if content is None or len(content) > limit:
        raise Unreadable(f"{os.fspath(path)} is larger than {limit:,} bytes")
    return content


def parse_json(text: str | bytes) -> Any:
    """Parse a JSON text; raises Unreadable with the reason.

    If a key occurs twice, its last value counts, as in every agent's own parser.
    """
    text = (_decode(text) if isinstance(text, bytes) else text).removeprefix(BYTE_ORDER_MARK).strip()
    value, end = parse_json_prefix(text)
    if end < len(text):
        raise Unreadable(f"not JSON: extra data after the value at character {end}")
    return value


def parse_json_prefix(text: str, start: int = 0) -> tuple[Any, int]:
    """Parse the JSON value that begins at a position of a text; returns it with the position of its end."""
    try:
        value, end = DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise Unreadable(f"not JSON: {error}") from None
    except ValueError:
        # Python refuses to convert numbers of more than 4,300 digits, because that takes quadratic time.
        raise Unreadable("a number is too long: more than 4,300 digits") from None
    except RecursionError:
        raise Unreadable(TOO_DEEP) from None
    # Counting brackets is cheap and is enough for nearly every text.
    if text.count("[", start, end) + text.count("{", start, end) > MAX_DEPTH and _is_too_deep(value):
        raise Unreadable(TOO_DEEP)
    return value, end


def _decode(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise Unreadable(f"not UTF-8: at byte {error.start}") from None


def _is_too_deep(value: Any) -> bool:
    """Walks level by level, because recursion would fail on exactly the values to detect."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def read_lines(stream: BinaryIO, longest: int = MAX_LINE_BYTES) -> Iterator[Line]:
    """The lines of a stream; only the beginning of a line that is too long, so that memory stays bounded."""
    number = 0
    while content := stream.readline(longest + 1):
        number += 1
        rest, is_cut = content, len(content) > longest and not content.endswith(b"\n")
        while is_cut and rest and not rest.endswith(b"\n"):
            rest = stream.readline(1 << 20)
        yield Line(number, content[:longest].rstrip(b"\r\n"), is_cut)


def read_text_lines(stream: BinaryIO) -> Iterator[str]:
    """The lines of a stream as text, each cut after the limit; invalid UTF-8 becomes lone surrogates.

    A cut line is then invalid JSON, and every check of text refuses lone surrogates.
    """
    for line in read_lines(stream, MAX_MESSAGE_BYTES + 1):
        yield line.content.decode("utf-8", "surrogateescape")
