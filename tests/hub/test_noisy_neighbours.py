"""Devices of one team that push much at once, while another team asks."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from starlette.types import Message

from hivemind import Hivemind, Scope
from hivemind.hub.host import Host
from hivemind.hub.http import create_application
from hivemind.hub.store import HubDatabase, HubOptions
from hivemind.model.team import Role
from hivemind.settings import Settings
from hivemind.sync.hub_client import HubClient
from tests.hub.serving import Served, serving

DEVICES, ENTRIES, QUESTIONS, CONNECTIONS = 6, 40, 30, 3


@pytest.fixture
def small_hub(empty_database: str, tmp_path: Path) -> Iterator[tuple[Served, HubDatabase]]:
    """A hub with fewer connections than devices push at once."""
    options = HubOptions(connections=CONNECTIONS, pool_seconds=5)
    settings = Settings(home=tmp_path / "hub", person="hub")
    with HubDatabase.open(empty_database, options) as hub, serving(Host(hub, settings)) as served:
        served.host.create_team("loud")
        served.host.create_team("quiet")
        yield served, hub


def test_a_team_that_asks_is_answered_while_another_pushes(
    small_hub: tuple[Served, HubDatabase], tmp_path: Path
) -> None:
    served, hub = small_hub
    quiet = served.token("quiet", Role.WRITER, "alice")
    served.ask("POST", "/v1/memories", quiet, {"text": "Deploys run on Fridays"})

    def push(device: int) -> int:
        settings = Settings(home=tmp_path / str(device), person=f"person {device}", model="none")
        client = HubClient(url=served.url, token=served.token("loud", Role.WRITER, f"person {device}"))
        with Hivemind.open(directory=tmp_path, settings=settings) as mind:
            for number in range(ENTRIES):
                # Nothing that contradicts another, which would add entries.
                mind.remember(hashlib.sha256(f"{device} {number}".encode()).hexdigest(), scope=Scope.TEAM)
            return mind.team.sync(client).pushed

    with ThreadPoolExecutor(DEVICES) as pool:
        pushes = pool.map(push, range(DEVICES))
        answers = [served.ask("POST", "/v1/recall", quiet, {"query": "when do deploys run"}) for _ in range(QUESTIONS)]
        pushed = list(pushes)

    assert pushed == [ENTRIES] * DEVICES
    assert {answer.status for answer in answers} == {200}
    assert all(answer.body["hits"] for answer in answers)
    # Nothing was embedded by a request; it waits for a worker.
    assert {team.name: team.waiting for team in hub.list_teams()} == {"loud": DEVICES * ENTRIES, "quiet": 1}


def test_a_device_that_does_not_read_its_answer_keeps_nobody_waiting(
    small_hub: tuple[Served, HubDatabase],
) -> None:
    served, _ = small_hub
    token = served.token("loud", Role.WRITER, "alice")
    app = create_application(served.host, served.url)
    statuses: list[int] = []

    async def ask(method: str, path: str, body: bytes, before_answer: Callable[[], Awaitable[None]]) -> None:
        host = urlsplit(served.url).netloc
        headers = {"host": host, "authorization": f"Bearer {token}", "content-type": "application/json"}
        scope = {
            "type": "http", "method": method, "path": path, "query_string": b"", "root_path": "", "http_version": "1.1",
            "scheme": "http", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2),
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }  # fmt: skip

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
                await before_answer()

        await app(scope, receive, send)

    async def read_at_once() -> None:
        pass

    async def write_meanwhile() -> None:
        await ask("POST", "/v1/memories", b'{"text": "Deploys run on Fridays"}', read_at_once)

    asyncio.run(ask("POST", "/v1/memories", b'{"text": "Tests need a database"}', write_meanwhile))

    assert statuses == [200, 200]
