"""Whoever asks gets the best there is, and is told how sure it is."""

from pathlib import Path

import pytest

from hivemind import Hivemind
from hivemind.recall.confidence import SURE
from tests.command_line import run, run_json

PNPM = "We use pnpm, not npm"
FRIDAY = "Nobody deploys on a Friday"


def test_confidence_separates_an_answer_from_the_closest_others(mind: Hivemind) -> None:
    mind.remember(PNPM)
    mind.remember(FRIDAY)

    answer, other = mind.recall("package manager").hits

    assert (answer.memory.text, answer.is_sure, other.is_sure) == (PNPM, True, False)
    assert (answer.confidence or 0) >= SURE > (other.confidence or 0)


def test_confidence_is_in_json_in_the_block_for_agents_and_with_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run("remember", PNPM)

    (hit,) = run_json("recall", "package manager")["hits"]
    block = run("recall", "package manager").stdout

    assert SURE <= hit["confidence"] <= 1
    assert f"· match {hit['confidence']:.2f}] {PNPM}" in block


def test_what_nobody_asked_for_has_no_confidence(mind: Hivemind) -> None:
    mind.remember(FRIDAY)

    assert [hit.confidence for hit in mind.brief().hits] == [None]


def test_a_title_in_quotes_that_no_memory_has_still_gets_the_closest(mind: Hivemind) -> None:
    mind.remember("Melanie read a book about courage in spring")
    mind.remember("The lean startup is on the reading list of the team")

    missing = mind.recall('When did Melanie read the book "nothing is impossible"?')
    exact = mind.recall('"lean startup"')

    assert missing.hits[0].memory.text.startswith("Melanie")
    assert [hit.memory.text[:8] for hit in exact.hits] == ["The lean"]


def test_a_question_names_a_tag_by_whole_words_only(mind: Hivemind) -> None:
    mind.remember("Vitest runs the unit tests", tags=["testing"])
    mind.remember("Grafana has the dashboards of the last hour", tags=["latest"])
    mind.remember("Coverage stays above 80 %", tags=["testing"])

    sure_texts = {hit.memory.text for hit in mind.recall("how do we run unit tests?").answers}

    assert sure_texts >= {"Vitest runs the unit tests", "Coverage stays above 80 %"}
    assert "Grafana has the dashboards of the last hour" not in sure_texts


def test_functions_that_only_look_like_a_contradiction_keep_the_order_of_their_scores(mind: Hivemind) -> None:
    clean = mind.remember(
        'def clean(text):\n    """Removes trailing whitespace on each line."""\n    return text.strip()'
    )
    mind.remember(
        'def width(text, font):\n    """Determine the width in pixels of a text."""\n    return font.width(text)'
    )

    hits = mind.recall("remove trailing whitespace of a line").hits

    assert hits[0].memory.id == clean.id
    assert hits[0].may_conflict
