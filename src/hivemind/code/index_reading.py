"""Read files of a tree into the rows that the index stores, in this process or in worker processes.

The words of a file, for the search by content, are its identifiers in parts, each as often as it occurs, up to a limit.
"""

import gc
import os
import pickle
import re
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from hivemind import system
from hivemind.code import working_tree
from hivemind.code.code_names import normalise_word
from hivemind.code.fingerprint import digest, unpack_first
from hivemind.code.grammars import find_language
from hivemind.code.parsing import Outline, outline
from hivemind.model.code import LOCATION_FIELDS, Fingerprint, Symbol

LOOKUP_TRIPLES = 4
"""Hashes per body that are indexed for lookup; bodies that share half of their triples mostly share one of these."""

MIN_TOKENS = 12
"""Smaller bodies are not looked up by content: too many are alike."""

BINARY_BYTES = 8_000
"""A zero byte among the first of a file shows that it is no text."""

MAX_REPEATS = 8
"""A word that occurs more often than this says no more about a file; each repeat costs a byte of the index."""

MAX_SEARCHED_BYTES = 400_000
"""Only the beginning of a larger file is searched: it is mostly data."""

_IDENTIFIER = re.compile(rb"[A-Za-z\x80-\xff][\w\x80-\xff]{2,60}")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[^\W\d_a-zA-Z]+")

MAX_WORKERS = 6
"""More would wait for this process, which alone writes; each takes about 70 MB."""

MIN_FILES = 400
"""Fewer files are read here before a worker has started."""

_PROGRAM = "import sys; from hivemind.code.index_reading import run_worker; run_worker(sys.argv[1])"

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
    file = working_tree.read(root, request.path)
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
            for triple in select_triples(symbol.fingerprint.tokens, symbol.fingerprint.sketch)
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
        words=(
            _split_path(path),
            _split_names(symbol.name for symbol in symbols),
            _extract_text_words(source, symbols),
        ),
    )


def _extract_text_words(source: bytes, symbols: tuple[Symbol, ...]) -> str:
    # Code without symbols is generated or minified; anything else that is text may be documentation.
    is_searchable = len(symbols) > 1 or symbols[0].fingerprint.tokens > 0 or not find_language(symbols[0].path)
    return _extract_words(source) if is_searchable and b"\0" not in source[:BINARY_BYTES] else ""


def select_triples(tokens: int, sketch: str) -> list[int]:
    """The hashes by which a body is found elsewhere."""
    return unpack_first(sketch, LOOKUP_TRIPLES) if tokens >= MIN_TOKENS else []


@lru_cache(maxsize=32_768)
def split_identifier(identifier: str) -> tuple[str, ...]:
    """The parts of an identifier in lower case; of several, the whole without separators too."""
    parts = [part.lower() for part in _PART.findall(identifier)]
    long_parts = tuple(part for part in parts if len(part) > 1)
    return (*long_parts, "".join(parts)) if len(parts) > 1 else long_parts


def _extract_words(source: bytes) -> str:
    """The words of a file, separated by spaces."""
    counts: defaultdict[str, int] = defaultdict(int)
    for identifier, count in Counter(_IDENTIFIER.findall(source[:MAX_SEARCHED_BYTES])).items():
        for part in split_identifier(identifier.decode("utf-8", "replace")):
            counts[part] += count
    # Repeated as one text, because a step per word would take longer than counting them.
    return "".join([f"{word} " * min(count, MAX_REPEATS) for word, count in counts.items()]).rstrip()


def _split_names(names: Iterable[str]) -> str:
    """The words of some names, separated by spaces."""
    return " ".join(part for name in names for part in split_identifier(name))


def _split_path(path: str) -> str:
    """The words of a path, separated by spaces."""
    return _split_names(re.findall(r"\w+", path))


class Worker:
    """A process that reads files; it ends with this process, however that ends."""

    def __init__(self, root: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM, str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def read(self, batch: Sequence[Request]) -> list[FileRows]:
        """The rows of a batch; empty if the process was killed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            pickle.dump(batch, self._process.stdin, pickle.HIGHEST_PROTOCOL)
            self._process.stdin.flush()
            rows: list[FileRows] = pickle.load(self._process.stdout)
        except (BrokenPipeError, EOFError, pickle.UnpicklingError):
            return []
        return rows

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def read_files(root: Path, batches: Iterable[Sequence[Request]], count: int) -> Iterator[list[FileRows]]:
    """Yield the rows of each batch in any order, read by worker processes if there are many files."""
    workers = _start_all(root) if count >= MIN_FILES else []
    if not workers:
        yield from ([read_file(root, request) for request in batch] for batch in batches)
        return
    idle: SimpleQueue[Worker] = SimpleQueue()
    for worker in workers:
        idle.put(worker)
    threads = ThreadPoolExecutor(len(workers))
    try:
        running: dict[Future[list[FileRows]], Sequence[Request]] = {}
        for batch in batches:
            running[threads.submit(_ask_worker, batch, idle)] = batch
            # Two per worker keep all busy; more would only fill the memory.
            if len(running) >= 2 * len(workers):
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    yield _get_result(root, future, running.pop(future))
        for future, batch in running.items():
            yield _get_result(root, future, batch)
    finally:
        threads.shutdown(cancel_futures=True)
        for worker in workers:
            worker.close()


def _start_all(root: Path) -> list[Worker]:
    try:
        return [Worker(root) for _ in range(min(MAX_WORKERS, os.cpu_count() or 1))]
    except OSError:  # no more processes are allowed: this one reads alone
        return []


def _ask_worker(batch: Sequence[Request], idle: "SimpleQueue[Worker]") -> list[FileRows]:
    worker = idle.get()
    try:
        return worker.read(batch)
    finally:
        idle.put(worker)


def _get_result(root: Path, future: "Future[list[FileRows]]", batch: Sequence[Request]) -> list[FileRows]:
    # In this thread, because parsers are shared and must not be used by two at once.
    return future.result() or [read_file(root, request) for request in batch]


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
