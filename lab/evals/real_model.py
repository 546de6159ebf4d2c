"""Run tasks of ``lab.evals.gain`` through OpenCode with a real model, with one fact in memory and with none.

python -m lab.evals.real_model --npm DIR --endpoint http://localhost:8080/v1 --model NAME [billing.amount …]

OpenCode is connected by ``hivemind install`` and used as a person uses it. A relay between the client and the endpoint
keeps the requests, so that it is seen whether the fact reached the model, apart from whether the model used it. Without
names, the first tasks of the tuning repositories are run. With ``--small``, the client gets a short system prompt and
three tools, because a small model on a CPU reads ten thousand tokens of instructions slowly; and where the model writes
its call as text, as small ones do, the relay makes a call of it.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from lab.benchmarks import results
from lab.evals.clients import trial
from lab.evals.clients.agents import CLIENTS
from lab.evals.clients.dialects import Call, Chat, Reply, Tool
from lab.evals.gain.agent import check_result
from lab.evals.gain.tasks import Task, load_tasks
from lab.evals.local_server import serve_locally
from lab.evals.tasks.shop import git

NAME = "opencode"
TASKS = 3
TIMEOUT_SECONDS = 900
SMALL_PROMPT = (
    "You are a coding agent in a small Python repository. Read the file that the task names with the tool `read`, then"
    " change it with the tool `edit` or `write`. Functions stand at the top level of the file. Stop when it is changed."
)
SMALL_TOOLS = ("read", "edit", "write")
MOST_STEPS, MOST_TOKENS = 6, 400
"""A small model repeats itself for ever otherwise."""
OBJECT = re.compile(r"\{.*\}", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What happened in one session."""

    task: str
    has_fact: bool
    """Whether the fact was in memory."""
    requests: int
    arrived: int
    """How many requests had the fact in them."""
    calls: tuple[str, ...]
    """The tools that the model called."""
    is_changed: bool
    """Whether the file is another one than before."""
    is_solved: bool


@dataclass(slots=True)
class Relay:
    """Passes requests on to an endpoint and keeps them."""

    endpoint: str
    reads_calls: bool = False
    """Whether a call that the model wrote as text counts as a call."""
    address: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    replies: list[str] = field(default_factory=list)

    def forward(self, raw: bytes) -> tuple[int, str, bytes]:
        """Return status, content type and body of the endpoint's reply."""
        body = json.loads(raw)
        self.requests.append(body)
        request = urllib.request.Request(f"{self.endpoint}/chat/completions", raw, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as reply:
                status, kind, answer = reply.status, reply.headers["Content-Type"], reply.read()
        except urllib.error.HTTPError as error:
            # The client must see why the endpoint refused, for example because the request is too long for it.
            status, kind, answer = error.code, error.headers["Content-Type"], error.read()
        except urllib.error.URLError as error:
            status, kind, answer = 502, "text/plain", f"{self.endpoint} cannot be reached: {error.reason}".encode()
        self.replies.append(answer.decode(errors="replace"))
        if self.reads_calls and (call := find_call(self.replies[-1], Chat().tools(body))):
            kind, answer = "text/event-stream", "".join(Chat().stream(body, Reply(call=call))).encode()
        return status, kind, answer


def find_call(stream: str, tools: Sequence[Tool]) -> Call | None:
    """Return the call of a tool that a streamed reply contains as text, if it does."""
    events = [json.loads(line.removeprefix("data: ")) for line in stream.splitlines() if line.startswith("data: {")]
    deltas = [choice["delta"] for event in events for choice in event.get("choices", ())]
    text = "".join(delta.get("content") or "" for delta in deltas)
    if any(delta.get("tool_calls") for delta in deltas) or not (match := OBJECT.search(text)):
        return None
    try:
        # Small models leave line ends in strings as they are.
        value = json.loads(match[0], strict=False)
    except ValueError:
        return None
    tool = next((tool for tool in tools if tool.name == value.get("name")), None)
    return Call(tool=tool, arguments=value["arguments"]) if tool and isinstance(value.get("arguments"), dict) else None


@contextmanager
def serve(relay: Relay) -> Iterator[Relay]:
    """Serve a relay on a local address."""

    class Requests(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *words: Any) -> None:
            """Log nothing."""

        def do_POST(self) -> None:
            """Pass one request on."""
            status, kind, body = relay.forward(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with serve_locally(Requests) as relay.address:
        yield relay


def main() -> None:
    """Run the tasks with and without the fact, and print a line for each session."""
    parser = argparse.ArgumentParser(prog="python -m lab.evals.real_model", description=__doc__)
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"default: the first {TASKS} tuning tasks")
    parser.add_argument("--npm", type=Path, required=True, help="folder for npm packages, reused by later runs")
    parser.add_argument("--endpoint", required=True, help="an OpenAI-compatible server")
    parser.add_argument("--model", default="model", help="the model's name there")
    parser.add_argument("--small", action="store_true", help="a short system prompt and three tools")
    parser.add_argument("--transcripts", type=Path, help="folder for the requests and replies of each session")
    parser.add_argument("--save", action="store_true", help="write lab/evals/results/real-model.json")
    options = parser.parse_args()
    tasks = {task.id: task for task in load_tasks() if task.split == "tuning"}
    names = options.tasks or list(tasks)[:TASKS]
    if unknown := [name for name in names if name not in tasks]:
        parser.error(f"there is no tuning task {unknown[0]}; choose from {', '.join(tasks)}")
    trial.install_package(options.npm, NAME, CLIENTS[NAME].package)
    outcomes = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        for name in names:
            for has_fact in (False, True):
                outcomes.append(run_session(tasks[name], Path(directory).resolve() / "top", options, has_fact=has_fact))
                print(outcomes[-1], flush=True)
    if options.save:
        results.save(
            "real-model", data=f"tuning tasks of lab.evals.gain: {', '.join(names)}", figures=summarise(outcomes),
            configuration=f"{CLIENTS[NAME].package}, {options.model}{', a short prompt, three tools' * options.small}",
            made_by="python -m lab.evals.real_model --npm DIR --endpoint URL --model NAME --save",
        )  # fmt: skip


def run_session(task: Task, top: Path, options: argparse.Namespace, *, has_fact: bool) -> Outcome:
    """Let the client work on one task in a new home, and grade what it left."""
    client = CLIENTS[NAME]
    # The same path for all sessions: endpoints keep the beginning of a prompt, in which the client names its folder.
    shutil.rmtree(top, ignore_errors=True)
    with serve(Relay(options.endpoint, reads_calls=options.small)) as relay:
        sandbox = trial.Sandbox(npm=options.npm, home=top / "user", project=top / "work", memory=top / "memory")
        _build(task, sandbox.project)
        client.setup(sandbox.home, sandbox.project, relay.address)
        if options.small:
            _shorten(sandbox.home)
        if has_fact:
            sandbox.hivemind("remember", task.fact)
        sandbox.hivemind("install", NAME, "--yes")
        command = client.command(f"{task.prompt} The file is {sandbox.project / task.file}", relay.address)
        process = subprocess.run(
            command, cwd=sandbox.project, env=sandbox.environ(NAME) | client.environ(relay.address),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False,
        )  # fmt: skip
        if process.returncode:
            print(f"the client failed: {process.stderr[-500:]}", file=sys.stderr)
        if options.transcripts:
            options.transcripts.mkdir(parents=True, exist_ok=True)
            record = {"requests": relay.requests, "replies": relay.replies, "output": process.stdout + process.stderr}
            file = options.transcripts / f"{task.id}-{'fact' if has_fact else 'nothing'}.json"
            file.write_text(json.dumps(record, indent=1, ensure_ascii=False))
        return _grade(task, relay, sandbox.project, has_fact=has_fact)


def summarise(outcomes: list[Outcome]) -> dict[str, dict[str, int]]:
    """Return the totals with and without the fact."""
    groups = {
        "fact": [outcome for outcome in outcomes if outcome.has_fact],
        "nothing": [outcome for outcome in outcomes if not outcome.has_fact],
    }
    return {
        name: {
            "sessions": len(group),
            "with the fact in a request": sum(outcome.arrived > 0 for outcome in group),
            "file changed": sum(outcome.is_changed for outcome in group),
            "solved": sum(outcome.is_solved for outcome in group),
        }
        for name, group in groups.items()
    }


def _build(task: Task, project: Path) -> None:
    for path, text in task.list_files(with_truth=False).items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(text)
    git(project, "init", "--quiet")
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message", "Work")


def _shorten(home: Path) -> None:
    """Replace the client's instructions and most of its tools; its hooks and requests stay as they are."""
    file = home / ".config" / "opencode" / "opencode.json"
    settings = json.loads(file.read_text())
    tools = {"*": False} | dict.fromkeys(SMALL_TOOLS, True)
    for provider in settings["provider"].values():
        for model in provider["models"].values():
            model["limit"]["output"] = MOST_TOKENS
    build = {"prompt": SMALL_PROMPT, "tools": tools, "temperature": 0.3, "steps": MOST_STEPS}
    settings["agent"] = {"build": build, "title": {"disable": True}}
    file.write_text(json.dumps(settings))


def _grade(task: Task, relay: Relay, project: Path, *, has_fact: bool) -> Outcome:
    fact = json.dumps(task.fact, ensure_ascii=False)[1:-1]
    # Requests without tools are for titles and the like.
    requests = [request for request in relay.requests if request.get("tools")]
    file = project / task.file
    return Outcome(
        task=task.id,
        has_fact=has_fact,
        requests=len(requests),
        arrived=sum(fact in json.dumps(request, ensure_ascii=False) for request in requests),
        calls=tuple(Chat().calls(requests[-1])) if requests else (),
        is_changed=file.exists() and file.read_text() != task.list_files(with_truth=False).get(task.file),
        is_solved=check_result(task.check, project),
    )


if __name__ == "__main__":
    main()
