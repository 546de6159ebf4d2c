"""Name the author of what is written: a person, the agent that runs this process, or an MCP client."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hivemind.agents.callers import detect_agent, identify_client
from hivemind.model.memory import Channel, Writer
from hivemind.settings import Settings

NOT_IN_A_NAME, LONGEST_NAME = re.compile(r"[^\w .@/+-]"), 64


def identify_writer(settings: Settings) -> Writer:
    """Return the author of what this process writes: a person, unless an agent runs it."""
    agent = detect_agent(os.environ)
    # No agent in the environment: then a person typed the command.
    if agent is None:
        return Writer(actor=settings.person, channel=Channel.PERSON)
    return Writer(actor=agent[0], channel=Channel.AGENT, session_id=agent[1])


def identify_mcp_client(client: str, meta: Mapping[str, Any]) -> tuple[Path, Writer]:
    """Return the directory and the identity of an MCP client, which always counts as an agent."""
    # A client chooses its own name; it must not read like anything else that stands in a label.
    agent, session = identify_client(NOT_IN_A_NAME.sub("", client)[:LONGEST_NAME], os.environ, meta)
    # Others start their servers in the project; what they put into variables of this kind is something else.
    project = os.environ.get("CLAUDE_PROJECT_DIR", "") if agent == "claude-code" else ""
    directory = Path(project) if project and Path(project).is_dir() else Path.cwd()
    return directory, Writer(actor=agent, channel=Channel.AGENT, session_id=session)
