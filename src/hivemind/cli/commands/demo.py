"""``hivemind demo``: a made-up project with three weeks of memories and sessions, in a store of its own."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import click

from hivemind.agents.agent import get_agent
from hivemind.cli.output import emit, progress
from hivemind.errors import InvalidInput, Unavailable
from hivemind.hivemind import Hivemind
from hivemind.model.dataclass import dataclass
from hivemind.model.memory import Channel, Kind, Memory, Writer
from hivemind.model.review import Selection
from hivemind.model.scope import Scope
from hivemind.sessions import spool
from hivemind.settings import Settings

commands = click.Group()
EXAMPLES = (
    ('hivemind recall "does verify check token expiry?"', "its code has changed"),
    ("hivemind brief", "what an agent starts with"),
    ("hivemind review", "approve or reject"),
    ('hivemind session search "connection"', "search past sessions"),
    ("hivemind session replay 5f1c9a52", "a session, step by step"),
    ("hivemind session resume 5f1c9a52", "hand it to another agent"),
    ("hivemind log --receipts", "what was told, and why"),
    ("hivemind ui", "all of it in a browser"),
)
REMOTE = "git@github.com:acme/harbour.git"
FIRST_DAY = 30
"""Days ago."""
DAYS_WITH_A_SESSION = range(20, 0, -1)
GIT_IDENTITY = {
    **{f"GIT_{role}_NAME": "Ada" for role in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{role}_EMAIL": "ada@example.org" for role in ("AUTHOR", "COMMITTER")},
    # The user's own configuration could sign commits or run git hooks.
    **dict.fromkeys(("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"), os.devnull),
}


@commands.command("demo")
@click.argument("folder", required=False, type=click.Path(file_okay=False, path_type=Path))
def demo(folder: Path | None) -> None:
    """Make a project with memories and sessions to try things on.

    It is a git repository and a store in a new folder, or a temporary one. Delete the folder when you are done.

    \b
    hivemind demo
    hivemind demo ~/hivemind-demo
    """
    folder = (folder or Path(tempfile.mkdtemp(prefix="hivemind-demo-"))).absolute()
    with progress("Playing three weeks of sessions"):
        new_demo = build_demo(folder, Settings.load().person)
    width = max(len(command) for command, _ in EXAMPLES)
    lines = [
        f"A made-up project with three weeks of memories and sessions:\n{folder}",
        "",
        "Your own memories are not touched. Go there:",
        "",
        *(f"  {line}" for line in _describe_entry(new_demo.repository, new_demo.home)),
        "",
        "Then try:",
        "",
        *(f"  {command:<{width}}  # {meaning}" for command, meaning in EXAMPLES),
        "",
        "When you are done, close the shell and delete the folder; it holds everything.",
    ]
    emit({"folder": str(folder), "repository": str(new_demo.repository), "home": str(new_demo.home)}, "\n".join(lines))


def _describe_entry(repository: Path, home: Path) -> Iterator[str]:
    """Yield the commands that make the current shell use the demo, for PowerShell on Windows."""
    # Started as a module, the first argument is no program; the interpreter finds the one beside it.
    started = Path(sys.argv[0]).absolute()
    program = started if started.stem != "__main__" else Path(sys.executable).with_name("hivemind")
    if os.name == "nt":
        yield f'cd "{repository}"'
        yield f'$env:HIVEMIND_HOME = "{home}"'
        alias = f'Set-Alias hivemind "{program}"'
    else:
        yield f"cd {shlex.quote(str(repository))}"
        yield f"export HIVEMIND_HOME={shlex.quote(str(home))}"
        alias = f"alias hivemind={shlex.quote(str(program))}"
    # As after 'dev/try', where the program is in the virtual environment of the checkout.
    if not shutil.which("hivemind"):
        yield alias


class SteppingClock:
    """A clock that can be set; each reading is a second later, so that no two events have the same time."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """Return the time."""
        self.now += timedelta(seconds=1)
        return self.now


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """Where the made-up project is."""

    repository: Path
    home: Path


def build_demo(folder: Path, person: str) -> Demo:
    """Make the project and its store in a new folder; memories belong to this person."""
    if folder.exists() and any(folder.iterdir()):
        raise InvalidInput(f"{folder} is not empty; name a new folder")
    data = tomllib.loads(resources.files("hivemind.cli.commands").joinpath("harbour.toml").read_text("utf-8"))
    demo = Demo(repository=folder / "harbour", home=folder / "home")
    _DemoBuilder(demo, data, person, datetime.now(UTC)).build()
    return demo


class _DemoBuilder:
    """Plays the events of the data in their order."""

    def __init__(self, demo: Demo, data: Mapping[str, Any], person: str, now: datetime) -> None:
        self._demo, self._data, self._person, self._now = demo, data, person, now
        self._clock = SteppingClock(now)
        self._memories: list[Memory] = []

    def build(self) -> None:
        self._demo.repository.mkdir(parents=True)
        self._run_git("init", "--quiet", "--initial-branch=main")
        self._run_git("remote", "add", "origin", REMOTE)
        for commit in self._data["commits"]:
            self._commit(commit)
        self._write_memories()
        sessions = sorted([*self._data["sessions"], *self._make_daily_sessions()], key=lambda item: -item["days_ago"])
        change_day = self._data["change"]["days_ago"]
        for session in (session for session in sessions if session["days_ago"] > change_day):
            self._play_session(session)
        self._commit(self._data["change"])
        # From here on recall finds memories whose code has changed.
        for session in (session for session in sessions if session["days_ago"] <= change_day):
            self._play_session(session)
        with self._open(days_ago=0.1) as mind:
            mind.learning.learn()
            mind.maintenance.catch_up(include_sessions=True)

    def _open(self, *, days_ago: float, agent: str = "", session: str = "", directory: Path | None = None) -> Hivemind:
        self._clock.now = self._now - timedelta(days=days_ago)
        channel = Channel.AGENT if agent else Channel.PERSON
        writer = Writer(actor=agent or self._person, channel=channel, session_id=session)
        settings = Settings(home=self._demo.home, person=self._person)
        directory = directory or self._demo.repository
        return Hivemind.open(directory=directory, settings=settings, writer=writer, clock=self._clock)

    def _commit(self, commit: Mapping[str, Any]) -> None:
        for path, text in commit["files"].items():
            file = self._demo.repository / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
        self._run_git("add", "--all")
        date = (self._now - timedelta(days=commit["days_ago"])).isoformat()
        dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        self._run_git("commit", "--quiet", "--message", commit["message"], **dates)

    def _run_git(self, *arguments: str, **environ: str) -> None:
        try:
            subprocess.run(
                ["git", *arguments], cwd=self._demo.repository, env=os.environ | GIT_IDENTITY | environ,
                check=True, capture_output=True,
            )  # fmt: skip
        except FileNotFoundError:
            raise Unavailable("the demo needs git, which was not found; install it and try again") from None

    def _write_memories(self) -> None:
        elsewhere = self._demo.repository.parent / "tariffs"
        elsewhere.mkdir()
        with self._open(days_ago=FIRST_DAY) as mind:
            mind.files.sync_instructions()
            for fields in self._data["memories"]:
                self._clock.now += timedelta(hours=13)
                self._remember(mind, fields)
            for fields in self._data["corrections"]:
                self._clock.now += timedelta(hours=2)
                self._correct(mind, fields)
            with mind.review.batch("import") as batch:
                for fields in self._data["imports"]:
                    self._remember(mind, fields, propose=True)
            rollback, _ = mind.review.rollback(Selection(batch=batch), reason="imported from the wrong wiki")
            mind.review.undo_rollback(rollback)
        with self._open(days_ago=FIRST_DAY, directory=elsewhere) as mind:
            for fields in self._data["elsewhere"]:
                self._remember(mind, fields)

    def _remember(self, mind: Hivemind, fields: Mapping[str, Any], **more: Any) -> None:
        kind, scope = Kind(fields.get("kind", "fact")), Scope(fields.get("scope", "project"))
        self._memories.append(mind.remember(**{**fields, "kind": kind, "scope": scope, **more}))

    def _correct(self, mind: Hivemind, correction: Mapping[str, Any]) -> None:
        fields = {name: value for name, value in correction.items() if name not in ("verb", "of")}
        of = correction.get("of", "")
        memory = next(memory for memory in self._memories if memory.text.startswith(of))
        match correction["verb"]:
            case "remember" | "propose" as verb:
                self._remember(mind, fields, propose=verb == "propose")
            case "edit":
                mind.edit(memory.id, fields["text"], reason=fields["reason"])
            case "forget":
                mind.forget(memory.id, reason=fields["reason"])
            case "reject":
                mind.reject(memory.id, reason=fields["reason"])

    def _make_daily_sessions(self) -> Iterator[dict[str, Any]]:
        daily = self._data["daily"]
        for day in DAYS_WITH_A_SESSION:
            agent = daily["agents"][day % len(daily["agents"])]
            session = str(uuid5(NAMESPACE_URL, f"{REMOTE} {day}"))
            steps = [
                {"event": "SessionStart", "after": 0, "source": "startup"},
                {"event": "UserPromptSubmit", "after": 5, "prompt": daily["tasks"][day % len(daily["tasks"])]},
                {"event": "SessionEnd", "after": 1800},
            ]
            questions = [daily["questions"][(day + turn) % len(daily["questions"])] for turn in range(day * 7 % 5 + 1)]
            yield {"agent": agent, "id": session, "days_ago": day + 0.1, "steps": steps, "questions": questions}

    def _play_session(self, session: Mapping[str, Any]) -> None:
        """Spool each step as a hook does, and answer it as memory would have answered the agent."""
        agent = session["agent"]
        with self._open(days_ago=session["days_ago"], agent=agent, session=session["id"]) as mind:
            for number, step in enumerate(session["steps"]):
                self._clock.now += timedelta(seconds=step["after"])
                payload = self._make_payload(session, number, step)
                at = self._clock().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
                spool.append(str(self._demo.home), agent, step["event"], at, json.dumps(payload))
                self._answer(mind, agent, step["event"], payload)
            for question in session.get("questions", ()):
                mind.recall(question)
            for fields in session.get("memories", ()):
                self._remember(mind, fields)

    def _make_payload(self, session: Mapping[str, Any], number: int, step: Mapping[str, Any]) -> dict[str, Any]:
        payload = {name: value for name, value in step.items() if name not in ("event", "after")}
        if path := payload.get("tool_input", {}).get("file_path"):
            payload["tool_input"] = payload["tool_input"] | {"file_path": str(self._demo.repository / path)}
        return payload | {
            "hook_event_name": step["event"],
            "session_id": session["id"],
            "cwd": str(self._demo.repository),
            "model": session.get("model", ""),
            "prompt_id": f"{session['id']}-{number}",
            "tool_use_id": f"{session['id']}-{number}",
        }

    def _answer(self, mind: Hivemind, agent: str, event: str, payload: Mapping[str, Any]) -> None:
        steps = get_agent(agent).parse_request(event, payload).steps
        match event:
            case "SessionStart":
                mind.brief()
            case "UserPromptSubmit":
                mind.on_prompt(payload["prompt"])
            case "PostToolUse" | "PostToolUseFailure":
                mind.actions.before_call(steps)
                mind.actions.after_call(steps, hears_before=True)
