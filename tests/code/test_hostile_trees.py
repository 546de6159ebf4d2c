"""Trees that mean harm, or merely are odd."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hivemind.code import git, working_tree
from hivemind.code.links import find_symbols
from hivemind.code.parsing import outline
from hivemind.model.code import SymbolChange

if TYPE_CHECKING:
    from tests.code.conftest import Workspace


def test_nothing_outside_the_root_is_read_through_links(workspace: "Workspace") -> None:
    outside = workspace.root.parent / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text("def secret(): pass\n")
    workspace.write("inside.py", "def inside(): pass\n")
    (workspace.root / "file.py").symlink_to(outside / "secret.py")
    (workspace.root / "folder").symlink_to(outside)

    workspace.index.refresh()
    workspace.index.update(["file.py", "folder/secret.py", "../outside/secret.py"])

    assert workspace.index.list_paths() == ["inside.py"]
    assert find_symbols(workspace.index, "folder/secret.py") == []
    assert find_symbols(workspace.index, "../outside/secret.py") == []
    assert find_symbols(workspace.index, str(outside / "secret.py")) == []
    assert len(find_symbols(workspace.index, str(workspace.root / "inside.py"))) == 1


def test_a_pipe_keeps_nobody_waiting(workspace: "Workspace") -> None:
    os.mkfifo(workspace.root / "pipe.py")

    assert working_tree.read(workspace.root, "pipe.py") is None


def test_a_folder_in_the_place_of_a_file_is_no_file(workspace: "Workspace") -> None:
    workspace.write("turned.py", "def turned(): pass\n")
    workspace.index.refresh()
    (workspace.root / "turned.py").unlink()
    workspace.write("turned.py/inside.py", "def inside(): pass\n")

    workspace.index.update(["turned.py", "turned.py/inside.py"])

    assert workspace.index.list_paths() == ["turned.py/inside.py"]


def test_a_huge_file_is_known_by_its_ends(workspace: "Workspace") -> None:
    with (workspace.root / "huge.py").open("wb") as file:
        file.truncate(1_000_000_000)
    anchor = workspace.anchor("huge.py")

    before = workspace.judge(anchor)
    with (workspace.root / "huge.py").open("ab") as file:
        file.write(b"one more line\n")
    after = workspace.judge(anchor)

    assert before.change is SymbolChange.FRESH
    assert after.change is SymbolChange.BODY_MAJOR


@pytest.mark.parametrize("name", ["with space.py", "naïve.py", "new\nline.py", "-rf.py", "quo'te\".py", "$(boom).py"])
def test_odd_names_are_only_names(workspace: "Workspace", name: str) -> None:
    workspace.write(name, "def answer(): return 42\n")
    workspace.commit()

    workspace.index.refresh()

    assert name in workspace.index.list_paths()
    assert [symbol.name for symbol in workspace.index.read_symbols(name)] == ["", "answer"]


def test_a_name_that_is_no_text_is_survived(workspace: "Workspace") -> None:
    Path(os.fsdecode(os.fsencode(workspace.root) + b"/\xff\xfe.py")).write_text("x = 1\n")
    workspace.write("fine.py", "x = 1\n")

    workspace.index.refresh()

    assert "fine.py" in workspace.index.list_paths()


def test_deep_nesting_is_survived() -> None:
    deep = outline("deep.js", b"(" * 50_000 + b")" * 50_000 + b"\nfunction after() {}\n")

    assert deep.symbols[0].kind == "file"


def test_a_file_left_out_by_a_sparse_checkout_is_not_gone(workspace: "Workspace") -> None:
    workspace.write("kept/a.py", "def kept(): return 1\n")
    workspace.write("left/b.py", "def left(): return 2\n")
    workspace.commit()
    anchor = workspace.anchor("left/b.py::left")

    workspace.git("sparse-checkout", "set", "kept")
    sparse = workspace.judge(anchor)
    workspace.git("sparse-checkout", "disable")
    workspace.remove("left/b.py")
    removed = workspace.judge(anchor)

    assert sparse.change is SymbolChange.FRESH
    assert removed.change is SymbolChange.GONE


def test_a_submodule_is_neither_indexed_nor_in_the_way(workspace: "Workspace") -> None:
    other = workspace.root.parent / "other"
    other.mkdir()
    (other / "lib.py").write_text("def lib(): return 1\n")
    git.run(other, "init", "-q")
    git.run(other, "add", "-A")
    git.run(other, "-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-q", "-m", "lib")
    workspace.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "vendored")
    workspace.write("own.py", "def own(): return 1\n")
    workspace.commit()

    workspace.index.refresh()
    anchor = workspace.anchor("vendored/lib.py::lib")

    assert "own.py" in workspace.index.list_paths()
    assert workspace.judge(anchor).change is SymbolChange.FRESH


def test_git_runs_nothing_the_repository_brings_along(workspace: "Workspace") -> None:
    trap, sprung = workspace.root / "trap.sh", workspace.root / "sprung"
    trap.write_text(f"#!/bin/sh\ntouch '{sprung}'\n")
    trap.chmod(0o755)
    workspace.write("a.py", "x = 1\n")
    first = workspace.commit()
    workspace.write("a.py", "x = 2\n")
    second = workspace.commit()
    workspace.git("config", "core.fsmonitor", str(trap))
    workspace.git("config", "core.hooksPath", str(workspace.root))
    workspace.git("config", "diff.external", str(trap))
    workspace.git("config", "core.pager", str(trap))

    listed = git.list_files(workspace.root)
    changed, _ = git.list_changes(workspace.root, first, second)
    list(git.read_commits(workspace.root, limit=10))
    was_safe = not sprung.exists()
    workspace.git("status")

    assert listed is not None
    assert "a.py" in listed
    assert changed == ["a.py"]
    assert was_safe
    assert sprung.exists()


def test_a_file_that_takes_too_long_to_parse_is_a_file_without_symbols() -> None:
    bomb = outline("bomb.json", b"\n".join([b"{" * 79] * 500))
    plain = outline("plain.json", b'{"a": {"b": 1}}')

    assert [symbol.kind for symbol in bomb.symbols] == ["file"]
    assert [symbol.kind for symbol in plain.symbols] == ["file", "table", "key"]


def test_nesting_that_would_crash_the_parser_makes_a_file_without_symbols() -> None:
    depth = 600
    compact = outline("compact.yaml", b"- " * depth)
    indented = outline("indented.yaml", b"".join(b" " * level + b"a:\n" for level in range(depth)))
    zero_indented = outline(
        "pairs.yaml", b"".join(b"  " * level + b"a:\n" + b"  " * level + b"- " for level in range(90))
    )
    plain = outline("plain.yaml", b"a:\n  b: 1\n")

    assert [symbol.kind for symbol in compact.symbols] == ["file"]
    assert [symbol.kind for symbol in indented.symbols] == ["file"]
    assert zero_indented.symbols[0].kind == "file"
    assert [symbol.kind for symbol in plain.symbols] == ["file", "table", "key"]


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux says there how much memory is in use")
def test_the_text_of_parsed_files_is_freed() -> None:
    def memory_mb() -> float:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    source = b"# A comment, which is parsed fast.\n" * 10_000
    outline("a.py", source)
    before = memory_mb()
    for number in range(40):
        # A changed text is new to the process, as that of another file.
        outline("a.py", b"# %d\n" % number + source)

    assert 40 * len(source) / 1e6 > 10
    assert memory_mb() - before < 5
