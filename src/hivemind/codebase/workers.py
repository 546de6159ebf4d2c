"""Worker processes that read files while this process stores rows."""

import os
import pickle
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from queue import SimpleQueue

from hivemind.codebase.reading import FileRows, Request, read_file

MAX_WORKERS = 6
"""More would wait for this process, which alone writes; each takes about 70 MB."""

MIN_FILES = 400
"""Fewer files are read here before a worker has started."""

_PROGRAM = "import sys; from hivemind.codebase.reading import run_worker; run_worker(sys.argv[1])"


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
                    yield _result(root, future, running.pop(future))
        for future, batch in running.items():
            yield _result(root, future, batch)
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


def _result(root: Path, future: "Future[list[FileRows]]", batch: Sequence[Request]) -> list[FileRows]:
    # In this thread, because parsers are shared and must not be used by two at once.
    return future.result() or [read_file(root, request) for request in batch]
