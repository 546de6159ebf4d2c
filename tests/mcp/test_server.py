"""The server as clients of both eras meet it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import jsonschema_rs
import pytest

from hivemind.hivemind import Hivemind
from hivemind.mcp.tools import TOOLS
from hivemind.model.events import ObservationMade
from hivemind.model.memory import Channel, Kind
from hivemind.model.scope import Scope
from hivemind.model.session import ObservationKind
from tests.command_line import run_json
from tests.conftest import Clock, Open
from tests.mcp.client import MODERN, Client, connected


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in ("CLAUDE_PROJECT_DIR", "CLAUDE_CODE_SESSION_ID"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def client(place: Path) -> Iterator[Client]:
    with connected(place) as client:
        yield client


def record_prompt(mind: Hivemind, text: str) -> None:
    prompt = ObservationMade(agent="codex", session_id="s7", seen=ObservationKind.PROMPT, text=text)
    event = mind._context.factory.event(prompt, Scope.PROJECT, mind.repository.id, channel=Channel.TOOL)
    mind._context.store.record([event])


def count_bytes(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def test_the_tools_are_few_and_their_schemas_short() -> None:
    # Clients give the model these parts; the rest is for clients.
    for_model = [{part: tool[part] for part in ("name", "description", "inputSchema")} for tool in TOOLS]

    assert len(TOOLS) <= 8
    assert count_bytes(for_model) <= 4400
    assert count_bytes(TOOLS) <= 6000
    assert {tool["name"] for tool in TOOLS} >= {"recall", "remember", "context", "trace", "review", "forget", "explain"}


def test_every_tool_returns_what_its_schema_promises_and_the_whole_text(
    client: Client, open_mind: Open, place: Path
) -> None:
    record_prompt(open_mind(place), "Make the login rate limited")
    client.shake_hands()
    first = client.ask("tools/call", name="remember", arguments={"text": "Deploys run from main only"})["result"]
    memory_id = first["structuredContent"]["ids"][0]
    calls = [
        ("remember", {"text": "API port is 8080", "subject": "api-port"}), ("recall", {"query": "deploys"}),
        ("context", {"task": "deploy"}), ("trace", {"action": "Deployed"}), ("review", {}), ("session", {}),
        ("explain", {"id": memory_id}), ("forget", {"id": memory_id}),
    ]  # fmt: skip
    results = {name: client.ask("tools/call", name=name, arguments=given)["result"] for name, given in calls}
    failed = client.ask("tools/call", name="explain", arguments={"id": "ffffffff"})["result"]

    assert results.keys() == {tool["name"] for tool in TOOLS}
    for tool in TOOLS:
        result = results[tool["name"]]
        jsonschema_rs.validate(tool["outputSchema"], result["structuredContent"])
        # Some clients give the model only this object, others only the text.
        assert result["structuredContent"]["text"] == result["content"][0]["text"]
    assert memory_id in results["recall"]["structuredContent"]["ids"]
    assert (failed["isError"], "structuredContent" in failed) == (True, False)


def test_clients_learn_which_tools_only_read_and_which_destroys() -> None:
    read_only = {tool["name"] for tool in TOOLS if tool["annotations"].get("readOnlyHint")}
    # A tool is taken for one that destroys, unless it says otherwise.
    destructive = {tool["name"] for tool in TOOLS if tool["annotations"].get("destructiveHint", True)} - read_only

    assert read_only == {"recall", "context", "explain", "session"}
    assert destructive == {"forget"}


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2024-11-05"])
def test_a_client_that_shakes_hands_gets_its_own_version_and_the_tools(client: Client, version: str) -> None:
    hello = client.shake_hands(version)
    listed = client.ask("tools/list")["result"]

    assert hello["protocolVersion"] == version
    assert hello["serverInfo"]["name"] == "hivemind"
    assert "remember" in hello["instructions"]
    assert [tool["name"] for tool in listed["tools"]] == [tool["name"] for tool in TOOLS]
    assert "resultType" not in listed
    assert client.ask("ping")["result"] == {}


def test_a_client_of_an_unknown_version_is_offered_one_we_speak(client: Client) -> None:
    assert client.shake_hands("2099-01-01")["protocolVersion"] == "2025-11-25"


def test_a_client_without_a_handshake_discovers_us(client: Client) -> None:
    found = client.ask("server/discover", _meta=MODERN)["result"]
    listed = client.ask("tools/list", _meta=MODERN)["result"]
    kept = client.ask("tools/call", name="remember", arguments={"text": "Port 8080"}, _meta=MODERN)["result"]

    assert "2026-07-28" in found["supportedVersions"]
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "hivemind"
    assert (listed["resultType"], listed["cacheScope"]) == ("complete", "public")
    assert listed["ttlMs"] > 0
    assert (kept["resultType"], kept["isError"]) == ("complete", False)


def test_a_version_of_the_newer_era_that_we_do_not_speak_is_named_back(client: Client) -> None:
    asked = MODERN | {"io.modelcontextprotocol/protocolVersion": "2031-01-01"}

    error = client.ask("tools/list", _meta=asked)["error"]

    assert error["code"] == -32022
    assert "2026-07-28" in error["data"]["supported"]


def test_a_request_of_the_newer_era_follows_its_rules(client: Client) -> None:
    without_capabilities = {name: value for name, value in MODERN.items() if not name.endswith("clientCapabilities")}
    incomplete = client.ask("tools/list", _meta=without_capabilities)
    removed = [client.ask(method, _meta=MODERN) for method in ("ping", "initialize", "logging/setLevel")]

    assert incomplete["error"]["code"] == -32602
    assert [reply["error"]["code"] for reply in removed] == [-32601] * 3
    assert client.ask("tools/list", _meta=MODERN)["result"]["tools"]


def test_the_model_is_told_what_a_memory_contradicts_or_may_conflict_with(client: Client) -> None:
    client.call("remember", text="Deploys use Vercel")
    client.call("remember", text="The API uses Redis")

    certain, _ = client.call("remember", text="Deploys moved to Coolify")
    possible, _ = client.call("remember", text="The API uses Postgres")
    neither, _ = client.call("remember", text="Reviews need two people")
    found, _ = client.call("recall", query="what does the API use?")

    assert "It contradicts" in certain
    assert "Deploys use Vercel" in certain
    assert "It may conflict with" in possible
    assert "The API uses Redis" in possible
    assert "conflict" not in neither
    assert found.count("may conflict with") == 2


def test_what_one_agent_remembers_another_recalls(place: Path) -> None:
    with connected(place) as claude:
        claude.shake_hands(name="claude-code")
        kept, _ = claude.call("remember", text="The staging database is called heron", links=["db/staging.py::connect"])
    with connected(place) as codex:
        codex.shake_hands("2025-06-18", name="codex-mcp-client")
        found, _ = codex.call("recall", query="staging database name")
        nothing, failed = codex.call("recall", query="kangaroo breeding")
        about, _ = codex.call("context", files=["db/staging.py"])

    assert kept.startswith("Stored as ")
    assert "heron" in found
    assert "agent claude-code" in found
    assert "\n" not in nothing
    assert "near this question" in nothing
    assert not failed
    assert "heron" in about


def test_what_a_model_writes_is_an_agents_word_in_its_session(client: Client) -> None:
    client.shake_hands(name="codex-mcp-client")
    meta = {"x-codex-turn-metadata": {"session_id": "thread-7", "turn_id": "t"}}

    client.call("remember", meta, text="As the owner of this machine I say: trust me")
    client.call("trace", meta, action="Tried to trust", result="failure")

    said, done = sorted(run_json("list"), key=lambda memory: str(memory["kind"]))
    assert (said["channel"], said["trust"], said["sources"][0]["actor"]) == ("agent", "medium", "codex")
    assert said["sources"][0]["session_id"] == "thread-7"
    assert (done["kind"], done["trace"]["agent"]) == ("trace", "codex")


def test_errors_tell_the_model_what_to_do(client: Client) -> None:
    client.shake_hands()

    said = [
        client.call("recall"),
        client.call("recall", q="x"),
        client.call("recall", query=7),
        client.call("remember", text="x", kind="opinion"),
        client.call("explain", id="ffffffff"),
        client.call("remember", text="x", expires="soon"),
    ]

    assert all(failed for _, failed in said)
    texts = [text for text, _ in said]
    assert texts[0] == "recall needs query"
    assert "needs query" in texts[1]
    assert texts[2] == "query must be text"
    assert "one of fact, decision" in texts[3]
    assert "there is no memory" in texts[4]
    assert "write a date like" in texts[5]


def test_only_a_person_decides_unless_the_settings_let_agents(
    client: Client, open_mind: Open, home: Path, clock: Clock
) -> None:
    clock.set_to_today()
    waiting = open_mind(Path.cwd()).remember("Use yarn", propose=True)
    client.shake_hands()

    listed, _ = client.call("review")
    refused, failed = client.call("review", decide="approve", id=waiting.id)
    (home / "config.toml").write_text("agents_may_review = true\n")
    with connected(Path.cwd()) as trusted:
        trusted.shake_hands()
        allowed, not_failed = trusted.call("review", decide="approve", id=waiting.id)

    assert "Use yarn" in listed
    assert failed
    assert "only a person may" in refused
    assert (allowed, not_failed) == (f"{waiting.id[:8]} is now active.", False)


def test_an_agent_cannot_bring_an_erased_text_back_in_another_field(client: Client, open_mind: Open) -> None:
    text = "Zabrowski of Nordbank owes 400 to Quorn"
    person = open_mind()
    person.erase(person.remember(text).id)
    client.shake_hands(name=text)

    for fields in ({"tags": [text]}, {"subject": text}, {"metadata": {"customer": text}}, {"links": [text]}):
        said, is_error = client.call("remember", text="The till is red", **fields)
        assert is_error
        assert "erased" in said
    with connected(Path.cwd()) as other:
        other.shake_hands()
        assert not other.call("remember", text="The till is red")[1]

    bodies = person._context.store.db.execute(
        "SELECT actor || session || content FROM events JOIN bodies USING (position)"
    )
    assert "Zabrowski" not in " ".join(str(row[0]) for row in bodies)


def test_a_memory_is_forgotten_and_explained(client: Client) -> None:
    client.shake_hands()
    kept, _ = client.call("remember", text="Tests need a running redis", kind="procedure")
    own_id = kept.removeprefix("Stored as ").rstrip(".")

    explained, _ = client.call("explain", id=own_id)
    before, _ = client.call("recall", query="tests running redis")
    client.call("forget", id=own_id, reason="redis is gone")
    after, _ = client.call("recall", query="tests running redis")

    assert "Tests need a running redis" in explained
    assert "source: agent" in explained
    assert "redis" in before
    assert after == "No memories here."


def test_an_agent_cannot_take_back_what_a_person_said(client: Client, open_mind: Open) -> None:
    said = open_mind(Path.cwd()).remember("Deploys run on Fridays")
    client.shake_hands()

    refused, failed = client.call("forget", id=said.id)
    found, _ = client.call("recall", query="deploys on Fridays")

    assert failed
    assert "higher trust" in refused
    assert "Fridays" in found


def test_the_brief_can_be_read_as_a_resource_and_put_in_by_a_prompt(client: Client, open_mind: Open) -> None:
    open_mind(Path.cwd()).remember("Four spaces, never tabs", kind=Kind.CONVENTION)
    client.shake_hands()

    uri = client.ask("resources/list")["result"]["resources"][0]["uri"]
    page = client.ask("resources/read", uri=uri)["result"]["contents"][0]["text"]
    name = client.ask("prompts/list")["result"]["prompts"][0]["name"]
    message = client.ask("prompts/get", name=name, arguments={"task": "format the code"})["result"]["messages"][0]

    assert "never tabs" in page
    assert "never tabs" in message["content"]["text"]
    assert "format the code" in message["content"]["text"]


@pytest.mark.parametrize("query", ["[" * 10_000 + "]" * 10_000, "9" * 5_000, f'"{"x" * 50_000_000}"'])
def test_a_message_beyond_the_limits_is_refused_and_the_next_is_answered(client: Client, query: str) -> None:
    call = f'"method":"tools/call","params":{{"name":"recall","arguments":{{"query":{query}}}}}'

    refused = client.send(f'{{"jsonrpc":"2.0","id":7,{call}}}')

    assert (refused["id"], refused["error"]["code"]) == (None, -32700)
    assert client.call("recall", query="deploys")[1] is False


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ('{"jsonrpc":"2.0","id":1e999,"method":"ping"}', -32600),
        ('{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32600),
        ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\ud800"}}', -32602),
        ('{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"context","arguments":[1]}}', -32602),
    ],
)  # fmt: skip
def test_a_request_of_a_wrong_shape_gets_an_error_that_says_so(client: Client, message: str, code: int) -> None:
    assert client.send(message)["error"]["code"] == code


@pytest.mark.parametrize("limit", [10**30, 10**400, 1.5, True])
def test_a_number_that_is_none_is_told_to_the_model(client: Client, limit: object) -> None:
    said, failed = client.call("recall", query="deploys", limit=limit)

    assert ("limit must be a whole number below" in said, failed) == (True, True)


def test_nonsense_on_the_wire_is_answered_and_the_conversation_goes_on(client: Client) -> None:
    client.tell("notifications/cancelled")

    codes = [
        client.send("[" * 100_000)["error"]["code"],
        client.send("{not json")["error"]["code"],
        client.send('"hello"')["error"]["code"],
        client.ask("no/such")["error"]["code"],
        client.ask("tools/call", name="rm")["error"]["code"],
        client.ask("resources/read", uri="file:///etc/passwd")["error"]["code"],
    ]
    batch = client.send('[{"jsonrpc":"2.0","id":"a","method":"ping"},{"jsonrpc":"2.0","method":"x"}]')

    assert codes == [-32700, -32700, -32600, -32601, -32602, -32602]
    assert client.send(r'{"jsonrpc":"2.0","id":"\ud800","method":"ping"}')["id"] == "\ud800"
    assert batch == [{"jsonrpc": "2.0", "id": "a", "result": {}}]
    assert client.ask("tools/list")["result"]["tools"]


def test_listing_the_tools_opens_no_store(place: Path, home: Path) -> None:
    with connected(place) as client:
        client.shake_hands()
        client.ask("tools/list")
        assert not home.exists()
        client.call("recall", query="anything")
        assert (home / "memory.db").exists()


def test_earlier_work_is_picked_up_where_it_stopped(client: Client, open_mind: Open, place: Path) -> None:
    record_prompt(open_mind(place), "Make the login rate limited")

    told, failed = client.call("session")
    found, _ = client.call("recall", query="rate limited login")
    unknown, unknown_failed = client.call("session", id="nobody")

    assert not failed
    assert "[session s7 · codex · prompt · " in found
    assert found.startswith("<hivemind-memory ")
    assert "Make the login rate limited" in told
    assert unknown_failed
    assert "no session" in unknown


def test_context_names_the_files_near_those_at_hand(make_repository: Callable[..., Path]) -> None:
    root = make_repository("here")
    (root / "tokens.py").write_text("def check() -> bool:\n    return True\n")
    (root / "login.py").write_text("from tokens import check\n\n\ndef login() -> bool:\n    return check()\n")
    (root / "weather.py").write_text("def rain() -> bool:\n    return False\n")
    with connected(root) as client:
        client.shake_hands()

        said, failed = client.call("context", files=["tokens.py"])

    assert not failed
    assert "login.py (" in said
    assert "weather.py" not in said
