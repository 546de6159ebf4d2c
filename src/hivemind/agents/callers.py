"""Who runs us, told by environment and payload.

It imports nothing, so that a hook can load this one file beside the standard library.
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
"""What each agent leaves in the environment of the commands it runs, and where it names its session."""

MARKS = (
    ('"cursor_version"', "CURSOR_VERSION", "cursor"),
    ('"agent_action_name"', "", "windsurf"),
    ("", "COPILOT_CLI", "copilot"),
    ("", "QWEN_CODE_SESSION_ID", "qwen"),
    ("", "GEMINI_SESSION_ID", "gemini"),
)
"""Words in a payload and variables around a hook that only one agent leaves."""

CLIENTS = {"claude": "claude-code", "cascade": "windsurf"} | {
    name: name
    for name in ("codex", "qwen", "gemini", "opencode", "copilot", "cline", "continue", "cursor", "windsurf", "zed")
}
"""A word in the name by which an agent introduces itself to a server, and the agent."""

ANSWERED = {
    *("SessionStart", "UserPromptSubmit", "BeforeAgent", "PreToolUse", "sessionStart", "userPromptSubmitted"),
    *("beforeSubmitPrompt", "session.created", "session.resumed", "session.compacted", "chat.message"),
}
"""The events at which some agent takes context, so that a hook at any other need not look further."""

ANSWERED_ONCE = {"PreToolUse"}
"""Of these, the events that come at every step, where the first answer of a session is the only one."""


ENDED = {
    *("Stop", "SessionEnd", "AfterAgent", "agentStop", "sessionEnd", "afterAgentResponse", "post_cascade_response"),
    *("TaskComplete", "TaskError", "TaskCancel", "session.idle"),
}
"""The events at which an agent comes to rest: what it learned for a team may travel now."""


def calling(environ: Mapping[str, str]) -> tuple[str, str] | None:
    """The agent and session that runs this process, or nothing if a person does."""
    for sign, agent, session in SIGNS:
        if environ.get(sign):
            return agent, environ.get(session, "") if session else ""
    return None


def who_calls(named: str, environ: Mapping[str, str], payload: str) -> str:
    """The agent that really runs a hook installed for the one named.

    Only Claude Code's settings are read by others. A session named by environment and payload alike settles
    it, since an agent started from another's shell inherits that one's variables.
    """
    if named != "claude-code":
        return named
    for _, agent, session in SIGNS:
        if session and environ.get(session) and environ[session] in payload:
            return agent
    for word, variable, agent in MARKS:
        if (word and word in payload) or (variable and environ.get(variable)):
            return agent
    is_codex = '"turn_id"' in payload and '"prompt_id"' not in payload and '"permission_mode"' in payload
    return "codex" if is_codex and not environ.get("CLAUDECODE") else named


def connected(client: str, environ: Mapping[str, str], meta: Mapping[str, Any]) -> tuple[str, str]:
    """The agent and session that speak to our server; what introduces itself under no name we know keeps its own.

    The name comes first: an agent started from another's shell inherits that one's variables.
    """
    around = calling(environ)
    named = next((agent for word, agent in CLIENTS.items() if word in client.lower()), "")
    agent = named or (around[0] if around else "") or client or "agent"
    told = meta.get("x-codex-turn-metadata")
    session = str(told.get("session_id") or "") if isinstance(told, dict) else str(meta.get("threadId") or "")
    variables = (variable for _, known, variable in SIGNS if known == agent and variable)
    return agent, session or next((environ.get(variable, "") for variable in variables), "")
