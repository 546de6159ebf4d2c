"""Plan how to connect and disconnect agents, check their connections, and render a plugin that connects them.

``file_changes.apply`` writes the plans.
"""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from hivemind.agents import callers, claude_code, codex, gemini, opencode
from hivemind.agents.agent import get_agent
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
from hivemind.agents.file_changes import read_file
from hivemind.agents.slash_commands import SKILL, SKILL_FIELDS, TOML, TOML_FIELDS, build_command_files
from hivemind.errors import InvalidInput
from hivemind.model.dataclass import dataclass

UNTRUSTED_NOTE = "Codex runs none of these hooks until you trust them: open Codex, type /hooks, and review them"

DESCRIPTION = "Persistent memory for coding agents: conventions, decisions, fixes and past sessions."


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


def detect(home: Path) -> tuple[str, ...]:
    """Return the agents that are installed on this machine."""
    return tuple(name for name in callers.NAMES if _is_present(name, home))


def plan_install(
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


def plan_uninstall(name: str, target: InstallTarget, read: FileReader = read_file) -> InstallPlan:
    """Return the changes that remove all we added, whichever installation it ran."""
    trust_pieces = codex.build_trust_pieces(target, read) if name == codex.NAME else ()
    pieces = get_agent(name).build_pieces(target, Launch())
    return plan_changes((*pieces, *trust_pieces), read, remove=True)


def check_health(name: str, target: InstallTarget) -> ConnectionHealth:
    """Check whether an agent is installed, connected, and will run our hooks."""
    is_installed: dict[str, bool] = {}
    missing: tuple[str, ...] = ()
    problems: list[str] = []
    for piece in get_agent(name).build_pieces(target, Launch()):
        try:
            text = read_file(piece.path) or ""
            is_installed[piece.what] = is_installed.get(piece.what, True) and piece.is_in(text)
            missing += piece.missing(text) if isinstance(piece, Hooks) else ()
        except InvalidInput as problem:
            is_installed[piece.what] = False
            problems.append(f"{piece.path}: {problem}")
    is_trusted = codex.are_trusted(target) if name == codex.NAME and is_installed.get("hooks") else None
    return ConnectionHealth(
        agent=name,
        present=_is_present(name, target.home),
        server=is_installed.get("server", False),
        hooks=is_installed.get("hooks", False),
        missing=missing,
        trusted=is_trusted,
        notes=(UNTRUSTED_NOTE,) if is_trusted is False else (),
        problems=tuple(dict.fromkeys(problems)),
    )


def render_plugin_files(version: str, folder: str = "plugins") -> dict[str, str]:
    """Return the files of a plugin directory that a team can publish, by path; all but the list are in ``folder``.

    One plugin works for Claude Code, Codex and Copilot; Gemini needs an extension, OpenCode a module. The commands have
    no path, because the plugin is installed on machines with other paths.
    """
    launch = Launch()
    plugin = f"{folder}/hivemind"
    manifest = {"name": "hivemind", "version": version, "description": DESCRIPTION}
    server = {"mcpServers": {SERVER: launch.server_entry()}}
    owner = {"name": "hivemind"}
    listing = {"name": "hivemind", "source": f"./{plugin}", "description": DESCRIPTION}
    marketplace = {"name": "hivemind", "description": DESCRIPTION, "owner": owner, "plugins": [listing]}
    hooks = build_claude_hooks(Path(), claude_code.NAME, launch, claude_code.EVENTS)
    gemini_hooks = build_claude_hooks(
        Path(), gemini.NAME, launch, gemini.HOOK_EVENTS, units_per_second=1000, matcher="*"
    )
    documents: dict[str, Any] = {
        ".claude-plugin/marketplace.json": marketplace,
        f"{plugin}/.claude-plugin/plugin.json": manifest | {"author": owner},
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
        | {f"{folder}/opencode/hivemind.js": opencode.render_plugin(launch)}
        | {file.path.as_posix(): file.text for file in commands}
    )


def _is_present(name: str, home: Path) -> bool:
    agent = get_agent(name)
    return any((home / path).exists() for path in agent.homes) or any(map(shutil.which, agent.programs))
