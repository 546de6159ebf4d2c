"""Run the tasks of ``lab.evals.tasks`` with real clients, with the scripted agent in place of their model.

python -m lab.evals.played --npm DIR                        all clients that the tasks support, one by one
python -m lab.evals.played --npm DIR claude-code codex      some of them
python -m lab.evals.played --npm DIR --save                 and save the figures for the scorecard

A client from npm is run by its own command, as by ``lab.evals.tasks --agent``, with its own hooks, server, notes file,
permissions and shell. Only the model is replaced: a script decides by what reached the model in requests, and only
calls the client's tools. This shows that memories arrive in a real client in a usable form, not what a model does with
them.
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

from lab.benchmarks import results
from lab.evals.clients import trial
from lab.evals.clients.agents import CLIENTS, Client
from lab.evals.clients.dialects import Dialect, Reply
from lab.evals.clients.model import NO_TOOL, Model, Step, serve
from lab.evals.tasks.conditions import NoMemory
from lab.evals.tasks.harness import AGENTS_BY_PROGRAM, MEMORY_ID, Run, run_all, totals
from lab.evals.tasks.scripted_agent import AgentTools, Note, parse_notes, work
from lab.evals.tasks.task import TASKS

PRINT_MARK = "printf '\\n--%s--\\n'"
"""Printed around the output of a command, because clients add their own words; the command itself does not match."""
PAUSE = "sleep 0.3"
"""Qwen Code stops reading when a command ends, and loses the output of one that ends at once."""
TOTALS = (
    "tasks", "success", "reads", "searches", "memory_tokens", "stale_mistakes", "without_receipt", "deletions_broken",
    "harm", "seconds",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedRun:
    """A run, with what only the model's side knows about it."""

    run: Run
    has_brief: bool
    """Whether the client put notes into the first request."""
    recalls: int
    """How often its recall tool returned notes."""


class CallNeeded(Exception):
    """The script needs the result of a call that the client has not made yet."""

    def __init__(self, step: Step) -> None:
        self.step = step


class ClientContext(NoMemory):
    """Everything the client sent to its model before the first call."""

    def __init__(self, text: str) -> None:
        self._text = text

    def begin(self, prompt: str) -> str:
        """Return all of it, including the client's own instructions."""
        return self._text


@dataclass(slots=True, kw_only=True)
class ClientTools(AgentTools):
    """Tools of a client: the client makes the calls, and their output is in its next request."""

    client: Client
    call_results: Sequence[str]
    """What the calls so far returned."""
    has_no_recall: bool
    """Whether the client has no tool to recall with."""
    calls: int = 0
    recalls: int = 0

    def read(self, path: str) -> str:
        """Read a file."""
        self.reads.append(path)
        return self.shell(f"cat {path}")[1]

    def search(self, pattern: str) -> list[tuple[str, str]]:
        """Return the lines of the package that match, with their files."""
        self.searches.append(pattern)
        _, output = self.shell(f"grep -EH {shlex.quote(pattern)} shop/*.py")
        matches = [(path, text) for path, _, text in (line.partition(":") for line in output.splitlines())]
        # Some clients replace the system's grep with their own, which does not sort files.
        return sorted(matches, key=lambda match: match[0])

    def history(self, word: str) -> str:
        """Return the newest commit whose message contains a word, with its changes."""
        self.searches.append(f"git log {word}")
        return self.shell(f"git --no-pager log -1 --patch --format='%h %s' --grep={word}")[1]

    def run(self, command: str) -> tuple[bool, str]:
        """Return whether a command succeeded, and its output."""
        return self.shell(re.sub(r"^python\b", "python3", command))

    def write(self, path: str, text: str) -> None:
        """Write a file."""
        self.outputs.append(text)
        self.shell(f"printf %s {shlex.quote(text)} > {path}")

    def recall(self, question: str) -> list[Note]:
        """Recall through the client's connection to our server; empty where it has none."""
        if self.has_no_recall:
            return []
        answer = self._call(Step(tool="recall", arguments={"query": question}))
        self.recalls += bool(MEMORY_ID.search(answer))
        return parse_notes(answer)

    def shell(self, command: str) -> tuple[bool, str]:
        """Run a command in the client's shell; return whether it succeeded, and its output."""
        number = self.calls
        line = f"{{ {PRINT_MARK} {number}\n{command}\n}} 2>&1; {PRINT_MARK} $?; {PAUSE}"
        output = self._call(self.client.shell(line))
        match = re.search(rf"--{number}--\n(.*)\n--(\d+)--", output.replace("\r", ""), re.DOTALL)
        return (match[2] == "0", match[1]) if match else (False, output)

    def _call(self, step: Step) -> str:
        if self.calls == len(self.call_results):
            raise CallNeeded(step)
        self.inputs.append(self.call_results[self.calls])
        self.calls += 1
        return self.inputs[-1]


@dataclass(slots=True, kw_only=True)
class Player(Model):
    """A model that makes the calls the scripted agent would make with the client's tools."""

    client: Client
    prompt: str = ""
    texts_by_call: dict[int, list[str]] = field(default_factory=dict)
    """All texts of the first request after each number of calls."""
    has_no_recall: bool = False
    tools: ClientTools | None = None

    def expect(self, prompt: str) -> None:
        """Prepare for a conversation about this prompt."""
        self.begin(())
        self.prompt, self.marker = prompt, json.dumps(prompt.partition("\n")[0], ensure_ascii=False)[1:-1]
        self.texts_by_call, self.has_no_recall, self.tools = {}, False, None

    def say(self, body: dict[str, Any], dialect: Dialect) -> Reply:
        """Return the script's next call; it continues without memory where the client has no recall tool."""
        reply = Model.say(self, body, dialect)
        if reply.text == NO_TOOL.format("recall"):
            self.has_no_recall = True
            reply = Model.say(self, body, dialect)
        return reply

    def step(self, call_count: int, body: dict[str, Any]) -> Step | None:
        """Replay the script from the beginning up to the first call that has not been made yet."""
        self.texts_by_call.setdefault(
            call_count, list(_list_texts({name: part for name, part in body.items() if name != "tools"}))
        )
        call_results = ["\n".join(self._new(number)) for number in range(1, call_count + 1)]
        context = ClientContext("\n".join(self.texts_by_call[0]))
        self.tools = ClientTools(
            root=Path(), memory=context, client=self.client, call_results=call_results, has_no_recall=self.has_no_recall
        )
        try:
            self.tools.root = Path(self.tools.shell("pwd")[1].strip())
            work(self.tools, self.prompt)
        except CallNeeded as turn:
            return turn.step
        except (IndexError, ValueError) as error:
            print(f"the script failed: {error!r}", file=sys.stderr)
        return None

    def describe(self, run: Run) -> PlayedRun:
        """Describe a finished run from the model's side, and prepare for the next one with the same prompt."""
        tools, first = self.tools, "\n".join(self.texts_by_call.get(0, ()))
        self.expect(self.prompt)
        if tools is None:
            return PlayedRun(run=run, has_brief=False, recalls=0)
        memory_ids = {memory_id for text in tools.inputs for memory_id in MEMORY_ID.findall(text)}
        erased_value = TASKS[run.task].erased_value
        is_gone = run.deletion_honoured and not any(erased_value in text for text in tools.inputs)
        run = replace(
            run, reads=tuple(tools.reads), searches=tuple(tools.searches),
            receipts=memory_ids <= set(run.told) if memory_ids else None,
            deletion_honoured=is_gone if erased_value else None,
        )  # fmt: skip
        return PlayedRun(
            run=run, has_brief=bool(MEMORY_ID.search(first)) or "# Notes\n" in first, recalls=tools.recalls
        )

    def _new(self, number: int) -> list[str]:
        return [text for text in self.texts_by_call[number] if text not in self.texts_by_call[number - 1]]


def main() -> None:
    """Run the clients named on the command line, print the results, and save them if asked."""
    clients = [name for name in CLIENTS if name in AGENTS_BY_PROGRAM.values()]
    parser = argparse.ArgumentParser(prog="python -m lab.evals.played")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(clients))
    parser.add_argument("--npm", type=Path, required=True, help="folder for npm packages, reused by later runs")
    parser.add_argument(
        "--conditions",
        default="none,file,hivemind,superseded,contradictory,broken",
        help="conditions, separated by commas",
    )
    parser.add_argument("--save", action="store_true", help="write lab/evals/results/played-NAME.json for each client")
    options = parser.parse_args()
    for name in options.names or clients:
        trial.install_package(options.npm, name, CLIENTS[name].package)
        figures = summarise(play(name, options.npm, list(TASKS), options.conditions.split(",")))
        for condition, sums in figures.items():
            print(f"{name:<12} {condition:<14} {json.dumps(sums)}", flush=True)
        if options.save:
            # One file per client, so that a client can be run again without the others.
            results.save(
                f"played-{name}", data="five tasks in a repository built by the harness", figures=figures,
                configuration=f"{CLIENTS[name].package}; the scripted agent in the model's place",
                made_by=f"python -m lab.evals.played --npm DIR {name} --save",
            )  # fmt: skip


def play(name: str, npm: Path, tasks: Sequence[str], conditions: Sequence[str]) -> list[PlayedRun]:
    """Run tasks in conditions with one client in its own home."""
    client, runs = CLIENTS[name], list[PlayedRun]()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as top, serve(Player("", client=client)) as player:
        sandbox = trial.Sandbox(
            npm=npm, home=Path(top), project=Path(tempfile.gettempdir()).resolve(), memory=Path(top)
        )
        client.setup(sandbox.home, sandbox.project, player.address)
        agent = shlex.join([*client.command("{prompt}", player.address), *client.trust_options])
        with _environ(sandbox.environ(name) | client.environ(player.address)):
            for task in tasks:
                player.expect(TASKS[task].prompt)
                run_all([task], conditions, agent, lambda run: runs.append(player.describe(run)))
    return runs


def summarise(runs: Sequence[PlayedRun]) -> dict[str, dict[str, Any]]:
    """Return the totals of each condition, with those of the model's side."""
    return {
        condition: {name: sums[name] for name in TOTALS}
        | {
            "briefed": sum(run.has_brief for run in runs if run.run.condition == condition),
            "recalls": sum(run.recalls for run in runs if run.run.condition == condition),
        }
        for condition, sums in totals([run.run for run in runs]).items()
    }


def _list_texts(value: Any) -> Iterator[str]:
    """Yield all strings in a request."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _list_texts(part)


@contextmanager
def _environ(environ: dict[str, str]) -> Iterator[None]:
    """Replace the whole environment, so that nothing leaks into what the harness starts."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(environ)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


if __name__ == "__main__":
    main()
