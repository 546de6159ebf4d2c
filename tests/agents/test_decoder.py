"""What hooks are told, in the shapes the agents send it, with facts of our own."""

import json
from pathlib import PurePath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivemind.agents import callers
from hivemind.agents.agent import get_agent
from hivemind.agents.decoder import hash_blob
from hivemind.agents.json_input import strip_injected
from hivemind.model.session import Observation, ObservationKind, SkippedInput
from tests.hypothesis_profile import examples

AT = "2026-03-01T10:00:00.000000Z"
S = {"session_id": "s1", "cwd": "/repo"}


def told(name: str, event: str, payload: dict[str, Any]) -> list[Observation]:
    """The observations in a payload of which all is readable."""
    found = list(get_agent(name).decode(event, payload, AT))
    assert not [one for one in found if isinstance(one, SkippedInput)]
    return [one for one in found if isinstance(one, Observation)]


CLAUDE_EDIT = {
    "tool_name": "Edit",
    "tool_use_id": "t1",
    "tool_input": {"file_path": "/repo/a.py", "old_string": "1", "new_string": "2"},
    "tool_response": {"filePath": "/repo/a.py", "originalFile": "x = 1\n", "structuredPatch": []},
}
QWEN_DISPLAY = {
    "fileDiff": "-x = 1\n+x = 2\n",
    "filePath": "/repo/a.py",
    "originalContent": "x = 1\n",
    "newContent": "x = 2\n",
}
Table = dict[str, tuple[str, dict[str, Any]]]
EDITS: Table = {
    "claude-code": ("PostToolUse", {**S, **CLAUDE_EDIT}),
    "continue": ("PostToolUse", {**S, **CLAUDE_EDIT}),
    "qwen": (
        "PostToolUse",
        {
            **S,
            "tool_name": "edit",
            "tool_call_id": "t1",
            "tool_input": {"file_path": "/repo/a.py"},
            "tool_response": {"llmContent": "done", "returnDisplay": QWEN_DISPLAY},
        },
    ),
    "gemini": (
        "AfterTool",
        {
            **S,
            "tool_name": "replace",
            "tool_input": {"file_path": "/repo/a.py"},
            "tool_response": {"llmContent": "done", "returnDisplay": QWEN_DISPLAY},
        },
    ),
    "codex": (
        "PostToolUse",
        {
            **S,
            "tool_name": "apply_patch",
            "tool_use_id": "t1",
            "tool_input": {"command": "*** Begin Patch\n*** Update File: a.py\n@@\n-x = 1\n+x = 2\n*** End Patch\n"},
            "tool_response": "ok",
        },
    ),
    "antigravity": (
        "PostToolUse",
        {
            "conversationId": "s1",
            "workspacePaths": ["/repo"],
            "stepIdx": 4,
            "toolCall": {
                "name": "replace_file_content",
                "args": {"TargetFile": "/repo/a.py", "TargetContent": "x = 1", "ReplacementContent": "x = 2"},
            },
            "error": "",
        },
    ),
    "copilot": (
        "postToolUse",
        {
            "sessionId": "s1",
            "timestamp": 1,
            "cwd": "/repo",
            "toolName": "edit",
            "toolArgs": {"path": "/repo/a.py", "old_str": "x = 1", "new_str": "x = 2"},
            "toolResult": {"resultType": "success", "textResultForLlm": "done"},
        },
    ),
    "cursor": (
        "afterFileEdit",
        {
            "conversation_id": "s1",
            "workspace_roots": ["/repo"],
            "file_path": "/repo/a.py",
            "edits": [{"old_string": "x = 1", "new_string": "x = 2"}],
        },
    ),
    "windsurf": (
        "post_write_code",
        {
            "trajectory_id": "s1",
            "tool_info": {"file_path": "/repo/a.py", "edits": [{"old_string": "x = 1", "new_string": "x = 2"}]},
        },
    ),
    "opencode": (
        "tool.execute.after",
        {
            "directory": "/repo",
            "input": {"tool": "edit", "sessionID": "s1", "callID": "t1", "args": {"filePath": "/repo/a.py"}},
            "output": {"output": "done", "metadata": {"diff": "-x = 1\n+x = 2\n"}},
        },
    ),
    "cline": (
        "PostToolUse",
        {
            "taskId": "s1",
            "workspaceRoots": ["/repo"],
            "tool_result": {
                "id": "t1",
                "name": "editor",
                "input": {"path": "/repo/a.py", "old_text": "x = 1", "new_text": "x = 2"},
                "output": {"result": "done"},
            },
        },
    ),
}
FAILURES: Table = {
    "claude-code": (
        "PostToolUseFailure",
        {
            **S,
            "tool_name": "Bash",
            "tool_use_id": "t2",
            "tool_input": {"command": "make"},
            "error": "Exit code 2\nboom",
        },
    ),
    "continue": (
        "PostToolUseFailure",
        {
            **S,
            "tool_name": "Bash",
            "tool_use_id": "t2",
            "tool_input": {"command": "make"},
            "error": "Exit code 2\nboom",
        },
    ),
    "qwen": (
        "PostToolUseFailure",
        {
            **S,
            "tool_name": "run_shell_command",
            "tool_call_id": "t2",
            "tool_input": {"command": "make"},
            "error": "Command: make\nDirectory: (root)\nOutput: boom\nExit Code: 2\nSignal: (none)",
        },
    ),
    "gemini": (
        "AfterTool",
        {
            **S,
            "tool_name": "run_shell_command",
            "tool_input": {"command": "make"},
            "tool_response": {"llmContent": "Output: boom\nExit Code: 2\nProcess Group PGID: 7"},
        },
    ),
    "copilot": (
        "postToolUse",
        {
            "sessionId": "s1",
            "timestamp": 2,
            "toolName": "bash",
            "toolArgs": {"command": "make"},
            "toolResult": {
                "resultType": "success",
                "textResultForLlm": "boom\n<shellId: 0 completed with exit code 2>",
            },
        },
    ),
    "cursor": (
        "postToolUse",
        {
            "conversation_id": "s1",
            "tool_name": "Shell",
            "tool_use_id": "t2",
            "tool_input": {"command": "make"},
            "tool_output": '{"exitCode": 2, "stdout": "boom"}',
        },
    ),
    "opencode": (
        "tool.execute.after",
        {
            "input": {"tool": "bash", "sessionID": "s1", "callID": "t2", "args": {"command": "make"}},
            "output": {"output": "boom", "metadata": {"exit": 2}},
        },
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_told_as_a_diff_of_its_file(name: str) -> None:
    event, payload = EDITS[name]

    (seen,) = told(name, event, payload)

    assert (seen.agent, seen.session_id, seen.seen, seen.file) == (name, "s1", ObservationKind.TOOL, "/repo/a.py")
    assert "-x = 1" in seen.diff
    assert "+x = 2" in seen.diff
    assert not seen.failed


@pytest.mark.parametrize("name", ["claude-code", "qwen", "gemini"])
def test_where_the_whole_file_is_told_both_sides_have_the_name_git_gives_them(name: str) -> None:
    (seen,) = told(name, *EDITS[name])

    assert (seen.before, seen.after) == (hash_blob("x = 1\n"), hash_blob("x = 2\n"))


def test_gits_name_is_gits() -> None:
    assert hash_blob("hello\n") == "ce013625030ba8dba906f756967f9e9ca394464a"
    assert hash_blob(None) == ""


@pytest.mark.parametrize("name", FAILURES)
def test_a_failed_command_is_told_with_its_exit_code(name: str) -> None:
    event, payload = FAILURES[name]

    (seen,) = told(name, event, payload)

    assert (seen.command, seen.exit_code, seen.failed) == ("make", 2, True)
    assert "boom" in seen.output


@pytest.mark.parametrize(("workdir", "directory"), [("/repo/web", "/repo/web"), ("web", "/repo/web"), ("", "/repo")])
def test_a_command_has_the_directory_that_its_call_names(workdir: str, directory: str) -> None:
    call = {"tool_name": "shell", "tool_use_id": "t", "tool_input": {"command": ["npm", "test"], "workdir": workdir}}

    (step,) = told("codex", "PostToolUse", {**S, "cwd": "/repo", **call, "tool_response": "2 passed"})

    assert PurePath(step.directory) == PurePath(directory)


def test_a_command_that_worked_has_the_exit_code_zero() -> None:
    worked = {"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "ls"}}

    (claude,) = told(
        "claude-code", "PostToolUse", {**S, **worked, "tool_response": {"stdout": "a\nExit code 9", "stderr": ""}}
    )
    (gemini,) = told(
        "gemini",
        "AfterTool",
        {
            **S,
            "tool_name": "run_shell_command",
            "tool_input": {"command": "ls"},
            "tool_response": {"llmContent": "Output: a"},
        },
    )
    (codex,) = told("codex", "PostToolUse", {**S, **worked, "tool_response": "a\n"})

    assert (claude.exit_code, claude.failed) == (0, False)
    assert gemini.exit_code == 0
    assert codex.exit_code is None


def test_a_patch_of_two_files_is_two_observations_with_ids_of_their_own() -> None:
    patch = "*** Begin Patch\n*** Add File: b.py\n+b\n*** Delete File: a.py\n*** End Patch\n"
    payload = {
        **S,
        "tool_name": "apply_patch",
        "tool_use_id": "t",
        "tool_input": {"command": patch},
        "tool_response": "ok",
    }

    first, second = told("codex", "PostToolUse", payload)

    assert [first.file, second.file] == ["/repo/a.py", "/repo/b.py"]
    assert second.after == hash_blob("b\n")
    assert first.source_id != second.source_id


PROMPTS: Table = {
    "claude-code": (
        "UserPromptSubmit",
        {**S, "prompt_id": "p", "prompt": "<system-reminder>x</system-reminder>Use tabs"},
    ),
    "codex": ("UserPromptSubmit", {**S, "turn_id": "p", "prompt": "Use tabs"}),
    "gemini": ("BeforeAgent", {**S, "prompt": "<hook_context>x</hook_context>\n\nUse tabs"}),
    "copilot": ("userPromptSubmitted", {"sessionId": "s1", "timestamp": 5, "prompt": "Use tabs"}),
    "qwen": (
        "UserPromptSubmit",
        {
            **S,
            "prompt_id": "p",
            "prompt": "Use tabs<qwen:user-prompt-submit-context>x</qwen:user-prompt-submit-context>",
        },
    ),
    "cursor": ("beforeSubmitPrompt", {"conversation_id": "s1", "generation_id": "g", "prompt": "Use tabs"}),
    "windsurf": ("pre_user_prompt", {"trajectory_id": "s1", "tool_info": {"user_prompt": "Use tabs"}}),
    "opencode": (
        "chat.message",
        {
            "input": {"sessionID": "s1"},
            "output": {
                "message": {"id": "m"},
                "parts": [{"type": "text", "text": '"Use tabs"'}, {"type": "text", "text": "x", "synthetic": True}],
            },
        },
    ),
    "antigravity": (
        "UserPromptSubmit",
        {
            **S,
            "prompt_id": "0",
            "prompt": "<USER_REQUEST>\nUse tabs\n</USER_REQUEST>\n<ADDITIONAL_METADATA>\nx\n</ADDITIONAL_METADATA>",
        },
    ),
    "cline": (
        "UserPromptSubmit",
        {"taskId": "s1", "userPromptSubmit": {"prompt": '<user_input mode="act">Use tabs</user_input>'}},
    ),
    "continue": ("UserPromptSubmit", {**S, "prompt": "<hivemind-memory 1f>\nx\n</hivemind-memory 1f>Use tabs"}),
}


@pytest.mark.parametrize("name", PROMPTS)
def test_a_prompt_is_the_persons_own_words(name: str) -> None:
    event, payload = PROMPTS[name]

    (seen,) = told(name, event, payload)

    assert (seen.seen, seen.text, seen.session_id) == (ObservationKind.PROMPT, "Use tabs", "s1")


def test_a_prompt_event_without_a_prompt_tells_nothing() -> None:
    assert told("qwen", "UserPromptSubmit", {**S, "prompt": ""}) == []


def test_the_same_step_told_twice_has_the_same_id() -> None:
    event, payload = EDITS["claude-code"]

    ids = {
        one.source_id
        for at in ("1", "2")
        for one in get_agent("claude-code").decode(event, payload, at)
        if isinstance(one, Observation)
    }

    assert len(ids) == 1


def test_steps_inside_a_subagent_belong_to_the_session_and_say_whose_they_are() -> None:
    inside = {"sessionId": "child", "agentId": "child", "parentAgentId": "s1", "timestamp": 9, "prompt": "Look around"}

    (copilot,) = told("copilot", "userPromptSubmitted", inside)
    (claude,) = told(
        "claude-code",
        "SubagentStop",
        {**S, "agent_id": "a", "agent_type": "explore", "last_assistant_message": "Found it"},
    )
    fork = told(
        "claude-code", "SubagentStop", {**S, "agent_id": "a", "agent_type": "", "last_assistant_message": "Summary"}
    )

    assert (copilot.session_id, copilot.subagent) == ("s1", "child")
    assert (claude.seen, claude.text, claude.subagent) == (ObservationKind.SUBAGENT, "Found it", "a")
    assert fork == []


def test_a_session_begins_once_and_is_taken_up_again_as_often_as_you_like() -> None:
    begun = [told("claude-code", "SessionStart", {**S, "source": "startup"})[0].source_id for _ in range(2)]

    resumed = [
        next(iter(get_agent("claude-code").decode("SessionStart", {**S, "source": "resume"}, at))) for at in ("1", "2")
    ]

    assert begun[0] == begun[1]
    assert len({one.source_id for one in resumed if isinstance(one, Observation)}) == 2


@pytest.mark.parametrize("name", [name for name in callers.NAMES if name != "zed"])
def test_fields_we_do_not_know_are_ignored_and_events_we_do_not_know_are_reported(name: str) -> None:
    event, payload = PROMPTS[name]

    known = told(name, event, {**payload, "brand_new": {"field": 1}})
    unknown = list(
        get_agent(name).decode(
            "BrandNewEvent",
            {**payload, "hook_event_name": "BrandNewEvent", "agent_action_name": "BrandNewEvent"},
            AT,
        )
    )

    assert known == told(name, event, payload)
    assert [type(one) for one in unknown] == [SkippedInput]


@pytest.mark.parametrize("name", [name for name in callers.NAMES if name != "zed"])
def test_a_payload_without_a_session_is_reported(name: str) -> None:
    (skipped,) = get_agent(name).decode(PROMPTS[name][0], {}, AT)

    assert isinstance(skipped, SkippedInput)
    assert "session" in skipped.reason


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.parametrize("name", [name for name in callers.NAMES if name != "zed"])
@examples(100)
@given(data=st.data())
def test_whatever_stands_in_a_field_nothing_is_raised(name: str, data: st.DataObject) -> None:
    event, payload = data.draw(st.sampled_from([table[name] for table in (EDITS, FAILURES, PROMPTS) if name in table]))
    spoiled = {key: data.draw(json_values) if data.draw(st.booleans()) else value for key, value in payload.items()}

    found = list(get_agent(name).decode(event, spoiled, AT))

    assert all(isinstance(one, Observation | SkippedInput) for one in found)


def test_what_we_injected_does_not_come_back() -> None:
    said = "before <hivemind-memory a1>\nAlways use tabs\n</hivemind-memory a1> after"

    assert strip_injected(said) == "before  after"
    assert strip_injected("a <system-reminder> that never ends") == "a <system-reminder> that never ends"


@pytest.mark.parametrize(
    ("name", "event", "expected"),
    [
        (
            "claude-code",
            "SessionStart",
            {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "C"}},
        ),
        (
            "codex",
            "UserPromptSubmit",
            {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "C"}},
        ),
        ("gemini", "BeforeAgent", {"hookSpecificOutput": {"hookEventName": "BeforeAgent", "additionalContext": "C"}}),
        ("qwen", "SessionStart", {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "C"}}),
        ("antigravity", "SessionStart", {"injectSteps": [{"systemMessage": {"systemMessage": "C"}}]}),
        ("antigravity", "UserPromptSubmit", {"injectSteps": [{"ephemeralMessage": "C"}]}),
        ("antigravity", "PostToolUse", {"injectSteps": [{"ephemeralMessage": "C"}]}),
        ("copilot", "sessionStart", {"additionalContext": "C"}),
        ("copilot", "preToolUse", {"additionalContext": "C"}),
        ("cursor", "beforeSubmitPrompt", {"additional_context": "C"}),
        ("cline", "PreToolUse", {"context": "C"}),
    ],
)
def test_context_is_given_in_the_agents_own_form(name: str, event: str, expected: dict[str, Any]) -> None:
    agent = get_agent(name)

    assert json.loads(agent.reply(event, "C")) == expected
    assert agent.reply(event, "") == ""
    assert agent.reply("Stop", "C") == ""


@pytest.mark.parametrize("roots", [1, True, None, "x", [None], [["x"]]])
def test_who_asks_is_known_whatever_stands_where_directories_belong(roots: object) -> None:
    asked = get_agent("cline").parse_request("PreToolUse", {"taskId": "s1", "workspaceRoots": roots})
    placed = get_agent("cline").parse_request("PreToolUse", {"taskId": "s1", "workspaceRoots": ["/"]})

    assert (asked.session, asked.directory) == ("s1", None)
    assert str(placed.directory) == "/"


@pytest.mark.parametrize("name", callers.NAMES)
def test_events_that_are_answered_are_known_to_the_hook_beforehand(name: str) -> None:
    answers = get_agent(name).answers

    assert set(answers) <= callers.CONTEXT_EVENTS | set(callers.BEFORE_CALL_EVENTS) | callers.AFTER_CALL_EVENTS
    assert ("before" in answers.values()) == (name in callers.HEAR_BEFORE_CALLS)
    assert all(get_agent(name).reply(event, "C") for event, kind in answers.items() if kind != "guard")


@pytest.mark.parametrize(
    ("environ", "payload", "caller"),
    [
        ({"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "s1"}, {"session_id": "s1"}, "claude-code"),
        ({"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "s1", "COPILOT_CLI": "1"}, {"session_id": "s1"}, "claude-code"),
        ({"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "outer", "COPILOT_CLI": "1"}, {"session_id": "s2"}, "copilot"),
        ({"CLAUDE_PROJECT_DIR": "/repo"}, {"cursor_version": "3"}, "cursor"),
        ({"CLAUDE_PROJECT_DIR": "/repo", "QWEN_CODE_SESSION_ID": "s1"}, {"session_id": "s1"}, "qwen"),
        ({"GEMINI_SESSION_ID": "s1"}, {"session_id": "s1"}, "gemini"),
        ({}, {"agent_action_name": "pre_user_prompt"}, "windsurf"),
        ({}, {"turn_id": "t", "permission_mode": "x"}, "codex"),
        ({}, {"session_id": "s1"}, "claude-code"),
    ],
)
def test_the_agent_that_really_runs_claudes_hook_is_known(
    environ: dict[str, str], payload: dict[str, str], caller: str
) -> None:
    assert callers.identify_hook_agent("claude-code", environ, json.dumps(payload)) == caller
    assert callers.identify_hook_agent("codex", environ, json.dumps(payload)) == "codex"


def test_a_command_knows_the_agent_whose_shell_it_runs_in() -> None:
    assert callers.detect_agent({"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "s"}) == ("claude-code", "s")
    assert callers.detect_agent({"OPENCODE": "1"}) == ("opencode", "")
    assert callers.detect_agent({"HOME": "/root"}) is None
