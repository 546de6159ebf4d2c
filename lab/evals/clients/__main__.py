"""Install coding agents from npm and PyPI, run each against a fake model, and check that memory works in it.

python -m lab.evals.clients                        all of them, one after the other, with a shared memory
python -m lab.evals.clients claude-code            one of them
python -m lab.evals.clients --npm DIR …            keep the npm packages for later runs
python -m lab.evals.clients --save …               save what was seen at actions; dev/reference.py makes a table of it

Each client works in its own home; a person stores the first fact in the shared memory. Checked for each client: the
tools are there in its first turn, it recalls what the previous client remembered, its hooks captured the session, the
brief reached its model, a fix from one session is proposed and, once approved, recalled in the next, a stale memory is
told at the edit of its file, a known fix after the failure and a brief to a subagent, a guard stops a command, and
after ``hivemind uninstall`` its files are as before. Of a client that runs no hooks here, server and transcripts are
checked. Of the clients that ``hivemind learn --with`` can ask, that too is checked. The test suite runs one client in
the same way.
"""

import argparse
import dataclasses
import json
import sys
import tempfile
from pathlib import Path

from lab.benchmarks import results
from lab.evals.clients import trial
from lab.evals.clients.agents import CLIENTS
from lab.evals.clients.examiner import EXAMINERS, check_examiner
from lab.evals.clients.guards import ANSWERS, check_guards


def main() -> None:
    """Run the clients named on the command line and print each check."""
    parser = argparse.ArgumentParser(prog="python -m lab.evals.clients")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(CLIENTS))
    parser.add_argument("--npm", type=Path, help="folder for npm packages, reused by later runs")
    parser.add_argument("--save", action="store_true", help="save what was told at actions")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        top = Path(scratch)
        outcomes = _run_all(options.names or list(CLIENTS), options.npm or top / "npm", top)
    if options.save:
        _save(outcomes)
    failures = [name for name, checks in outcomes.items() if not all(checks.values())]
    sys.exit(f"failed: {', '.join(failures)}" if failures else 0)


def _run_all(names: list[str], npm: Path, top: Path) -> dict[str, dict[str, bool]]:
    person = trial.prepare(npm, top)
    before, outcomes = "a person", {}
    for name in names:
        trial.install_package(npm, name, CLIENTS[name].package)
        checks = trial.check_client(name, CLIENTS[name], dataclasses.replace(person, home=top / name), before)
        if CLIENTS[name].has_hooks:
            checks |= check_guards(name, CLIENTS[name], _prepare_home(npm, top / "guards" / name))
        if name in EXAMINERS:
            owner = _prepare_home(npm, top / "examiners" / name)
            checks |= check_examiner(EXAMINERS[name], name, CLIENTS[name], owner)
        for what, is_so in checks.items():
            print(f"{name:<12} {'ok  ' if is_so else 'FAIL'} {what}", flush=True)
        outcomes[name] = checks
        before = name
    return outcomes


def _prepare_home(npm: Path, top: Path) -> trial.Sandbox:
    """Create a project, a memory and a home that no other check uses."""
    return dataclasses.replace(trial.prepare(npm, top), home=top / "home")


def _save(outcomes: dict[str, dict[str, bool]]) -> None:
    """Save what each client was told at actions, and keep what earlier runs saved of other clients."""
    file = results.FOLDER / "clients.json"
    figures = json.loads(file.read_text())["figures"] if file.exists() else {}
    for name, checks in outcomes.items():
        seen = {key: checks[what] for key, what in {**trial.OCCASIONS, **ANSWERS}.items() if what in checks}
        figures[name] = {"package": CLIENTS[name].package, "hooks": CLIENTS[name].has_hooks, **seen}
    results.save("clients", data="real clients, offline", configuration="a fake model", figures=figures)


if __name__ == "__main__":
    main()
