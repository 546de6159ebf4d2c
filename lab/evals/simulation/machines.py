"""A device of the simulation: the real program on a store in memory, which may crash between any two transactions."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

import apsw

from hivemind import Hivemind
from hivemind.hivemind import make_context
from hivemind.model.memory import Channel, Writer
from hivemind.model.scope import Repository
from hivemind.model.team import TeamMember
from hivemind.settings import Settings
from hivemind.store.sqlite import Sqlite, _delete_for_real
from hivemind.store.store import Store, create_tables

REPOSITORY = Repository(id="remote:example.org/acme/api", root="/nonexistent/simulation")


class Crash(Exception):
    """The machine crashed; what was not committed is lost."""


class Fragile(Sqlite):
    """A database whose process may crash before, in and after each transaction."""

    crashes: Callable[[], bool] = staticmethod(lambda: False)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run a transaction, unless the machine crashes."""
        if self.connection.in_transaction:
            yield
            return
        self._may_crash()
        with super().transaction():
            yield
            self._may_crash()
        self._may_crash()

    def _may_crash(self) -> None:
        if self.crashes():
            raise Crash


def fresh_store(chance: random.Random, room: Path) -> Store:
    """Create an empty store in memory with its own identity and an empty folder."""
    db = Fragile(apsw.Connection(":memory:"))
    db.connection.deserialize("main", make_empty_store())
    db.connection.execute("PRAGMA foreign_keys = ON")
    _delete_for_real(db.connection)
    device, secret = chance.randbytes(16).hex(), chance.randbytes(32)
    db.execute("UPDATE identity SET store = ?, device = ?, secret = ?", device, device, secret)
    (room / device).mkdir()
    return Store(db, room / device, device, secret)


@cache
def make_empty_store() -> bytes:
    """Return the bytes of an empty store, made once in a process because that takes long."""
    db = Sqlite(apsw.Connection(":memory:"))
    _delete_for_real(db.connection)
    create_tables(db)
    return bytes(db.connection.serialize("main"))


def read_bytes(store: Store) -> bytes:
    """Return every byte of a store, including free pages."""
    assert isinstance(store.db, Fragile)
    return bytes(store.db.connection.serialize("main"))


class Machine:
    """A person's or an agent's device, with its own clock."""

    def __init__(
        self,
        name: str,
        team: str,
        member: TeamMember,
        skew: timedelta,
        world_now: Callable[[], datetime],
        chance: random.Random,
        room: Path,
    ) -> None:
        self.name, self.team, self.member = name, team, member
        self.store = fresh_store(chance, room)
        self._skew, self._world_now, self._ticks = skew, world_now, 0
        channel = Channel.AGENT if member.is_agent else Channel.PERSON
        settings = Settings(home=room, person=member.person, agents_may_review=True, model="none")
        writer = Writer(actor=member.person, channel=channel, session_id=f"sess-{name}" if member.is_agent else "")
        self.mind = Hivemind(make_context(self.store, settings, REPOSITORY, writer, self.clock))
        self.is_partitioned = False
        self.has_lapsed = False
        self.published_tokens: set[str] = set()

    def clock(self) -> datetime:
        """Return the time by this machine's clock."""
        self._ticks += 1
        return self._world_now() + self._skew + timedelta(microseconds=self._ticks)
