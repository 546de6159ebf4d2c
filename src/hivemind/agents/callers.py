"""Identify the calling agent from the environment and the payload.

This module imports nothing, so that a hook can load it quickly.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

SIGNS = (
    ("CLAUDECODE", "claude-code", "CLAUDE_CODE_SESSION_ID"),
    ("COPILOT_CLI", "copilot", "COPILOT_AGENT_SESSION_ID"),
    ("CURSOR_AGENT", "cursor", ""),
    ("QWEN_CODE", "qwen", "QWEN_CODE_SESSION_ID"),
    ("QWEN_CODE_SESSION_ID", "qwen", "QWEN_CODE_SESSION_ID"),
    ("GEMINI_CLI", "gemini", "GEMINI_SESSION_ID"),
    ("GEMINI_SESSION_ID", "gemini", "GEMINI_SESSION_ID"),
    ("OPENCODE", "opencode", ""),
    ("CODEX_THREAD_ID", "codex", "CODEX_THREAD_ID"),
    ("CODEX_SANDBOX", "codex", ""),
    ("CODEX_SANDBOX_NETWORK_DISABLED", "codex", ""),
    ("CLINE_ACTIVE", "cline", ""),
)
"""For each agent: a variable it sets for the commands it runs, its name, and the variable with its session id."""

MARKS = (
    ('"cursor_version"', "CURSOR_VERSION", "cursor"),
    ('"agent_action_name"', "", "windsurf"),
    ("", "COPILOT_CLI", "copilot"),
    ("", "QWEN_CODE_SESSION_ID", "qwen"),
    ("", "GEMINI_SESSION_ID", "gemini"),
)
"""A text in the payload and a variable around a hook that only this agent produces."""

CLIENTS = {"claude": "claude-code", "cascade": "windsurf"} | {
    name: name
    for name in ("codex", "qwen", "gemini", "opencode", "copilot", "cline", "continue", "cursor", "windsurf", "zed")
}
"""A word in the client name that an agent sends to an MCP server, and the agent."""

CONTEXT_EVENTS = {
    *("SessionStart", "UserPromptSubmit", "BeforeAgent", "PreToolUse", "sessionStart", "userPromptSubmitted"),
    *("beforeSubmitPrompt", "session.created", "session.resumed", "session.compacted", "chat.message"),
}
"""Events at which some agent accepts context; a hook at any other event can exit without loading the application."""

ONCE_PER_SESSION_EVENTS = {"PreToolUse"}
"""Those of them that come at every step and are answered only once in a session."""


END_EVENTS = {
    *("Stop", "SessionEnd", "AfterAgent", "agentStop", "sessionEnd", "afterAgentResponse", "post_cascade_response"),
    *("TaskComplete", "TaskError", "TaskCancel", "session.idle"),
}
"""Events at which an agent stops working, so that the store can sync with its hub."""


def detect_agent(environ: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the agent and session that run this process, or None if a person does."""
    for sign, agent, session in SIGNS:
        if environ.get(sign):
            return agent, environ.get(session, "") if session else ""
    return None


def identify_hook_agent(installed_for: str, environ: Mapping[str, str], payload: str) -> str:
    """Return the agent that runs a hook, which may not be the one it was installed for.

    Other agents read the settings of Claude Code, and only those. An agent started from another's shell inherits that
    one's variables, so a session id counts only if it is in the payload too.
    """
    if installed_for != "claude-code":
        return installed_for
    for _, agent, session in SIGNS:
        if session and environ.get(session) and environ[session] in payload:
            return agent
    for word, variable, agent in MARKS:
        if (word and word in payload) or (variable and environ.get(variable)):
            return agent
    # Codex is recognised by its payload alone, which names a turn where that of Claude Code names a prompt.
    is_codex = '"turn_id"' in payload and '"prompt_id"' not in payload and '"permission_mode"' in payload
    return "codex" if is_codex and not environ.get("CLAUDECODE") else installed_for


def identify_client(client: str, environ: Mapping[str, str], meta: Mapping[str, Any]) -> tuple[str, str]:
    """Return the agent and session of an MCP client; an unknown client keeps the name it sent.

    The client's name goes before the environment: an agent started from another's shell inherits its variables.
    """
    caller = detect_agent(environ)
    agent_by_name = next((agent for word, agent in CLIENTS.items() if word in client.lower()), "")
    agent = agent_by_name or (caller[0] if caller else "") or client or "agent"
    metadata = meta.get("x-codex-turn-metadata")
    session = str(metadata.get("session_id") or "") if isinstance(metadata, dict) else str(meta.get("threadId") or "")
    variables = (variable for _, sign_agent, variable in SIGNS if sign_agent == agent and variable)
    return agent, session or next((environ.get(variable, "") for variable in variables), "")
