"""The memory of a framework's agent, for calls from any thread and from asynchronous code."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from os import PathLike, fspath
from typing import TypeVar

from hivemind.errors import Unavailable
from hivemind.hivemind import Hivemind
from hivemind.model.memory import Channel, Writer
from hivemind.text import switch

Result = TypeVar("Result")


class AgentMemory:
    """Opens a memory at the first call; what is written counts as an agent's word, as everywhere."""

    def __init__(self, agent: str, *, directory: str | PathLike[str] = ".", store: str | None = None) -> None:
        self._writer = Writer(actor=agent, channel=Channel.AGENT)
        self._directory = fspath(directory)
        self._store = store
        self._mind: Hivemind | None = None
        # One thread, because an open store serves one call at a time, and frameworks call from many threads.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="hivemind")

    def call(self, function: Callable[[Hivemind], Result]) -> Result:
        """Return what a function makes of the memory."""
        return self._submit(function).result()

    async def call_async(self, function: Callable[[Hivemind], Result]) -> Result:
        """Return what a function makes of the memory, without blocking the event loop."""
        return await asyncio.wrap_future(self._submit(function))

    def close(self) -> None:
        """Close the memory."""
        self._thread.submit(lambda: self._mind.close() if self._mind else None).result()
        self._thread.shutdown()

    def _submit(self, function: Callable[[Hivemind], Result]) -> "Future[Result]":
        return self._thread.submit(lambda: function(self._open()))

    def _open(self) -> Hivemind:
        if switch.is_off(self._directory):
            raise Unavailable(switch.NOTICE)
        self._mind = self._mind or Hivemind.open(self._store, directory=self._directory, writer=self._writer)
        return self._mind
