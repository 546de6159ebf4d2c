"""The question sets of ``lab.evals.recall``: what they promise, and a small part of them asked in earnest."""

import json
from collections import Counter
from itertools import islice

import pytest

from lab.benchmarks.retrieval import scores
from lab.evals.recall import measures
from lab.evals.recall.asking import fill
from lab.evals.recall.sets import FOLDER, PARTS, SETS, load


@pytest.mark.parametrize("name", SETS)
def test_every_right_note_is_in_its_store_and_nothing_is_asked_twice(name: str) -> None:
    for store in load(name):
        asked = Counter(question.text for question in store.questions)
        assert not [text for text, count in asked.items() if count > 1]
        assert all(question.right <= set(store.notes) for question in store.questions)
        assert len(set(store.notes.values())) == len(store.notes)


@pytest.mark.parametrize("name", SETS)
def test_the_parts_share_no_question_and_together_are_the_whole_set(name: str) -> None:
    whole, *parts = (
        {(store.name, question.text) for store in load(name, part) for question in store.questions}
        for part in ("", *PARTS)
    )

    assert set().union(*parts) == whole
    assert sum(len(part) for part in parts) == len(whole)
    # Prompts have more tasks to fit on than to report on.
    assert min(len(part) for part in parts if part) >= 0.14 * len(whole)


def test_every_line_of_the_files_is_read() -> None:
    for name in SETS:
        lines = [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()]
        stores = load(name)
        assert sum("note" in line for line in lines) == sum(len(store.notes) for store in stores)
        assert sum("ask" in line for line in lines) == sum(len(store.questions) for store in stores)


def test_noisy_questions_have_a_clean_version_and_only_they_do() -> None:
    questions = [question for store in load("small_stores") for question in store.questions]

    assert all(bool(question.clean) == (question.type in measures.NOISE) for question in questions)
    assert all(bool(question.right) == (question.type not in measures.UNANSWERABLE) for question in questions)


def test_short_questions_over_small_stores_are_mostly_answered_first() -> None:
    assert measures.measure_topical(load("topical", "A")[:1])["first right"] >= 0.8


def test_questions_in_a_script_without_spaces_are_mostly_answered_first() -> None:
    assert measures.measure_languages(load("languages", "A")[:1])["zh"]["first right"] >= 0.6


def test_a_small_store_separates_its_own_questions_from_foreign_ones() -> None:
    figures = measures.measure_small_stores(load("small_stores", "A")[:1])

    assert figures["all answerable"]["reached"] >= 0.8
    assert figures["typo"]["reached"] == figures["typo"]["clean reached"]
    assert figures["foreign"]["AUROC"] >= 0.8


def test_the_prompt_hook_is_asked_as_an_agent_asks_it() -> None:
    store = load("prompts", "A")[0]
    rule = next(iter(store.notes.values()))
    with fill(store) as memory:
        reply = memory.send_prompt(rule)
        silence = [memory.send_prompt(task.text) for task in islice(store.questions, 12, 14) if not task.right]

    assert "1" in reply.notes
    assert 0 < reply.tokens <= 300
    assert reply.cpu_ms > 0
    assert [item.tokens for item in silence] == [0, 0]


def test_auroc_and_precision_follow_their_definitions() -> None:
    assert scores.auroc([3, 2], [1, 0]) == 1
    assert scores.auroc([1, 0], [1, 0]) == 0.5
    assert scores.auroc([0], [1]) == 0
    assert scores.precision_at_kept([5, 4, 3, 2], [1, 3], kept=0.75) == 0.75
