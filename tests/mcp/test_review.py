"""Review inside an agent: as a conversation, and by a form that the client shows to the person."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import mcp
import pytest
from mcp import types

from hivemind.hivemind import Hivemind
from hivemind.model.memory import Channel, Memory, Trust
from tests.command_line import run
from tests.conftest import Clock, Open
from tests.mcp.client import MODERN, Client, connected

FORMS: dict[str, Any] = {"elicitation": {}}
TEXTS = (
    "The office in Oslo has a printer", "Lint with ruff before a commit", "Releases are tagged by the bot",
    "Postgres listens behind a proxy", "Screenshots are taken in dark mode", "Invoices are sent by courier",
    "The mascot is a heron",
)  # fmt: skip


@pytest.fixture
def person(open_mind: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Hivemind:
    for variable in ("CLAUDE_PROJECT_DIR", "CLAUDE_CODE_SESSION_ID"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(tmp_path)
    clock.set_to_today()
    return open_mind()


def propose(person: Hivemind, count: int) -> list[Memory]:
    return [person.remember(text, propose=True) for text in TEXTS[:count]]


def statuses(person: Hivemind, *memories: Memory) -> list[str]:
    return [person.show(memory.id).status.value for memory in memories]


def shake_hands(client: Client, capabilities: dict[str, Any], version: str = "2025-11-25") -> None:
    client.ask("initialize", protocolVersion=version, capabilities=capabilities, clientInfo={"name": "codex"})


def start_review(client: Client, **arguments: Any) -> Any:
    """The first message that comes back for a review: a form, or the result."""
    call = {"name": "review", "arguments": arguments}
    return client.send(json.dumps({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": call}))


def answer(client: Client, form: Any, **result: Any) -> str:
    """Answer a form, and return what the tool then says."""
    reply = client.send(json.dumps({"jsonrpc": "2.0", "id": form["id"], "result": result}))
    assert reply["id"] == 77
    return str(reply["result"]["content"][0]["text"])


def test_a_review_lists_five_at_a_time_and_later_gives_the_next(person: Hivemind, tmp_path: Path) -> None:
    memories = propose(person, 7)

    with connected(tmp_path) as client:
        client.shake_hands()
        first, _ = client.call("review")
        shown_ids = [memory.id[:8] for memory in memories if memory.id[:8] in first]
        second, _ = client.call("review", decide="later", ids=shown_ids)
        last, _ = client.call("review", decide="later", ids=[memory.id for memory in memories])

    assert [f"\n{number}. " in first for number in (1, 5, 6)] == [True, True, False]
    assert len(shown_ids) == 5
    assert "More wait (2)" in first
    assert "Show these to the user" in first
    assert [memory.id[:8] in second for memory in memories].count(True) == 2
    assert [memory.id[:8] in second for memory in memories if memory.id[:8] in shown_ids].count(True) == 0
    assert last == "Nothing more to review."


def test_several_are_decided_in_one_call_where_agents_may(person: Hivemind, tmp_path: Path) -> None:
    memories = propose(person, 3)
    ids = [memory.id for memory in memories]

    with connected(tmp_path) as client:
        client.shake_hands()
        advice, _ = client.call("review")
        refused = client.call("review", decide="approve", ids=ids[:2])
        before = statuses(person, *memories)
        run("config", "set", "agents_may_review", "true")
    with connected(tmp_path) as client:
        client.shake_hands()
        advice_now, _ = client.call("review")
        wrong = client.call("review", decide="approve", ids=[ids[0], "ffffffff"])
        after_wrong = statuses(person, *memories)
        approved = client.call("review", decide="approve", ids=ids[:2])
        rejected = client.call("review", decide="reject", id=ids[2])

    assert refused[1]
    assert ("hivemind approve" in advice, "hivemind approve" in advice_now) == (True, False)
    assert before == after_wrong == ["proposed"] * 3
    assert (wrong[1], approved[1], rejected[1]) == (True, False, False)
    assert statuses(person, *memories) == ["active", "active", "retracted"]


def test_a_review_shows_a_dispute_once_with_both_sides(person: Hivemind, tmp_path: Path) -> None:
    one = person.remember("API port is 8080")
    other = person.remember("API port is 9090")
    person.review.dispute(one.id, other.id)

    with connected(tmp_path) as client:
        client.shake_hands()
        shown, _ = client.call("review")

    assert [text in shown for text in (one.text, other.text)] == [True, True]
    assert "\n2. " not in shown


def test_the_choices_in_a_form_are_the_persons_verdicts(person: Hivemind, tmp_path: Path) -> None:
    memories = propose(person, 3)

    with connected(tmp_path) as client:
        shake_hands(client, FORMS)
        form = start_review(client)
        fields = form["params"]["requestedSchema"]["properties"]
        by_text = {name: next(m for m in memories if m.text[:30] in field["title"]) for name, field in fields.items()}
        wishes = {memories[0].id: "keep", memories[1].id: "reject", memories[2].id: "later"}
        said = answer(client, form, action="accept", content={n: wishes[m.id] for n, m in by_text.items()})

    kept = person.show(memories[0].id)
    last = person.explain(kept.id).history[-1].event
    assert form["method"] == "elicitation/create"
    assert all(memory.text in form["params"]["message"] for memory in memories)
    assert {tuple(field["enum"]) for field in fields.values()} == {("later", "keep", "reject")}
    assert statuses(person, *memories) == ["active", "retracted", "proposed"]
    assert (kept.trust, last.channel, last.actor) == (Trust.HIGH, Channel.PERSON, "ada")
    assert getattr(last.fact, "reason", "") == "answered in codex"
    assert f"kept: {memories[0].id[:8]}" in said


@pytest.mark.parametrize(
    "result",
    [
        {"action": "decline"},
        {"action": "cancel"},
        # A client that cannot show the fields may ask for a plain yes.
        {"action": "accept"},
        {"action": "accept", "content": {}},
        {"action": "accept", "content": {"memory_1": "approve", "memory_9": "keep"}},
        {"action": "accept", "content": {"memory_1": ["keep"]}},
        {},
    ],
)
def test_a_form_without_a_choice_decides_nothing(result: dict[str, Any], person: Hivemind, tmp_path: Path) -> None:
    memories = propose(person, 1)

    with connected(tmp_path) as client:
        shake_hands(client, FORMS)
        said = answer(client, start_review(client), **result)

    assert statuses(person, *memories) == ["proposed"]
    assert said


def test_one_side_of_a_dispute_is_kept_in_a_form_that_shows_both(person: Hivemind, tmp_path: Path) -> None:
    one, other = person.remember("API port is 8080"), person.remember("API port is 9090")
    person.review.dispute(one.id, other.id)

    with connected(tmp_path) as client:
        shake_hands(client, FORMS)
        form = start_review(client)
        message = form["params"]["message"]
        letter = next(line.split()[0][0] for line in message.splitlines() if one.text in line)
        answer(client, form, action="accept", content={"memory_1": f"keep {letter}"})

    assert (one.text in message, other.text in message) == (True, True)
    assert statuses(person, one, other) == ["active", "superseded"]


def test_a_form_does_not_decide_what_changed_while_it_was_shown(person: Hivemind, tmp_path: Path) -> None:
    changed, same = propose(person, 2)

    with connected(tmp_path) as client:
        shake_hands(client, FORMS)
        form = start_review(client)
        person.edit(changed.id, "The office in Oslo has two printers")
        said = answer(client, form, action="accept", content={"memory_1": "keep", "memory_2": "keep"})

    assert statuses(person, changed, same) == ["proposed", "active"]
    assert "changed meanwhile" in said


def test_a_text_too_long_for_a_form_is_not_decided_there(person: Hivemind, tmp_path: Path) -> None:
    long = person.remember("Read this. " + "And so on. " * 200, propose=True)
    (short,) = propose(person, 1)

    with connected(tmp_path) as client:
        shake_hands(client, FORMS)
        form = start_review(client)
        answer(client, form, action="accept", content={"memory_1": "keep"})
        rest = start_review(client)

    assert len(form["params"]["requestedSchema"]["properties"]) == 1
    assert statuses(person, short, long) == ["active", "proposed"]
    assert long.id[:8] in rest["result"]["content"][0]["text"]


@pytest.mark.parametrize(
    ("capabilities", "version"),
    [({}, "2025-11-25"), ({"elicitation": {"url": {}}}, "2025-11-25"), (FORMS, "2025-03-26"), ("x", "2025-11-25")],
)
def test_a_client_without_forms_gets_the_list(
    capabilities: Any, version: str, person: Hivemind, tmp_path: Path
) -> None:
    propose(person, 1)

    with connected(tmp_path) as client:
        shake_hands(client, capabilities, version)
        reply = start_review(client)

    assert "The office in Oslo" in reply["result"]["content"][0]["text"]


def test_a_client_of_a_stateless_version_without_forms_gets_the_list(person: Hivemind, tmp_path: Path) -> None:
    propose(person, 1)

    with connected(tmp_path) as client:
        shake_hands(client, FORMS)
        said, _ = client.call("review", MODERN)

    assert "The office in Oslo" in said


def ask_stateless(client: Client, tool: str, arguments: dict[str, Any], **rest: Any) -> Any:
    """The reply to a call of a version without a handshake, from a client that shows forms."""
    meta = MODERN | {"io.modelcontextprotocol/clientCapabilities": FORMS}
    return client.ask("tools/call", name=tool, arguments=arguments, _meta=meta, **rest)


def repeat_with(choice: str, question: Any, name: str = "memory_1") -> dict[str, Any]:
    """What a client adds when it sends a call again with the person's choice."""
    response = {"action": "accept", "content": {name: choice}}
    return {"inputResponses": {"form": response}, "requestState": question["requestState"]}


def test_a_call_of_a_stateless_version_is_repeated_with_the_persons_choice(person: Hivemind, tmp_path: Path) -> None:
    (memory,) = propose(person, 1)

    with connected(tmp_path) as client:
        question = ask_stateless(client, "review", {})["result"]
        before = statuses(person, memory)
        done = ask_stateless(client, "review", {}, **repeat_with("keep", question))["result"]

    form = question["inputRequests"]["form"]
    assert (question["resultType"], form["method"]) == ("input_required", "elicitation/create")
    assert memory.text in form["params"]["message"]
    assert before == ["proposed"]
    assert done["resultType"] == "complete"
    assert f"kept: {memory.id[:8]}" in done["content"][0]["text"]
    assert statuses(person, memory) == ["active"]


def test_a_choice_counts_only_for_the_call_and_the_texts_that_were_shown(person: Hivemind, tmp_path: Path) -> None:
    (memory,) = propose(person, 1)

    with connected(tmp_path) as client:
        question = ask_stateless(client, "review", {})["result"]
        answer = repeat_with("keep", question)
        other_call = ask_stateless(client, "review", {"decide": "later", "ids": ["ffffffff"]}, **answer)
        forged = ask_stateless(client, "review", {}, **answer | {"requestState": "0" * 64 + '["", ""]'})
        no_text = ask_stateless(client, "review", {}, **answer | {"requestState": 7})
        unanswered = ask_stateless(client, "review", {}, requestState=question["requestState"])["result"]
        person.edit(memory.id, "The office in Oslo has two printers")
        again = ask_stateless(client, "review", {}, **answer)["result"]

    assert [reply["error"]["code"] for reply in (other_call, forged, no_text)] == [-32602] * 3
    assert unanswered["resultType"] == "input_required"
    assert "two printers" in again["inputRequests"]["form"]["params"]["message"]
    assert statuses(person, memory) == ["proposed"]


def remember(client: Client, **arguments: Any) -> Any:
    call = {"name": "remember", "arguments": arguments}
    return client.send(json.dumps({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": call}))


def test_the_person_settles_in_a_form_what_an_agent_contradicts(person: Hivemind, tmp_path: Path) -> None:
    known = person.remember("API port is 8080")

    with connected(tmp_path) as client:
        shake_hands(client, FORMS)
        form = remember(client, text="API port is 9090")
        letter = next(line.split()[0][0] for line in form["params"]["message"].splitlines() if "9090" in line)
        said = answer(client, form, action="accept", content={"memory_1": f"keep {letter}"})

    (current,) = (memory for memory in person.list() if memory.status.value == "active")
    assert (current.text, current.trust) == ("API port is 9090", Trust.HIGH)
    assert person.show(known.id).status.value == "superseded"
    assert f"settled for {current.id[:8]}" in said


@pytest.mark.parametrize(
    ("choice", "status", "trust", "facts"),
    [
        ("keep", "active", Trust.HIGH, ["MemoryRemembered", "MemoryApproved"]),
        ("later", "active", Trust.MEDIUM, ["MemoryRemembered"]),
        ("reject", "retracted", Trust.MEDIUM, ["MemoryRemembered", "MemoryRejected"]),
    ],
)
def test_the_person_is_asked_about_words_that_nobody_recorded(
    choice: str, status: str, trust: Trust, facts: list[str], person: Hivemind, tmp_path: Path
) -> None:
    claim = {"text": "Changelogs are written by hand", "said": "never generate the changelog"}

    with connected(tmp_path) as client:
        question = ask_stateless(client, "remember", claim)["result"]
        done = ask_stateless(client, "remember", claim, **repeat_with(choice, question))["result"]

    message = question["inputRequests"]["form"]["params"]["message"]
    memory = person.show(done["structuredContent"]["ids"][0])
    assert [claim["text"] in message, claim["said"] in message] == [True, True]
    assert (memory.status.value, memory.trust) == (status, trust)
    # The second of the two calls stores nothing.
    assert [type(step.event.fact).__name__ for step in person.explain(memory.id).history][:2] == facts


def test_after_a_form_the_agent_is_told_of_likely_conflicts_and_broken_links(person: Hivemind, tmp_path: Path) -> None:
    known = person.remember("Cards are charged once")
    claim = {"text": "Cards are charged twice", "said": "we charge cards twice now", "links": ["pay.py::gone"]}

    with connected(tmp_path) as client:
        shake_hands(client, FORMS)
        kept = answer(client, remember(client, **claim), action="accept", content={"memory_1": "keep"})
        claim |= {"text": "Cards are charged three times"}
        rejected = answer(client, remember(client, **claim), action="accept", content={"memory_1": "reject"})

    assert [known.id[:8] in kept, "pay.py::gone" in kept] == [True, True]
    assert [known.id[:8] in rejected, "pay.py::gone" in rejected] == [False, False]


def test_nobody_is_asked_about_a_plain_note(person: Hivemind, tmp_path: Path) -> None:
    with connected(tmp_path) as client:
        shake_hands(client, FORMS)
        plain = remember(client, text="Changelogs are written by hand")
        refused = answer(client, remember(client, text="Tags are signed", said="sign every tag"), action="decline")

    assert "Stored as" in plain["result"]["content"][0]["text"]
    assert "decided nothing" in refused


def test_other_requests_are_answered_while_a_form_is_shown(person: Hivemind, tmp_path: Path) -> None:
    (memory,) = propose(person, 1)

    with connected(tmp_path) as client:
        shake_hands(client, FORMS)
        form = start_review(client)
        pong = client.ask("ping")["result"]
        # Without a form of its own.
        listed, _ = client.call("review")
        broken = client.send("{nonsense")
        answer(client, form, action="accept", content={"memory_1": "keep"})
        after = client.ask("ping")["result"]

    assert (pong, after) == ({}, {})
    assert memory.id[:8] in listed
    assert "error" in broken
    assert statuses(person, memory) == ["active"]


def test_a_cancelled_review_decides_nothing_and_the_conversation_goes_on(person: Hivemind, tmp_path: Path) -> None:
    (memory,) = propose(person, 1)

    with connected(tmp_path) as client:
        shake_hands(client, FORMS)
        form = start_review(client)
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77}}
        ended = client.send(json.dumps(cancelled))
        client.post(json.dumps({"jsonrpc": "2.0", "id": form["id"], "result": {"action": "accept", "content": {}}}))
        pong = client.ask("ping")["result"]

    assert ended["id"] == 77
    assert pong == {}
    assert statuses(person, memory) == ["proposed"]


def test_a_client_that_leaves_while_a_form_is_shown_ends_the_server(person: Hivemind, tmp_path: Path) -> None:
    (memory,) = propose(person, 1)

    # The server ends with 0, which connected() checks.
    with connected(tmp_path) as client:
        shake_hands(client, FORMS)
        assert start_review(client)["method"] == "elicitation/create"

    assert statuses(person, memory) == ["proposed"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_official_client_shows_the_form_to_its_user(
    mode: str, person: Hivemind, tmp_path: Path, home: Path
) -> None:
    (memory,) = propose(person, 1)
    shown: list[Any] = []

    async def fill_in(_: Any, params: Any) -> types.ElicitResult:
        shown.append(params)
        return types.ElicitResult(action="accept", content={"memory_1": "keep"})

    # The library's type for it is private.
    fill_in_any: Any = fill_in

    async def review() -> Any:
        environ = {"HIVEMIND_HOME": str(home), "HIVEMIND_PERSON": "ada", "PATH": "/usr/bin:/bin"}
        server = mcp.StdioServerParameters(
            command=sys.executable, args=["-P", "-m", "hivemind", "mcp"], cwd=tmp_path, env=environ
        )
        async with mcp.Client(mcp.stdio_client(server), mode=mode, elicitation_callback=fill_in_any) as client:
            return await client.call_tool("review", {})

    said = asyncio.run(review())

    assert len(shown) == 1
    assert not said.is_error
    assert statuses(person, memory) == ["active"]
