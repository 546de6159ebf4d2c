"""The tasks of ``hivemind eval``, worked on by real clients whose model's part is played by the scripted agent.

python -m evals.played --npm DIR                        all that ``hivemind eval`` connects, one after the other
python -m evals.played --npm DIR claude-code codex      some of them
python -m evals.played --npm DIR --save                 and keep the figures for the scorecard

A client from npm is run by its own command, as ``hivemind eval --agent`` runs any: hooks, server, file of notes,
permissions and shell are its own. Only the thinking is ours: the policy goes by what reached the model in requests,
and does nothing but call the client's tools. So this shows that what was told arrives in a real client in a form that
can be obeyed, not what a model would make of it.
"""

import argparse
import json
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks import results
from evals.clients import trial
from evals.clients.agents import CLIENTS, Client
from evals.clients.dialects import Dialect, Said
from evals.clients.model import NO_TOOL, Model, Step, running
from hivemind.entrypoints.eval.memory import Nothing
from hivemind.entrypoints.eval.running import KNOWN_BY_COMMAND, SHOWN_ID, Run, run_all, totals
from hivemind.entrypoints.eval.scripted import Desk, Note, notes_in, work
from hivemind.entrypoints.eval.tasks import TASKS

MARK = "printf '\\n--%s--\\n'"
"""Stands around what a command says, because clients add words of their own; the command itself does not match it."""
COUNTED = (
    "tasks", "success", "reads", "searches", "memory_tokens", "stale_mistakes", "without_receipt", "deletions_broken",
    "harm", "seconds",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A run, and what only the model's side can tell of it."""

    run: Run
    briefed: bool
    """Notes stood in the first request, put there by the client."""
    recalls: int
    """Times its recall tool answered with notes."""


class Turn(Exception):
    """The policy waits for a call that the client has not made yet."""

    def __init__(self, step: Step) -> None:
        self.step = step


class Heard(Nothing):
    """What the client told its model before the first call, wherever it took that from."""

    def __init__(self, text: str) -> None:
        self._text = text

    def begin(self, prompt: str) -> str:
        """All of it, its own instructions too."""
        return self._text


@dataclass(slots=True, kw_only=True)
class Played(Desk):
    """A desk whose tools are a client's: calls are made by it, and what came back stands in its next request."""

    client: Client
    came: Sequence[str]
    """What came back from the calls so far."""
    alone: bool
    """There is no tool to recall with."""
    calls: int = 0
    recalls: int = 0

    def read(self, path: str) -> str:
        """A file."""
        self.reads.append(path)
        return self.shell(f"cat {path}")[1]

    def search(self, pattern: str) -> list[tuple[str, str]]:
        """Lines of the package that match: file and line."""
        self.searches.append(pattern)
        _, said = self.shell(f"grep -EH {shlex.quote(pattern)} shop/*.py")
        found = [(path, line) for path, _, line in (one.partition(":") for one in said.splitlines())]
        # Some clients put a grep of their own in the place of the system's, and theirs keeps no order.
        return sorted(found, key=lambda one: one[0])

    def history(self, word: str) -> str:
        """The newest commit whose message has a word, with what it changed."""
        self.searches.append(f"git log {word}")
        return self.shell(f"git --no-pager log -1 --patch --format='%h %s' --grep={word}")[1]

    def run(self, command: str) -> tuple[bool, str]:
        """Whether a command went well, and what it said."""
        return self.shell(re.sub(r"^python\b", "python3", command))

    def write(self, path: str, text: str) -> None:
        """Change a file."""
        self.written.append(text)
        self.shell(f"printf %s {shlex.quote(text)} > {path}")

    def recall(self, question: str) -> list[Note]:
        """What our server tells the client; nothing where it has none."""
        if self.alone:
            return []
        answer = self._called(Step(tool="recall", arguments={"query": question}))
        self.recalls += bool(SHOWN_ID.search(answer))
        return notes_in(answer)

    def shell(self, command: str) -> tuple[bool, str]:
        """Whether a command of the client's shell went well, and what it said."""
        number = self.calls
        said = self._called(self.client.shell(f"{{ {MARK} {number}\n{command}\n}} 2>&1; {MARK} $?"))
        found = re.search(rf"--{number}--\n(.*)\n--(\d+)--", said.replace("\r", ""), re.DOTALL)
        return (found[2] == "0", found[1]) if found else (False, said)

    def _called(self, step: Step) -> str:
        if self.calls == len(self.came):
            raise Turn(step)
        self.given.append(self.came[self.calls])
        self.calls += 1
        return self.given[-1]


@dataclass(slots=True, kw_only=True)
class Player(Model):
    """A model that does what the scripted agent would do at the client's desk."""

    client: Client
    prompt: str = ""
    heard: dict[int, list[str]] = field(default_factory=dict)
    """All texts of the first request after so many calls."""
    alone: bool = False
    desk: Played | None = None

    def expect(self, prompt: str) -> None:
        """A conversation about this comes next."""
        self.begin(())
        self.prompt, self.marker = prompt, json.dumps(prompt.partition("\n")[0], ensure_ascii=False)[1:-1]
        self.heard, self.alone, self.desk = {}, False, None

    def say(self, body: dict[str, Any], dialect: Dialect) -> Said:
        """The policy's next call; it goes on alone where there turns out to be no memory to ask."""
        said = Model.say(self, body, dialect)
        if said.text == NO_TOOL.format("recall"):
            self.alone = True
            said = Model.say(self, body, dialect)
        return said

    def step(self, taken: int, body: dict[str, Any]) -> Step | None:
        """The policy, played from the beginning up to the first call that has not been made yet."""
        self.heard.setdefault(taken, list(_texts({name: part for name, part in body.items() if name != "tools"})))
        came = ["\n".join(self._new(number)) for number in range(1, taken + 1)]
        heard = Heard("\n".join(self.heard[0]))
        self.desk = Played(root=Path(), memory=heard, client=self.client, came=came, alone=self.alone)
        try:
            self.desk.root = Path(self.desk.shell("pwd")[1].strip())
            work(self.desk, self.prompt)
        except Turn as turn:
            return turn.step
        except (IndexError, ValueError) as error:
            print(f"the policy is at a loss: {error!r}", file=sys.stderr)
        return None

    def seen(self, run: Run) -> Seen:
        """A run that is over, as it looked from here; the next one is about the same."""
        desk, first = self.desk, "\n".join(self.heard.get(0, ()))
        self.expect(self.prompt)
        if desk is None:
            return Seen(run=run, briefed=False, recalls=0)
        shown = {one for text in desk.given for one in SHOWN_ID.findall(text)}
        erased = TASKS[run.task].erased_value
        is_gone = run.deletion_honoured and not any(erased in text for text in desk.given)
        run = replace(
            run, reads=tuple(desk.reads), searches=tuple(desk.searches),
            receipts=shown <= set(run.told) if shown else None, deletion_honoured=is_gone if erased else None,
        )  # fmt: skip
        return Seen(run=run, briefed=bool(SHOWN_ID.search(first)) or "# Notes\n" in first, recalls=desk.recalls)

    def _new(self, number: int) -> list[str]:
        return [text for text in self.heard[number] if text not in self.heard[number - 1]]


def main() -> None:
    """Run the clients that were named, print what came of it, and keep it if asked."""
    connected = [name for name in CLIENTS if name in KNOWN_BY_COMMAND.values()]
    parser = argparse.ArgumentParser(prog="python -m evals.played")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(connected))
    parser.add_argument("--npm", type=Path, required=True, help="where npm installs, kept for the next time")
    parser.add_argument("--conditions", default="none,file,hivemind,superseded,contradictory,broken")
    parser.add_argument("--save", action="store_true", help="write evals/results/played.json")
    given = parser.parse_args()
    names, figures = given.names or connected, {}
    for name in names:
        trial.installed(given.npm, name, CLIENTS[name].package)
        figures[name] = summed(play(name, given.npm, list(TASKS), given.conditions.split(",")))
        for condition, sums in figures[name].items():
            print(f"{name:<12} {condition:<14} {json.dumps(sums)}", flush=True)
    if given.save:
        packages = ", ".join(CLIENTS[name].package for name in names)
        results.save(
            "played", data="five tasks in a repository built by the harness", figures=figures,
            configuration=f"{packages}; the scripted agent in the model's place",
        )  # fmt: skip


def play(name: str, npm: Path, tasks: Sequence[str], conditions: Sequence[str]) -> list[Seen]:
    """All tasks in all conditions, by one client with a home of its own."""
    client, seen = CLIENTS[name], list[Seen]()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as top, running(Player("", client=client)) as player:
        ground = trial.Ground(npm=npm, home=Path(top), project=Path(tempfile.gettempdir()).resolve(), memory=Path(top))
        client.setup(ground.home, ground.project, player.address)
        agent = shlex.join([*client.command("{prompt}", player.address), *client.trusting])
        with _environ(ground.environ(name) | client.environ(player.address)):
            for task in tasks:
                player.expect(TASKS[task].prompt)
                run_all([task], conditions, agent, lambda run: seen.append(player.seen(run)))
    return seen


def summed(seen: Sequence[Seen]) -> dict[str, dict[str, Any]]:
    """The sums for each condition, with those of the model's side."""
    return {
        condition: {name: sums[name] for name in COUNTED}
        | {
            "briefed": sum(one.briefed for one in seen if one.run.condition == condition),
            "recalls": sum(one.recalls for one in seen if one.run.condition == condition),
        }
        for condition, sums in totals([one.run for one in seen]).items()
    }


def _texts(held: Any) -> Iterator[str]:
    """All strings in a request."""
    if isinstance(held, str):
        yield held
    elif isinstance(held, dict | list):
        for part in held.values() if isinstance(held, dict) else held:
            yield from _texts(part)


@contextmanager
def _environ(wanted: dict[str, str]) -> Iterator[None]:
    """Nothing of ours leaks into what the harness starts."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(wanted)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


if __name__ == "__main__":
    main()
