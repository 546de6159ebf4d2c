"""Nonsense for every parser that reads what others wrote: read, skipped with a reason or refused, never a crash."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hivemind import mcp
from hivemind.agents import callers, jsonc
from hivemind.agents.agent import get_agent
from hivemind.code import repository
from hivemind.errors import InvalidInput
from hivemind.mcp import protocol
from hivemind.model.session import Observation, SkippedInput
from hivemind.sessions import intake, spool, spool_reader
from hivemind.settings import Settings
from hivemind.transfer import files, rules_files
from tests.conftest import Open, Tally
from tests.hypothesis_profile import examples

EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "SessionEnd",
    "PreCompact",
    "beforeSubmitPrompt",
    "afterShellExecution",
    "afterFileEdit",
    "sessionStart",
    "userPromptSubmitted",
    "postToolUse",
    "BeforeAgent",
    "AfterTool",
    "post_write_code",
    "pre_user_prompt",
    "notify",
    "tool.execute.after",
    "message.updated",
)
FIELDS = (
    "session_id",
    "sessionId",
    "sessionID",
    "conversation_id",
    "trajectory_id",
    "cwd",
    "tool_name",
    "tool_input",
    "tool_response",
    "toolName",
    "toolArgs",
    "toolResult",
    "tool_use_id",
    "prompt",
    "command",
    "output",
    "exit_code",
    "file_path",
    "edits",
    "text",
    "message",
    "content",
    "type",
    "role",
    "payload",
    "timestamp",
    "last_assistant_message",
    "workspace_roots",
    "tool_info",
    "structuredPatch",
    "toolUseResult",
    "parts",
    "part",
    "info",
    "arguments",
    "result",
    "model",
    "id",
    "name",
    "input",
    "stdout",
)
leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40)
values: st.SearchStrategy[Any] = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=6),
    max_leaves=20,
)
payloads = st.dictionaries(st.sampled_from(FIELDS), values, max_size=10)
QUICK = examples(25)


@pytest.mark.parametrize("agent", callers.NAMES)
@QUICK
@given(event=st.sampled_from(EVENTS), payload=payloads)
def test_hook_payloads_of_every_agent(agent: str, event: str, payload: dict[str, Any]) -> None:
    told = list(get_agent(agent).decode(event, payload, "2026-01-01T10:00:00.000000Z"))
    arrived = list(intake.parse_spool_lines([(agent, event, "2026-01-01T10:00:00.000000Z", json.dumps(payload))]))

    assert all(isinstance(one, Observation | SkippedInput) for one in told)
    assert len(arrived) == len(told)
    get_agent(agent).parse_request(event, payload)


@pytest.mark.parametrize("agent", callers.NAMES)
@QUICK
@given(lines=st.lists(payloads.map(json.dumps) | st.text(max_size=60), max_size=6), raw=st.binary(max_size=60))
def test_transcripts_of_every_agent(tmp_path: Path, agent: str, lines: list[str], raw: bytes) -> None:
    for name in ("session.jsonl", "ui_messages.json"):
        file = tmp_path / name
        file.write_bytes("\n".join(lines).encode("utf-8", "replace") + raw)

        told = list(get_agent(agent).read_transcript(file))

        assert all(isinstance(one, Observation | SkippedInput) for one in told)


@QUICK
@given(line=st.text(max_size=200) | payloads.map(json.dumps))
def test_spool_lines(tmp_path: Path, line: str) -> None:
    (tmp_path / spool.SPOOL_FILE).write_text(line, errors="replace")

    with spool_reader.take_lines(str(tmp_path)) as lines:
        seen = list(intake.parse_spool_lines(lines))

    assert all(isinstance(one, intake.Arrival | SkippedInput) for one in seen)


ODD: dict[str, dict[str, Any]] = {
    "a NUL in the directory": {"cwd": "/a\0b"},
    "a directory too long": {"cwd": "x" * 5000},
    "no text": {"cwd": "\ud800"},
    "a NUL in the output": {"tool_response": {"stdout": "a\0b"}},
    "half a character": {"prompt": "always \udc00 use x"},
    "a session that is no text": {"session_id": {"a": [1]}},
    "a number too large": {"exit_code": 10**400},
    "a deep one": {"tool_input": [[[[[1]]]]]},
    "an exit code too large": {"tool_response": {"stdout": "x", "exit_code": 10**30}},
}


@pytest.mark.parametrize("name", ODD)
def test_whatever_hooks_leave_the_store_still_opens(open_mind: Open, home: Path, name: str) -> None:
    told: dict[str, Any] = {
        "session_id": "s1",
        "cwd": str(home),
        "tool_name": "Bash",
        "tool_use_id": "t1",
        "command": "make",
    }
    told |= {"tool_input": {"command": "make"}, "tool_response": {"stdout": "x", "stderr": ""}, "prompt": "x"}
    for agent in callers.NAMES:
        for event in EVENTS:
            spool.append(str(home), agent, event, "2026-01-01T10:00:00.000000Z", json.dumps(told | ODD[name]))

    with open_mind() as mind:
        kept = mind.remember("The store is open")
        mind.learning.learn()

        assert mind.show(kept.id).text == "The store is open"
    assert not (home / spool.SPOOL_FILE).exists()
    assert list(home.glob(f"*{spool.TAKEN_SUFFIX}")) == []


@QUICK
@given(
    text=st.text(alphabet='{}[]",:/*\\\n aé0-1.tfn', max_size=80) | values.map(json.dumps), name=st.sampled_from(FIELDS)
)
def test_configuration_with_comments(text: str, name: str) -> None:
    def attempt(act: Callable[[], Any]) -> Any:
        try:
            return act()
        except InvalidInput:
            return None

    attempt(lambda: jsonc.load(text))
    attempt(lambda: jsonc.get(text, (name,)) is not None and jsonc.remove(text, (name,)))
    changed = attempt(lambda: jsonc.put(text, (name, "inner"), {"a": 1}))

    assert changed is None or jsonc.get(changed, (name, "inner")) == {"a": 1}


@QUICK
@given(text=st.text(max_size=100))
def test_our_own_settings(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.toml").write_text(text, errors="replace")
    try:
        loaded = Settings.load({"HIVEMIND_HOME": str(tmp_path), "HIVEMIND_PERSON": "ada"})
    except InvalidInput:
        return
    assert loaded.person


frames = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | leaves,
        "id": leaves,
        "params": payloads | leaves,
        "method": st.sampled_from(["initialize", "tools/list", "tools/call", "resources/read", "prompts/get", "ping"])
        | leaves,
    },
)


@QUICK
@given(lines=st.lists(frames.map(json.dumps) | values.map(json.dumps) | st.text(max_size=60), max_size=4))
def test_frames_of_the_server(lines: list[str]) -> None:
    server = mcp.ToolServer(None)
    requests = io.BytesIO("\n".join(line.replace("\n", " ") for line in lines).encode("utf-8", "replace") + b"\n")
    replies = io.BytesIO()

    protocol.serve(server.describe(), requests, replies)
    server.close()

    for reply in replies.getvalue().splitlines():
        assert json.loads(reply)


exported = st.fixed_dictionaries(
    {
        "hivemind": st.just(1),
        "id": st.just("a" * 32) | leaves,
        "kind": st.just("fact") | leaves,
        "text": leaves,
        "owner": st.just("ada") | leaves,
        "scope": st.just("user") | leaves,
    },
    optional=dict.fromkeys(
        (
            "tags",
            "sources",
            "links",
            "subject",
            "confidence",
            "valid_from",
            "expires_at",
            "trace",
            "repo",
            "recorded_at",
            "verify_by",
            "valid_to",
        ),
        values,
    ),
)


@QUICK
@given(held=exported | payloads)
def test_lines_of_an_import(held: dict[str, Any]) -> None:
    try:
        found = list(files.parse_export([json.dumps(held)]))
    except InvalidInput:
        return
    assert len(found) == 1


@examples(20)
@given(
    sources=st.lists(
        st.dictionaries(st.sampled_from(["channel", "actor", "file", "lines", "quote", "commit"]), values), max_size=2
    ),
    more=st.dictionaries(
        st.sampled_from(["subject", "confidence", "tags", "links", "trace", "repo"]), values, max_size=3
    ),
)
def test_an_import_that_is_taken_can_be_shown(open_mind: Open, sources: list[Any], more: dict[str, Any]) -> None:
    mind = open_mind()
    line = {"hivemind": 1, "kind": "fact", "text": "Deploys run from main", "owner": "ada", "scope": "user"}
    held = line | {"id": "a" * 32, "sources": sources} | more
    try:
        is_taken = mind.files.import_lines([json.dumps(held)]).refused == 0
    except InvalidInput:
        is_taken = False

    shown = [mind.explain(mind.show(one.id).id).memory.text for one in mind.list(everywhere=True)]
    mind.maintenance.doctor(quick=True)
    mind.close()

    assert shown == ["Deploys run from main"] or (shown == [] and not is_taken)


@QUICK
@given(text=st.text(alphabet="#-*`<!> \n\tab1.é\x1b\x00", max_size=200))
def test_instruction_files(tmp_path: Path, text: str) -> None:
    (tmp_path / "AGENTS.md").write_text(text)

    said = list(rules_files.read_points(tmp_path))

    assert all(point.text and point.lines for point in said)


@QUICK
@example("~nobody/x")  # whose home nobody knows
@given(remote=st.text(max_size=60))
def test_addresses_of_remotes(remote: str) -> None:
    assert isinstance(repository.normalise_remote(remote), str)


def test_the_parsers_were_all_tried(tally: Tally) -> None:
    fed = [one for name, one in globals().items() if name.startswith("test_") and hasattr(one, "hypothesis")]
    of_agents = [one for one in fed if hasattr(one, "pytestmark")]
    parsers = len(of_agents) * len(callers.NAMES) + len(fed) - len(of_agents)

    tally("parsers fed with nonsense, 25 times each", parsers, parsers)

    assert len(fed) > len(of_agents) > 0
