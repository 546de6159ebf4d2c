"""Queues of teams: whoever waits for others of the same team holds neither a thread nor a connection meanwhile.

A team has one writer at a time. If its writers waited in the database, 24 devices that push at once would hold every
connection of the hub, and everybody else would get none.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from hivemind.errors import StoreBusy

RESERVED_CONNECTIONS = 2
"""How many connections one team always leaves to the others, where there are enough."""


@dataclass(slots=True)
class TeamQueue:
    """Who of a team is answered now, and who waits."""

    writer: asyncio.Lock
    everybody: asyncio.Semaphore
    size: int = 0
    """How many are in it or wait."""


class Turns:
    """Gives each team its share of the hub: one writer, and not every connection."""

    def __init__(self, connections: int, timeout_seconds: float) -> None:
        self._share = max(1, connections - RESERVED_CONNECTIONS)
        self._timeout_seconds = timeout_seconds
        self._queues: dict[str, TeamQueue] = {}

    @asynccontextmanager
    async def take(self, team: str, *, is_writing: bool) -> AsyncIterator[None]:
        """Wait for the turn of a request, first come first served; raise an error if that takes too long."""
        queue = self._queues.setdefault(team, TeamQueue(asyncio.Lock(), asyncio.Semaphore(self._share)))
        queue.size += 1
        taken: list[asyncio.Lock | asyncio.Semaphore] = []
        try:
            async with asyncio.timeout(self._timeout_seconds):
                # In this order, so that a writer who waits for another takes nothing from those who read.
                for door in (queue.writer, queue.everybody) if is_writing else (queue.everybody,):
                    await door.acquire()
                    taken.append(door)
            yield
        except TimeoutError as error:
            raise StoreBusy("other devices of the team were busy the whole time; try again") from error
        finally:
            for door in taken:
                door.release()
            queue.size -= 1
            if not queue.size:
                del self._queues[team]
