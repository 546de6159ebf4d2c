"""Render our hooks and server as a plugin directory that a team can publish.

One plugin works for Claude Code, Codex and Copilot; Gemini needs an extension, OpenCode a module. The commands have no
path, because the plugin is installed on machines with other paths.
"""

import json
from pathlib import Path
from typing import Any

from hivemind.agents import claude_code, claude_format, gemini, opencode
from hivemind.agents.config_entries import SERVER, Launch

PLUGIN_PATH = "plugins/hivemind"
DESCRIPTION = "Persistent memory for coding agents: conventions, decisions, fixes and past sessions."


def render_files(version: str) -> dict[str, str]:
    """Return the files of the directory, by path."""
    launch = Launch()
    manifest = {"name": "hivemind", "version": version, "description": DESCRIPTION}
    server = {"mcpServers": {SERVER: launch.server_entry()}}
    owner = {"name": "hivemind"}
    listing = {"name": "hivemind", "source": f"./{PLUGIN_PATH}", "description": DESCRIPTION}
    marketplace = {"name": "hivemind", "description": DESCRIPTION, "owner": owner, "plugins": [listing]}
    hooks = claude_format.build_hooks(Path(), claude_code.NAME, launch, claude_code.EVENTS)
    gemini_hooks = claude_format.build_hooks(
        Path(), gemini.NAME, launch, gemini.HOOK_EVENTS, units_per_second=1000, matcher="*"
    )
    documents: dict[str, Any] = {
        ".claude-plugin/marketplace.json": marketplace,
        f"{PLUGIN_PATH}/.claude-plugin/plugin.json": manifest | {"author": owner},
        f"{PLUGIN_PATH}/.mcp.json": server,
        f"{PLUGIN_PATH}/hooks/hooks.json": {"hooks": {event: [group] for event, group in hooks.entries.items()}},
        "gemini/gemini-extension.json": manifest | server,
        "gemini/hooks/hooks.json": {"hooks": {event: [group] for event, group in gemini_hooks.entries.items()}},
    }
    return {path: json.dumps(content, indent=2) + "\n" for path, content in documents.items()} | {
        "opencode/hivemind.js": opencode.render_plugin(launch)
    }
