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
    assert f"- {PNPM} [" in block
    assert f" · match {hit['confidence']:.2f}]" in block


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


def test_words_that_no_memory_has_do_not_keep_a_question_from_matching(mind: Hivemind) -> None:
    mind.remember("The job rotate_keys runs at noon")
    mind.remember(FRIDAY)

    # FTS5 splits the identifier, so its two parts have counts and the whole has none.
    for question in ("rotate_keys", "zzyzx rotate_keys", "zzyzx qwertz noon"):
        assert mind.recall(question).hits[0].signals[0].name == "words", question
    assert all(signal.name != "words" for hit in mind.recall("zzyzx qwertz").hits for signal in hit.signals)


def test_a_second_note_is_sure_only_if_it_ranks_close_to_the_first(mind: Hivemind) -> None:
    for text in (
        "Deploys need two approvals",
        "A deploy needs the approval of two people",
        "Deploy logs are kept a week",
    ):
        mind.remember(text)

    sure = [hit.memory.text for hit in mind.recall("how many approvals does a deploy need?").answers]

    assert "Deploy logs are kept a week" not in sure
    assert len(sure) == 2
