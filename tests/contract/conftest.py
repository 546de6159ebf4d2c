"""A store on each engine, so that one suite says what both promise."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hivemind import Hivemind
from hivemind.hivemind import make_context
from hivemind.hub import derived_data
from hivemind.hub.postgres import ENTER_TEAM
from hivemind.hub.store import HubDatabase, HubStore
from hivemind.model.memory import Writer
from hivemind.model.scope import Repository
from hivemind.settings import Settings
from hivemind.store.store import Store
from tests.conftest import PERSON, Clock
from tests.hub_fixtures import empty_database, hub, hub_address, postgres_folder
from tests.postgres import new_team

__all__ = ["empty_database", "hub", "hub_address", "postgres_folder"]

HERE = "remote:git.example/acme/api"

MakeStore = Callable[[], Store]
MindOn = Callable[..., Hivemind]


@pytest.fixture(params=["sqlite", "postgres"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def make_store(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeStore]:
    """Opens stores in which nothing is yet."""
    opened: list[Store] = []

    def make() -> Store:
        if engine == "sqlite":
            opened.append(Store.open(tmp_path / f"store{len(opened)}"))
        else:
            hub: HubDatabase = request.getfixturevalue("hub")
            opened.append(hub.open_team(new_team(hub)))
        return opened[-1]

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def store(make_store: MakeStore) -> Store:
    return make_store()


@pytest.fixture
def mind_on(store: Store, tmp_path: Path, clock: Clock) -> MindOn:
    """Opens a store for a writer, as seen from a repository; by words alone, unless a model is named."""

    def mind(writer: Writer = PERSON, *, repo: str = HERE, model: str = "none", on: Store = store) -> Hivemind:
        settings = Settings(home=tmp_path, person="ada", model=model)
        return Hivemind(make_context(on, settings, Repository(id=repo, root=""), writer, clock))

    return mind


@pytest.fixture
def mind(mind_on: MindOn) -> Hivemind:
    return mind_on()


def settle(mind: Hivemind) -> None:
    """Do what a hub does a moment later: record receipts, and embed what was written."""
    store, meaning = mind._context.store, mind._context.embedder.meaning
    if not isinstance(store, HubStore):
        return
    store._hub.receipts.flush(store.db.team)
    if meaning and (passages := derived_data.claim_passages(store.db, meaning.embedder.name, 1_000)):
        meaning.store_vectors(store.db, passages, meaning.embed_passages(passages))


def tamper(store: Store, statement: str) -> None:
    """Change the tables behind everybody's back, as somebody with the database's own password could."""
    if isinstance(store, HubStore):
        with store.db.connection.transaction():
            for setting in ENTER_TEAM[:-1]:
                store.db.connection.execute(setting.format(team=store.db.team, seconds=60).encode())
            store.db.connection.execute("SET CONSTRAINTS ALL DEFERRED")
            store.db.connection.execute(statement.encode())
    else:
        store.db.execute("PRAGMA foreign_keys = OFF")
        store.db.execute(statement)
