"""What a hook must know about agents: who calls, which events it answers, and the names of fields.

Light, so that a hook can load it quickly; ``enum`` comes with ``re``, which a hook needs anyway.
"""

from __future__ import annotations

import os
from enum import StrEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

NAMES = (
    *("claude-code", "codex", "cursor", "windsurf", "gemini", "antigravity"),
    *("copilot", "opencode", "qwen", "cline", "continue", "zed"),
)
SIGNS = (
    ("CLAUDECODE", "claude-code", "CLAUDE_CODE_SESSION_ID"),
    ("COPILOT_CLI", "copilot", "COPILOT_AGENT_SESSION_ID"),
    ("CURSOR_AGENT", "cursor", ""),
    ("ANTIGRAVITY_AGENT", "antigravity", "ANTIGRAVITY_CONVERSATION_ID"),
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

CLIENTS = {"claude": "claude-code", "cascade": "windsurf"} | {name: name for name in NAMES}
"""A word in the client name that an agent sends to an MCP server, and the agent."""


class Answer(StrEnum):
    """What an agent is told at an event."""

    BRIEF = "brief"
    RECALL = "recall"
    SUBAGENT = "subagent"
    BEFORE = "before"
    """What concerns a tool call that is about to be made."""
    AFTER = "after"
    """What concerns a tool call that was made."""
    GUARD = "guard"
    """Nothing, unless a guard concerns a tool call that is about to be made; context is ignored there."""


_START = {"SessionStart": Answer.BRIEF, "UserPromptSubmit": Answer.RECALL}
_AFTER = {"PostToolUse": Answer.AFTER, "PostToolUseFailure": Answer.AFTER}
_CLAUDE = {**_START, "SubagentStart": Answer.SUBAGENT, "PreToolUse": Answer.BEFORE, **_AFTER}
_CALLS = {"preToolUse": Answer.BEFORE, "postToolUse": Answer.AFTER, "postToolUseFailure": Answer.AFTER}
_COPILOT = {"sessionStart": Answer.BRIEF, "userPromptSubmitted": Answer.RECALL, "subagentStart": Answer.SUBAGENT}

ANSWERS: Mapping[str, Mapping[str, Answer]] = {
    "claude-code": _CLAUDE,
    "codex": _CLAUDE,
    "cursor": {"sessionStart": Answer.BRIEF, "beforeSubmitPrompt": Answer.RECALL, **_CALLS},
    "gemini": {
        "SessionStart": Answer.BRIEF,
        "BeforeAgent": Answer.RECALL,
        "BeforeTool": Answer.GUARD,
        "AfterTool": Answer.AFTER,
    },
    # Its hooks before a call of the model tell of prompts and calls since the last one.
    "antigravity": {**_START, "PreToolUse": Answer.GUARD, **_AFTER},
    "copilot": {**_COPILOT, **_CALLS},
    "opencode": {
        **dict.fromkeys(("session.created", "session.resumed", "session.compacted"), Answer.BRIEF),
        "chat.message": Answer.RECALL,
        "tool.execute.before": Answer.GUARD,
        "tool.execute.after": Answer.AFTER,
    },
    # At the start of a subagent Qwen Code only fills a placeholder that none of its own subagents has.
    "qwen": {**_START, "PreToolUse": Answer.GUARD, **_AFTER},
    # Cline accepts context at tool calls only, so the brief goes in with the first call of a session.
    "cline": {"PreToolUse": Answer.BEFORE, "PostToolUse": Answer.AFTER},
    "continue": _START,
}
"""The events at which each agent accepts context, and what it is told there; others accept none."""

TRANSCRIBED = "antigravity"
"""The agent whose hooks get prompts and results of calls only from its transcript."""
BRIEFED_LATE = "cline"
"""The agent that accepts context at tool calls only, so that its first call brings the brief."""
BEFORE_CALL_EVENTS = {
    "PreToolUse": "PostToolUse",
    "preToolUse": "postToolUse",
    "BeforeTool": "AfterTool",
    "tool.execute.before": "tool.execute.after",
}
"""Events before a tool call that take an answer, with the event after it, which has the same fields."""
_KINDS = {event: kind for answers in ANSWERS.values() for event, kind in answers.items()}
AFTER_CALL_EVENTS = {event for event, kind in _KINDS.items() if kind is Answer.AFTER}
"""Events after a tool call at which some agent accepts context."""
CONTEXT_EVENTS = {*_KINDS} - AFTER_CALL_EVENTS - {*BEFORE_CALL_EVENTS}
"""Events at which the application is loaded to answer; at a tool call the hook looks for a reason first."""
HEAR_BEFORE_CALLS = {agent for agent, answers in ANSWERS.items() if Answer.BEFORE in answers.values()}
"""Agents that accept context before a call; others hear about a file after they read it."""
GUARDED_ONLY = {agent for agent, answers in ANSWERS.items() if Answer.GUARD in answers.values()}
"""Agents that ignore context before a call; there only a guard can answer them."""

END_EVENTS = {
    *("Stop", "SessionEnd", "AfterAgent", "agentStop", "sessionEnd", "afterAgentResponse", "post_cascade_response"),
    *("TaskComplete", "TaskError", "TaskCancel", "session.idle"),
}
"""Events at which an agent stops working, so that the store can sync with its hub."""

FILE_FIELDS = (
    *("file_path", "filePath", "path", "notebook_path", "absolute_path", "target_file", "TargetFile", "AbsolutePath"),
)
COMMAND_FIELDS = ("command", "cmd", "commands", "command_line", "CommandLine")
PATCH_HEADER = r"^\*\*\* (Add|Update|Delete) File: (.+)$"
"""The line with which the part of a patch about one file begins."""
SESSION_FIELDS = ("rootSessionId", "session_id", "sessionId", "sessionID", "conversation_id", "taskId")
DIRECTORY_FIELDS = ("cwd", "directory", "workspaceRoots", "workspace_roots")
WORK_FIELDS = ("workdir", "Cwd", "directory", "dir_path", "working_directory")
"""Of a command: the directory in which it runs, for agents that name one instead of changing to it."""


def detect_agent(environ: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the agent and session that run this process, or None if a person does."""
    for sign, agent, session in SIGNS:
        if environ.get(sign):
            return agent, environ.get(session, "") if session else ""
    return None


def is_agent_calling() -> bool:
    """Whether an agent runs this process."""
    return detect_agent(os.environ) is not None


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
