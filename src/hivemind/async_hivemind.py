"""The verbs of Hivemind for programs that use asyncio."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from os import PathLike
from typing import Concatenate, ParamSpec, Self, TypeVar

from hivemind.hivemind import Hivemind

P = ParamSpec("P")
T = TypeVar("T")


def in_thread(
    verb: Callable[Concatenate[Hivemind, P], T],
) -> Callable[Concatenate["AsyncHivemind", P], Awaitable[T]]:
    """Return a verb that does not keep the event loop waiting."""

    @wraps(verb)
    async def call(mind: "AsyncHivemind", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await mind._run(lambda: verb(mind._open(), *args, **kwargs))

    return call


class AsyncHivemind:
    """An open memory whose verbs are awaited, one after the other; several objects work side by side.

    ``async with AsyncHivemind() as mind: await mind.remember("…")``. The arguments are those of ``hivemind.open``, and
    the verbs those of ``Hivemind``; ``run`` calls anything else of it.
    """

    def __init__(self, name: str | None = None, *, directory: str | PathLike[str] | None = None) -> None:
        self._open_mind = partial(Hivemind.open, name, directory=directory)
        self._mind: Hivemind | None = None
        # One thread, because only one thread at a time may use a store; it ends with this object.
        self._executor = ThreadPoolExecutor(1, "hivemind")

    remember = in_thread(Hivemind.remember)
    remember_all = in_thread(Hivemind.remember_all)
    store_trace = in_thread(Hivemind.store_trace)
    recall = in_thread(Hivemind.recall)
    search_traces = in_thread(Hivemind.search_traces)
    context = in_thread(Hivemind.context)
    list = in_thread(Hivemind.list)
    show = in_thread(Hivemind.show)
    explain = in_thread(Hivemind.explain)
    edit = in_thread(Hivemind.edit)
    tag = in_thread(Hivemind.tag)
    forget = in_thread(Hivemind.forget)
    restore = in_thread(Hivemind.restore)
    approve = in_thread(Hivemind.approve)
    reject = in_thread(Hivemind.reject)
    erase = in_thread(Hivemind.erase)

    async def run(self, work: Callable[[Hivemind], T]) -> T:
        """Call a function with the open ``Hivemind``, such as ``lambda mind: mind.sessions.list()``."""
        return await self._run(lambda: work(self._open()))

    async def close(self) -> None:
        """Close the store; a later call opens it again."""
        if self._mind:
            await self._run(self._mind.close)
            self._mind = None

    async def __aenter__(self) -> Self:
        await self._run(self._open)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _open(self) -> Hivemind:
        if self._mind is None:
            self._mind = self._open_mind()
        return self._mind

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)
