"""Requests no honest client sends: the hub answers each with an error and goes on."""

import json
import urllib.error
import urllib.request

import pytest

from hivemind.model.events import MemoryRemembered, encode_fact
from hivemind.model.ids import MemoryId
from hivemind.model.memory import Kind
from hivemind.text.untrusted import MAX_MESSAGE_BYTES
from tests.hub.serving import SECONDS, Served

DEEP = "[" * 10_000 + "]" * 10_000
BODIES = {
    "nested 10,000 deep": f'{{"query": {DEEP}}}'.encode(),
    "nested and never closed": b'{"query": ' + b"[" * 10_000,
    "a number of 5,000 digits": b'{"query": "x", "limit": ' + b"9" * 5_000 + b"}",
    "a number beyond 64 bits": b'{"query": "x", "limit": ' + b"9" * 30 + b"}",
    "an infinite number": b'{"query": "x", "limit": 1e999}',
    "not a number": b'{"query": "x", "limit": NaN}',
    "half a character": b'{"query": "\\ud800"}',
    "a NUL": b'{"query": "a\\u0000b"}',
    "bytes that are no UTF-8": b'{"query": "\xff\xfe"}',
    "no JSON": b"\x00\x01",
    "a list": b"[]",
    "wrong types": b'{"query": {"a": 1}, "tags": 7}',
    "many megabytes": b'{"query": "' + b"x" * (MAX_MESSAGE_BYTES + 1) + b'"}',
}
ANSWERS = (200, 400, 413, 422)


def send(served: Served, path: str, token: str, body: bytes) -> tuple[int, bytes]:
    request = urllib.request.Request(
        served.url + path,
        data=body,
        headers={
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()
    except urllib.error.URLError:
        # The hub answered and closed while we were still sending.
        return 413, b"{}"


@pytest.mark.parametrize("what", BODIES)
def test_a_bad_question_gets_an_error_and_the_next_one_an_answer(served: Served, team: str, what: str) -> None:
    token = served.token(team)

    status, answer = send(served, "/v1/recall", token, BODIES[what])

    assert status in ANSWERS
    assert isinstance(json.loads(answer), dict)
    assert served.ask("POST", "/v1/recall", token, {"query": "deploys"}).status == 200


@pytest.mark.parametrize("what", BODIES)
def test_a_bad_message_of_an_agent_gets_an_error_and_the_next_one_an_answer(
    served: Served, team: str, what: str
) -> None:
    token = served.token(team, is_agent=True)
    call = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"recall","arguments":%b}}'

    status, answer = send(served, "/mcp", token, call % BODIES[what])
    after, said = send(served, "/mcp", token, call % b'{"query": "deploys"}')

    assert status in ANSWERS
    assert status == 413 or "error" in json.loads(answer) or json.loads(answer)["result"]["isError"]
    assert (after, json.loads(said)["result"]["isError"]) == (200, False)


def test_an_entry_whose_content_is_nested_too_deeply_is_refused(served: Served, team: str) -> None:
    name, _ = encode_fact(MemoryRemembered(memory_id=MemoryId("a" * 32), kind=Kind.FACT, text="x", owner="ada"))
    header = ["e1", "d1", 1, "0" * 64, "2026-03-01T12:00:00.000000Z", "ada", "person", "team", "", "", "", "a" * 32]
    entry = {"header": [*header, name, "0" * 64], "salt": "00", "content": f'{{"memory_id": {DEEP}}}'}

    answer = served.ask("POST", "/v1/push", served.token(team), {"device": "d1", "entries": [entry]})

    assert answer.status == 422
    assert "its content does not match its fact" in answer.body["error"]
