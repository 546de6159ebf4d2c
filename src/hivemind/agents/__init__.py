"""WHO we listen to: what differs from one coding agent to the next."""

from collections.abc import Mapping
from typing import Any

from hivemind.agents import claude_code
from hivemind.model.session import Observation

SIGNS = (
    ("CLAUDECODE", "claude-code", "CLAUDE_CODE_SESSION_ID"),
    ("COPILOT_CLI", "copilot", "COPILOT_AGENT_SESSION_ID"),
    ("CURSOR_AGENT", "cursor", ""),
    ("QWEN_CODE", "qwen", "QWEN_CODE_SESSION_ID"),
    ("GEMINI_CLI", "gemini", "GEMINI_SESSION_ID"),
    ("OPENCODE", "opencode", ""),
    ("CODEX_THREAD_ID", "codex", "CODEX_THREAD_ID"),
    ("CODEX_SANDBOX", "codex", ""),
    ("CODEX_SANDBOX_NETWORK_DISABLED", "codex", ""),
    ("CLINE_ACTIVE", "cline", ""),
)
"""What each agent leaves in the environment of the commands it runs, and where it names its session."""


def calling(environ: Mapping[str, str]) -> tuple[str, str] | None:
    """The agent and session that runs this process, or nothing if a person does."""
    for sign, agent, session in SIGNS:
        if environ.get(sign):
            return agent, environ.get(session, "") if session else ""
    return None


def decode(agent: str, event: str, payload: Mapping[str, Any], at: str) -> Observation | None:
    """What an agent's hook payload says happened; nothing, where we do not know the agent or do not care."""
    return claude_code.decode(event, payload, at) if agent == claude_code.NAME else None
