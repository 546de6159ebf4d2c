"""What is read while somebody waits: what is small at once, what is large in the background."""

import os
from typing import TYPE_CHECKING

import pytest

from hivemind.background import measure_cpu_seconds
from hivemind.code import code_changes
from hivemind.code import index as index_module
from hivemind.code.index import CodeIndex
from hivemind.model.code import Anchor, Staleness, SymbolChange
from hivemind.system import FileLock

if TYPE_CHECKING:
    from tests.code.conftest import Workspace

SMALL = "def settle(amount):\n    total = amount * 2\n    rest = total - 1\n    return total + rest\n"
LARGE = "def tally(amount):\n    total = amount\n" + "".join(
    f"    total = total + lookup({number}, amount)\n" for number in range(300)
)


def judge(index: CodeIndex, anchor: Anchor) -> Staleness:
    (verdict,) = code_changes.judge(index, [anchor], deadline=measure_cpu_seconds() + 60)
    return verdict


@pytest.fixture
def anchors(workspace: "Workspace") -> tuple[Anchor, Anchor]:
    workspace.write("small.py", SMALL)
    workspace.write("large.py", LARGE)
    workspace.commit()
    workspace.index.refresh()
    return workspace.anchor("small.py::settle"), workspace.anchor("large.py::tally")


def test_a_small_function_is_compared_at_once(workspace: "Workspace", anchors: tuple[Anchor, Anchor]) -> None:
    workspace.write("small.py", SMALL.replace("rest", "remainder"))
    renamed = judge(workspace.index, anchors[0])
    workspace.write("small.py", SMALL.replace("* 2", "* 3"))
    changed = judge(workspace.index, anchors[0])

    assert (renamed.change, changed.change) == (SymbolChange.COSMETIC, SymbolChange.BODY_MAJOR)
    assert not workspace.index.is_behind


def test_a_large_class_with_one_changed_method_is_compared_at_once(workspace: "Workspace") -> None:
    methods = "".join(
        f"    def count_{number}(self, rows):\n        total = len(rows)\n        return total + {number}\n\n"
        for number in range(200)
    )
    workspace.write("ledger.py", f"class Ledger:\n{methods}")
    workspace.commit()
    workspace.index.refresh()
    anchor = workspace.anchor("ledger.py::Ledger")
    workspace.replace("ledger.py", "return total + 7\n", "return total + 8\n")
    verdict = judge(workspace.index, anchor)

    assert (verdict.change, workspace.index.is_behind) == (SymbolChange.MEMBERS, False)
    assert verdict.lines


def test_a_large_file_is_left_to_the_background(workspace: "Workspace", anchors: tuple[Anchor, Anchor]) -> None:
    more = 'TEXT = """\n' + "nothing of interest\n" * 12_000 + '"""\n'
    workspace.write("small.py", SMALL + "\n\n" + more)
    # A file that was written a moment ago is read again, because its time is coarse.
    os.utime(workspace.root / "small.py", ns=(1, 1))
    at_first = judge(workspace.index, anchors[0])
    was_behind = workspace.index.is_behind

    workspace.index.refresh()
    later = judge(workspace.index, anchors[0])

    assert (at_first.change, at_first.must_verify, was_behind) == (SymbolChange.UNREAD, False, True)
    assert (later.change, workspace.index.is_behind) == (SymbolChange.FRESH, False)


def test_a_moved_function_is_found_at_once_in_a_small_tree(
    workspace: "Workspace", anchors: tuple[Anchor, Anchor]
) -> None:
    workspace.git("mv", "small.py", "other.py")

    verdict = judge(workspace.index, anchors[0])

    assert (verdict.change, workspace.index.is_behind) == (SymbolChange.MOVED, False)


def test_what_was_found_once_is_found_while_another_process_indexes(
    workspace: "Workspace", anchors: tuple[Anchor, Anchor]
) -> None:
    workspace.git("mv", "small.py", "other.py")
    workspace.git("rm", "-q", "large.py")
    before = [judge(workspace.index, anchor).change for anchor in anchors]
    workspace.write("new.py", "def new():\n    return 1\n")

    lock = str(workspace.index.path.with_suffix(".lock"))
    with FileLock(lock), CodeIndex.open(workspace.root, workspace.cache) as other:
        during = [judge(other, anchor).change for anchor in anchors]
        is_behind = other.is_behind

    assert (before, is_behind) == ([SymbolChange.MOVED, SymbolChange.GONE], True)
    assert during == [SymbolChange.MOVED, SymbolChange.MISSING]


def test_in_a_large_tree_the_background_searches_for_a_moved_function(
    workspace: "Workspace", anchors: tuple[Anchor, Anchor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "MAX_LISTED_FILES", 0)
    workspace.git("mv", "small.py", "other.py")
    workspace.commit()
    at_first = judge(workspace.index, anchors[0])
    was_behind = workspace.index.is_behind

    workspace.index.refresh()
    workspace.judge(anchors[0])
    later = judge(workspace.index, anchors[0])

    assert (at_first.now, was_behind) == (None, True)
    assert (later.change, workspace.index.is_behind) == (SymbolChange.MOVED, False)
