"""Errors as people and scripts meet them: one line, an exit code, and a quiet Ctrl-C."""

import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from hivemind import Hivemind
from hivemind.cli.framework import EXIT_CODES
from hivemind.errors import InvalidInput, NotFound, Refused, StoreBusy, StoreDamaged, Unavailable
from tests.command_line import residue, run, run_json
from tests.terminal import COMMAND


@pytest.mark.parametrize(
    ("kind", "code"),
    [(InvalidInput, 2), (NotFound, 3), (Refused, 4), (StoreBusy, 5), (StoreDamaged, 5), (Unavailable, 6)],
)
def test_each_kind_of_error_has_its_exit_code(
    kind: type[Exception], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise kind("the reason")

    monkeypatch.setattr(Hivemind, "list", fail)

    done = run("list")

    assert (done.exit_code, done.stderr) == (code, "hivemind: the reason\n")
    assert code in EXIT_CODES.values()


def test_exit_codes_as_scripts_meet_them(home: Path) -> None:
    assert run("remember", "API port is 8080").exit_code == 0
    assert run("show", "ffffffff").exit_code == 3
    assert run("recall", "x", "--limit", "0").exit_code == 2
    assert run("erase", "API", "--json").exit_code == 3
    assert run("review", "promote", run_json("list")[0]["id"], "--json").exit_code == 1
    (home / "memory.db").write_bytes(b"not a database at all" * 100)

    assert run("list").exit_code == 5


def test_what_does_not_apply_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    refused = {
        "leave": run("sync", "leave"),
        "logout": run("team", "logout"),
        "folder": run("import", str(tmp_path)),
        "argument": run("list", "extra"),
    }

    assert {name: done.exit_code for name, done in refused.items()} == dict.fromkeys(refused, 2)
    assert "hivemind sync setup" in refused["leave"].stderr
    assert "hivemind team login" in refused["logout"].stderr
    assert "is a folder" in refused["folder"].stderr
    assert "(extra). See 'hivemind list --help'" in refused["argument"].stderr


def test_an_error_nobody_foresaw_is_one_calm_line_and_the_details_are_kept(
    monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("with the token ghp_x7Kq9ZtR2mWv4LpB8sNc3YhJ6dFgA1QeUoT5 in it")

    monkeypatch.setattr(Hivemind, "list", fail)

    calm = run("list")
    kept = (home / "last-error.txt").read_text()
    shown = run("list", "--debug")

    assert calm.exit_code == 70
    assert calm.stderr.count("\n") == 1
    assert "Traceback" not in calm.stderr
    assert str(home / "last-error.txt") in calm.stderr
    assert "Traceback" in kept
    assert "ghp_x7Kq9Z" not in kept
    assert shown.exit_code == 70
    assert "Traceback" in shown.stderr


def test_an_error_that_quoted_a_memory_goes_when_the_memory_is_erased(
    monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    known = run_json("remember", "The customer Zaphod Beeblebrox pays by invoice")["id"]
    listed = Hivemind.list

    def fail(mind: Hivemind, **given: Any) -> None:
        raise KeyError(listed(mind, **given)[0].text)

    with monkeypatch.context() as patched:
        patched.setattr(Hivemind, "list", fail)
        run("list")
    assert "last-error.txt" in residue(home, b"Beeblebrox")

    erased = run_json("erase", known)

    assert residue(home, b"Beeblebrox") == []
    assert ("last-error.txt", "done") in [(place["name"], place["state"]) for place in erased["places"]]


def test_where_details_cannot_be_written_the_line_says_how_to_see_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HIVEMIND_HOME", str(tmp_path / "file" / "home"))
    monkeypatch.setattr(Hivemind, "open", lambda *_, **__: 1 / 0)

    done = run("list")

    assert done.exit_code == 70
    assert "--debug" in done.stderr


def test_in_a_folder_that_was_deleted_the_line_names_it(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()

    asked = subprocess.run(
        ["bash", "-c", 'rmdir "$PWD" && exec "$@"', "bash", *COMMAND, "list"],
        cwd=gone, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (asked.returncode, asked.stderr) == (5, "hivemind: the current folder: No such file or directory\n")


def test_a_reader_who_leaves_is_no_error() -> None:
    for place in ("main", "release", "hotfix", "staging"):
        run("remember", f"Deploys of {place}: " + f"only from {place}, never from elsewhere. " * 1400)

    piped = f"{sys.executable} -m hivemind export | head -c 10; echo ' ended with' ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", piped], capture_output=True, text=True, check=True)

    assert (done.stdout, done.stderr) == ('{"hivemind ended with 141\n', "")


def test_ctrl_c_is_quiet(home: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "remember"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stderr is not None
    while not (home / "memory.id").exists():
        time.sleep(0.05)
    time.sleep(0.5)

    process.send_signal(signal.SIGINT)
    told = process.stderr.read()

    assert process.wait() == 130
    assert told.strip() == ""
    process.stdin.close()
    process.stderr.close()


@pytest.mark.parametrize("seconds", [0.001, 0.004, 0.016, 0.05])
def test_ctrl_c_is_quiet_while_we_are_still_being_loaded(seconds: float) -> None:
    hasty = (
        "import os, signal; from hivemind.__main__ import main; "
        "signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT)); "
        f"signal.setitimer(signal.ITIMER_REAL, {seconds}); main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", hasty, "remember"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        assert process.wait() == 130
        assert process.stderr is not None
        assert process.stderr.read() == b""


@pytest.mark.parametrize(
    ("question", "asked"),
    [(["erase", "ID"], "Erase this"), (["sync", "setup", "shared"], "Go on?"), (["review"], "quit")],
)
def test_ctrl_c_at_a_question_is_an_interrupt_and_no_answer(question: list[str], asked: str) -> None:
    run("remember", "API port is 8080")
    run("remember", "API port is 9090")
    known = run_json("list")[0]["id"]
    screen, keyboard = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *(known if word == "ID" else word for word in question)],
        stdin=keyboard, stdout=keyboard, stderr=keyboard, start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
    )  # fmt: skip
    os.close(keyboard)
    seen = ""
    while asked not in seen:
        seen += os.read(screen, 65536).decode(errors="replace")

    # A key pressed between the question and the reading of its answer is seen with the next one.
    while process.poll() is None:
        time.sleep(0.3)
        os.write(screen, b"\x03")
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=20)
    code = process.wait()
    with suppress(OSError):
        seen += os.read(screen, 65536).decode(errors="replace")
    os.close(screen)

    assert code == 130
    assert "Traceback" not in seen
    assert "Abort" not in seen
    assert len(run_json("list")) == 2


@pytest.mark.parametrize("command", [("rollback", "--since", "2h"), ("install", "claude-code"), ("sync", "setup", "f")])
def test_a_script_that_answers_nothing_is_told_the_option_that_does(command: tuple[str, ...]) -> None:
    run("remember", "Deploys run from main only")

    asked = subprocess.run([*COMMAND, *command], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    assert (asked.returncode, "--yes" in asked.stderr) == (2, True)
    assert "[y/N]" not in asked.stdout


def test_a_script_that_answers_no_stops_the_command() -> None:
    run("remember", "Deploys run from main only")

    declined = run("rollback", "--since", "2h", stdin="n\n")

    assert (declined.exit_code, "--yes" in declined.stderr) == (1, False)
    assert [memory["text"] for memory in run_json("list")] == ["Deploys run from main only"]
