"""An index that follows its tree."""

from queue import Queue
from threading import Event, Thread
from typing import TYPE_CHECKING

import pytest

from hivemind.code import index as index_module
from hivemind.code import watcher
from hivemind.code.index import CodeIndex
from hivemind.errors import Unavailable

if TYPE_CHECKING:
    from tests.code.conftest import Workspace


def test_changes_new_files_and_new_folders_are_followed(workspace: "Workspace") -> None:
    workspace.write("a.py", "def first(): pass\n")
    workspace.commit()
    stop, seen = Event(), Queue[int]()

    def follow() -> None:
        with CodeIndex.open(workspace.root, workspace.cache) as index:
            seen.put(0)
            watcher.follow(index, stop, seen.put)

    thread = Thread(target=follow)
    thread.start()
    try:
        seen.get(timeout=30)
        names: list[str] = []
        for path, name in (("a.py", "second"), ("b.py", "third"), ("folder/c.py", "fourth")):
            while not workspace.index.find_by_name(name):
                # The watch may not be set up yet, so the file is written until it is noticed.
                workspace.write(path, f"def {name}(): pass  # {len(names)}\n")
                names.append(name)
                stop.wait(0.3)
                assert len(names) < 100
    finally:
        stop.set()
        thread.join(timeout=30)

    assert not thread.is_alive()
    assert sorted(set(names)) == ["fourth", "second", "third"]


def test_a_tree_beyond_the_limits_is_not_watched_and_says_why() -> None:
    watcher.check_limits(1)

    with pytest.raises(Unavailable, match="more than can be watched"):
        watcher.check_limits(watcher.MAX_FOLDERS + 1)


def test_what_hinders_watching_is_noted_for_the_doctor(workspace: "Workspace", monkeypatch: pytest.MonkeyPatch) -> None:
    workspace.write("a.py", "def first(): pass\n")
    workspace.commit()

    healthy = watcher.find_problem(workspace.index)
    monkeypatch.setattr(watcher, "MAX_FOLDERS", 0)
    watcher.keep_warm(workspace.index, Event())

    assert healthy == ""
    assert workspace.index.find_by_name("first")
    assert "more than can be watched" in workspace.index.get_fact(watcher.PROBLEM_FACT)


def test_a_large_tree_is_not_indexed_just_because_a_server_runs(
    workspace: "Workspace", monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.write("a.py", "def first(): pass\n")
    workspace.commit()
    monkeypatch.setattr(index_module, "MAX_QUICK_FILES", 0)

    watcher.keep_warm(workspace.index, Event())

    assert not workspace.index.is_built
