"""Locks, processes in the background and command lines, on this system and as on Windows."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hivemind import system

ROOT = Path(__file__).parents[2]
AS_WINDOWS = (
    "import sys, types, shlex, subprocess; sys.platform = 'win32';"
    "sys.modules['msvcrt'] = types.SimpleNamespace(); from hivemind.system import join_command;"
)


def run_as_windows(home: Path, *commands: list[str], **environ: str) -> list[dict[str, Any]]:
    """Run commands as on Windows, in this order, in one process."""
    process = subprocess.run(
        [sys.executable, "-m", "tests.windows_stand_in", json.dumps(commands)],
        cwd=ROOT, env=os.environ | {"HIVEMIND_HOME": str(home), "PYTHONPATH": str(ROOT)} | environ,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    results: list[dict[str, Any]] = json.loads(process.stdout.splitlines()[-1])
    return results


def test_a_lock_keeps_others_out_until_it_is_released(tmp_path: Path) -> None:
    path = str(tmp_path / "a.lock")
    script = (
        "import sys; from hivemind.system import FileLock\nwith FileLock(sys.argv[1], is_waiting=False): print('in')"
    )

    def try_elsewhere() -> str:
        process = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=False)
        return process.stdout.strip() or process.stderr.splitlines()[-1].partition(":")[0]

    with system.FileLock(path):
        while_held = try_elsewhere()

    assert while_held == "BlockingIOError"
    assert try_elsewhere() == "in"


@pytest.mark.parametrize("is_durable", [False, True])
def test_a_file_is_replaced_by_one_that_only_its_owner_reads(is_durable: bool, tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_bytes(b"old")
    path.chmod(0o644)
    with path.open("rb") as opened_before:
        system.replace_file(path, b"new", is_durable=is_durable)

        assert opened_before.read() == b"old"
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_replaced_leaves_no_other_behind(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.mkdir()

    with pytest.raises(OSError, match="keys"):
        system.replace_file(path, b"new")

    assert list(tmp_path.iterdir()) == [path]


def test_waiting_for_a_process_ends_with_it_or_with_the_time() -> None:
    quick = system.start_apart([sys.executable, "-c", "pass"])
    slow = system.start_apart([sys.executable, "-c", "import time; time.sleep(3)"])

    assert not slow.wait(0.05)
    assert quick.wait(60)
    assert slow.wait(60)


def test_a_process_that_has_ended_leaves_the_table_when_the_next_one_is_started() -> None:
    first = system.start_apart([sys.executable, "-c", "pass"])
    assert first.wait(60)
    quick = system.start_apart([sys.executable, "-c", "pass"])
    # Not asked whether it ended, as most processes are not.
    time.sleep(1)
    assert system.start_apart([sys.executable, "-c", "pass"]).wait(60)

    assert first.has_ended()
    assert quick.has_ended()
    assert quick.wait(0)


def test_a_process_that_was_started_apart_keeps_no_stream_of_ours_open(tmp_path: Path) -> None:
    script = (
        "import sys; from hivemind.system import start_apart;"
        "start_apart([sys.executable, '-c', 'import time; time.sleep(5)'])"
    )

    # Returns when the pipe is closed; a child that had it would keep it open for five seconds.
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=4, check=False).returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="bash runs what agents run through the bash of Git")
def test_a_command_line_for_windows_runs_a_program_with_spaces_and_other_letters_in_its_path(tmp_path: Path) -> None:
    program = tmp_path / "Zoë Müller (x86)" / "hook.py"
    program.parent.mkdir()
    program.write_text("import sys; print(sys.argv[1:])")
    words = [sys.executable, "-I", str(program), "--home", "C:\\Users\\Zoë M", "claude-code", "SessionStart"]

    made = subprocess.run(
        [sys.executable, "-c", f"{AS_WINDOWS} print(join_command({words!r}))"],
        capture_output=True,
        text=True,
        check=True,
    )
    in_bash = subprocess.run(["bash", "-c", made.stdout], capture_output=True, text=True, check=True)

    assert in_bash.stdout.strip() == str(["--home", "C:/Users/Zoë M", "claude-code", "SessionStart"])
    assert made.stdout.startswith(f'"{sys.executable}" -I "')


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the stand-in for Windows needs Linux")
def test_commands_work_without_what_windows_lacks_and_with_files_that_cannot_be_moved_while_open(
    tmp_path: Path,
) -> None:
    user = tmp_path / "Zoë Müller"
    (user / ".claude").mkdir(parents=True)
    home = user / "home"
    results = run_as_windows(
        home,
        ["remember", "We use pnpm, not npm"],
        ["remember", "The password of the safe is quillwort-7741"],
        ["recall", "package manager"],
        ["config", "set", "keep_days", "90"],
        ["demo", str(user / "demo")],
        ["install", "claude-code", "--yes"],
        ["backup", "create"],
        ["erase", "--about", "quillwort-7741", "--yes"],
        ["doctor"],
        ["repair"],
        ["backup", "list"],
        HOME=str(user),
    )

    assert {tuple(result["command"]): result["output"] for result in results if result["exit_code"]} == {}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the stand-in for Windows needs Linux")
@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("import fcntl", "ModuleNotFoundError"),
        ("import os; os.posix_spawn", "AttributeError"),
        ("import os; file = open(sys.argv[1], 'w'); os.unlink(sys.argv[1])", "PermissionError"),
        ("import os; open(sys.argv[1], 'w').close(); os.unlink(sys.argv[1])", ""),
    ],
)
def test_the_stand_in_for_windows_would_notice(script: str, error: str, tmp_path: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-c", f"import sys, tests.windows_stand_in as w; w.look_like_windows(); {script}", "file"],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert error in process.stderr
    assert bool(process.returncode) is bool(error)
