"""Queues of teams, without a database."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from hivemind.errors import StoreBusy
from hivemind.hub.http.turns import Turns

CONNECTIONS = 4


class Visits:
    """Who is inside now, and how many were at most."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns
        self.leave = asyncio.Event()
        self.inside: list[str] = []

    async def enter(self, team: str, *, is_writing: bool) -> None:
        async with self.turns.take(team, is_writing=is_writing):
            self.inside.append(team)
            await self.leave.wait()
            self.inside.remove(team)


def visit(scenario: Callable[[Visits], Awaitable[None]], seconds: float = 5) -> None:
    async def run() -> None:
        await scenario(Visits(Turns(CONNECTIONS, seconds)))

    asyncio.run(run())


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_a_team_writes_one_at_a_time_and_others_write_beside_it() -> None:
    async def scenario(visits: Visits) -> None:
        async with asyncio.TaskGroup() as group:
            for team in ("loud", "loud", "loud", "quiet"):
                group.create_task(visits.enter(team, is_writing=True))
            await settle()
            assert sorted(visits.inside) == ["loud", "quiet"]
            visits.leave.set()

    visit(scenario)


def test_a_team_that_writes_is_still_answered() -> None:
    async def scenario(visits: Visits) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(visits.enter("team", is_writing=True))
            group.create_task(visits.enter("team", is_writing=False))
            await settle()
            assert visits.inside == ["team", "team"]
            visits.leave.set()

    visit(scenario)


def test_a_team_leaves_connections_to_the_others() -> None:
    async def scenario(visits: Visits) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(CONNECTIONS):
                group.create_task(visits.enter("loud", is_writing=False))
            group.create_task(visits.enter("quiet", is_writing=False))
            await settle()
            assert visits.inside.count("loud") == CONNECTIONS - 2
            assert visits.inside.count("quiet") == 1
            visits.leave.set()

    visit(scenario)


def test_who_waits_too_long_is_told_so_and_leaves_nothing_behind() -> None:
    async def scenario(visits: Visits) -> None:
        first = asyncio.create_task(visits.enter("team", is_writing=True))
        await settle()
        with pytest.raises(StoreBusy):
            await visits.enter("team", is_writing=True)
        visits.leave.set()
        await first
        await visits.enter("team", is_writing=True)

    visit(scenario, seconds=0.05)
