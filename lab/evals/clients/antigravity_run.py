"""Run the agent of Antigravity once, with the servers in its settings: ``antigravity_run.py PROMPT ADDRESS``.

It runs in an environment that has google-antigravity alone. That package has the agent of Antigravity CLI, without its
terminal and without the hooks in ``hooks.json``.
"""

import asyncio
import json
import sys
from pathlib import Path

from google.antigravity import Agent, LocalAgentConfig, types
from google.antigravity.hooks import policy

HOME = Path.home() / ".gemini"


async def main(prompt: str, address: str) -> None:
    """Ask once, and print the answer."""
    settings = json.loads((HOME / "config" / "mcp_config.json").read_text())
    endpoint = types.GeminiAPIEndpoint(base_url=address, api_key="none")
    config = LocalAgentConfig(
        model=types.ModelTarget(name="gemini-2.5-pro", endpoint=endpoint),
        workspaces=[str(Path.cwd())],
        policies=[policy.allow_all()],
        mcp_servers=[types.McpStdioServer(name=name, **entry) for name, entry in settings["mcpServers"].items()],
        # Where Antigravity CLI keeps its sessions.
        app_data_dir=str(HOME / "antigravity-cli"),
        save_dir=str(HOME / "antigravity-cli" / "conversations"),
    )
    async with Agent(config) as agent:
        response = await agent.chat(prompt)
        print(await response.text())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
