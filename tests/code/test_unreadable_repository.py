"""A repository that git cannot read keeps its identity, or says that it has none."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hivemind import Hivemind, Scope
from hivemind.code.repository import identify
from hivemind.errors import Unavailable
from tests.conftest import Open, git

Make = Callable[..., Path]
ADDRESS = "https://git.acme.org/api"
ANOTHER_USER = 54321
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")


def give_away(root: Path) -> None:
    """Give a working tree to another user, as a container does that mounts it."""
    for path in (root, *root.rglob("*")):
        os.chown(path, ANOTHER_USER, ANOTHER_USER, follow_symlinks=False)


def damage_head(root: Path) -> None:
    """Empty the file HEAD, as a power cut does."""
    (root / ".git" / "HEAD").write_bytes(b"")


def damage_objects(root: Path) -> None:
    shutil.rmtree(root / ".git" / "objects")
    (root / ".git" / "objects").mkdir()


DAMAGE = [pytest.param(give_away, marks=as_root), damage_head, damage_objects]


@pytest.fixture(autouse=True)
def _trust_nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep what this machine allows (safe.directory) out of the tests."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("place", [".", "src", "linked"])
def test_a_repository_with_a_remote_keeps_its_id(
    make_repository: Make, tmp_path: Path, damage: Callable[[Path], None], place: str
) -> None:
    root = make_repository("api", remote=ADDRESS)
    (root / "src").mkdir(exist_ok=True)
    git(root, "worktree", "add", str(tmp_path / "linked"))
    directory = tmp_path / "linked" if place == "linked" else root / place
    before = identify(directory)

    damage(root)
    after = identify(directory)

    assert (after.id, after.root, after.tree) == (before.id, before.root, before.tree)
    assert after.id == "remote:git.acme.org/api"
    assert after.problem == ""


@as_root
def test_git_itself_refuses_it_and_says_how_to_allow_it(make_repository: Make, tmp_path: Path) -> None:
    root = make_repository("api")
    give_away(root)

    refused = identify(root)
    (tmp_path / "gitconfig").write_text(f"[safe]\n\tdirectory = {root}\n")
    allowed = identify(root)

    assert "safe.directory" in refused.problem
    assert (refused.id, allowed.id.partition(":")[0], allowed.problem) == (f"path:{root}", "commit", "")


def test_without_git_on_the_machine_the_remote_is_found(make_repository: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_repository("api", remote=ADDRESS)
    monkeypatch.setenv("PATH", "")

    assert identify(root).id == "remote:git.acme.org/api"


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_repository_without_a_remote_keeps_the_id_that_was_noted(
    make_repository: Make, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    root = make_repository("api")
    before = identify(root, tmp_path / "cache")

    damage(root)

    assert identify(root, tmp_path / "cache").id == before.id
    assert before.id.startswith("commit:")


def test_a_directory_without_git_and_a_repository_without_commits_have_no_problem(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "empty" / ".git").mkdir(parents=True)
    git(tmp_path, "init", "--quiet", "fresh")

    assert [identify(tmp_path / name).problem for name in ("plain", "empty", "fresh")] == ["", "", ""]
    assert identify(tmp_path / "fresh").id == f"path:{tmp_path / 'fresh'}"


def test_the_remotes_of_a_configuration_are_those_that_git_finds(make_repository: Make) -> None:
    root = make_repository("api")
    for name, address in (("upstream", "git@git.acme.org:up.git"), ("a.b-c", "https://git.acme.org/odd")):
        git(root, "remote", "add", name, address)
    with (root / ".git" / "config").open("a") as config:
        config.write(
            '[branch "main"]\n\turl = not-a-remote\n[REMOTE "origin"]\n  URL = "https://git.acme.org/api" ; note\n'
        )
    before = identify(root)

    damage_head(root)

    assert identify(root).id == before.id == "remote:git.acme.org/api"


def test_nothing_goes_to_a_team_under_a_path_because_git_failed(make_repository: Make, open_mind: Open) -> None:
    root = make_repository("api")
    damage_head(root)
    mind: Hivemind = open_mind(directory=root)

    with pytest.raises(Unavailable, match="cannot be identified"):
        mind.remember("Deploys run from main", scope=Scope.TEAM)
    mind.remember("Deploys run from main")

    assert [memory.repo for memory in mind.list()] == [f"path:{root}"]


def test_what_was_stored_under_the_path_is_found_once_git_reads_it(make_repository: Make, open_mind: Open) -> None:
    root = make_repository("api")
    head = (root / ".git" / "HEAD").read_bytes()
    damage_head(root)
    mind: Hivemind = open_mind(directory=root)
    mind.remember("Deploys run from main")
    mind.close()

    (root / ".git" / "HEAD").write_bytes(head)

    assert [memory.text for memory in open_mind(directory=root).list()] == ["Deploys run from main"]
