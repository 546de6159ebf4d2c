"""Looks for what is left of a text in every file, without the code that erases it."""

import json
import re
import zlib
from base64 import b64decode
from pathlib import Path

import apsw

BETWEEN = re.compile(r"(?:\\+[nrtbf]|[^\w\\]|_)+")
ESCAPED = re.compile(r"\\+u([0-9a-f]{4})")


def plain(text: str) -> str:
    """A text in lower case with single spaces, escapes of JSON undone."""
    unescaped = ESCAPED.sub(lambda found: chr(int(found[1], 16)), text.casefold())
    return f" {BETWEEN.sub(' ', unescaped.casefold()).strip()} "


def fragments(text: str) -> list[str]:
    """Every run of 60 % of the words of a text."""
    words = plain(text).split()
    length = -(-len(words) * 6 // 10)
    return [f" {' '.join(words[start : start + length])} " for start in range(len(words) - length + 1)]


def left(home: Path, text: str) -> list[str]:
    """Files below a folder that quote 60 % of a text: as they stand, and what their databases say."""
    return [str(file.relative_to(home)) for file in sorted(home.rglob("*")) if file.is_file() and _quotes(file, text)]


def _quotes(file: Path, text: str) -> bool:
    if file.name == "ballast":
        return False
    raw, wanted = file.read_bytes(), fragments(text)
    # Words that all fragments have; most contents lack one of them, which is quick to see.
    shared = [word for word in set.intersection(*(set(one.split()) for one in wanted)) if word.isascii()]
    contents = [raw.decode("utf-8", "replace")]
    if raw.startswith(b"SQLite format 3") and b"CREATE TABLE bodies" in raw:
        contents += _bodies(file)
    likely = [one for one in contents if all(map(one.lower().__contains__, shared))]
    return any(fragment in said for said in map(plain, likely) for fragment in wanted)


def _bodies(file: Path) -> list[str]:
    connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    kept = [row[0] for row in connection.execute("SELECT content FROM bodies")]
    connection.close()
    return [zlib.decompress(b64decode(one[2:])).decode() if one.startswith("z:") else one for one in kept]


def escaped_twice(text: str) -> str:
    """A text as a tool prints it that was given JSON in JSON."""
    return json.dumps(json.dumps({"said": text}))
