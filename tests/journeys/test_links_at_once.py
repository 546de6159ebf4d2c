"""A name that is in the tree now is found now, whatever happened since the tree was indexed."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from hivemind.code import index
from hivemind.entrypoints import hook as hook_file
from tests.command_line import run, run_json
from tests.conftest import git

Make = Callable[..., Path]

TILL = "class Till:\n    def ring_up(self, cents):\n        return cents + 1\n"
NEW = TILL.replace("ring_up", "ring_through")


class Situation(NamedTuple):
    """What happens to a tree after it was indexed, and where the new function is."""

    happen: Callable[[Path], object]
    path: str = "shop/drawer.py"
    """From the folder in which the commands run."""
    label: str = ""
    """Where the answer says that it is, if not at that path."""
    folder: str = ""
    """The folder in which the commands run."""


def write(root: Path, path: str, text: str = NEW) -> Path:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)
    return root


def commit(root: Path) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "change")


def write_and_commit(root: Path) -> None:
    write(root, "shop/drawer.py")
    commit(root)


def check_out(root: Path, files: int = 0) -> None:
    git(root, "checkout", "-q", "-b", "feature")
    write(root, "shop/drawer.py")
    for number in range(files):
        write(root, f"many/part_{number}.py", f"def handle_{number}():\n    return {number}\n")
    commit(root)
    git(root, "checkout", "-q", "main")
    run("code", "index")
    git(root, "checkout", "-q", "feature")


def pop_stash(root: Path) -> None:
    write(root, "shop/drawer.py")
    git(root, "stash", "-u")
    run("code", "index")
    git(root, "stash", "pop")


def write_many(root: Path) -> None:
    for number in range(120):
        write(root, f"many/part_{number}.py", f"def handle_{number}():\n    return {number}\n")
    write(root, "shop/drawer.py")


def add_submodule(root: Path) -> None:
    library = root.parent / "library"
    library.mkdir()
    git(library, "init", "-q", "-b", "main")
    write(library, "drawer.py")
    commit(library)
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "shop/library")
    commit(root)


def ignore_file(root: Path) -> None:
    write(root, ".gitignore", "generated/\n")
    write(root, "generated/drawer.py")


def add_worktree(root: Path) -> None:
    git(root, "worktree", "add", "-q", "-b", "beside", str(root / "beside"))
    write(root / "beside", "shop/drawer.py")


def begin_again(root: Path) -> None:
    git(root, "checkout", "-q", "--orphan", "fresh")
    write(root, "shop/drawer.py")


SITUATIONS = {
    "a new file": Situation(lambda root: write(root, "shop/drawer.py")),
    "a committed file": Situation(write_and_commit),
    "a new function in an indexed file": Situation(
        lambda root: write(root, "shop/till.py", NEW + TILL[12:]), "shop/till.py"
    ),
    "a renamed function": Situation(lambda root: write(root, "shop/till.py"), "shop/till.py"),
    "a function that moved": Situation(
        lambda root: write(write(root, "shop/till.py", ""), "shop/drawer.py")
    ),
    "a checkout": Situation(check_out),
    "a checkout of 80 files": Situation(lambda root: check_out(root, 80)),
    "a stash that is popped": Situation(pop_stash),
    "more new files than are read at once": Situation(write_many),
    "a branch without commits": Situation(begin_again),
    "a submodule": Situation(add_submodule, "shop/library/drawer.py"),
    "an ignored file": Situation(ignore_file, "generated/drawer.py"),
    "a worktree inside of the tree": Situation(add_worktree, folder="beside"),
    "paths from a subfolder": Situation(
        lambda root: write(root, "packages/web/shop/drawer.py"),
        "shop/drawer.py", "packages/web/shop/drawer.py", "packages/web",
    ),
    "the same path at the root too": Situation(
        lambda root: write(write(root, "packages/web/shop/drawer.py"), "shop/drawer.py"),
        "shop/drawer.py", "packages/web/shop/drawer.py", "packages/web",
    ),
}  # fmt: skip
WAYS: dict[str, Callable[[str], tuple[str, ...]]] = {
    "path": lambda path: ("It adds a cent", "--link", f"{path}::Till.ring_through"),
    "dotted": lambda path: (
        "It adds a cent", "--link", f"{path.removesuffix('.py').replace('/', '.')}.Till.ring_through",
    ),
    "text": lambda path: ("Till.ring_through adds a cent",),
    "source": lambda path: ("It adds a cent", "--source", f"{path}:3"),
}  # fmt: skip


@pytest.fixture
def shop(make_repository: Make, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository that is indexed."""
    root = make_repository("shop")
    write(root, "shop/till.py", TILL)
    commit(root)
    monkeypatch.chdir(root)
    run("code", "index")
    return root


def list_labels(*arguments: str) -> list[str]:
    memory = run_json("remember", *arguments)
    return [f"{anchor['path']}::{anchor['qualified']}" for anchor in memory["anchors"]]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SITUATIONS)
def test_a_name_is_linked_at_once(name: str, way: str, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    situation = SITUATIONS[name]
    situation.happen(shop)
    monkeypatch.chdir(shop / situation.folder)

    labels = list_labels(*WAYS[way](situation.path))

    expected = [f"{situation.label or situation.path}::Till.ring_through"]
    # A name in a text means all places that have it; a path is from the current folder.
    more = ["shop/drawer.py::Till.ring_through"] if way == "text" and name == "the same path at the root too" else []
    assert sorted(labels) == expected + more


@pytest.mark.parametrize("way", WAYS)
def test_a_name_is_linked_at_once_in_a_tree_that_is_too_large_to_look_through(
    way: str, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "MAX_LISTED_FILES", 0)
    write(shop, "shop/drawer.py")

    assert list_labels(*WAYS[way]("shop/drawer.py")) == ["shop/drawer.py::Till.ring_through"]


def test_a_name_with_a_mark_is_found_in_a_tree_that_is_too_large_to_look_through(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "MAX_LISTED_FILES", 0)
    write(shop, "shop/cart.rb", "class Cart\n  def save!\n  end\nend\n")

    assert list_labels("It raises", "--link", "Cart#save!") == ["shop/cart.rb::Cart.save!"]


@pytest.mark.parametrize("has_git", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_a_name_is_linked_at_once_without_commits_and_outside_git(
    way: str, has_git: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write(tmp_path / "plain", "shop/drawer.py")
    if has_git:
        git(root, "init", "-q")
    monkeypatch.chdir(root)

    assert list_labels(*WAYS[way]("shop/drawer.py")) == ["shop/drawer.py::Till.ring_through"]


def test_a_repository_without_commits_is_indexed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write(tmp_path / "plain", "shop/drawer.py")
    git(root, "init", "-q")
    monkeypatch.chdir(root)

    assert run_json("code", "index")["files"] == 1


@pytest.mark.parametrize(
    ("options", "label"),
    [
        (["It asks again", "--link", "web/client.js::Client.#refresh"], "Client.#refresh"),
        (["It asks again", "--link", "web.client.Client.#refresh"], "Client.#refresh"),
        (["It asks again", "--link", "Client.#refresh"], "Client.#refresh"),
        (["`Client.#refresh` asks again"], "Client.#refresh"),
        (["Client.#refresh asks again"], "Client.#refresh"),
        (["It waits", "--link", "Client.#wait"], "Client.#wait"),
        (["It waits", "--link", "Client.wait"], "Client.wait"),
    ],
)
def test_private_methods_of_javascript_have_names(options: list[str], label: str, shop: Path) -> None:
    methods = "#refresh() { return 1 }\n  #wait() { return 2 }\n  wait() { return this.#wait() }"
    write(shop, "web/client.js", f"export class Client {{\n  {methods}\n}}\n")

    assert list_labels(*options) == [f"web/client.js::{label}"]


@pytest.mark.parametrize(
    ("options", "method"),
    [
        (["`Cart#save!` raises"], "Cart.save!"),
        (["Cart.save! raises, and so on"], "Cart.save!"),
        (["shop/cart.rb::Cart.save! raises"], "Cart.save!"),
        (["save!() raises"], "Cart.save!"),
        (["`empty?` ignores gifts"], "Cart.empty?"),
        (["Never call Cart.save! It is old"], "Cart.save"),
        (["Who calls `Cart#save`?"], "Cart.save"),
        (["It raises", "--link", "Cart#save!"], "Cart.save!"),
        (["It answers", "--link", "Cart#save"], "Cart.save"),
    ],
)
def test_methods_of_ruby_have_names_with_marks(options: list[str], method: str, shop: Path) -> None:
    write(shop, "shop/cart.rb", "class Cart\n  def save\n  end\n  def save!\n  end\n  def empty?\n  end\nend\n")

    assert list_labels(*options) == [f"shop/cart.rb::{method}"]


def test_dependencies_and_other_worktrees_are_not_meant(shop: Path) -> None:
    write(shop, "node_modules/drawer/drawer.py")
    write(shop, ".gitignore", "node_modules/\ncopies/\n")
    git(shop, "worktree", "add", "-q", "-b", "beside", str(shop / "copies"))
    write(shop / "copies", "shop/drawer.py")

    assert list_labels("Till.ring_through adds a cent") == []
    assert list_labels("Till.ring_up adds a cent") == ["shop/till.py::Till.ring_up"]


def test_a_link_that_fails_is_not_replaced_by_the_text(shop: Path) -> None:
    answer = run("remember", "Till.ring_up adds a cent", "--link", "shop.till.Till.ring_down")

    assert "no unique match for 'shop.till.Till.ring_down': nothing here has that name" in answer.stderr
    assert run_json("list")[0]["anchors"] == []
    assert list_labels("Till.ring_up adds a cent, too") == ["shop/till.py::Till.ring_up"]


def test_the_answer_says_which_of_two_files_a_path_means(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in ("shop/drawer.py", "packages/web/shop/drawer.py", "packages/web/shop/till.py"):
        write(shop, path)
    monkeypatch.chdir(shop / "packages/web")

    here = run("remember", "It adds a cent", "--link", "shop/drawer.py::Till")
    only_root = run("remember", "It adds another cent", "--link", "shop/till.py::Till.ring_up")
    root = run("remember", "It adds one cent", "--link", str(shop / "shop/drawer.py::Till"))

    assert "Linked to packages/web/shop/drawer.py::Till. shop/drawer.py at the root is another file" in here.stderr
    assert "Linked to shop/till.py::Till.ring_up." in only_root.stderr
    assert "Linked to shop/drawer.py::Till." in root.stderr


def test_a_memory_that_was_not_linked_is_tried_again_by_the_next_command(shop: Path) -> None:
    run("remember", "Till.ring_through adds a cent")
    run("remember", "It gives change", "--link", "shop.drawer.Till.ring_through")
    write(shop, "shop/drawer.py")

    run("recall", "how is change given?")

    assert {len(memory["anchors"]) for memory in run_json("list")} == {1}


def test_what_stays_without_code_is_not_tried_for_ever(shop: Path) -> None:
    run("remember", "Till.ring_through adds a cent")
    for _ in range(10):
        run("recall", "how is change given?")

    assert not list((shop.parent / "home" / "index").glob("unlinked-*"))


def test_the_files_of_a_session_that_is_running_are_related(shop: Path) -> None:
    write(shop, "web/price.js", "export const cents = 1\n")
    for name in ("shop/till.py", "web/price.js"):
        payload = {
            "tool_name": "Edit",
            "tool_input": {"file_path": str(shop / name), "old_string": "1", "new_string": "2"},
        }
        hook = {"cwd": str(shop), "hook_event_name": "PostToolUse", "session_id": "s1", "tool_response": {}, **payload}
        command = [sys.executable, "-I", "-S", hook_file.__file__, "claude-code", "PostToolUse"]
        subprocess.run(command, input=json.dumps(hook), text=True, check=True)

    files = run_json("code", "related", "shop/till.py")["recall"]["files"]

    assert [file["path"] for file in files if "touched together" in file["why"][0]] == ["web/price.js"]


@pytest.mark.parametrize(("source", "is_said"), [("shop/tlil.py:3", True), ("shop/till.py:3", False), ("lunch", False)])
def test_a_source_that_looks_like_a_file_and_is_none_is_said(source: str, is_said: bool, shop: Path) -> None:
    said = run("remember", "It adds a cent", "--source", source).stderr

    assert ("shop/tlil.py" in said) is is_said
