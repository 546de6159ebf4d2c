"""Installs coding agents from npm, runs each against a stand-in for its model, and looks what memory made of it.

python -m evals.clients                        all of them, one after the other, with one memory
python -m evals.clients claude-code            one of them
python -m evals.clients --npm DIR …            keep what npm installs, for the next time

Needs npm. Each client works in a home of its own; the memory they share is told its first fact by a person. Asserted
for each: the tools are there in its first turn, it recalls what the one before it has remembered, its hooks captured
the session, the brief reached its model, and after ``hivemind uninstall`` its files are as before.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from evals.clients.agents import CLIENTS, NODE, Client
from evals.clients.model import Model, Step, running

MARKER = "PROBE-4711"
CONVENTION = "Commit messages here begin with the word heron"
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
        programs = [self.npm / "node" / "node_modules" / "node" / "bin", self.npm / name / "node_modules" / ".bin"]
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


def main() -> None:
    """Run the clients that were named and say what held."""
    parser = argparse.ArgumentParser(prog="python -m evals.clients")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(CLIENTS))
    parser.add_argument("--npm", type=Path, help="where npm installs, kept for the next time")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        top = Path(scratch)
        failed = [name for name in _run_all(given.names or list(CLIENTS), given.npm or top / "npm", top) if name]
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


def _run_all(names: list[str], npm: Path, top: Path) -> list[str]:
    _install(npm / "node", NODE)
    project, memory = top / "project", top / "memory"
    project.mkdir()
    subprocess.run(["git", "init", "--quiet", str(project)], check=True)
    person = Ground(npm=npm, home=top / "person", project=project, memory=memory)
    person.hivemind("remember", CONVENTION, "--kind", "convention")
    person.hivemind("remember", _fact("a person"))
    before, failed = "a person", []
    for name in names:
        _install(npm / name, CLIENTS[name].package)
        ground = Ground(npm=npm, home=top / name, project=project, memory=memory)
        held = _held(name, CLIENTS[name], ground, before)
        for what, is_so in held.items():
            print(f"{name:<12} {'ok  ' if is_so else 'FAIL'} {what}", flush=True)
        failed.append("" if all(held.values()) else name)
        before = name
    return failed


def _install(directory: Path, package: str) -> None:
    if not (directory / "node_modules").exists():
        directory.mkdir(parents=True)
        node = directory.parent / "node" / "node_modules" / "node" / "bin"
        # The package manager picks a version by the Node it runs on.
        environ = os.environ | {"PATH": f"{node}{os.pathsep}{os.environ['PATH']}"}
        subprocess.run(["npm", "install", "--silent", "--prefix", str(directory), package], env=environ, check=True)


def _fact(speaker: str) -> str:
    return f"The staging database of {speaker} is called {speaker.replace(' ', '-')}-osprey"


def _held(name: str, client: Client, ground: Ground, before: str) -> dict[str, bool]:
    """What held of one client."""
    ground.home.mkdir()
    script = (
        Step(tool="remember", arguments={"text": _fact(name)}),
        Step(tool="recall", arguments={"query": f"staging database of {before}"}),
    )
    with running(Model(script, MARKER)) as model:
        client.setup(ground.home, ground.project, model.address)
        clean = _files(ground.home)
        ground.hivemind("install", name, "--yes", *client.install)
        connected = _files(ground.home)
        _prompted(name, client, ground, model)
        _end_daemons(ground.project)
    used = _files(ground.home)
    sessions = json.loads(ground.hivemind("sql", "SELECT id, agent FROM sessions", "--json"))
    said = [one for one in json.loads(ground.hivemind("list", "--json")) if one["text"] == _fact(name)]
    ground.hivemind("uninstall", name, "--yes")
    left = _files(ground.home)
    turns = [written for _, written in model.turns]
    first = model.turns[0][0] if model.turns else ()
    # What a client writes into its settings while it runs is its own business.
    own = {path for path in clean if used.get(path) != connected.get(path)}
    return {
        "the tools are there, or to be found, in the first turn": any(map(_is_ours, first)),
        "the brief reached the model": any(CONVENTION in turn for turn in turns[client.briefed_late :][:1]),
        "it recalled what was remembered elsewhere": any(_fact(before) in turn for turn in turns),
        "what it said is kept as its own word": [one["sources"][0]["actor"] for one in said] == [name],
        "hooks captured the session": name in {session["agent"] for session in sessions},
        "after leaving its files are as before": connected != clean
        and all(left.get(path) == clean[path] for path in clean if path not in own)
        and not any("hook.py" in text or "mcp --home" in text for text in left.values()),
    }


def _prompted(name: str, client: Client, ground: Ground, model: Model) -> None:
    command = client.command(f"{MARKER} please", model.address)
    environ = ground.environ(name) | client.environ(model.address)
    done = subprocess.run(
        command, cwd=ground.project, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=SECONDS, check=False,
    )  # fmt: skip
    if done.returncode:
        print(f"{name} ended with {done.returncode}: {done.stderr[-500:]}", file=sys.stderr)


def _end_daemons(project: Path) -> None:
    """Cline leaves a process that would serve the next run with this one's home."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"--cline-hub-daemon" in command and str(project).encode() in command:
            os.kill(int(process.name), signal.SIGTERM)


def _is_ours(tool: str) -> bool:
    return tool.endswith("remember") or tool in ("tool_search", "ToolSearch")


SETTINGS = (".json", ".jsonc", ".toml", ".js", ".sh", ".md", ".yaml")


def _files(home: Path) -> dict[Path, str]:
    """The settings below a home; what clients download and log is none of ours."""
    paths = [path for path in home.rglob("*") if path.suffix in SETTINGS and "node_modules" not in path.parts]
    return {path: path.read_text(errors="replace") for path in paths if path.is_file() and path.stat().st_size < 10**6}


if __name__ == "__main__":
    main()
