"""Counts of words, which say what a search leaves out."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hivemind.store.conditions import MAX_MATCHES
from hivemind.store.database import WordsOfPassage
from hivemind.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path) as store, store.db.transaction():
        for passage in range(1, MAX_MATCHES + 2):
            store.db.index.put([WordsOfPassage(passage, "deploy", "", "", "")])
        yield store


def test_a_rare_word_is_counted_anew_each_time(store: Store) -> None:
    assert store.db.index.find_unknown(["deploy", "canary"]) == ["canary"]
    store.db.index.put([WordsOfPassage(90_000, "canary", "", "", "")])
    assert store.db.index.find_unknown(["deploy", "canary"]) == []
    store.db.index.remove(90_000)
    assert store.db.index.find_unknown(["canary", "deploying"]) == ["canary"]


def test_a_common_word_stays_known_for_a_while(store: Store) -> None:
    assert store.db.index.find_unknown(["deploy"]) == []
    store.db.execute("DELETE FROM words")
    assert store.db.index.find_unknown(["deploys", "canary"]) == ["canary"]
