"""Connecting agents, disconnecting them, and checking that they are connected."""

import json
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import hivemind
from hivemind import agents
from hivemind.agents import connection, file_changes
from hivemind.agents.config_entries import InstallPlan, InstallTarget, Launch
from hivemind.app.context import Context
from hivemind.capture import quarantine, spool
from hivemind.errors import InvalidInput
from hivemind.formats import timestamps
from hivemind.paths import data_directory
from hivemind.store.integrity import Finding
from hivemind.store.projections import sessions

SERVER_SECONDS = 10
INSPECT = (
    "hivemind quarantine shows them; after an upgrade 'hivemind quarantine retry' reads them again,"
    " 'hivemind quarantine discard --all' removes them"
)
HERE_ONLY = "these files name this machine's Python: keep them out of version control"

HELLO = (
    {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "clientInfo": {"name": "doctor"}}},
    {"id": 2, "method": "tools/list"},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """What connecting an agent, or taking it back, would change."""

    agent: str
    title: str
    plan: InstallPlan

    @property
    def diffs(self) -> tuple[str, ...]:
        """Each file's change as a unified diff."""
        return tuple(file_changes.render_diff(change) for change in self.plan.changes)


class Agents:
    """What connects us and the agents on this machine."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def write_plugin(self, directory: Path) -> tuple[Path, ...]:
        """Write a plugin that connects agents into a new directory; return its files."""
        if directory.exists() and any(directory.iterdir()):
            raise InvalidInput(f"{directory} holds something already; name a new directory")
        written = {
            directory / path: text for path, text in connection.render_plugin_files(hivemind.__version__).items()
        }
        for path, text in written.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tuple(written)

    def plan_install(
        self, names: Sequence[str] = (), *, project: Path | None = None, trust_codex_hooks: bool = False
    ) -> tuple[Connection, ...]:
        """The changes that would connect these agents, or all on this machine; ``apply`` makes them."""
        chosen = names or connection.detect(Path.home())
        if not chosen:
            raise InvalidInput(f"no agent was found on this machine; name one: {', '.join(agents.NAMES)}")
        place, view, launch = _place(project), View(), _launch(self._context.settings.home)
        planned = []
        for name in chosen:
            plan = view.seen(
                connection.plan_install(name, place, launch, trust=trust_codex_hooks, read=view.__getitem__)
            )
            notes = (*plan.notes, HERE_ONLY) if project and plan.changes else plan.notes
            planned.append(_connection(name, InstallPlan(changes=plan.changes, notes=notes)))
        return tuple(planned)

    def plan_uninstall(self, names: Sequence[str] = (), *, project: Path | None = None) -> tuple[Connection, ...]:
        """The changes that would remove all we added, for these agents or for every one; ``apply`` makes them."""
        place, view = _place(project), View()
        plans = {
            name: view.seen(connection.plan_uninstall(name, place, view.__getitem__)) for name in names or agents.NAMES
        }
        return tuple(_connection(name, plan) for name, plan in plans.items() if names or plan.changes)

    def apply(self, planned: Iterable[Connection]) -> None:
        """Make the changes, unless a file is no longer what the plan was made for."""
        for planned_connection in planned:
            file_changes.apply(planned_connection.plan.changes)

    def connected(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The agents on this machine: those that are connected, and those that are not."""
        every = [connection.check_health(name, _place(None)) for name in agents.NAMES]
        connected = tuple(health.agent for health in every if health.server or health.hooks)
        return connected, tuple(health.agent for health in every if health.present and health.agent not in connected)

    def health(self) -> tuple[Finding, ...]:
        """For each agent here: registered, hooks run, last heard of; and whether our server answers."""
        place, launch = _place(None), _launch(self._context.settings.home)
        every = [connection.check_health(name, place) for name in agents.NAMES]
        last_seen = sessions.find_last_activity(self._context.store.db)
        findings = [
            _finding(health, launch, last_seen.get(health.agent, ""))
            for health in every
            if health.present or health.server or health.hooks
        ]
        if any(health.server for health in every):
            findings.append(_server(launch))
        return (*findings, *self._spool(), self._quarantine())

    def _spool(self) -> Iterator[Finding]:
        """What hooks left and could not be taken in when the store was opened."""
        if left := spool.list_taken_files(str(self._context.settings.home)):
            detail = f"what hooks left cannot be taken in: {', '.join(left)}"
            remedy = f"free some space, or make {self._context.settings.home} and all in it writable"
            yield Finding(what="spool", is_well=False, detail=detail, remedy=remedy)

    def _quarantine(self) -> Finding:
        """What could not be read."""
        home = self._context.settings.home
        items = quarantine.load_items(home)
        if not items:
            return Finding(what="quarantine", is_well=True, detail="empty: everything that came in could be read")
        newest = items[-1]
        full = "; it is full, so the oldest go" if quarantine.is_full(home) else ""
        detail = f"{len(items):,} could not be read{full}; the newest: {newest.where}: {newest.reason}"
        return Finding(what="quarantine", is_well=False, detail=detail, remedy=INSPECT)


class View(dict[Path, str | None]):
    """The files as they will be once what is planned so far is made: two agents may share one."""

    def __missing__(self, path: Path) -> str | None:
        return file_changes.read_file(path)

    def seen(self, plan: InstallPlan) -> InstallPlan:
        """Take a plan for made."""
        self.update({change.path: change.after for change in plan.changes})
        return plan


def _connection(name: str, plan: InstallPlan) -> Connection:
    return Connection(agent=name, title=agents.get_agent(name).TITLE, plan=plan)


def _place(project: Path | None) -> InstallTarget:
    return InstallTarget(home=Path.home(), project=project.resolve() if project else None)


def _launch(home: Path) -> Launch:
    """By absolute paths, as agents run us with whatever PATH they have; -P keeps a repository's files from us.

    Some start servers without the user's variables, so a home that only a variable names is said.
    """
    hook = Path(str(hivemind.__file__)).parent / "entrypoints" / "hook.py"
    is_usual = str(home) == data_directory({"HOME": str(Path.home())})
    said = () if is_usual else ("--home", str(home))
    return Launch(
        hook=(sys.executable, "-I", "-S", str(hook), *said),
        server=(sys.executable, "-P", "-m", "hivemind", "mcp", *said),
    )


def _finding(health: connection.ConnectionHealth, launch: Launch, heard: str) -> Finding:
    connect = f"hivemind install {health.agent}"
    if not (health.server or health.hooks):
        return Finding(what=health.agent, is_well=True, detail=f"not connected; '{connect}' does it")
    parts = list(_parts(health))
    wrong = [said for said, is_well in parts if not is_well]
    stale = connection.plan_install(health.agent, _place(None), launch).changes
    if stale and not wrong:
        wrong.append("names another installation of hivemind")
    seen = f"last heard of {timestamps.format_minute(heard)}" if heard else "not heard of yet"
    detail = " · ".join([*(said for said, is_well in parts if is_well), *wrong, seen])
    remedy = "; ".join([*([connect] if stale else []), *health.notes]) if wrong else ""
    return Finding(what=health.agent, is_well=not wrong, detail=detail, remedy=remedy)


def _parts(health: connection.ConnectionHealth) -> Iterator[tuple[str, bool]]:
    yield ("registered", True) if health.server else ("server not registered", False)
    if health.hooks:
        yield "hooks in place", True
    elif health.missing:
        yield f"no hook for {', '.join(health.missing)}", False
    if health.trusted is not None:
        yield ("hooks trusted", True) if health.trusted else ("hooks not trusted: none of them runs", False)


def _server(launch: Launch) -> Finding:
    """Start the server as an agent would, and have it list its tools."""
    asked = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in HELLO)
    command, begun = launch.server, time.monotonic()
    try:
        done = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=SERVER_SECONDS, check=False)
        names = [tool["name"] for tool in json.loads(done.stdout.splitlines()[-1])["result"]["tools"]]
    except (OSError, subprocess.TimeoutExpired, ValueError, LookupError) as error:
        return Finding(what="server", is_well=False, detail=f"does not answer: {error}", remedy=" ".join(command))
    took = time.monotonic() - begun
    return Finding(what="server", is_well=True, detail=f"answers in {took:.1f} s with {', '.join(names)}")
