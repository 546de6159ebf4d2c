"""Devices of one team that push much at once to a hub."""

import http.client
import json
import random
import secrets
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from hivemind.hub.host import Host
from hivemind.hub.store import HubDatabase
from hivemind.model.events import Event, MemoryRemembered
from hivemind.model.ids import EventId, MemoryId
from hivemind.model.memory import Channel, Kind
from hivemind.model.scope import Scope
from hivemind.model.team import Role
from hivemind.model.wire import pack_entry
from hivemind.settings import Settings
from hivemind.store import sync_state
from hivemind.store.store import Store
from lab.benchmarks.corpus import sentences

REPO = "remote:git.example/acme/api"
NOW = "2026-03-01T12:00:00.000000Z"
ATTEMPTS = 50


@dataclass(frozen=True, kw_only=True)
class Device:
    """A device with entries that its hub does not have, and its token."""

    token: str
    chain: str
    entries: Sequence[object]


def make_devices(hub: HubDatabase, count: int, entries_each: int) -> list[Device]:
    """Create a team with devices, each with new memories for it."""
    host, name = Host(hub, Settings(home=Path(), person="hub")), f"loud {secrets.token_hex(3)}"
    host.create_team(name)
    with host.open_mind(host.find_owner(name)) as mind:
        tokens = [mind.admin.tokens.issue(name=f"person {number}", role=Role.WRITER) for number in range(count)]
    return [_write_entries(token, number, entries_each) for number, token in enumerate(tokens)]


def _write_entries(token: str, number: int, count: int) -> Device:
    texts = sentences(random.Random(number), count)
    with TemporaryDirectory() as folder, Store.open(Path(folder)) as store:
        events = [
            Event(
                id=EventId(secrets.token_hex(16)), at=NOW, actor=f"person {number}", channel=Channel.PERSON,
                scope=Scope.TEAM, repo=REPO,
                fact=MemoryRemembered(
                    memory_id=MemoryId(secrets.token_hex(16)), kind=Kind.FACT, text=f"the {text}", owner=f"{number}"
                ),
            )
            for text in texts
        ]  # fmt: skip
        store.record(events)
        entries = sync_state.read_chain(store.db, store.chain, 0, count)
        return Device(token=token, chain=store.chain, entries=[pack_entry(entry) for entry in entries])


def push_all(port: int, devices: Sequence[Device]) -> float:
    """Push everything, all devices at once; return the seconds it took."""
    start = time.perf_counter()
    with ThreadPoolExecutor(len(devices)) as pool:
        list(pool.map(lambda device: _push(port, device), devices))
    return time.perf_counter() - start


def _push(port: int, device: Device) -> None:
    """Push as a device does: 200 entries a request, and again where the hub is busy."""
    _request(port, device.token, "/v1/hello", {"device": device.chain})
    for start in range(0, len(device.entries), 200):
        _request(
            port, device.token, "/v1/push", {"device": device.chain, "entries": device.entries[start : start + 200]}
        )


def post(connection: http.client.HTTPConnection, token: str, path: str, body: object) -> tuple[int, bytes]:
    """Send a request and return the status and the body of the answer."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request("POST", path, json.dumps(body), headers)
    answer = connection.getresponse()
    return answer.status, answer.read()


def _request(port: int, token: str, path: str, body: object) -> None:
    for attempt in range(ATTEMPTS):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        status, text = post(connection, token, path, body)
        connection.close()
        if status == 200:
            return
        assert status == 503, text
        time.sleep(random.uniform(0.5, 1) * min(2**attempt, 8))
    raise AssertionError(f"{path}: refused {ATTEMPTS} times")
