"""Our hooks and server as a directory that a team can publish: for agents that install plugins rather than settings.

One plugin serves Claude Code, Codex and Copilot; Gemini takes an extension, OpenCode a module. They name our programs
without a path, because they are installed on machines that we do not know.
"""

import json
from pathlib import Path
from typing import Any

from hivemind.agents import claude_code, claude_shape, gemini, opencode
from hivemind.agents.pieces import SERVER, Launch, OwnFile, Place, entry

PLUGIN = "plugins/hivemind"
SAYS = "Persistent memory for coding agents: conventions, decisions, fixes and past sessions."


def files(version: str) -> dict[str, str]:
    """What the directory holds, by path."""
    launch = Launch()
    about = {"name": "hivemind", "version": version, "description": SAYS}
    server = {"mcpServers": {SERVER: entry(launch)}}
    shared = claude_shape.groups(claude_code.NAME, launch, claude_code.TIMEOUT_SECONDS)
    geminis = claude_shape.groups(gemini.NAME, launch, gemini.TIMEOUT_MILLISECONDS, matcher="*")
    listed = {"name": "hivemind", "source": f"./{PLUGIN}", "description": SAYS}
    written: dict[str, Any] = {
        ".claude-plugin/marketplace.json": {
            "name": "hivemind",
            "description": SAYS,
            "owner": {"name": "hivemind"},
            "plugins": [listed],
        },
        f"{PLUGIN}/.claude-plugin/plugin.json": about | {"author": {"name": "hivemind"}},
        f"{PLUGIN}/.mcp.json": server,
        f"{PLUGIN}/hooks/hooks.json": {"hooks": {event: [group] for event, group in shared.items()}},
        "gemini/gemini-extension.json": about | server,
        "gemini/hooks/hooks.json": {"hooks": {event: [group] for event, group in geminis.items()}},
    }
    module = next(one for one in opencode.pieces(Place(home=Path()), launch) if isinstance(one, OwnFile))
    return {path: json.dumps(held, indent=2) + "\n" for path, held in written.items()} | {
        "opencode/hivemind.js": module.added("")
    }
