"""Agents in the cloud use the team's memory by the official client, without a laptop."""

import asyncio
import re
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from hivemind.hub.http.mcp import HUB_INSTRUCTIONS, HUB_TOOLS
from hivemind.hub.store import HubDatabase
from hivemind.hub.worker import HubWorker
from hivemind.mcp.tools import TOOLS
from hivemind.model.team import Role
from hivemind.settings import Settings
from tests.hub.serving import Served


def used(served: Served, token: str, *calls: tuple[str, dict[str, Any]], mode: str = "auto") -> list[Any]:
    """What a client that holds a token is told: the tools there are, then each call's answer."""

    async def using() -> list[Any]:
        headers = {"Authorization": f"Bearer {token}", "Hivemind-Repository": "https://github.com/acme/api.git"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(f"{served.url}/mcp", http_client=http), mode=mode) as client,
        ):
            listed = [tool.name for tool in (await client.list_tools()).tools]
            said = [await client.call_tool(name, given) for name, given in calls]
            return [listed, *((one.is_error, str(getattr(one.content[0], "text", ""))) for one in said)]

    return asyncio.run(using())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_what_one_agent_remembers_another_recalls(
    hub: HubDatabase, served: Served, team: str, mode: str, tmp_path: Path
) -> None:
    claim = {"text": "The queue is drained before each deploy", "kind": "procedure"}
    listed, kept = used(served, served.token(team, is_agent=True), ("remember", claim), mode=mode)
    while HubWorker(hub, Settings(home=tmp_path, person="hub")).embed_batch():
        pass

    _, found, elsewhere = used(
        served, served.token(team, Role.READER, is_agent=True),
        ("recall", {"query": "what happens to the queue before a deploy?"}),
        ("recall", {"query": "something entirely unknown about penguins"}),
        mode=mode,
    )  # fmt: skip

    assert listed == [tool["name"] for tool in TOOLS if tool["name"] != "session"]
    assert kept[0] is False
    # It is the team's at once, wherever the agent runs.
    assert "Stored as" in kept[1]
    assert "machine" not in kept[1]
    assert "The queue is drained before each deploy" in found[1]
    assert "near this question" in elsewhere[1]


def test_a_hub_keeps_nothing_that_is_a_persons_own(served: Served, team: str) -> None:
    claim = {"text": "The queue is drained before each deploy"}

    _, *private, session, shared, found = used(
        served, served.token(team),
        ("remember", claim | {"scope": "user"}),
        ("remember", claim | {"scope": "project"}),
        ("session", {}),
        ("remember", {"text": "Deploys run on Fridays", "scope": "team"}),
        ("recall", {"query": "queue drained before each deploy"}),
    )  # fmt: skip

    assert [is_error for is_error, _ in (*private, session, shared)] == [True, True, True, False]
    assert all("team" in text for _, text in private)
    assert "queue" not in found[1]


def test_a_hub_tells_agents_of_nothing_that_it_does_not_have() -> None:
    names = {tool["name"] for tool in HUB_TOOLS} | {
        name for tool in HUB_TOOLS for name in tool["inputSchema"]["properties"]
    }

    assert set(re.findall(r"`(\w+)`", HUB_INSTRUCTIONS)) <= names
    assert not any("past session" in tool["description"] for tool in HUB_TOOLS)


def test_what_goes_wrong_is_told_to_the_model(served: Served, team: str) -> None:
    _, unknown, refused = used(
        served, served.token(team, Role.READER),
        ("explain", {"id": "abcdef12"}),
        ("remember", {"text": "Readers cannot write"}),
    )  # fmt: skip

    assert (unknown[0], refused[0]) == (True, True)
    assert "there is no memory" in unknown[1]
    assert "may read the team's memories" in refused[1]


def test_an_agent_of_another_team_finds_nothing(served: Served, team: str, strangers: str) -> None:
    used(served, served.token(team), ("remember", {"text": "The queue is drained before each deploy"}))

    _, found = used(served, served.token(strangers), ("recall", {"query": "queue drained deploy", "everywhere": True}))

    assert "No memories here" in found[1]


@pytest.mark.parametrize("token", ["", "hm_wrong"])
def test_without_a_token_the_door_stays_shut(served: Served, token: str) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}

    assert served.ask("POST", "/mcp", token, call, Accept="application/json, text/event-stream").status == 401
