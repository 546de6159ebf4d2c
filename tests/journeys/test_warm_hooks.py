"""Hooks are answered by an MCP server that runs already; without one that answers, each hook answers by itself."""

import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from hivemind import local_socket
from hivemind.entrypoints import hook as hook_file
from hivemind.hook_server import HookServer
from hivemind.model.memory import Kind
from hivemind.store.store import FILE
from tests.command_line import residue, run, run_json
from tests.conftest import PERSON, Open
from tests.mcp.client import Client, connected

pytestmark = pytest.mark.skipif(not local_socket.IS_SUPPORTED, reason="Python has no Unix sockets here")

RULE = "Use pnpm, not npm"
FIX = "ECONNREFUSED on port 5432: start the database with make db"
NPM = {"tool_name": "Bash", "tool_input": {"command": "npm install"}}
BARE_PYTHON = str(getattr(sys, "_base_executable", sys.executable))
"""Python without our dependencies: a hook that it runs cannot open the store, so only a server can answer it."""
PATIENCE_SECONDS = 240
"""A server looks for its socket every 15 seconds, and on a slow machine it loads for as long."""


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home with a short path: that of a socket is limited, and the folders of tests have long names."""
    with TemporaryDirectory(prefix="hm-") as folder:
        monkeypatch.setenv("HIVEMIND_HOME", folder)
        yield Path(folder)


@pytest.fixture
def tree(make_repository: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    root = make_repository("tree")
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def memories(open_mind: Open, tree: Path) -> dict[str, str]:
    mind = open_mind(tree, PERSON)
    rule, fix = mind.remember(RULE, kind=Kind.CONVENTION), mind.remember(FIX, kind=Kind.FIX)
    mind.close()
    return {"rule": rule.id, "fix": fix.id}


def hook(event: str, session: str, **fields: Any) -> str:
    return run_hook(sys.executable, event, session, **fields)


def run_hook(python: str, event: str, session: str, **fields: Any) -> str:
    payload = {"session_id": session, "cwd": str(Path.cwd()), "hook_event_name": event, **fields}
    command = [python, "-I", "-S", str(hook_file.__file__), "claude-code", event]
    process = subprocess.run(command, input=json.dumps(payload).encode(), capture_output=True, check=True)
    return process.stdout.decode()


def ask_server(event: str, session: str, **fields: Any) -> str:
    """Run a hook that only a server can answer."""
    return run_hook(BARE_PYTHON, event, session, **fields)


def wait_for(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@contextmanager
def running_server(home: Path, tree: Path) -> Iterator[Client]:
    """Start an MCP server that is ready to answer hooks."""
    earlier = set(local_socket.list_sockets(str(home)))
    with connected(tree) as client:
        wait_for(lambda: set(local_socket.list_sockets(str(home))) - earlier)
        numbers = iter(range(1000))
        # The first hook that asks makes it load what it needs.
        wait_for(lambda: ask_server("PreToolUse", f"warm up {next(numbers)}", **NPM))
        yield client


def list_pids(home: Path) -> list[int]:
    """Return the processes that listen, those of the oldest sockets first."""
    pids = []
    for path in local_socket.list_sockets(str(home)):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(path)
            pids.append(int.from_bytes(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 4), sys.byteorder))
    return pids


def stop_between_writes(pid: int, home: Path) -> None:
    """Stop a process while it keeps nobody else from writing, as it does for a moment while it closes the store."""
    with closing(sqlite3.connect(home / FILE, timeout=0, isolation_level=None)) as store:

        def is_stopped_between_writes() -> bool:
            os.kill(pid, signal.SIGSTOP)
            try:
                store.execute("BEGIN IMMEDIATE")
                store.execute("ROLLBACK")
            except sqlite3.OperationalError:
                os.kill(pid, signal.SIGCONT)
                return False
            return True

        wait_for(is_stopped_between_writes)


def leave_out_ids(reply: str) -> str:
    return re.sub(r"\b[0-9a-f][0-9a-f-]{5,}\b", "…", reply)


def test_a_server_gives_the_answers_that_a_hook_gives(home: Path, tree: Path, memories: dict[str, str]) -> None:
    failure = {**NPM, "error": "Exit code 1\nError: connect ECONNREFUSED 127.0.0.1:5432"}
    events: list[tuple[str, dict[str, Any]]] = [
        ("SessionStart", {"source": "startup"}),
        ("UserPromptSubmit", {"prompt": "which package manager do we use here, pnpm or npm?"}),
        ("PreToolUse", NPM),
        ("PostToolUseFailure", failure),
    ]
    own = [hook(event, f"cold {event}", **fields) for event, fields in events]

    with running_server(home, tree):
        answers = [ask_server(event, f"warm {event}", **fields) for event, fields in events]
        again = ask_server("PreToolUse", "warm PreToolUse", **NPM)

    assert all(own)
    assert [*map(leave_out_ids, answers)] == [*map(leave_out_ids, own)]
    assert again == ""
    # The prompt and the failed call were recorded once, whoever answered.
    for view, event in (("prompts", "UserPromptSubmit"), ("tool_outputs", "PostToolUseFailure")):
        rows = run_json("sql", f"SELECT session_id FROM {view} ORDER BY 1")
        assert [row["session_id"] for row in rows] == [f"cold {event}", f"warm {event}"]
    assert not list((home / "sockets").iterdir())


def test_without_a_server_only_the_hook_itself_answers(home: Path, memories: dict[str, str]) -> None:
    assert ask_server("PreToolUse", "s", **NPM) == ""
    assert RULE in hook("PreToolUse", "s", **NPM)


def test_what_was_erased_or_switched_off_is_gone_from_the_next_answer(
    home: Path, tree: Path, memories: dict[str, str]
) -> None:
    with running_server(home, tree):
        before = ask_server("PreToolUse", "one", **NPM)
        kept = residue(home, RULE.encode())
        run("erase", memories["rule"], "--yes")
        # Also while the server keeps the store open.
        left = residue(home, RULE.encode())
        erased = ask_server("PreToolUse", "two", **NPM)
        failure = {**NPM, "error": "Error: connect ECONNREFUSED 127.0.0.1:5432"}
        told = ask_server("PostToolUseFailure", "two", **failure)
        run("config", "set", "unasked", "nothing")
        silent = ask_server("PostToolUseFailure", "three", **failure)

    assert RULE in before
    assert kept
    assert left == []
    assert FIX in told
    assert (erased, silent) == ("", "")


def test_a_killed_server_costs_nothing_and_the_next_one_removes_its_socket(
    home: Path, tree: Path, memories: dict[str, str]
) -> None:
    command = [sys.executable, "-P", "-m", "hivemind", "mcp"]
    with subprocess.Popen(command, cwd=tree, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        wait_for(lambda: local_socket.list_sockets(str(home)))
        process.kill()
    (left,) = local_socket.list_sockets(str(home))

    answer = hook("PreToolUse", "one", **NPM)
    with running_server(home, tree):
        told = ask_server("PreToolUse", "two", **NPM)

    assert RULE in answer
    assert RULE in told
    assert not Path(left).exists()


def test_a_server_that_hangs_is_asked_no_more_and_comes_back(home: Path, tree: Path, memories: dict[str, str]) -> None:
    with running_server(home, tree):
        (pid,) = list_pids(home)
        stop_between_writes(pid, home)
        try:
            answer = hook("PreToolUse", "one", **NPM)
            sockets = local_socket.list_sockets(str(home))
        finally:
            os.kill(pid, signal.SIGCONT)
        wait_for(lambda: local_socket.list_sockets(str(home)))
        told = ask_server("PreToolUse", "two", **NPM)

    assert RULE in answer
    assert sockets == []
    assert RULE in told


def test_several_servers_live_beside_each_other(home: Path, tree: Path, memories: dict[str, str]) -> None:
    with connected(tree):
        wait_for(lambda: local_socket.list_sockets(str(home)))
        (first,) = local_socket.list_sockets(str(home))
        with connected(tree):
            wait_for(lambda: len(local_socket.list_sockets(str(home))) == 2)
            # The oldest is asked, so that one process alone loads the model.
            assert local_socket.list_sockets(str(home))[0] == first
        assert local_socket.list_sockets(str(home)) == [first]


def test_many_hooks_at_once_are_answered_by_one_server(home: Path, tree: Path, memories: dict[str, str]) -> None:
    with running_server(home, tree), ThreadPoolExecutor(12) as pool:
        answers = pool.map(lambda number: ask_server("PreToolUse", f"parallel {number}", **NPM), range(12))
        told = [RULE in answer for answer in answers]

    assert told == [True] * 12


def test_a_server_of_a_named_store_does_not_answer_hooks(home: Path, tree: Path, memories: dict[str, str]) -> None:
    command = [sys.executable, "-P", "-m", "hivemind", "--store", "other", "mcp"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        process.stdin.flush()
        assert b'"id":1' in process.stdout.readline()
        process.stdin.close()
    assert not (home / "sockets").exists()


class StandIn:
    """A socket in the home whose other end does what a test says."""

    def __init__(self, home: Path, serve: Callable[[socket.socket], None], prefix: str = local_socket.PREFIX) -> None:
        folder = home / local_socket.FOLDER
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path = folder / f"{prefix}0"
        self.asked = 0
        self._serve = serve
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(self.path))
        self.path.chmod(0o600)
        self._socket.listen()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            self.asked += 1
            with connection:
                self._serve(connection)


def die_at_once(connection: socket.socket) -> None:
    pass


def die_after_greeting(connection: socket.socket) -> None:
    connection.sendall(local_socket.GREETING)


def die_after_request(connection: socket.socket) -> None:
    connection.sendall(local_socket.GREETING)
    local_socket.receive_message(connection)


def die_while_answering(connection: socket.socket) -> None:
    die_after_request(connection)
    connection.sendall(local_socket.pack_message([b"a lie"])[:-2])


def answer_without_end(connection: socket.socket) -> None:
    die_after_request(connection)
    connection.sendall(b"\xff\xff\xff\xff" + b"x" * 1000)


@pytest.mark.parametrize(
    "serve", [die_at_once, die_after_greeting, die_after_request, die_while_answering, answer_without_end]
)
def test_a_server_that_dies_midway_loses_nothing_and_records_nothing_twice(
    home: Path, memories: dict[str, str], serve: Callable[[socket.socket], None]
) -> None:
    stand_in = StandIn(home, serve)

    answer = hook("UserPromptSubmit", "s", prompt="which package manager do we use here, pnpm or npm?")

    assert stand_in.asked == 1
    assert RULE in answer
    assert "a lie" not in answer
    (prompt,) = run_json("sql", "SELECT text FROM prompts WHERE session_id = 's'")
    assert "pnpm or npm" in prompt["text"]


def lie(connection: socket.socket) -> None:
    connection.sendall(local_socket.GREETING)
    local_socket.receive_message(connection)
    connection.sendall(local_socket.pack_message([b"a lie"]))


def test_a_hook_asks_only_a_socket_of_its_version_that_nobody_else_can_open(
    home: Path, tmp_path: Path, memories: dict[str, str]
) -> None:
    stand_in = StandIn(home, lie)
    folder = stand_in.path.parent
    assert hook("PreToolUse", "s", **NPM) == "a lie"

    folder.chmod(0o755)
    assert RULE in hook("PreToolUse", "shared folder", **NPM)
    folder.chmod(0o700)
    stand_in.path.chmod(0o666)
    assert RULE in hook("PreToolUse", "shared socket", **NPM)
    stand_in.path.chmod(0o600)
    elsewhere = tmp_path / "elsewhere"
    stand_in.path.rename(elsewhere)
    stand_in.path.symlink_to(elsewhere)
    assert RULE in hook("PreToolUse", "link", **NPM)
    stand_in.path.unlink()
    elsewhere.rename(folder / "9.9.9-0")
    assert RULE in hook("PreToolUse", "version", **NPM)
    (folder / "9.9.9-0").rename(stand_in.path)
    assert hook("PreToolUse", "again", **NPM) == "a lie"


@pytest.fixture
def server(home: Path, memories: dict[str, str]) -> Iterator[HookServer]:
    """A server in this process, ready to answer."""
    server = HookServer(str(home))
    server.start()
    fields = local_socket.list_fields("claude-code", "Stop", "{}", [])
    wait_for(lambda: local_socket.ask(str(home), fields, PATIENCE_SECONDS) is not None)
    yield server
    server.close()


def test_a_server_refuses_what_it_cannot_answer_and_goes_on(home: Path, tmp_path: Path, server: HookServer) -> None:
    payload = json.dumps({"session_id": "s", "cwd": str(Path.cwd()), "hook_event_name": "PreToolUse", **NPM})
    fields = local_socket.list_fields("claude-code", "PreToolUse", payload, ["c npm"])
    elsewhere = [*fields[:-1], f"HIVEMIND_HOME={tmp_path / 'other'}"]
    elsewhere = [*(field for field in fields if not field.startswith("HIVEMIND_HOME=")), elsewhere[-1]]
    refused = {
        "a container": ["1 2", *fields[1:]],
        "another home": elsewhere,
        "an unknown agent": [*fields[:2], "nobody", *fields[3:]],
        "no JSON": [*fields[:4], "{", *fields[5:]],
        "too few fields": fields[:3],
        "no number": [*fields[:5], "x", *fields[6:]],
        "too long": [*fields[:4], "x" * (local_socket.MAX_MESSAGE_BYTES + 1), *fields[5:]],
    }

    answers = {name: local_socket.ask(str(home), request, PATIENCE_SECONDS) for name, request in refused.items()}

    assert answers == dict.fromkeys(refused)
    assert RULE in (local_socket.ask(str(home), fields, PATIENCE_SECONDS) or "")


def test_a_hook_that_has_gone_gets_no_receipt(home: Path, tree: Path, memories: dict[str, str]) -> None:
    payload = json.dumps({"session_id": "gone", "cwd": str(tree), "hook_event_name": "PreToolUse", **NPM})
    fields = local_socket.list_fields("claude-code", "PreToolUse", payload, ["c npm"])
    with running_server(home, tree):
        (path,) = local_socket.list_sockets(str(home))
        (pid,) = list_pids(home)
        # A server that runs may answer before the hook has gone.
        stop_between_writes(pid, home)
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(path)
            connection.sendall(local_socket.pack_message([field.encode() for field in fields]))
        os.kill(pid, signal.SIGCONT)

        later = local_socket.ask(str(home), fields, PATIENCE_SECONDS)

    assert RULE in (later or "")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become another user")
def test_another_user_is_not_answered(home: Path, server: HookServer) -> None:
    (path,) = map(Path, local_socket.list_sockets(str(home)))
    # Even if the folder and the socket were opened to all.
    path.parent.chmod(0o777)
    path.chmod(0o777)
    program = (
        "import os, socket, sys; os.setuid(int(sys.argv[1])); s = socket.socket(socket.AF_UNIX);"
        f"s.connect({path.name!r}); print(s.recv(1))"
    )

    replies = [
        subprocess.run(
            ["/usr/bin/env", BARE_PYTHON, "-c", program, user],
            cwd=path.parent,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for user in ("0", "65534")
    ]

    assert replies == [str(local_socket.GREETING), str(b"")]


def test_a_home_that_can_have_no_socket_has_none(tmp_path: Path) -> None:
    long_home, file_home = tmp_path / ("x" * 90), tmp_path / "file"
    file_home.write_text("in the way")
    for home in (long_home, file_home):
        server = HookServer(str(home))
        server.start()
        server.close()

        assert local_socket.list_sockets(str(home)) == []
