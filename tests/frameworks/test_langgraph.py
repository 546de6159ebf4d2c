"""LangGraph's store interface over memories, with the real package."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import Open

pytest.importorskip("langgraph.store.base")

if TYPE_CHECKING:
    from hivemind.frameworks.langgraph_store import HivemindStore

USER = ("memories", "ada")


@pytest.fixture
def store(home: Path, tmp_path: Path) -> "Iterator[HivemindStore]":
    from hivemind.frameworks.langgraph_store import HivemindStore

    store = HivemindStore(directory=tmp_path)
    yield store
    store.close()


def test_an_item_comes_back_as_it_was_put(store: "HivemindStore") -> None:
    values = [{"text": "Deploys run on Fridays", "by": ["ada"]}, {"steps": [1, 2]}, {"content": "Tags are signed"}]
    for number, value in enumerate(values):
        store.put(USER, f"Key{number}", value)
    items = [store.get(USER, f"Key{number}") for number in range(len(values))]

    assert [item.value if item else None for item in items] == values
    assert store.get(USER, "key0") is None
    assert store.get(("memories",), "Key0") is None


def test_a_key_has_one_value_and_earlier_ones_stay_in_history(
    store: "HivemindStore", open_mind: Open, tmp_path: Path
) -> None:
    for port in (8080, 9090, 8080):
        store.put(USER, "port", {"text": f"The port of the API is {port}"})
    item = store.get(USER, "port")
    memories = open_mind(tmp_path).list()

    assert item
    assert item.value == {"text": "The port of the API is 8080"}
    assert [(memory.text, memory.version) for memory in memories] == [("The port of the API is 8080", 3)]


def test_the_same_text_under_two_keys_is_two_items(store: "HivemindStore") -> None:
    for key in ("one", "two"):
        store.put(USER, key, {"text": "Invoices are sent by courier", "key": key})
    both = [store.get(USER, key) for key in ("one", "two")]
    store.delete(USER, "one")
    store.delete(USER, "one")
    rest = [store.get(USER, key) for key in ("one", "two")]
    store.put(USER, "two", {"text": "Invoices are sent by mail"})
    changed = store.get(USER, "two")

    assert [item.value["key"] if item else None for item in both] == ["one", "two"]
    assert [item.value["key"] if item else None for item in rest] == [None, "two"]
    assert changed
    assert changed.value["text"] == "Invoices are sent by mail"


def test_a_search_stays_in_its_namespace_and_the_empty_one_finds_what_people_said(
    store: "HivemindStore", open_mind: Open, tmp_path: Path
) -> None:
    store.put(USER, "deploy", {"text": "Ada deploys with the blue script", "level": 2})
    store.put(("memories", "bob"), "deploy", {"text": "Bob deploys with the red script", "level": 1})
    said = open_mind(tmp_path).remember("Nobody deploys before the tests are green")

    own = store.search(USER, query="how to deploy with the script?")
    users = store.search(("memories",), query="deploys with the script")
    everything = store.search((), query="deploys")
    filtered = store.search(("memories",), filter={"level": 1})
    pages = [store.search(("memories",), limit=1, offset=offset) for offset in range(3)]

    assert [item.namespace for item in own] == [USER]
    assert {item.namespace for item in users} == {USER, ("memories", "bob")}
    assert said.id in {item.key for item in everything if item.namespace == ("hivemind",)}
    assert [item.value["level"] for item in filtered] == [1]
    assert [len(page) for page in pages] == [1, 1, 0]
    with pytest.raises(NotImplementedError):
        store.search(USER, filter={"level": {"$gt": 1}})
    known = store.get(("hivemind",), said.id)
    assert known
    assert known.value["text"] == said.text


def test_what_an_agent_puts_is_an_agents_word(store: "HivemindStore", open_mind: Open, tmp_path: Path) -> None:
    store.put(USER, "k", {"text": "The queue is drained first"})
    (memory,) = open_mind(tmp_path).list()

    assert (memory.channel.value, memory.author) == ("agent", "langgraph")


def test_many_threads_and_coroutines_use_one_store(store: "HivemindStore") -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: store.put(USER, str(n), {"text": f"Server number {n} is called heron{n}"}), range(24)))

    async def read() -> list[object]:
        return list(await asyncio.gather(*(store.aget(USER, str(number)) for number in range(24))))

    assert all(asyncio.run(read()))
