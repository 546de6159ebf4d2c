"""A store whose vectors were made by another model moves to the one of this version."""

import time
from collections.abc import Callable

import pytest

from hivemind import Hivemind
from tests.command_line import run, run_json

TEXTS = ("Deploys run on Fridays", "The cafeteria opens at nine", "git reset --soft HEAD~1 undoes the last commit")


@pytest.fixture
def old_store(mind: Hivemind) -> Hivemind:
    for text in TEXTS:
        mind.remember(text)
    mind.maintenance.catch_up()
    mind._context.store.db.execute("UPDATE vectors SET model = 'granite-embedding-30m-english'")
    return mind


def wait_for(condition: Callable[[], bool]) -> None:
    stop = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < stop, "it did not happen within 30 seconds"
        time.sleep(0.1)


def test_vectors_of_another_model_count_as_missing(old_store: Hivemind) -> None:
    report = old_store.maintenance.status()

    assert (report.embedded, report.unembedded) == (0, len(TEXTS))


def test_a_recall_finds_by_words_and_replaces_the_vectors(old_store: Hivemind) -> None:
    recall = old_store.recall("when do deploys run")

    assert recall.hits[0].memory.text == TEXTS[0]
    report = old_store.maintenance.status()
    assert (report.embedded, report.unembedded) == (len(TEXTS), 0)


def test_they_are_replaced_in_the_background(old_store: Hivemind) -> None:
    old_store.maintenance.start_catching_up()

    wait_for(lambda: old_store.maintenance.status().unembedded == 0)
    assert old_store.maintenance.model().embedded == len(TEXTS)


def test_nothing_is_replaced_while_no_model_is_wanted(old_store: Hivemind) -> None:
    old_store.maintenance.use_model("none")

    old_store.maintenance.start_catching_up()
    assert old_store.maintenance.catch_up_politely() == 0

    models = old_store._context.store.db.execute("SELECT DISTINCT model FROM vectors")
    assert [row[0] for row in models] == ["granite-embedding-30m-english"]


def test_status_tells_how_many_passages_wait_until_few_do(mind: Hivemind) -> None:
    mind.remember_all({"text": f"Port {number} belongs to service {number}"} for number in range(40))
    assert "0 of 40 passages; the rest are found by words" in run("status").stdout

    run("recall", "port 7")

    assert "found by words" not in run("status").stdout
    assert run_json("status")["unembedded"] == 8
