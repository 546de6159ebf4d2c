"""Read files of a tree into the rows that the index stores, in this process or in worker processes."""

import gc
import os
import pickle
import re
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from hivemind import system
from hivemind.code import working_tree
from hivemind.code.code_names import normalise_word
from hivemind.code.fingerprint import digest
from hivemind.code.parsing import Outline, outline
from hivemind.model.code import LOCATION_FIELDS

MAX_WORKERS = 6
"""More would wait for this process, which alone writes; each takes about 70 MB."""

MIN_FILES = 400
"""Fewer files are read here before a worker has started."""

_PROGRAM = "import sys; from hivemind.code.index_reading import run_worker; run_worker(sys.argv[1])"

_IMPORTED_WORD = re.compile(r"[\w-]+")
_columns = attrgetter(*LOCATION_FIELDS[1:])


class Request(NamedTuple):
    """A file to read."""

    path: str
    raw: str = ""
    """Digest of the content as last indexed, to which the same content need not be read again; empty if it is new."""


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
    mentions: list[tuple[int, str, str]]
    """Position of the symbol, name and qualifier."""
    imports: list[str]
    """Words of what it imports, folded."""


def read_file(root: Path, request: Request) -> FileRows:
    """Read one file into rows."""
    read_ns = time.time_ns()  # before reading, so that a later change is seen as one
    file = working_tree.read(root, request.path)
    if file is None:
        return FileRows(request.path, read_ns, None, None)
    stamp, source = file
    if request.raw == digest(source):
        return FileRows(request.path, read_ns, stamp, None)
    return FileRows(request.path, read_ns, stamp, _make_rows(outline(request.path, source)))


def _make_rows(file_outline: Outline) -> ContentRows:
    symbols = file_outline.symbols
    imported_names = [name for _, kind, name, _ in file_outline.references if kind == "import"]
    return ContentRows(
        symbols=[[*_columns(symbol), str(symbol.fingerprint)] for symbol in symbols],
        mentions=[
            (owner, name, qualifier) for owner, kind, name, qualifier in file_outline.references if kind != "import"
        ],
        imports=sorted({normalise_word(word) for name in imported_names for word in _IMPORTED_WORD.findall(name)}),
    )


class Worker:
    """A process that reads files, a batch at a time; it ends with this process, however that ends."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._batch: Sequence[Request] = ()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM, str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def start(self, batch: Sequence[Request]) -> None:
        """Begin to read a batch."""
        assert self._process.stdin is not None
        self._batch = batch
        with suppress(BrokenPipeError):  # it was killed, which `finish` notices
            pickle.dump(batch, self._process.stdin, pickle.HIGHEST_PROTOCOL)
            self._process.stdin.flush()

    def finish(self) -> list[FileRows]:
        """Wait for the rows of the batch; if the process was killed, read them here."""
        assert self._process.stdout is not None
        try:
            rows: list[FileRows] = pickle.load(self._process.stdout)
        except (EOFError, pickle.UnpicklingError):
            return [read_file(self._root, request) for request in self._batch]
        return rows

    def close(self) -> None:
        """End the process."""
        with suppress(BrokenPipeError):
            self._process.communicate()


def read_files(root: Path, batches: Iterable[Sequence[Request]], count: int) -> Iterator[list[FileRows]]:
    """Yield the rows of each batch, read by worker processes if there are many files."""
    workers = _start_all(root) if count >= MIN_FILES else []
    if not workers:
        yield from ([read_file(root, request) for request in batch] for batch in batches)
        return
    remaining_batches, busy = iter(batches), deque[Worker]()
    try:
        for worker, batch in zip(workers, remaining_batches, strict=False):
            worker.start(batch)
            busy.append(worker)
        while busy:
            worker = busy.popleft()
            rows = worker.finish()
            # It reads the next batch while the caller stores this one.
            if next_batch := next(remaining_batches, None):
                worker.start(next_batch)
                busy.append(worker)
            yield rows
    finally:
        for worker in workers:
            worker.close()


def _start_all(root: Path) -> list[Worker]:
    try:
        return [Worker(root) for _ in range(min(MAX_WORKERS, os.cpu_count() or 1))]
    except OSError:  # no more processes are allowed: this one reads alone
        return []


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
