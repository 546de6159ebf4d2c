"""A repository is the same one wherever it lies, and no other one is."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hivemind.code.repository import identify, normalise_remote
from tests.conftest import git

Make = Callable[..., Path]


@pytest.mark.parametrize(
    "written",
    [
        "https://github.com/Acme/API.git",
        "https://github.com/acme/api",
        "https://ada:token@github.com/acme/api.git/",
        "git@github.com:acme/api.git",
        "ssh://git@github.com:22/acme/api.git",
        "github.com:acme/api",
    ],
)
def test_every_way_of_writing_a_remote_names_one_repository(written: str) -> None:
    assert normalise_remote(written) == "github.com/acme/api"


def test_remotes_that_differ_stay_apart() -> None:
    assert normalise_remote("git@github.com:acme/api") != normalise_remote("git@gitlab.com:acme/api")
    assert normalise_remote("/srv/git/api.git") == "/srv/git/api"
    assert normalise_remote("file:///srv/git/api.git") == "/srv/git/api"


@pytest.mark.parametrize(
    "written",
    [
        "ssh://git@git.acme.org/Team/API.git",
        "ssh://git@GIT.acme.org:22/Team/API",
        "git@git.acme.org:Team/API.git",
        "git@git.acme.org:/Team/API.git/",
        "https://git.acme.org:443/Team/API",
        "http://git.acme.org:80/Team/API.git",
        "git://git.acme.org:9418/Team/API.git",
        "git+ssh://git@git.acme.org:22/Team/API.git",
    ],
)
def test_the_default_port_of_each_way_is_no_port(written: str) -> None:
    assert normalise_remote(written) == "git.acme.org/Team/API"


def test_ports_count() -> None:
    ports = [
        "ssh://git@h:2222/x/y",
        "ssh://git@h:3333/x/y",
        "ssh://git@h/x/y",
        "https://h:8443/x/y",
        "https://h:22/x/y",
    ]

    assert len({normalise_remote(one) for one in ports}) == len(ports)
    assert normalise_remote("ssh://git@h:2222/x/y") == normalise_remote("ssh://ada@H:2222/x/y.git") == "h:2222/x/y"
    assert normalise_remote("ssh://git@[::1]:2222/x/y") != normalise_remote("ssh://git@[::1]:3333/x/y")


def test_letter_case_is_ignored_only_where_the_host_ignores_it() -> None:
    for host in ("github.com", "gitlab.com", "bitbucket.org", "codeberg.org"):
        assert normalise_remote(f"https://{host}/Acme/API") == normalise_remote(f"git@{host}:acme/api.git")
    assert normalise_remote("https://git.acme.org/Acme/API") != normalise_remote("https://git.acme.org/acme/api")
    assert normalise_remote("https://GitHub.com/acme/api") == normalise_remote("https://github.com/acme/api")
    assert normalise_remote("https://Git.Acme.org/acme/api") == normalise_remote("https://git.acme.org/acme/api")


@pytest.mark.parametrize(
    "written", ["/srv/git/API.git", "/srv/git/API", "/srv/git/API/", "/srv/git/API/.git", "file:///srv/git/API.git",
                "file://localhost/srv/git/API"]
)  # fmt: skip
def test_every_way_of_writing_a_path_names_one_place(written: str) -> None:
    assert normalise_remote(written) == "/srv/git/API"


def test_the_mark_of_a_tree_stays_when_its_remote_changes_and_no_other_tree_has_it(
    make_repository: Make, tmp_path: Path
) -> None:
    root, other = make_repository("api", remote="https://git.acme.org/one"), make_repository("other")
    git(root, "worktree", "add", str(tmp_path / "linked"))
    before = identify(root)
    git(root, "remote", "set-url", "origin", "https://git.acme.org/two")
    after, linked = identify(root), identify(tmp_path / "linked")
    shutil.rmtree(root)

    again = identify(make_repository("api"))

    assert before.id != after.id
    assert before.tree == after.tree == linked.tree != ""
    assert len({before.tree, identify(other).tree, again.tree}) == 3


def test_a_clone_a_worktree_and_a_subdirectory_are_the_same_repository(make_repository: Make, tmp_path: Path) -> None:
    origin = make_repository("origin", remote="https://github.com/acme/api.git")
    git(origin, "worktree", "add", str(tmp_path / "tree"))
    (origin / "src").mkdir()
    clone = make_repository("elsewhere", remote="git@github.com:acme/api.git")

    names = {identify(place).id for place in (origin, origin / "src", tmp_path / "tree", clone)}

    assert names == {"remote:github.com/acme/api"}


def test_two_repositories_of_one_name_are_two(make_repository: Make) -> None:
    one = make_repository("a/api", commit="one")
    two = make_repository("b/api", commit="two")

    assert identify(one).name == identify(two).name == "api"
    assert identify(one).id != identify(two).id


def test_a_repository_without_a_remote_is_known_by_its_first_commit_and_may_move(
    make_repository: Make, tmp_path: Path
) -> None:
    before = identify(make_repository("here"))

    shutil.move(tmp_path / "here", tmp_path / "there")

    after = identify(tmp_path / "there")
    assert before.id == after.id
    assert before.id.startswith("commit:")
    assert after.root == str(tmp_path / "there")


def test_where_a_history_begins_is_noted_and_still_right_after_a_switch_or_a_merge(
    make_repository: Make, tmp_path: Path
) -> None:
    root, cache = make_repository("here"), tmp_path / "cache"
    git(root, "checkout", "-q", "-b", "first")
    first = identify(root, cache)
    git(root, "commit", "-q", "--allow-empty", "-m", "more")
    grown = identify(root, cache)
    (note,) = cache.iterdir()
    noted = note.read_text()
    git(root, "checkout", "-q", "--orphan", "unrelated")
    git(root, "commit", "-q", "--allow-empty", "-m", "another beginning")
    unrelated = identify(root, cache)
    git(root, "merge", "-q", "--allow-unrelated-histories", "-m", "both", "first")
    merged = identify(root, cache)
    note.write_text('["--all", 7]')

    assert first.id == grown.id
    assert git(root, "rev-parse", "first") in noted
    assert unrelated.id not in (first.id, "")
    assert merged == identify(root) == identify(root, cache)
    assert merged.id == min(first.id, unrelated.id)


def test_a_submodule_is_its_own_repository(make_repository: Make) -> None:
    library = make_repository("library", commit="library")
    outer = make_repository("outer", remote="https://github.com/acme/outer")
    git(outer, "submodule", "add", str(library), "library")

    assert identify(outer).id == "remote:github.com/acme/outer"
    assert identify(outer / "library").id == f"remote:{library}"


def test_the_cut_of_a_shallow_clone_is_not_taken_for_the_first_commit(make_repository: Make, tmp_path: Path) -> None:
    origin = make_repository("origin")
    for number in range(3):
        git(origin, "commit", "--allow-empty", "-m", f"more {number}")
    git(tmp_path, "clone", "--depth", "1", f"file://{origin}", "shallow")
    git(tmp_path / "shallow", "remote", "remove", "origin")

    assert identify(tmp_path / "shallow").id == f"path:{tmp_path / 'shallow'}"
    assert identify(origin).id.startswith("commit:")


def test_without_git_a_directory_is_known_by_its_path(tmp_path: Path) -> None:
    assert identify(tmp_path).id == f"path:{tmp_path}"


def test_a_hostile_configuration_runs_nothing(make_repository: Make, tmp_path: Path) -> None:
    root = make_repository("hostile")
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    git(root, "config", "core.fsmonitor", str(trap))
    git(root, "config", "core.hooksPath", str(tmp_path))

    assert identify(root).id.startswith("commit:")
    assert not (tmp_path / "sprung").exists()
