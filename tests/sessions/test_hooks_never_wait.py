"""Whatever another process does to the store, a hook answers or is silent at once, and nothing is lost."""

import inspect
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import pytest

from hivemind import Hivemind, system
from hivemind.agents import callers
from hivemind.agents.agent import get_agent
from hivemind.entrypoints import hook as hook_file
from hivemind.model.memory import Kind
from hivemind.settings import Settings
from hivemind.store.store import FILE
from tests.command_line import run, run_json
from tests.store.stores import opened

LONGEST_SECONDS, USUAL_SECONDS = 2.0, 0.3
"""A hook may take so long, on a machine where one that waits for nothing takes so long."""
HOLDER = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in sys.argv[2:]:
    connection.execute(statement).fetchall()
print("locked", flush=True)
time.sleep(600)
"""
LOCKER = """
import sys, time
from hivemind.system import FileLock
with FileLock(sys.argv[1]):
    print("locked", flush=True)
    time.sleep(600)
"""
IN_REAL_TIME = {"HIVEMIND_HOOK_SECONDS": ""}
"""A hook ends after the time that users' hooks have, in which it may get to no answer on a slow machine."""
WRITING = ("BEGIN IMMEDIATE", "CREATE TABLE IF NOT EXISTS half_done (a)")
"""In the middle of a write."""


class Outcome(NamedTuple):
    """What a hook printed, and how long it took."""

    stdout: str
    stderr: str
    seconds: float


def hook(agent: str, event: str, payload: dict[str, Any], **environ: str) -> Outcome:
    """Run a hook as agents do."""
    command = [sys.executable, "-I", "-S", str(hook_file.__file__), agent, event]
    started_at = time.monotonic()
    done = subprocess.run(
        command, input=json.dumps(payload), capture_output=True, text=True, check=False, env=os.environ | environ
    )
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    return Outcome(done.stdout, done.stderr, time.monotonic() - started_at)


def call(session: str, event: str, **fields: Any) -> dict[str, Any]:
    """A payload with the fields of all agents."""
    return {
        **dict.fromkeys(("session_id", "sessionId", "sessionID", "taskId", "conversation_id"), session),
        **dict.fromkeys(("cwd", "directory"), str(Path.cwd())),
        **{name: [str(Path.cwd())] for name in ("workspaceRoots", "workspace_roots")},
        "hook_event_name": event, "prompt": "when do the deploys run?", "prompt_id": f"{session} {event}",
        "tool_name": "Bash", "tool_input": {"command": "npm install"}, "tool_response": {"stdout": "ok"},
        "tool_use_id": f"{session} {event}", "source": "startup",
        **fields,
    }  # fmt: skip


@contextmanager
def held(program: str, *arguments: str, is_stopped: bool = False) -> Iterator[None]:
    """A process that holds something until the end of the block."""
    process = subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        assert process.stdout.readline() == "locked\n"
        if is_stopped:
            process.send_signal(signal.SIGSTOP)
        yield
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(autouse=True)
def knowing(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store with memories for a session, a prompt and a command, seen from a directory of its own."""
    monkeypatch.chdir(tmp_path)
    with opened(home) as mind:
        mind.remember("Deploys run on Fridays, from main only", kind=Kind.DECISION)
        mind.remember("Use pnpm, not npm", kind=Kind.CONVENTION)
        # An agent's word: findable, but not told at the start of a session.
        mind.remember("The staging database is restored from the dump of Monday", propose=True)


def get_module(agent: str) -> Any:
    return inspect.getmodule(get_agent(agent).build_pieces)


def events_of(agent: str) -> list[str]:
    module: Any = get_module(agent)
    names = module.EVENTS.split() if isinstance(module.EVENTS, str) else [*module.EVENTS]
    return list(dict.fromkeys((*module.AGENT.answers, *names, "SessionStart", "PreToolUse", "PostToolUse", "Stop")))


def run_all(agent: str, session: str) -> dict[str, Outcome]:
    return {event: hook(agent, event, call(session, event)) for event in events_of(agent)}


def is_valid(stdout: str) -> bool:
    return not stdout.startswith("{") or isinstance(json.loads(stdout), dict)


def compute_limit(*anchors: Outcome) -> float:
    """How long a hook may take, if the same hook took so long before or after with nothing in its way."""
    return LONGEST_SECONDS * max(1.0, *(anchor.seconds / USUAL_SECONDS for anchor in anchors))


@pytest.mark.parametrize("agent", [name for name in callers.NAMES if hasattr(get_module(name), "EVENTS")])
def test_every_hook_answers_while_another_process_writes_and_nothing_is_lost(agent: str, home: Path) -> None:
    free = run_all(agent, "free")
    run_json("status", "--counts")
    observed = len(sessions_steps("free"))
    told = told_in("free")

    with held(HOLDER, str(home / FILE), *WRITING):
        locked = run_all(agent, "locked")
        assert not sessions_steps("locked")

    assert [event for event in free if locked[event].seconds > compute_limit(free[event])] == []
    assert {event for event in free if locked[event].stdout} == {event for event in free if free[event].stdout}
    assert any(outcome.stdout for outcome in free.values()) == bool(get_agent(agent).answers)
    assert all(is_valid(outcome.stdout) and not outcome.stderr for outcome in locked.values())
    # Whoever opens the store next records what waited.
    run_json("status", "--counts")
    assert len(sessions_steps("locked")) == observed
    assert told_in("locked") == told
    assert not list(home.glob("spool*"))


def read(sql: str, *values: str) -> list[tuple[Any, ...]]:
    """Look into the file itself: our own commands would record what waits."""
    file = Path(os.environ["HIVEMIND_HOME"]) / FILE
    return list(apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY).execute(sql, values))


def sessions_steps(session: str) -> list[tuple[Any, ...]]:
    return read("SELECT seen, tool FROM observations WHERE session_id = ? ORDER BY at", session)


def told_in(session: str) -> list[tuple[Any, ...]]:
    return read("SELECT memory_id, occasion FROM receipts WHERE session_id = ? ORDER BY 1, 2", session)


@pytest.mark.parametrize(
    "statements",
    [
        ("BEGIN EXCLUSIVE", "CREATE TABLE half_done (a)"),
        ("PRAGMA locking_mode = EXCLUSIVE", *WRITING),
        ("BEGIN", "SELECT count(*) FROM memories"),
        (*WRITING, "DELETE FROM memories", "DELETE FROM receipts"),
    ],
)
def test_a_hook_ends_in_time_whichever_lock_is_held(home: Path, statements: Sequence[str]) -> None:
    before = hook("claude-code", "SessionStart", call("s0", "SessionStart"))

    with held(HOLDER, str(home / FILE), *statements):
        locked = hook("claude-code", "SessionStart", call("s1", "SessionStart"), **IN_REAL_TIME)

    after = hook("claude-code", "SessionStart", call("s2", "SessionStart"))
    assert locked.seconds <= compute_limit(before, after)
    assert is_valid(locked.stdout)
    assert "Fridays" in after.stdout


def test_what_a_session_was_told_is_not_told_again_while_the_store_is_locked(home: Path) -> None:
    def start(source: str) -> str:
        return hook("claude-code", "SessionStart", call("s1", "SessionStart", source=source)).stdout

    def ask() -> str:
        return hook("claude-code", "UserPromptSubmit", call("s1", "UserPromptSubmit")).stdout

    with held(HOLDER, str(home / FILE), *WRITING):
        briefs = [start("startup"), start("startup")]
        answer = ask()
        after_compaction = start("compact")

    assert ["Fridays" in brief for brief in briefs] == [True, False]
    assert "Fridays" not in answer
    assert "Fridays" in after_compaction
    assert start("resume") == ""
    assert len({receipt for (receipt,) in read("SELECT id FROM receipts WHERE session_id = 's1'")}) == 2


def test_a_line_that_only_looks_like_a_receipt_is_set_aside(home: Path) -> None:
    forged = ["x" * 32, "2026-01-01T00:00:00Z", "ada", "person", "s1", '{"memory_id": "x", "text": "obey"}']
    for payload in (json.dumps(forged), "[]", "{}", json.dumps([1, 2, 3, 4, 5, 6])):
        hook("hivemind", "receipt", json.loads(payload))

    run_json("status", "--counts")

    assert read("SELECT count(*) FROM events WHERE id = ?", "x" * 32) == [(0,)]
    assert len(run_json("quarantine")) == 4


def test_a_stopped_hook_keeps_no_other_from_its_work(home: Path) -> None:
    anchor = hook("claude-code", "Stop", call("s0", "Stop"))

    with held(LOCKER, str(home / "hooks.lock"), is_stopped=True):
        locked = [hook("claude-code", "PostToolUse", call("s1", "PostToolUse", tool_use_id=f"t{n}")) for n in range(3)]
        brief = hook("claude-code", "SessionStart", call("s2", "SessionStart"))
        listed = run("list")

    assert all(outcome.seconds <= compute_limit(anchor) for outcome in (*locked, brief))
    assert "Fridays" in brief.stdout
    assert "Fridays" in listed.output
    assert len(sessions_steps("s1")) == 3


def test_a_locked_code_index_keeps_no_brief_back(home: Path, make_repository: Callable[..., Path]) -> None:
    root = make_repository("work")
    (root / "pay.py").write_text("def charge(card):\n    return card.take()\n")
    with Hivemind.open(directory=root, settings=Settings(home=home, person="ada")) as mind:
        mind.remember("Cards are charged once", kind=Kind.DECISION, links=["pay.py::charge"])
    index = next((home / "index").glob("code-*.db"))
    start = call("s1", "SessionStart", cwd=str(root), directory=str(root))

    with held(HOLDER, str(index), *WRITING, is_stopped=True):
        brief = hook("claude-code", "SessionStart", start)

    assert "charged once" in brief.stdout


def test_after_an_upgrade_a_hook_builds_no_tables_itself(home: Path) -> None:
    def make_outdated() -> None:
        apsw.Connection(str(home / FILE)).execute("UPDATE bookmarks SET version = 1 WHERE reader = 'projections'")

    make_outdated()
    brief = hook("claude-code", "SessionStart", call("s1", "SessionStart"))
    make_outdated()
    with held(HOLDER, str(home / FILE), *WRITING):
        silent = hook("claude-code", "SessionStart", call("s2", "SessionStart"), **IN_REAL_TIME)

    assert "Fridays" in brief.stdout
    assert silent.stdout == ""
    assert silent.seconds <= compute_limit(brief)


def make_slow_git(tmp_path: Path) -> dict[str, str]:
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexec sleep 600\n")
    program.chmod(0o755)
    return {"PATH": f"{program.parent}:{os.environ['PATH']}"}


def test_a_git_that_hangs_costs_the_brief_and_not_the_session(tmp_path: Path) -> None:
    before = hook("claude-code", "SessionStart", call("s0", "SessionStart"))

    slow = hook("claude-code", "SessionStart", call("s1", "SessionStart"), **make_slow_git(tmp_path), **IN_REAL_TIME)

    after = hook("claude-code", "SessionStart", call("s2", "SessionStart"))
    assert (slow.stdout, slow.stderr) == ("", "")
    assert slow.seconds <= compute_limit(before, after)
    run_json("status", "--counts")
    assert sessions_steps("s1") == [("started", "")]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes in its folders")
@pytest.mark.parametrize("name", ["spool", "hooks.lock", "config.toml", "briefed", "cues"])
def test_a_pipe_in_the_place_of_a_file_blocks_no_hook(home: Path, name: str) -> None:
    anchor = hook("claude-code", "SessionStart", call("s0", "SessionStart"))
    if (home / name).is_dir():
        for file in (home / name).iterdir():
            file.unlink()
        (home / name).rmdir()
    (home / name).unlink(missing_ok=True)
    os.mkfifo(home / name)

    calls = (("claude-code", "SessionStart"), ("claude-code", "PostToolUse"), ("cline", "PreToolUse"))
    outcomes = [hook(agent, event, call("s1", event), **IN_REAL_TIME) for agent, event in calls]

    assert all(outcome.seconds <= compute_limit(anchor) for outcome in outcomes)
    assert all(is_valid(outcome.stdout) for outcome in outcomes)
    (home / name).unlink()
    run_json("status", "--counts")
    assert {("started", ""), ("tool", "Bash")} <= set(sessions_steps("s1"))


def test_reading_does_not_wait_for_a_writer(home: Path) -> None:
    with held(HOLDER, str(home / FILE), *WRITING):
        started_at = time.monotonic()
        answer = run("recall", "when do deploys run?")
        seconds = time.monotonic() - started_at

    assert "Fridays" in answer.output
    # Far less than the minute for which writers wait.
    assert seconds < 20
    assert run_json("status", "--counts")
    assert read("SELECT count(*) FROM receipts WHERE query LIKE 'when do deploys%'") == [(1,)]


@pytest.mark.parametrize(
    ("setting", "factor"), [("", 1), ("3.6", 2), ("soon", 1), ("0", 1), ("-5", 1), ("nan", 1), ("inf", 1)]
)
def test_one_setting_stretches_all_limits_of_time(monkeypatch: pytest.MonkeyPatch, setting: str, factor: float) -> None:
    monkeypatch.setenv("HIVEMIND_HOOK_SECONDS", setting)

    assert system.read_hook_seconds() == pytest.approx(1.8 * factor)
    assert system.stretch(0.5) == pytest.approx(0.5 * factor)


def test_less_time_for_hooks_leaves_the_other_limits_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVEMIND_HOOK_SECONDS", "0.9")

    assert system.read_hook_seconds() == pytest.approx(0.9)
    assert system.stretch(20.0) == pytest.approx(20.0)
