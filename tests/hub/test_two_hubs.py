"""Two hubs before one database, as behind a load balancer: neither keeps anything that the other lacks."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import pytest

from hivemind import Hivemind
from hivemind.hub.host import Host
from hivemind.model.scope import Scope
from hivemind.model.team import Bookmark, ChainHead, LogPage, PushResult, Role, Welcome
from hivemind.model.wire import WireEntry
from hivemind.settings import Settings
from hivemind.sync.hub_client import HubClient
from tests.hub.serving import Served, serving
from tests.hub.test_pages import let_in, plainly

EACH = 15


@dataclass
class Balanced:
    """Asks now one hub, now the other."""

    clients: Iterator[HubClient]

    def say_hello(self, device: str, bookmark: Bookmark | None = None) -> Welcome:
        return next(self.clients).say_hello(device, bookmark)

    def push(self, device: str, entries: Sequence[WireEntry]) -> PushResult:
        return next(self.clients).push(device, entries)

    def pull(self, device: str, after: int, limit: int, epoch: str = "") -> LogPage:
        return next(self.clients).pull(device, after, limit, epoch)

    def compare(self, device: str, chains: Mapping[str, int]) -> Sequence[ChainHead]:
        return next(self.clients).compare(device, chains)

    def list_hashes(self, device: str, after: int) -> Sequence[str]:
        return next(self.clients).list_hashes(device, after)

    def take_back(self, device: str, entries: Sequence[WireEntry], head: ChainHead) -> int:
        return next(self.clients).take_back(device, entries, head)


@pytest.fixture
def hubs(empty_database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Served, Served, list[str]]]:
    """Two hubs that started at once on a database in which nothing was, and the first tokens they printed."""
    monkeypatch.setenv("HIVEMIND_MODEL", "none")

    def start(_: int) -> tuple[Host, str | None]:
        host = Host.open(empty_database)
        return host, host.create_first_team()

    with ThreadPoolExecutor(2) as pool:
        (one, first), (other, second) = pool.map(start, range(2))
    with serving(one) as here, serving(other) as there:
        yield here, there, [token for token in (first, second) if token]
    one.close()
    other.close()


def test_hubs_that_start_at_once_begin_one_team(hubs: tuple[Served, Served, list[str]]) -> None:
    here, there, tokens = hubs

    assert len(tokens) == 1
    assert [one.ask("GET", "/v1/tokens", tokens[0]).status for one in (here, there)] == [200, 200]


def test_a_token_or_browser_that_one_lets_in_the_other_does_too_until_it_is_revoked_on_either(
    hubs: tuple[Served, Served, list[str]],
) -> None:
    here, there, (admin,) = hubs
    alice = here.ask("POST", "/v1/tokens", admin, {"name": "alice", "role": "reviewer"}).body["token"]
    held = let_in(here, alice)
    form_token = plainly(here, "GET", "/", held)[2].partition('name="token" value="')[2].partition('"')[0]
    memory = there.ask("POST", "/v1/memories", alice, {"text": "Deploys run on Fridays"}).body["id"]
    before = there.ask("GET", "/v1/memories", alice).status, plainly(there, "GET", "/", held)[0]
    acted = plainly(there, "POST", f"/memory/{memory}/verify", held, {"token": form_token})[0]

    here.ask("DELETE", "/v1/tokens/alice", admin)

    assert (before, acted) == ((200, 200), 303)
    assert there.ask("GET", "/v1/memories", alice).status == 401
    assert plainly(there, "GET", "/", held)[0] == 303


def test_what_devices_push_through_both_has_one_order(
    hubs: tuple[Served, Served, list[str]], tmp_path: Path, make_repository: Callable[..., Path]
) -> None:
    here, there, _ = hubs
    clone = make_repository("clone")

    def work(person: str) -> None:
        token = here.token("team", Role.WRITER, person)
        line = Balanced(cycle(HubClient(url=one.url, token=token) for one in (here, there)))
        settings = Settings(home=tmp_path / person, person=person, model="none")
        with Hivemind.open(directory=clone, settings=settings) as mind:
            for number in range(EACH):
                mind.remember(f"{person} found out fact number {number}", scope=Scope.TEAM)
                if number % 3 == 0:
                    mind.team.sync(line)
            mind.team.sync(line)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, ("alice", "bob")))
    token = here.token("team", Role.READER, "carol")
    epoch = HubClient(url=here.url, token=token).say_hello("carols").epoch
    told = [HubClient(url=one.url, token=token).pull("carols", 0, 200, epoch) for one in (here, there)]

    assert told[0] == told[1]
    said = [entry for entry in told[0].entries if entry.header.fact == "memory.remembered"]
    assert len(said) == 2 * EACH
    for person in ("alice", "bob"):
        facts = [str(entry.content) for entry in said if f"{person} found" in str(entry.content)]
        assert all(f"number {number}" in fact for number, fact in enumerate(facts))
    assert here.ask("GET", "/v1/audit", token).body == []
