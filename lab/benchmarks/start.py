"""Measure what our processes cost to start, compared with bare Python in the same run.

python -m lab.benchmarks.start [--save]
"""

import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hivemind
from hivemind import Hivemind
from hivemind.model.memory import Kind
from hivemind.settings import Settings
from lab.benchmarks import results
from lab.benchmarks.measure import BARE, cpu_of, cpu_once, read_cpu_of

PAYLOAD = b'{"session_id":"s","cwd":"/tmp","hook_event_name":"PostToolUse","tool_name":"Bash",'
PAYLOAD += (
    b'"tool_input":{"command":"pytest -q"},"tool_response":{"stdout":"' + b"ok " * 1200 + b'"},"tool_use_id":"t1"}'
)
HOOK = str(Path(str(hivemind.__file__)).parent / "entrypoints" / "hook.py")
CLI = "from hivemind.__main__ import main; main()"
START = b'{"session_id":"s","cwd":"/","hook_event_name":"SessionStart","source":"compact"}'
STOP = b'{"session_id":"s","cwd":"/","hook_event_name":"Stop"}'
PROMPT = b'{"session_id":"p","cwd":"/","hook_event_name":"UserPromptSubmit","prompt":"when do the deploys run?"}'
EDIT = b'{"session_id":"a","cwd":"/","tool_name":"Edit","tool_input":{"file_path":"/tmp/a.py","new_string":"b"}}'
COMMAND = b'{"session_id":"a","cwd":"/","tool_name":"Bash","tool_input":{"command":"cd /tmp && git status"}}'
FAILURE = b'{"session_id":"a","cwd":"/","tool_name":"Bash","tool_input":{"command":"make"},"error":"Exit code 2'
FAILURE += b"\\nmake: *** [Makefile:3: all] Error 1" * 40 + b'"}'
TASK = PROMPT.replace(
    b"when do the deploys run?",
    b"Please add the volume discount to the cart: from 10 pieces on the customer pays 3.5 percent less, from 50 pieces"
    b" 7 percent less, applied per line and shown on the line as well as in the sum. The percentages come from the"
    b" settings of the article group. Don't forget the gift wrapping surcharge, which isn't discounted.",
)
"""Long enough to be searched by meaning, if there is a memory that the session was not given yet."""
SERVER_RUNS = 20
SERVER_LOAD_SECONDS = 3
LIST_TOOLS = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}\n'
    b'{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n'
)


def main() -> None:
    """Print CPU milliseconds and ratios."""
    bare = cpu_of(BARE)
    figures = {"bare python": bare}
    print(f"{'what':<38}{'CPU ms':>8}{'x bare':>8}  budget")
    print(f"{'bare python':<38}{bare:>8.1f}{1:>8.1f}")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        environ = {"HIVEMIND_HOME": home}
        for name, command, stdin, budget in _rows():
            cost = cpu_of(command, stdin=stdin, environ=environ)
            figures[name] = cost
            print(f"{name:<38}{cost:>8.1f}{cost / bare:>8.1f}  {budget}")
        actions = _prepare_actions(Path(home))
        for name, costs in _speaking(actions, environ):
            figures[name] = cost = statistics.median(costs)
            print(f"{name:<38}{cost:>8.1f}{cost / bare:>8.1f}  250 ms")
        for name, (cost, ratio) in _measure_with_server(actions, environ):
            figures[name] = cost
            print(f"{name:<38}{cost:>8.1f}{cost / bare:>8.1f}  30 ms; {ratio:.2f} x the time of a silent hook")
        cost = statistics.median(_mornings(Path(home), environ))
        print(f"{'the same, after a merge of 50 files':<38}{cost:>8.1f}{cost / bare:>8.1f}  400 ms")
    if "--save" in sys.argv:
        results.save("start", data="an empty store", configuration="CPU ms, median of 11 processes", figures=figures)


def _rows() -> Iterator[tuple[str, list[str], bytes, str]]:
    cli = [sys.executable, "-c", CLI]
    hook = [sys.executable, "-I", "-S", HOOK, "claude-code"]
    if node := shutil.which("node"):
        yield "bare node", [node, "-e", "0"], b"", ""
    if importlib.util.find_spec("mcp"):
        yield "import mcp, the SDK", [sys.executable, "-c", "import mcp"], b"", ""
    yield "hook, one tool use of 4 kB", [*hook, "PostToolUse"], PAYLOAD, "3 x bare"
    yield "hook, the end of a session", [*hook, "Stop"], STOP, "3 x bare"
    yield "hivemind mcp, tools listed", [sys.executable, "-P", "-m", "hivemind", "mcp"], LIST_TOOLS, "200 ms"
    yield "hivemind --version", [*cli, "--version"], b"", "60 ms"
    yield "hivemind --help", [*cli, "--help"], b"", "80 ms"
    yield "hivemind remember", [*cli, "remember", "Deploys run on Fridays", "--kind", "decision"], b"", "80 ms"
    yield "hivemind", cli, b"", "150 ms"
    yield "hook, session start with the brief", [*hook, "SessionStart"], START, "400 ms"
    yield "hook, a prompt", [*hook, "UserPromptSubmit"], PROMPT, "250 ms"
    yield "hook before an edit, silent", [*hook, "PreToolUse"], EDIT, "3.5 x bare"
    yield "hook before a command, silent", [*hook, "PreToolUse"], COMMAND, "3.5 x bare"
    yield "hook after a failure, silent", [*hook, "PostToolUseFailure"], FAILURE, "3.5 x bare"
    yield "hivemind recall, by meaning", [*cli, "recall", "when do deploys run"], b"", "180 ms"


def _prepare_actions(home: Path) -> Path:
    """Return a repository with a memory for each occasion."""
    root = home / "actions"
    root.mkdir()
    (root / "pay.py").write_text("def charge(card):\n    return card.take()\n")
    _commit(root, "init", "-q")
    with Hivemind.open(directory=root, settings=Settings(home=home, person="ada")) as mind:
        mind.remember("Cards are charged once", kind=Kind.DECISION, links=["pay.py::charge"])
        mind.remember("Use pnpm, not npm", kind=Kind.CONVENTION)
        mind.remember("ECONNREFUSED on port 5432: start the database with make db", kind=Kind.FIX)
    return root


def _list_occasions() -> list[tuple[str, str, dict[str, Any]]]:
    """Return what hooks that search by meaning or tell something at an action are given: name, event and fields."""
    edit = {"file_path": "pay.py", "old_string": "card.take()", "new_string": "card.give()"}
    error = "Exit code 1\nError: connect ECONNREFUSED 127.0.0.1:5432"
    failure = {"tool_name": "Bash", "tool_input": {"command": "node a.js"}, "error": error}
    return [
        ("hook, a prompt of 5 words", "UserPromptSubmit", {"prompt": json.loads(PROMPT)["prompt"]}),
        ("hook, a task of 60 words", "UserPromptSubmit", {"prompt": json.loads(TASK)["prompt"]}),
        ("hook before an edit, speaking", "PreToolUse", {"tool_name": "Edit", "tool_input": edit}),
        ("hook before a command, speaking", "PreToolUse", {"tool_name": "Bash", "tool_input": {"command": "npm i"}}),
        ("hook after a failure, speaking", "PostToolUseFailure", failure),
    ]


def _speaking(root: Path, environ: dict[str, str]) -> Iterator[tuple[str, list[float]]]:
    """Yield the cost of hooks that answer by themselves, each time in a new session."""
    for name, event, fields in _list_occasions():
        payloads = [_make_payload(root, f"{name} {number}", fields) for number in range(7)]
        yield name, [cpu_once(_make_hook_command(event), payload, environ) for payload in payloads]


def _measure_with_server(root: Path, environ: dict[str, str]) -> Iterator[tuple[str, tuple[float, float]]]:
    """Yield the CPU of a hook with the server that answers it, and its time as a multiple of that of a silent hook."""
    command = [sys.executable, "-P", "-m", "hivemind", "mcp"]
    environ = dict(os.environ) | environ
    with subprocess.Popen(command, cwd=root, env=environ, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as server:
        # The first hook that finds it makes it load what answers need.
        for number in range(3):
            time.sleep(SERVER_LOAD_SECONDS)
            _run_hook("UserPromptSubmit", _make_payload(root, f"first {number}", {"prompt": "hello"}), environ)
        silent = {"tool_name": "Bash", "tool_input": {"command": "git status"}}
        for name, event, fields in _list_occasions():
            hooks, own = 0.0, read_cpu_of(server.pid)
            walls: list[float] = []
            silent_walls: list[float] = []
            for number in range(SERVER_RUNS):
                silent_walls.append(_run_hook("PreToolUse", _make_payload(root, "silent", silent), environ)[1])
                cpu, wall = _run_hook(event, _make_payload(root, f"server {name} {number}", fields), environ)
                hooks += cpu
                walls.append(wall)
            # The server closes the store after it has answered.
            time.sleep(1)
            cost = (hooks + read_cpu_of(server.pid) - own) / SERVER_RUNS
            yield f"{name}, by a server", (cost, statistics.median(walls) / statistics.median(silent_walls))
        assert server.stdin is not None
        server.stdin.close()


def _run_hook(event: str, payload: bytes, environ: dict[str, str]) -> tuple[float, float]:
    """Return the CPU and wall milliseconds of one hook."""
    start = time.perf_counter()
    cpu = cpu_once(_make_hook_command(event), payload, environ)
    return cpu, (time.perf_counter() - start) * 1000


def _make_hook_command(event: str) -> list[str]:
    return [sys.executable, "-I", "-S", HOOK, "claude-code", event]


def _make_payload(root: Path, session: str, fields: dict[str, Any]) -> bytes:
    return json.dumps({"session_id": session, "cwd": str(root), **fields}).encode()


def _mornings(home: Path, environ: dict[str, str], times: int = 5) -> Iterator[float]:
    """Yield the cost of session starts after 50 files changed, in a tree of 500 files with 100 memories about it."""
    root = home / "tree"
    root.mkdir()
    for number in range(500):
        (root / f"m{number}.py").write_text(_module(number, 0))
    _commit(root, "init", "-q")
    settings = Settings(home=home, person="ada")
    with Hivemind.open(directory=root, settings=settings) as mind:
        mind.code.index()
        for number in range(100):
            text = f"Rule {number}: rows of {number * number} are counted {'abcdefghij'[number % 10] * 6}"
            mind.remember(text, kind=Kind.CONVENTION, links=[f"m{number}.py::count_{number}"])
    start = START.replace(b'"/"', json.dumps(str(root)).encode())
    for morning in range(1, times + 1):
        for number in range(50):
            (root / f"m{number}.py").write_text(_module(number, morning))
        _commit(root, "status", "-s")
        command = [sys.executable, "-I", "-S", HOOK, "claude-code", "SessionStart"]
        yield cpu_once(command, start, environ)


def _module(number: int, morning: int) -> str:
    loops = "".join(f"    for row in rows:\n        total += row.part_{part} * {morning}\n" for part in range(20))
    return f"def count_{number}(rows):\n    total = 0\n{loops}    return total\n"


def _commit(root: Path, *first: str) -> None:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for arguments in (first, ("add", "-A"), ("commit", "-qm", "change")):
        subprocess.run(["git", *identity, *arguments], cwd=root, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
