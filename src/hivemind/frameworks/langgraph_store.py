"""LangGraph: a ``BaseStore`` over memories, for ``graph.compile(store=HivemindStore())``.

A value's text is a memory; namespace and key are tags of it, and the other fields metadata. ``search(())`` also finds
what people and other agents taught: their memories are in the namespace ``("hivemind",)`` under their ids.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from langgraph.store import base

from hivemind.errors import NotFound
from hivemind.frameworks.agent_memory import AgentMemory
from hivemind.hivemind import Hivemind
from hivemind.model.memory import Memory

PREFIX, OTHERS = "langgraph-", ("hivemind",)
"""Begins the names of our tags; the namespace of memories that did not come from here."""
TEXT_FIELDS = ("text", "content", "memory", "data")
TOLD = ("active", "disputed")
"""Which memories are items: nobody has approved others yet, or somebody has withdrawn them."""
MOST = 1000
"""How many memories are read for a search with a filter."""

Namespace = tuple[str, ...]


class HivemindStore(base.BaseStore):
    """Stores items as memories of a directory's repository."""

    def __init__(self, *, directory: str | os.PathLike[str] = ".", store: str | None = None) -> None:
        self._memory = AgentMemory("langgraph", directory=directory, store=store)

    def batch(self, ops: Iterable[base.Op]) -> list[base.Result]:
        """Run operations one after the other."""
        operations = list(ops)
        return self._memory.call(lambda mind: [_run(mind, operation) for operation in operations])

    async def abatch(self, ops: Iterable[base.Op]) -> list[base.Result]:
        """Run operations one after the other, without blocking the event loop."""
        operations = list(ops)
        return await self._memory.call_async(lambda mind: [_run(mind, operation) for operation in operations])

    def close(self) -> None:
        """Close the memory."""
        self._memory.close()


def _run(mind: Hivemind, operation: base.Op) -> base.Result:
    match operation:
        case base.GetOp(namespace=namespace, key=key):
            return next((item for _, item in _find(mind, namespace, key)), None)
        case base.PutOp(namespace=namespace, key=key, value=None):
            return _delete(mind, namespace, key)
        case base.PutOp(namespace=namespace, key=key, value=dict(value)):
            return _put(mind, namespace, key, value)
        case base.SearchOp():
            return _search(mind, operation)
    raise NotImplementedError(f"HivemindStore has no {type(operation).__name__}")


def _find(mind: Hivemind, namespace: Namespace, key: str) -> Iterator[tuple[Memory, base.Item]]:
    """Yield an item and its memory, if there is one."""
    try:
        memories = (
            [mind.show(key)] if namespace == OTHERS else mind.list(tags=[_make_tag(namespace, key)], statuses=TOLD)
        )
    except NotFound:
        return
    items = [(memory, item) for memory in memories for item in _read_items(memory)]
    yield from [(memory, item) for memory, item in items if (item.namespace, item.key) == (namespace, key)][:1]


def _put(mind: Hivemind, namespace: Namespace, key: str, value: dict[str, Any]) -> None:
    field = next((name for name in TEXT_FIELDS if isinstance(value.get(name), str) and value[name].strip()), "")
    text = value[field] if field else json.dumps(value)
    rest = {name: part for name, part in value.items() if name != field}
    tag = _make_tag(namespace, key)
    metadata = {tag: json.dumps([namespace, key, field, rest] if field else [namespace, key])}
    for memory, item in _find(mind, namespace, key):
        if item.value == value:
            return
        if memory.text == text or not _is_shared(memory):
            mind.edit(memory, text if memory.text != text else "", metadata=metadata)
            return
        _delete(mind, namespace, key)
    prefixes = [_make_tag(namespace[:length]) for length in range(1, len(namespace) + 1)]
    memory = mind.remember(text, tags=[tag, *prefixes], metadata=metadata)
    if tag not in memory.tags:
        # Somebody had stored the same text before, and its tags stay as they were.
        mind.tag(memory, add=[tag, *prefixes])


def _delete(mind: Hivemind, namespace: Namespace, key: str) -> None:
    tag = _make_tag(namespace, key)
    for memory, _ in _find(mind, namespace, key):
        if _is_shared(memory):
            mind.edit(mind.tag(memory, remove=[tag]), metadata={tag: None})
        else:
            mind.forget(memory)


def _search(mind: Hivemind, operation: base.SearchOp) -> list[base.SearchItem]:
    prefix, filters = operation.namespace_prefix, operation.filter or {}
    if any(isinstance(value, dict) for value in filters.values()):
        raise NotImplementedError("HivemindStore filters by equal values, not by operators such as $gt")
    tags = [_make_tag(prefix)] if prefix and prefix != OTHERS else []
    end = operation.offset + operation.limit
    limit = MOST if filters or prefix == OTHERS else end
    scores: dict[Memory, float | None] = (
        {hit.memory: hit.confidence for hit in mind.recall(operation.query, tags=tags, limit=limit)}
        if operation.query
        else dict.fromkeys(mind.list(tags=tags, statuses=TOLD, limit=limit))
    )
    items = [
        base.SearchItem(item.namespace, item.key, item.value, item.created_at, item.updated_at, score)
        for memory, score in scores.items()
        for item in _read_items(memory)
        if item.namespace[: len(prefix)] == prefix and filters.items() <= item.value.items()
    ]
    return items[operation.offset : end]


def _is_shared(memory: Memory) -> bool:
    """Whether several keys have this text: the same text is one memory."""
    return sum(1 for _ in _read_items(memory)) > 1


def _read_items(memory: Memory) -> Iterator[base.Item]:
    """Yield the items that a memory holds; a memory of others is one item."""
    records = [json.loads(str(record)) for name, record in memory.metadata.items() if name.startswith(PREFIX)]
    for namespace, key, *parts in records or [[OTHERS, memory.id, "text", {"kind": memory.kind.value}]]:
        value = {parts[0]: memory.text, **parts[1]} if parts else json.loads(memory.text)
        created_at, updated_at = map(datetime.fromisoformat, (memory.recorded_at, memory.revised_at))
        yield base.Item(namespace=tuple(namespace), key=key, value=value, created_at=created_at, updated_at=updated_at)


def _make_tag(namespace: Namespace, key: str | None = None) -> str:
    # A checksum: tags are short and know no upper case.
    return PREFIX + hashlib.sha256(json.dumps([namespace, key]).encode()).hexdigest()[:16]
