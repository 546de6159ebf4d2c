"""What git said about a directory is noted, and git is asked again after anything changed that it depends on."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hivemind.code.repository import identify
from tests.conftest import git

Make = Callable[..., Path]
AN_HOUR = 3600


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Count the processes of git from now on."""
    folder, log = tmp_path / "bin", tmp_path / "calls"
    folder.mkdir()
    log.touch()
    (folder / "git").write_text(f'#!/bin/sh\necho >>"{log}"\nexec "{shutil.which("git")}" "$@"\n')
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return lambda: len(log.read_text())


def age(root: Path) -> None:
    """Let all files of a repository be an hour old."""
    then = time.time() - AN_HOUR
    for path in (root / ".git", *(root / ".git").rglob("*")):
        os.utime(path, (then, then))


def test_git_is_asked_once_about_a_directory(make_repository: Make, tmp_path: Path, calls: Callable[[], int]) -> None:
    root = make_repository("here", "https://github.com/acme/api")
    (root / "src").mkdir()
    age(root)
    first = identify(root / "src", tmp_path / "cache")
    count = calls()

    again = identify(root / "src", tmp_path / "cache")

    assert first == again == identify(root / "src")
    assert first.id == "remote:github.com/acme/api"
    assert count > 0
    assert calls() == count + 2


@pytest.mark.parametrize("change", ["remote", "commit", "nested", "environment", "worktree"])
def test_a_change_that_counts_is_seen_at_once(
    make_repository: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    root, cache = make_repository("here"), tmp_path / "cache"
    (root / "src").mkdir()
    place = root / "src"
    if change == "worktree":
        git(root, "worktree", "add", "-q", str(tmp_path / "linked"))
        place = tmp_path / "linked"
        os.utime(place / ".git", (0, 0))
    age(root)
    before = identify(place, cache)
    assert list(cache.glob("tree-*"))

    match change:
        case "remote" | "worktree":
            git(root, "remote", "add", "origin", "https://github.com/acme/api")
        case "commit":
            git(root, "checkout", "-q", "--orphan", "other")
            git(root, "commit", "-q", "--allow-empty", "-m", "another beginning")
        case "nested":
            git(place, "init", "-q")
        case "environment":
            monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
            monkeypatch.setenv("GIT_CONFIG_KEY_0", "remote.origin.url")
            monkeypatch.setenv("GIT_CONFIG_VALUE_0", "https://github.com/acme/api")

    assert identify(place, cache) == identify(place) != before


def test_nothing_is_noted_that_other_files_decide_or_that_just_changed(make_repository: Make, tmp_path: Path) -> None:
    new, including = make_repository("new"), make_repository("including")
    (including / ".git" / "more").write_text('[remote "origin"]\n\turl = https://github.com/acme/api\n')
    git(including, "config", "include.path", "more")
    age(including)

    names = {identify(root, tmp_path / "cache").id for root in (new, including)}

    assert "remote:github.com/acme/api" in names
    assert not list((tmp_path / "cache").glob("tree-*"))


def test_a_note_that_cannot_be_read_is_ignored(make_repository: Make, tmp_path: Path) -> None:
    root, cache = make_repository("here"), tmp_path / "cache"
    age(root)
    before = identify(root, cache)
    (note,) = cache.glob("tree-*")

    for content in ("", "[]", "{}", '{"id": 1, "root": 2, "tree": 3, "files": 4}', "\0"):
        note.write_text(content)
        assert identify(root, cache) == before
