"""Pipes, folders, huge files and links where others can write: nothing waits for them, follows them or reads them."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hivemind import Hivemind, Scope
from hivemind.errors import InvalidInput
from hivemind.text.untrusted import Unreadable, open_regular, read_limited
from tests.command_line import run
from tests.conftest import Open

SECRET = "zanzibar-7719"


@pytest.fixture(autouse=True)
def time_limit() -> Iterator[None]:
    """Fail where something waits for the other end of a pipe."""

    def fail(*_: object) -> None:
        raise TimeoutError("still waiting")

    signal.signal(signal.SIGALRM, fail)
    signal.alarm(60)
    yield
    signal.alarm(0)


def test_a_regular_file_is_read_and_nothing_else_is(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.write_text(SECRET)
    (inside / "file").write_text("text")
    (inside / "near").symlink_to("file")
    (inside / "far").symlink_to(outside)
    (inside / "folder").mkdir()
    os.mkfifo(inside / "pipe")

    assert read_limited(inside / "file", 10, within=inside) == b"text"
    assert read_limited(inside / "near", 10, within=inside) == b"text"
    assert read_limited(inside / "far", 100) == SECRET.encode()
    for name in ("far", "folder", "pipe", "../outside"):
        with pytest.raises(Unreadable):
            read_limited(inside / name, 100, within=inside)
    for path in (inside / "pipe", Path("/dev/zero")):
        with pytest.raises(Unreadable):
            open_regular(path)
    with pytest.raises(Unreadable):
        read_limited(inside / "file", 3)
    with pytest.raises(FileNotFoundError):
        read_limited(inside / "none", 3)


@pytest.mark.parametrize(
    "name", ["AGENTS.md", ".cursor/rules/style.md", ".claude/skills/deploy/SKILL.md", "package.json"]
)
@pytest.mark.parametrize("make", ["pipe", "folder", "huge", "link"])
def test_strange_files_of_a_repository_stop_nothing_and_give_nothing_away(
    make_repository: Callable[..., Path], tmp_path: Path, name: str, make: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_repository("api")
    make_strange(root / name, make, tmp_path)
    (root / "CLAUDE.md").write_text("# Rules\n\n- Deploys run from main only\n")
    monkeypatch.chdir(root)

    done = run("import", "rules")

    assert done.exit_code == 0, done.output
    assert run("doctor", "--quick").exit_code in (0, 1)
    assert "Deploys run from main" in run("list").output
    assert SECRET not in run("list").output


@pytest.mark.parametrize("make", ["pipe", "folder"])
def test_strange_files_of_agents_stop_no_import(tmp_path: Path, make: str) -> None:
    project = tmp_path / "user" / ".claude" / "projects" / "-tmp-api"
    make_strange(project / "s1.jsonl", make, tmp_path)
    make_strange(project / "memory" / "MEMORY.md", make, tmp_path)
    (project / "s2.jsonl").write_text("")

    assert run("import", "transcripts").exit_code == 0
    assert run("import", "notes").exit_code == 0


def test_a_memory_is_not_promoted_into_a_pipe(open_mind: Open, make_repository: Callable[..., Path]) -> None:
    root = make_repository("api")
    mind: Hivemind = open_mind(root)
    memory = mind.remember("Deploys run from main")
    os.mkfifo(root / "AGENTS.md")

    with pytest.raises(InvalidInput, match="not a regular file"):
        mind.review.promote(memory.id, "AGENTS.md")
    assert mind.review.promote(memory.id, "CLAUDE.md")[0].after


def make_strange(file: Path, make: str, tmp_path: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    match make:
        case "pipe":
            os.mkfifo(file)
        case "folder":
            file.mkdir()
        case "huge":
            file.touch()
            os.truncate(file, 600 << 20)
        case "link":
            (tmp_path / "secret").write_text(f"- The code word is {SECRET}\n")
            file.symlink_to(tmp_path / "secret")


@pytest.mark.parametrize("name", ["spool", "memory.id", "ballast", "hooks.lock"])
def test_no_command_waits_for_a_pipe_in_the_place_of_our_file(mind: Hivemind, home: Path, name: str) -> None:
    memory = mind.remember(f"Deploys run from {SECRET}", scope=Scope.USER)
    mind.close()
    (home / name).unlink(missing_ok=True)
    os.mkfifo(home / name)

    # The id is what a store is known by; everything else works without its file.
    assert run("recall", "deploys").exit_code == (5 if name == "memory.id" else 0)
    assert run("repair").exit_code == 0
    assert run("doctor").exit_code == 0
    assert run("erase", memory.id, "--yes").exit_code == 0
    assert SECRET not in run("recall", "deploys").output
