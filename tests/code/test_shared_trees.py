"""Several processes that index one tree, and processes that are killed while they do."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hivemind.code.index import CodeIndex
from hivemind.code.index_database import select
from hivemind.code.index_reading import MIN_FILES
from hivemind.code.links import find_symbols
from hivemind.code.related_files import find_callers

if TYPE_CHECKING:
    from tests.code.conftest import Workspace

REFRESH = """
import sys
from pathlib import Path
from hivemind.code.index import CodeIndex
with CodeIndex.open(Path(sys.argv[1]), Path(sys.argv[2])) as index:
    index.refresh()
"""

# The process kills itself at the given call of a step, as a power cut or an impatient user would.
REFRESH_AND_DIE = (
    """
import os, signal, sys
from hivemind.code import index_database
name, calls = sys.argv[3], int(sys.argv[4])
step = getattr(index_database, name)
def count_down(*args, **kwargs):
    global calls
    calls -= 1
    if calls == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return step(*args, **kwargs)
setattr(index_database, name, count_down)
"""
    + REFRESH
)

CONTENT_QUERIES = (
    "SELECT path FROM files",
    "SELECT f.path, s.qualified, s.kind, s.fingerprint FROM symbols s JOIN files f ON f.id = s.file",
    "SELECT f.path, s.qualified, n.text FROM mentions m JOIN names n ON n.id = m.name"
    " JOIN symbols s ON s.id = m.symbol JOIN files f ON f.id = s.file",
    "SELECT f.path, i.word FROM imports i LEFT JOIN files f ON f.id = i.file",
)


def fill(workspace: "Workspace", files: int) -> None:
    for number in range(files):
        following = (number + 1) % files
        body = (
            f"from app.m{following} import settle_{following}\n\n\nclass Account{number}:\n    limit = {number}\n\n\n"
        )
        call = f"def settle_{number}(amount):\n    return settle_{following}(amount) + {number}\n"
        workspace.write(f"app/m{number}.py", body + call)
    workspace.commit()


def content(index: CodeIndex) -> list[list[tuple[object, ...]]]:
    return [sorted(select(index.db, query), key=repr) for query in CONTENT_QUERIES]


def start(program: str, workspace: "Workspace", *arguments: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-c", program, workspace.root, workspace.cache, *arguments])


def list_workers(process: int) -> list[int]:
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [int(child) for child in children if b"code.index_reading" in Path(f"/proc/{child}/cmdline").read_bytes()]


def content_of_one_run(workspace: "Workspace", tmp_path: Path) -> list[list[tuple[object, ...]]]:
    with CodeIndex.open(workspace.root, tmp_path / "alone") as alone:
        alone.refresh()
        return content(alone)


def test_ten_processes_at_once_give_the_index_of_one(workspace: "Workspace", tmp_path: Path) -> None:
    fill(workspace, 120)

    processes = [start(REFRESH, workspace) for _ in range(10)]
    codes = [process.wait() for process in processes]

    assert codes == [0] * 10
    assert content(workspace.index) == content_of_one_run(workspace, tmp_path)


def test_processes_that_save_single_files_during_a_refresh_double_nothing(
    workspace: "Workspace", tmp_path: Path
) -> None:
    fill(workspace, 120)

    refresh = start(REFRESH, workspace)
    for number in range(120):
        workspace.index.read_symbols(f"app/m{number}.py")
    refresh.wait()

    assert content(workspace.index) == content_of_one_run(workspace, tmp_path)


@pytest.mark.parametrize(
    ("step", "calls"),
    [("store_files", 1), ("store_files", 2), ("count_common_commits", 1)],
)
def test_an_index_killed_at_any_step_is_complete_after_the_next_run(
    workspace: "Workspace", tmp_path: Path, step: str, calls: int
) -> None:
    fill(workspace, 120)

    code = start(REFRESH_AND_DIE, workspace, step, str(calls)).wait()
    was_complete = workspace.index.is_built
    workspace.index.refresh()

    assert code == -signal.SIGKILL
    assert not was_complete
    assert content(workspace.index) == content_of_one_run(workspace, tmp_path)
    (symbol,) = find_symbols(workspace.index, "app/m7.py::settle_7")
    assert [caller.label for caller in find_callers(workspace.index, symbol).symbols] == ["app/m6.py::settle_6"]


def test_many_files_are_read_by_workers_and_give_the_same_rows(workspace: "Workspace", tmp_path: Path) -> None:
    fill(workspace, MIN_FILES)
    by_workers = content_of_one_run(workspace, tmp_path)

    # Single files are read in this process.
    for number in range(MIN_FILES):
        workspace.index.update([f"app/m{number}.py"])

    assert content(workspace.index) == by_workers


@pytest.mark.skipif(not Path("/proc").exists(), reason="only Linux lists the children of a process there")
def test_workers_that_are_killed_cost_time_and_no_file(workspace: "Workspace", tmp_path: Path) -> None:
    fill(workspace, MIN_FILES)

    process = start(REFRESH, workspace)
    end = time.monotonic() + 30
    while not (workers := list_workers(process.pid)) and time.monotonic() < end:
        time.sleep(0.005)
    for worker in workers:
        os.kill(worker, signal.SIGKILL)

    assert workers
    assert process.wait() == 0
    assert content(workspace.index) == content_of_one_run(workspace, tmp_path)
