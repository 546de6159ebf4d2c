"""The run of a real client with a real model: what lies between them, and what is counted."""

import json
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from lab.evals.clients.dialects import Call, Chat, Reply, Tool
from lab.evals.clients.model import Model
from lab.evals.clients.model import serve as serve_model
from lab.evals.gain.agent import check_result
from lab.evals.real_model import Outcome, Relay, find_call, serve, summarise

TOOL = {"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}


def ask(address: str, text: str) -> str:
    body = {"model": "m", "messages": [{"role": "user", "content": text}], "tools": [TOOL]}
    request = urllib.request.Request(f"{address}/v1/chat/completions", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=10) as response:
        return str(json.load(response)["choices"][0]["message"]["content"])


def outcome(**fields: object) -> Outcome:
    usual = {"task": "t", "requests": 2, "calls": ("read",)}
    return Outcome(**usual | fields)  # type: ignore[arg-type]


def test_a_request_reaches_the_endpoint_and_is_kept() -> None:
    with serve_model(Model("please")) as model, serve(Relay(f"{model.address}/v1")) as relay:
        reply = ask(relay.address, "please")

    assert reply == "All done."
    assert [request["messages"][0]["content"] for request in relay.requests] == ["please"]
    assert "All done." in relay.replies[0]


def test_the_client_sees_why_the_endpoint_refused() -> None:
    # Nobody listens at port 9.
    with serve(Relay("http://127.0.0.1:9/v1")) as relay, pytest.raises(urllib.error.HTTPError, match="502") as error:
        ask(relay.address, "please")

    assert b"cannot be reached" in error.value.read()
    assert len(relay.requests) == 1


def test_a_call_that_was_written_as_text_is_found() -> None:
    def stream(text: str) -> str:
        return "".join(Chat().stream({}, Reply(text=text)))

    tools = [Tool(name="write")]
    block = '```json\n{"name": "write", "arguments": {"content": "x = 1"}}\n```'

    assert find_call(stream(block), tools) == Call(tool=tools[0], arguments={"content": "x = 1"})
    assert find_call(stream(block.replace("write", "erase")), tools) is None
    assert find_call(stream('{"name": "write", "arguments": {'), tools) is None
    assert find_call(stream("I wrote the file."), tools) is None


def test_arrival_change_and_success_are_counted_apart() -> None:
    totals = summarise(
        [
            outcome(has_fact=True, arrived=2, is_changed=True, is_solved=True),
            outcome(has_fact=True, arrived=1, is_changed=True, is_solved=False),
            outcome(has_fact=False, arrived=0, is_changed=False, is_solved=False),
        ]
    )

    assert totals["fact"] == {"sessions": 2, "with the fact in a request": 2, "file changed": 2, "solved": 1}
    assert totals["nothing"] == {"sessions": 1, "with the fact in a request": 0, "file changed": 0, "solved": 0}


def test_a_result_is_graded_by_a_program_that_runs_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "answer.py").write_text("VALUE = 42\n")

    assert check_result("import answer; assert answer.VALUE == 42", tmp_path)
    assert not check_result("import answer; assert answer.VALUE == 43", tmp_path)
