"""The verb that says where a person stands and what to do next."""

from collections.abc import Iterator

from hivemind.app.caring import Caring
from hivemind.app.connecting import Connecting
from hivemind.app.judging import Judging
from hivemind.errors import HivemindError
from hivemind.model.memory import Status
from hivemind.model.reports import NextStep, Standing
from hivemind.model.scope import Sight
from hivemind.store.projections import memories, sessions

MANY = 1000
"""More than anybody reviews in a day."""


class Overview(Judging, Connecting, Caring):
    """Everything at a glance."""

    def standing(self) -> Standing:
        """What is remembered here, who is connected, what waits, and what is worth doing now."""
        db, here = self._store.db, Sight.of(self.repository)
        stats = self.stats()
        counted = {Status(status): int(count) for status, count in memories.statuses(db, here)}
        connected, found = self.connected_agents()
        overdue = len(memories.overdue(db, self._query(limit=MANY)))
        waiting = counted.get(Status.PROPOSED, 0) + counted.get(Status.DISPUTED, 0) + overdue
        doubted = self._doubted()
        last = next(iter(sessions.listed(db, here, limit=1)), None)
        return Standing(
            store=str(self._store.directory),
            bytes=stats.bytes,
            repository=self.repository.id,
            memories=tuple((status.value, count) for status, count in counted.items()),
            elsewhere=sum(row[3] for row in stats.memories) - sum(counted.values()),
            last_session=last,
            connected=connected,
            waiting=waiting,
            doubted=doubted,
            next=tuple(_next(bool(counted), last is not None, connected, found, waiting, doubted)),
        )

    def _doubted(self) -> int:
        try:
            return len(self.stale())
        except HivemindError:
            # A tree that cannot be looked at is the doctor's business; the rest is still worth knowing.
            return 0


def _next(
    known: bool, seen: bool, connected: tuple[str, ...], found: tuple[str, ...], waiting: int, doubted: int
) -> Iterator[NextStep]:
    if found:
        yield NextStep(command="hivemind install", why=f"connects {', '.join(found)}")
    elif not connected:
        yield NextStep(command="hivemind install AGENT", why="connects an agent, such as claude-code")
    if not seen:
        yield NextStep(command="hivemind backfill --dry-run", why="what agents' transcripts could teach")
    if waiting:
        yield NextStep(command="hivemind review", why="decide, one by one")
    if doubted:
        yield NextStep(command="hivemind stale", why="what the code puts in doubt, and why")
    if known:
        yield NextStep(command='hivemind recall "…"', why="ask")
    else:
        yield NextStep(command='hivemind remember "…"', why="keep something worth knowing next time")
