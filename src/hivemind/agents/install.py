"""Connect agents, disconnect them, and check that they are connected.

Planning changes nothing: a plan holds the text of each file before and after, and ``Agents.apply`` writes it.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hivemind.agents import claude_code, codex, file_changes, gemini, opencode
from hivemind.agents.agent import get_agent
from hivemind.agents.callers import NAMES
from hivemind.agents.config_entries import (
    SERVER,
    FileReader,
    Hooks,
    InstallPlan,
    InstallTarget,
    Launch,
    build_claude_hooks,
    plan_changes,
)
from hivemind.agents.file_changes import Purpose, read_file
from hivemind.agents.headless import HEADLESS_AGENTS
from hivemind.agents.slash_commands import SKILL, SKILL_FIELDS, TOML, TOML_FIELDS, build_command_files
from hivemind.context import Context
from hivemind.errors import HivemindError, InvalidInput
from hivemind.model import timestamps
from hivemind.model.dataclass import dataclass
from hivemind.paths import data_directory
from hivemind.store.integrity import Finding
from hivemind.store.projections import sessions
from hivemind.system import stretch

SERVER_SECONDS = 10
HOOK_EVENT = "SessionStart"
"""Any event does: with ``HIVEMIND_HOOKS=check`` the hook stores none."""
NOTES = "agent-directories.json"
"""Lists the directories that installing made, and files that had no text before: what uninstalling needs."""
PACKAGE = "hivemind-memory"
"""As it is named on PyPI."""
HERE_ONLY = "these files name this machine's Python: keep them out of version control"
UNTRUSTED_NOTE = "Codex runs none of these hooks until you trust them: open Codex, type /hooks, and review them"
DESCRIPTION = "Persistent memory for coding agents: conventions, decisions, fixes and past sessions."

PLUGIN_README = f"""\
# Hivemind

{DESCRIPTION}

At the start of a session the agent is told what was learned in this repository, at a prompt, an edit or an error what
concerns it, and it can search and store by itself. Nothing leaves your machine unless you share it.

Needed first: `pipx install {PACKAGE}`, so that `hivemind` and `hivemind-hook` are on the PATH. Commands: `remember`,
`recall`, `review-memories`, `forget`. To see everything: `hivemind ui`.
"""
"""Claude Code's directory of plugins refuses one without it."""

HELLO = (
    {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "clientInfo": {"name": "doctor"}}},
    {"id": 2, "method": "tools/list"},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """The file changes that connect or disconnect one agent."""

    agent: str
    title: str
    plan: InstallPlan

    @property
    def diffs(self) -> tuple[str, ...]:
        """Each file's change as a unified diff."""
        return tuple(file_changes.render_diff(change) for change in self.plan.changes)

    def with_problems(self, *problems: str) -> "Connection":
        """Return it with more problems."""
        return replace(self, plan=replace(self.plan, problems=(*self.plan.problems, *problems)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionHealth:
    """Whether an agent is installed and how it is connected."""

    agent: str
    present: bool
    server: bool
    hooks: bool
    missing: tuple[str, ...] = ()
    """Events that should run our hook and do not."""
    trusted: bool | None = None
    """Whether the user trusts the hooks; None for agents that do not ask for trust."""
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    """Files that cannot be read, and why."""


class Agents:
    """Connects the agents on this machine, disconnects them and checks the connections."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def write_plugin(self, directory: Path) -> tuple[Path, ...]:
        """Write a plugin that connects agents into a new directory; return its files."""
        # Never written over: the directory may be a plugin that a person has changed.
        if directory.exists() and any(directory.iterdir()):
            raise InvalidInput(f"{directory} holds something already; name a new directory")
        # Takes 10 ms to import, and the other commands of this module do not need it.
        from importlib.metadata import version

        files = {directory / path: text for path, text in render_plugin_files(version(PACKAGE)).items()}
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        return tuple(files)

    def plan_install(
        self, names: Sequence[str] = (), *, project: Path | None = None, trust_codex_hooks: bool = False
    ) -> tuple[Connection, ...]:
        """Plan the changes that connect these agents, or all on this machine; ``apply`` makes them."""
        agent_names = names or detect_agents(Path.home())
        if not agent_names:
            raise InvalidInput(f"no agent was found on this machine; name one: {', '.join(NAMES)}")
        # One view for all plans, because agents share files: two of them may edit one settings file.
        place, view, launch = _make_target(project), PlannedFiles(), _build_launch(self._context.settings.home)
        connections = []
        for name in agent_names:
            plan = view.assume_applied(
                plan_connection(name, place, launch, trust=trust_codex_hooks, read=view.__getitem__)
            )
            # A project's files are usually committed, and would then name a Python that others do not have.
            notes = (*plan.notes, HERE_ONLY) if project and plan.changes else plan.notes
            connections.append(_make_connection(name, replace(plan, notes=notes)))
        return tuple(connections)

    def plan_uninstall(self, names: Sequence[str] = (), *, project: Path | None = None) -> tuple[Connection, ...]:
        """Plan the changes that disconnect these agents, or all; ``apply`` makes them."""
        place, view = _make_target(project), PlannedFiles()
        plans = {
            name: view.assume_applied(plan_disconnection(name, place, view.__getitem__)) for name in names or NAMES
        }
        return tuple(
            _make_connection(name, plan) for name, plan in plans.items() if names or plan.changes or plan.problems
        )

    def apply(self, connections: Iterable[Connection]) -> tuple[Connection, ...]:
        """Make planned changes; a connection comes back with the problem if its changes could not be made."""
        record = self._context.settings.home / NOTES
        return tuple(_apply(new_connection, record) for new_connection in connections)

    def check(self, connections: Iterable[Connection], *, project: Path | None = None) -> tuple[Connection, ...]:
        """Check agents that were connected: read their files again, and start hook and server as the agent does."""
        place, launch = _make_target(project), _build_launch(self._context.settings.home)
        server_problems = _list_problems(_try_server(launch))
        return tuple(_check(entry, place, launch, server_problems) for entry in connections)

    def describe_learning(self, connections: Iterable[Connection]) -> str:
        """Return one sentence that offers to learn with an agent, and its cost; empty if none of them can be asked."""
        # Their commands have the name of the agent, or its beginning: `claude`.
        names = (name for connection in connections for name in HEADLESS_AGENTS if connection.agent.startswith(name))
        name = next(names, "")
        daily = self._context.settings.learn_with_daily
        return (
            f"Off unless you ask: 'hivemind learn --with {name}' lets {HEADLESS_AGENTS[name].title} read a finished"
            f" session for lessons, at most 15,000 tokens each and {daily} sessions a day."
            if name
            else ""
        )

    def list_connected(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """List the agents on this machine: those that are connected, and those that are not."""
        every = [check_health(name, _make_target(None)) for name in NAMES]
        connected_names = tuple(health.agent for health in every if health.server or health.hooks)
        return connected_names, tuple(
            health.agent for health in every if health.present and health.agent not in connected_names
        )

    def examine(self) -> tuple[Finding, ...]:
        """Check each agent's registration, hooks and last activity, and the server and the hook themselves."""
        place, launch = _make_target(None), _build_launch(self._context.settings.home)
        every = [check_health(name, place) for name in NAMES]
        last_seen = sessions.find_last_activity(self._context.store.db)
        findings = [
            _describe_health(health, launch, last_seen.get(health.agent, ""))
            for health in every
            if health.present or health.server or health.hooks
        ]
        # Where no agent uses the server, there is no need to start it.
        if any(health.server for health in every):
            findings.append(_try_server(launch))
        if agents_with_hooks := [health.agent for health in every if health.hooks]:
            findings.append(_try_hook(launch, agents_with_hooks[0]))
        return tuple(findings)


def detect_agents(home: Path) -> tuple[str, ...]:
    """Return the agents that are installed on this machine."""
    return tuple(name for name in NAMES if _is_present(name, home))


def plan_connection(
    name: str, target: InstallTarget, launch: Launch, *, trust: bool = False, read: FileReader = read_file
) -> InstallPlan:
    """Return the changes that connect an agent; ``trust`` also marks our hooks as trusted."""
    pieces = get_agent(name).build_pieces(target, launch)
    plan = plan_changes(pieces, read)
    if name != codex.NAME or not (trust or plan.changes):
        return plan
    if not trust:
        return replace(plan, notes=(*plan.notes, UNTRUSTED_NOTE))
    # Codex trusts a hook by its hash, so the trust depends on the files as this plan leaves them.
    after = {change.path: change.after for change in plan.changes}
    trust_pieces = codex.build_trust_pieces(target, lambda path: after[path] if path in after else read(path))
    return plan_changes((*pieces, *trust_pieces), read)


def plan_disconnection(name: str, target: InstallTarget, read: FileReader = read_file) -> InstallPlan:
    """Return the changes that remove all we added, whichever installation it ran."""
    trust_pieces = codex.build_trust_pieces(target, read) if name == codex.NAME else ()
    pieces = get_agent(name).build_pieces(target, Launch())
    return plan_changes((*pieces, *trust_pieces), read, remove=True)


def check_health(name: str, target: InstallTarget) -> ConnectionHealth:
    """Check whether an agent is installed, connected, and will run our hooks."""
    is_installed: dict[Purpose, bool] = {}
    missing: tuple[str, ...] = ()
    problems: list[str] = []
    for piece in get_agent(name).build_pieces(target, Launch()):
        try:
            text = read_file(piece.path) or ""
            is_installed[piece.purpose] = is_installed.get(piece.purpose, True) and piece.is_in(text)
            missing += piece.find_missing(text) if isinstance(piece, Hooks) else ()
        except InvalidInput as problem:
            is_installed[piece.purpose] = False
            problems.append(f"{piece.path}: {problem}")
    is_trusted = codex.are_trusted(target) if name == codex.NAME and is_installed.get(Purpose.HOOKS) else None
    return ConnectionHealth(
        agent=name,
        present=_is_present(name, target.home),
        server=is_installed.get(Purpose.SERVER, False),
        hooks=is_installed.get(Purpose.HOOKS, False),
        missing=missing,
        trusted=is_trusted,
        notes=(UNTRUSTED_NOTE,) if is_trusted is False else (),
        problems=tuple(dict.fromkeys(problems)),
    )


def _is_present(name: str, home: Path) -> bool:
    agent = get_agent(name)
    return any((home / path).exists() for path in agent.homes) or any(map(shutil.which, agent.programs))


def render_plugin_files(version: str, folder: str = "plugins") -> dict[str, str]:
    """Return the files of a plugin directory that a team can publish, by path; all but the list are in ``folder``.

    One plugin works for Claude Code, Codex and Copilot; Gemini needs an extension, OpenCode a module. The commands have
    no path, because the plugin is installed on machines with other paths.
    """
    launch = Launch()
    plugin = f"{folder}/hivemind"
    manifest = {"name": "hivemind", "version": version, "description": DESCRIPTION}
    server = {"mcpServers": {SERVER: launch.build_server_entry()}}
    owner = {"name": "hivemind"}
    listing = {"name": "hivemind", "source": f"./{plugin}", "description": DESCRIPTION}
    marketplace = {"name": "hivemind", "description": DESCRIPTION, "owner": owner, "plugins": [listing]}
    hooks = build_claude_hooks(Path(), claude_code.NAME, launch, claude_code.EVENTS)
    gemini_hooks = gemini.build_hooks(Path(), launch)
    documents: dict[str, Any] = {
        ".claude-plugin/marketplace.json": marketplace,
        f"{plugin}/.claude-plugin/plugin.json": manifest | {"author": owner, "license": "Apache-2.0"},
        f"{plugin}/.mcp.json": server,
        f"{plugin}/hooks/hooks.json": {"hooks": {event: [group] for event, group in hooks.entries.items()}},
        f"{folder}/gemini/gemini-extension.json": manifest | server,
        f"{folder}/gemini/hooks/hooks.json": {
            "hooks": {event: [group] for event, group in gemini_hooks.entries.items()}
        },
    }
    commands = (
        *build_command_files(Path(plugin, "skills"), SKILL_FIELDS, file=SKILL),
        *build_command_files(Path(folder, "gemini/commands"), TOML_FIELDS, arguments="{{args}}", file=TOML),
        *build_command_files(Path(folder, "opencode/commands"), ["description"], arguments="$ARGUMENTS"),
    )
    return (
        {path: json.dumps(content, indent=2) + "\n" for path, content in documents.items()}
        | {f"{folder}/opencode/hivemind.js": opencode.render_plugin(launch), f"{plugin}/README.md": PLUGIN_README}
        | {file.path.as_posix(): file.text for file in commands}
    )


def _apply(new_connection: Connection, record: Path) -> Connection:
    try:
        file_changes.apply(new_connection.plan.changes, record)
    except HivemindError as error:
        return new_connection.with_problems(str(error))
    return new_connection


def _check(applied: Connection, place: InstallTarget, launch: Launch, server_problems: Sequence[str]) -> Connection:
    if applied.plan.problems:
        return applied
    # What is planned again is what was written and is not there: another program may have put its own copy back.
    plan = plan_connection(applied.agent, place, launch)
    missing = [
        f"{change.path} does not have our entries; close {applied.title} and try again" for change in plan.changes
    ]
    health = check_health(applied.agent, place)
    hook_problems = _list_problems(_try_hook(launch, applied.agent)) if health.hooks else ()
    notes = tuple(dict.fromkeys((*applied.plan.notes, *health.notes)))
    return replace(applied, plan=replace(applied.plan, notes=notes)).with_problems(
        *plan.problems, *missing, *hook_problems, *server_problems
    )


def _list_problems(finding: Finding) -> tuple[str, ...]:
    return () if finding.is_well else (f"the {finding.what} {finding.detail}; try: {finding.remedy}",)


class PlannedFiles(dict[Path, str | None]):
    """The files after the changes planned so far, because two agents may share a file."""

    def __missing__(self, path: Path) -> str | None:
        return read_file(path)

    def assume_applied(self, plan: InstallPlan) -> InstallPlan:
        """Take the changes of a plan as made."""
        self.update({change.path: change.after for change in plan.changes})
        return plan


def _make_connection(name: str, plan: InstallPlan) -> Connection:
    return Connection(agent=name, title=get_agent(name).title, plan=plan)


def _make_target(project: Path | None) -> InstallTarget:
    return InstallTarget(home=Path.home(), project=project.resolve() if project else None)


def _build_launch(home: Path) -> Launch:
    """Return the commands that start the hook and the server."""
    # Absolute paths, because agents run commands with a PATH of their own; -P keeps Python from importing files of the
    # repository. Some agents start servers without the user's variables, so an unusual home is an argument.
    programs = Path(__file__).parents[1] / "entrypoints"
    is_usual = str(home) == data_directory({"HOME": str(Path.home())})
    home_option = () if is_usual else ("--home", str(home))
    return Launch(
        hook=(sys.executable, "-I", "-S", str(programs / "hook.py"), *home_option),
        server=(sys.executable, "-P", "-m", "hivemind", "mcp", *home_option),
        status_line=(sys.executable, "-I", str(programs / "statusline.py"), *home_option),
        passes_when_gone=sys.platform != "win32",
    )


def _describe_health(health: ConnectionHealth, launch: Launch, last_activity: str) -> Finding:
    connect = f"hivemind install {health.agent}"
    if not (health.server or health.hooks or health.problems):
        return Finding(what=health.agent, is_well=True, detail=f"not connected; '{connect}' does it")
    parts = list(_list_parts(health))
    wrong = [text for text, is_well in parts if not is_well]
    plan = plan_connection(health.agent, _make_target(None), launch)
    stale, problems = plan.changes, plan.problems or health.problems
    wrong += problems
    # A hook that names another Python still runs, but with another version and perhaps another home.
    if stale and not wrong:
        wrong.append("was set up by another installation or version of hivemind")
    activity = f"last active {timestamps.format_minute(last_activity)}" if last_activity else "no session yet"
    detail = " · ".join([*(text for text, is_well in parts if is_well), *wrong, activity])
    remedy = "; ".join([*([connect] if stale or problems else []), *health.notes]) if wrong else ""
    return Finding(what=health.agent, is_well=not wrong, detail=detail, remedy=remedy)


def _list_parts(health: ConnectionHealth) -> Iterator[tuple[str, bool]]:
    yield ("registered", True) if health.server else ("server not registered", False)
    if health.hooks:
        yield "hooks in place", True
    elif health.missing:
        yield f"no hook for {', '.join(health.missing)}", False
    if health.trusted is not None:
        yield ("hooks trusted", True) if health.trusted else ("hooks not trusted: none of them runs", False)


def _try_server(launch: Launch) -> Finding:
    """Start the server as an agent does, and check that it lists its tools."""
    messages = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in HELLO)
    command, start = launch.server, time.monotonic()
    try:
        process = _run_as_agent(command, messages)
        # The last line answers the second message, because the server answers in order.
        names = [tool["name"] for tool in json.loads(process.stdout.splitlines()[-1])["result"]["tools"]]
    except (OSError, subprocess.TimeoutExpired, ValueError, LookupError) as error:
        return Finding(what="server", is_well=False, detail=f"does not answer: {error}", remedy=" ".join(command))
    seconds = time.monotonic() - start
    return Finding(what="server", is_well=True, detail=f"answers in {seconds:.1f} s with {', '.join(names)}")


def _try_hook(launch: Launch, agent: str) -> Finding:
    """Run the hook through a shell as an agent does, and check that it could store and answer an event."""
    command, start = launch.build_hook_command(agent, HOOK_EVENT), time.monotonic()
    try:
        process = _run_as_agent(command, "{}", HIVEMIND_HOOKS="check")
        trouble = "" if process.stdout.strip() == "ok" else process.stderr.strip() or f"exit code {process.returncode}"
    except (OSError, subprocess.TimeoutExpired) as error:
        trouble = str(error)
    if trouble:
        return Finding(what="hook", is_well=False, detail=f"does not run: {trouble}", remedy=f"echo '{{}}' | {command}")
    return Finding(what="hook", is_well=True, detail=f"runs in {time.monotonic() - start:.1f} s")


def _run_as_agent(command: str | Sequence[str], text: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command as an agent does, a text through a shell, with this input and these variables."""
    return subprocess.run(
        command, input=text, capture_output=True, encoding="utf-8", timeout=stretch(SERVER_SECONDS), check=False,
        shell=isinstance(command, str), env={**os.environ, **variables},
    )  # fmt: skip
