"""Google's Agent Development Kit: a memory service, for its runner and its memory tools."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from google.genai import types

from hivemind.frameworks.agent_memory import AgentMemory
from hivemind.hivemind import Hivemind
from hivemind.model.recall import Hit
from hivemind.text.clean import cut_between_words, first_line

LONGEST_TEXT = 2000
"""Characters of a session's last answer that are kept."""


class HivemindMemoryService(BaseMemoryService):
    """Searches and stores memories of a directory's repository; users and apps of ADK share it."""

    def __init__(self, *, directory: str | os.PathLike[str] = ".", store: str | None = None) -> None:
        self._memory = AgentMemory("google-adk", directory=directory, store=store)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return the memories that answer a query, or those closest to it, labelled."""
        hits = await self._memory.call_async(lambda mind: mind.recall(query).hits)
        return SearchMemoryResponse(memories=[_make_entry(hit) for hit in hits])

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store memories: all of them, or none if one is refused."""
        texts = [_join_parts(memory.content) for memory in memories]
        await self._memory.call_async(lambda mind: mind.remember_all(texts))

    async def add_session_to_memory(self, session: Session) -> None:
        """Store what was asked and answered as a trace; a session that is added again replaces its trace."""
        requests = [text for event in session.events if event.author == "user" and (text := _join_parts(event.content))]
        answers = [text for event in session.events if event.author != "user" and (text := _join_parts(event.content))]
        if requests:
            result = cut_between_words(answers[-1], LONGEST_TEXT) if answers else ""
            await self._memory.call_async(lambda mind: _store_trace(mind, session.id, requests, result))

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Forget a memory; a person can restore it."""
        if memory_id:
            await self._memory.call_async(lambda mind: mind.forget(memory_id))

    def close(self) -> None:
        """Close the memory."""
        self._memory.close()


def _make_entry(hit: Hit) -> MemoryEntry:
    memory = hit.memory
    # The model reads only the content, so labels such as "disputed" or "code changed" stand there too.
    labels = f" [{' · '.join(hit.labels)}]" if hit.labels else ""
    content = types.Content(role="user", parts=[types.Part(text=memory.text + labels)])
    return MemoryEntry(id=memory.id, content=content, author=memory.author, timestamp=memory.recorded_at)


def _store_trace(mind: Hivemind, session_id: str, requests: Sequence[str], result: str) -> None:
    tag = f"google-adk-{session_id}"
    earlier = mind.list(tags=[tag], statuses=["active", "disputed"])
    trace = mind.store_trace(
        action=first_line(requests[0]), reasoning="\n".join(map(first_line, requests)), result=result, tags=[tag]
    )
    for memory in earlier:
        if memory.id != trace.id:
            mind.forget(memory, reason="the session went on")


def _join_parts(content: types.Content | None) -> str:
    parts: Iterable[Any] = content.parts or () if content else ()
    return "\n".join(part.text for part in parts if part.text).strip()
