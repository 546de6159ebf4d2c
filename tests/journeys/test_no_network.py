"""The program needs no network when it runs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CUT_OFF = ["unshare", "--map-root-user", "--net"]
"""Runs a command in a network of its own, in which there is nothing."""
COMMANDS = (
    ["remember", "We use pnpm, not npm"],
    ["recall", "which package manager?"],
    ["brief"],
    ["install", "claude-code", "--yes"],
    ["doctor"],
)


def can_cut_off() -> bool:
    return bool(shutil.which("unshare")) and subprocess.run([*CUT_OFF, "true"], check=False).returncode == 0


@pytest.mark.skipif(not sys.platform.startswith("linux") or not can_cut_off(), reason="needs unshare")
def test_commands_work_where_there_is_no_network(tmp_path: Path) -> None:
    (tmp_path / "user" / ".claude").mkdir(parents=True)

    processes = {
        command[0]: subprocess.run(
            [*CUT_OFF, sys.executable, "-m", "hivemind", *command],
            cwd=tmp_path,
            env=os.environ,
            capture_output=True,
            text=True,
            check=False,
        )
        for command in COMMANDS
    }
    connection = [*CUT_OFF, sys.executable, "-c", "import socket; socket.create_connection(('127.0.0.1', 9), 1)"]

    assert {name: process.stderr for name, process in processes.items() if process.returncode} == {}
    assert "pnpm" in processes["recall"].stdout
    assert b"OSError" in subprocess.run(connection, capture_output=True, check=False).stderr
