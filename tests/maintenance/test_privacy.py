"""Other users of a machine can read nothing of ours, even where the folder around it is open to them."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hivemind.maintenance.home_check import find_open_files
from tests.command_line import run
from tests.conftest import git

PAYLOAD = json.dumps({"session_id": "s1", "prompt": "Deploys run from main only"})


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    """The mask of most systems, by which new files are open to everybody."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def work(repository: Path, home: Path) -> None:
    """Do what writes each kind of file."""
    git(repository, "config", "user.name", "Ada")
    (repository / "deploy.py").write_text("def deploy() -> None: ...\n")
    hook = [sys.executable, "-m", "hivemind.entrypoints.hook", "claude-code", "SessionStart"]
    for command in (
        ["config", "set", "recall_limit", "7"], ["remember", "deploy in deploy.py runs from main"],
        ["recall", "deploy"], ["code", "index"], ["backup"], ["--store", "acme/api", "remember", "Another store"],
        ["sync", "setup", str(home.parent / "shared"), "--yes"],
    ):  # fmt: skip
        done = run(*command)
        assert done.exit_code == 0, done.output
    for payload in (PAYLOAD, "{broken", PAYLOAD):
        subprocess.run(hook, input=payload, text=True, cwd=repository, check=True, capture_output=True)
    run("export", str(home / "export.jsonl"))
    run("export", "--markdown", str(home / "pages"))


def list_open(home: Path) -> list[str]:
    return [
        str(path.relative_to(home))
        for path in home.rglob("*")
        if path.lstat().st_mode & (stat.S_IRWXG | stat.S_IRWXO) and "devices/" not in str(path)
    ]


@pytest.mark.parametrize("is_open", [True, False])
def test_every_file_is_private_in_an_open_home_and_in_a_new_one(
    make_repository: Callable[..., Path], home: Path, is_open: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = make_repository("api")
    monkeypatch.chdir(repository)
    if is_open:
        home.mkdir(mode=0o755)

    work(repository, home)

    names = {path.name for path in home.rglob("*")}
    assert {"memory.db", "config.toml", "quarantine", "backups", "index", "export.jsonl", "devices.json"} <= names
    assert list_open(home) == []
    assert stat.S_IMODE(home.stat().st_mode) == (0o755 if is_open else 0o700)
    assert find_open_files(home) == []


def test_an_open_store_is_named_with_its_remedy_and_repair_closes_it(home: Path) -> None:
    run("remember", "Deploys run from main")
    home.chmod(0o755)
    for file in home.iterdir():
        file.chmod(0o644)

    found = run("doctor", "--quick")
    done = run("repair")

    assert found.exit_code == 1
    assert "others can read" in found.output
    assert f"chmod -R go= {home}" in found.output
    assert done.exit_code == 0
    assert find_open_files(home) == []


FAKE_BROWSER = """#!/bin/sh
printf '%s\\n' "$@" > "$HOME/arguments"
cat "$(echo "$1" | sed 's|^file://||')" > "$HOME/page"
stat -c %a "$(echo "$1" | sed 's|^file://||')" > "$HOME/mode"
"""


def test_the_link_to_sign_in_never_stands_in_a_command_line(tmp_path: Path, home: Path) -> None:
    user = tmp_path / "user"
    user.mkdir()
    program = tmp_path / "browser"
    program.write_text(FAKE_BROWSER)
    program.chmod(0o755)
    environment = os.environ | {"BROWSER": str(program), "HOME": str(user)}
    viewer = subprocess.Popen(
        [sys.executable, "-m", "hivemind", "ui"], env=environment, cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert viewer.stdout
    link = viewer.stdout.readline().strip()
    code = link.partition("code=")[2]
    end = time.monotonic() + 20
    while not (user / "mode").exists() or not (user / "mode").read_text():
        assert time.monotonic() < end
        time.sleep(0.05)
    viewer.send_signal(signal.SIGINT)
    viewer.communicate(timeout=20)

    arguments = (user / "arguments").read_text()
    assert code
    assert code not in arguments
    assert "127.0.0.1" not in arguments
    assert code in (user / "page").read_text()
    assert (user / "mode").read_text().strip() == "600"
    assert list(home.glob("sign-in-*")) == []
