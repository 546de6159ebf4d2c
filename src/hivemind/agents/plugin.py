"""Our hooks and server as a directory that a team can publish: for agents that install plugins rather than settings.

One plugin serves Claude Code, Codex and Copilot; Gemini takes an extension, OpenCode a module. They name our programs
without a path, because they are installed on machines that we do not know.
"""

import json
from pathlib import Path
from typing import Any

from hivemind.agents import claude_code, claude_shape, gemini, opencode
from hivemind.agents.pieces import SERVER, Launch

PLUGIN = "plugins/hivemind"
SAYS = "Persistent memory for coding agents: conventions, decisions, fixes and past sessions."


def files(version: str) -> dict[str, str]:
    """What the directory holds, by path."""
    launch = Launch()
    about = {"name": "hivemind", "version": version, "description": SAYS}
    server = {"mcpServers": {SERVER: launch.entry()}}
    owner = {"name": "hivemind"}
    listed = {"name": "hivemind", "source": f"./{PLUGIN}", "description": SAYS}
    market = {"name": "hivemind", "description": SAYS, "owner": owner, "plugins": [listed]}
    hooks = claude_shape.hooks(Path(), claude_code.NAME, launch, claude_code.EVENTS)
    geminis = claude_shape.hooks(Path(), gemini.NAME, launch, gemini.HOOKED, second=1000, matcher="*")
    written: dict[str, Any] = {
        ".claude-plugin/marketplace.json": market,
        f"{PLUGIN}/.claude-plugin/plugin.json": about | {"author": owner},
        f"{PLUGIN}/.mcp.json": server,
        f"{PLUGIN}/hooks/hooks.json": {"hooks": {event: [group] for event, group in hooks.entries.items()}},
        "gemini/gemini-extension.json": about | server,
        "gemini/hooks/hooks.json": {"hooks": {event: [group] for event, group in geminis.entries.items()}},
    }
    return {path: json.dumps(held, indent=2) + "\n" for path, held in written.items()} | {
        "opencode/hivemind.js": opencode.plugin(launch)
    }
