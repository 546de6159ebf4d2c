"""Read files of a tree into the rows that the index stores, in this process or as a worker of another one."""

import gc
import pickle
import re
import sys
import time
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from hivemind import system
from hivemind.codebase import tree
from hivemind.codebase.addresses import normalise_word
from hivemind.codebase.fingerprint import digest, unpack_first
from hivemind.codebase.grammar import language_of
from hivemind.codebase.symbols import Outline, outline
from hivemind.codebase.words import extract_words, split_names, split_path
from hivemind.model.code import LOCATION_FIELDS, Fingerprint, Symbol

LOOKUP_TRIPLES = 4
"""Hashes per body that are indexed for lookup; bodies that share half of their triples mostly share one of these."""

MIN_TOKENS = 12
"""Smaller bodies are not looked up by content: too many are alike."""

BINARY_BYTES = 8_000
"""A zero byte among the first of a file shows that it is no text."""

_IMPORTED_WORD = re.compile(r"[\w-]+")
_columns = attrgetter(*LOCATION_FIELDS[1:])


class Request(NamedTuple):
    """A file to read, and what is known of its content."""

    path: str
    raw: str = ""
    """Digest of the content as last indexed."""
    fingerprints: tuple[str, ...] = ()
    """Fingerprints of its symbols, which need not be computed again where the code is the same."""


class FileRows(NamedTuple):
    """What the index stores about a file."""

    path: str
    read_ns: int
    """When the file was read."""
    stamp: tuple[int, int, int] | None
    """None if there is no such file any more."""
    content: "ContentRows | None"
    """None if there is no such file, or its content is the same as before."""


class ContentRows(NamedTuple):
    """The rows of a file's content; symbols are referred to by their position."""

    symbols: list[list[str | int]]
    triples: list[tuple[int, int]]
    mentions: list[tuple[int, str, str]]
    """Position of the symbol, name and qualifier."""
    imports: list[str]
    """Words of what it imports, folded."""
    words: tuple[str, str, str]
    """Of the path, of the names that it defines, and of its text."""


def read_file(root: Path, request: Request) -> FileRows:
    """Read one file into rows."""
    read_ns = time.time_ns()  # before reading, so that a later change is seen as one
    file = tree.read(root, request.path)
    if file is None:
        return FileRows(request.path, read_ns, None, None)
    stamp, source = file
    if request.raw == digest(source):
        return FileRows(request.path, read_ns, stamp, None)
    earlier = [Fingerprint.parse(text) for text in request.fingerprints]
    return FileRows(request.path, read_ns, stamp, _make_rows(source, outline(request.path, source, earlier)))


def _make_rows(source: bytes, file_outline: Outline) -> ContentRows:
    symbols = file_outline.symbols
    path = symbols[0].path
    return ContentRows(
        symbols=[[*_columns(symbol), str(symbol.fingerprint)] for symbol in symbols],
        triples=[
            (triple, position)
            for position, symbol in enumerate(symbols)
            for triple in lookup_triples(symbol.fingerprint.tokens, symbol.fingerprint.sketch)
        ],
        mentions=[
            (owner, name, qualifier) for owner, kind, name, qualifier in file_outline.references if kind != "import"
        ],
        imports=sorted(
            {
                normalise_word(word)
                for _, kind, name, _ in file_outline.references
                if kind == "import"
                for word in _IMPORTED_WORD.findall(name)
            }
        ),
        words=(split_path(path), split_names(symbol.name for symbol in symbols), _text_words(source, symbols)),
    )


def _text_words(source: bytes, symbols: tuple[Symbol, ...]) -> str:
    # Code without symbols is generated or minified; anything else that is text may be documentation.
    is_searchable = len(symbols) > 1 or symbols[0].fingerprint.tokens > 0 or not language_of(symbols[0].path)
    return extract_words(source) if is_searchable and b"\0" not in source[:BINARY_BYTES] else ""


def lookup_triples(tokens: int, sketch: str) -> list[int]:
    """The hashes by which a body is found elsewhere."""
    return unpack_first(sketch, LOOKUP_TRIPLES) if tokens >= MIN_TOKENS else []


def run_worker(root: str) -> None:
    """Answer pickled requests until the input ends, which it also does when the process at its other end is killed."""
    system.lower_priority(system.LOW_PRIORITY)
    # Symbols have no cycles, and searching for some takes a tenth of the time.
    gc.set_threshold(500_000)
    while True:
        try:
            batch: list[Request] = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        rows = [read_file(Path(root), request) for request in batch]
        pickle.dump(rows, sys.stdout.buffer, pickle.HIGHEST_PROTOCOL)
        sys.stdout.buffer.flush()
