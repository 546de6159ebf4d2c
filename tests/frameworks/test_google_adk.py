"""The memory service for Google's Agent Development Kit, with the real package."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Open

pytest.importorskip("google.adk.memory")


def test_a_session_and_memories_are_found_by_the_next(home: Path, open_mind: Open, tmp_path: Path) -> None:
    from google.adk.events.event import Event
    from google.adk.memory.memory_entry import MemoryEntry
    from google.adk.sessions.session import Session
    from google.genai import types

    from hivemind.frameworks.google_adk import HivemindMemoryService

    def say(author: str, text: str) -> Event:
        return Event(author=author, content=types.Content(role=author, parts=[types.Part(text=text)]))

    who: Any = {"app_name": "shop", "user_id": "ada"}
    service = HivemindMemoryService(directory=tmp_path)

    async def use() -> list[MemoryEntry]:
        entry = MemoryEntry(content=types.Content(parts=[types.Part(text="The staging database is called heron")]))
        await service.add_memory(**who, memories=[entry])
        session = Session(id="s1", events=[say("user", "Rotate the signing keys"), say("model", "Rotated")], **who)
        await service.add_session_to_memory(session)
        session.events.append(say("model", "Rotated both signing keys; the old ones expire on Monday"))
        await service.add_session_to_memory(session)
        await service.add_session_to_memory(Session(id="s2", events=[], **who))
        databases = await service.search_memory(**who, query="which database is for staging?")
        keys = await service.search_memory(**who, query="rotate signing keys")
        await service.delete_memory(**who, memory_id=databases.memories[0].id)
        return [databases.memories[0], *keys.memories]

    database, *keys = asyncio.run(use())
    service.close()
    memories = open_mind(tmp_path).list(statuses=["active"])

    assert database.content.parts
    assert database.content.parts[0].text == "The staging database is called heron"
    assert [("expire on Monday" in str(entry.content)) for entry in keys] == [True]
    assert [memory.channel.value for memory in memories] == ["agent"]
    assert "expire on Monday" in memories[0].text
