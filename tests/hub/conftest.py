"""A hub over HTTP, on a real Postgres."""

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hivemind import Hivemind
from hivemind.hivemind import make_context
from hivemind.hub import access
from hivemind.hub.access import RequestCounter
from hivemind.hub.host import Host
from hivemind.hub.store import HubDatabase
from hivemind.model.memory import Channel, Writer
from hivemind.settings import Settings
from hivemind.store.store import Store
from tests.browser import browser
from tests.conftest import Clock
from tests.hub.people import REPOSITORY, Opened, Person
from tests.hub.serving import Served, serving
from tests.hub_fixtures import empty_database, hub, hub_address, postgres_folder

__all__ = ["browser", "empty_database", "hub", "hub_address", "postgres_folder"]


@pytest.fixture(scope="session")
def running(hub: HubDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The hub, listening; starting it takes longer than asking it."""
    with serving(Host(hub, Settings(home=tmp_path_factory.mktemp("hub"), person="hub"))) as served:
        yield served


@pytest.fixture
def served(running: Served) -> Served:
    """The hub, as if nothing had been said to it yet."""
    running.wire.clear()
    # Tests send more wrong tokens from one address than anybody may in a minute.
    running.host._requests = RequestCounter()
    return running


@pytest.fixture
def long_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """No minute ends while a test counts requests, however slow the machine is."""
    monkeypatch.setattr(access, "WINDOW_SECONDS", 1 << 40)


@pytest.fixture
def person(tmp_path: Path, make_repository: Callable[..., Path]) -> Person:
    """Somebody by their name, in a home and a clone of theirs."""
    return Person(tmp_path, make_repository)


@pytest.fixture
def device(tmp_path: Path, clock: Clock) -> Iterator[Opened]:
    """A person's device by their name."""
    minds: list[Hivemind] = []

    def open_for(person: str) -> Hivemind:
        settings = Settings(home=tmp_path / person, person=person, model="none")
        writer = Writer(actor=person, channel=Channel.PERSON)
        minds.append(Hivemind(make_context(Store.open(tmp_path / person), settings, REPOSITORY, writer, clock)))
        return minds[-1]

    yield open_for
    for mind in minds:
        mind.close()


@pytest.fixture
def team(served: Served) -> str:
    """A team of this test's own."""
    name = f"team-{secrets.token_hex(4)}"
    served.host.create_team(name)
    return name


@pytest.fixture
def strangers(served: Served) -> str:
    """Another team on the same hub."""
    name = f"strangers-{secrets.token_hex(4)}"
    served.host.create_team(name)
    return name
