"""Installs coding agents from npm, runs each against a stand-in for its model, and looks what memory made of it.

python -m evals.clients                        all of them, one after the other, with one memory
python -m evals.clients claude-code            one of them
python -m evals.clients --npm DIR …            keep what npm installs, for the next time

Each client works in a home of its own; the memory they share is told its first fact by a person. Asserted for each:
the tools are there in its first turn, it recalls what the one before it has remembered, its hooks captured the
session, the brief reached its model, what it mended in one session is proposed and, approved, recalled in the next,
and after ``hivemind uninstall`` its files are as before. Tests run one of them the same way.
"""

import argparse
import dataclasses
import sys
import tempfile
from pathlib import Path

from evals.clients import trial
from evals.clients.agents import CLIENTS


def main() -> None:
    """Run the clients that were named and say what held."""
    parser = argparse.ArgumentParser(prog="python -m evals.clients")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(CLIENTS))
    parser.add_argument("--npm", type=Path, help="where npm installs, kept for the next time")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        top = Path(scratch)
        failed = _run_all(given.names or list(CLIENTS), given.npm or top / "npm", top)
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


def _run_all(names: list[str], npm: Path, top: Path) -> list[str]:
    person = trial.prepared(npm, top)
    before, failed = "a person", []
    for name in names:
        trial.installed(npm, name, CLIENTS[name].package)
        held = trial.held(name, CLIENTS[name], dataclasses.replace(person, home=top / name), before)
        for what, is_so in held.items():
            print(f"{name:<12} {'ok  ' if is_so else 'FAIL'} {what}", flush=True)
        if not all(held.values()):
            failed.append(name)
        before = name
    return failed


if __name__ == "__main__":
    main()
