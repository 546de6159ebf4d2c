"""Passages are chosen from pairs written here, and questions come back to them."""

import random

import pytest

from training import overlap, pairs, passages
from training.pairs import Pair

STORY = "Anna: We repainted the kitchen in May, because the old tiles were cracked and the landlord paid for the paint."
OTHER = "Ben: My sister opened a small bakery near the station, and I help her there with the bread every Sunday."
SESSION = """_**User**_

How do I keep the import from running twice at the same time?

_**Agent**_

<tool-use data-tool-name="read_file"></tool-use>

Take a lock before the import starts. The lock file names the process, so that a lock of a process that died is
removed by the next one, and nobody has to delete it by hand after a crash.
"""


def test_a_passage_that_shares_text_with_a_question_set_is_left_out() -> None:
    spoken = [Pair(kind="talk", query="", text=text) for text in (STORY, OTHER)]
    forbidden = overlap.collect_runs([{"passages": [STORY], "sets": {}}])

    chosen = passages.choose(spoken, forbidden, random.Random(1))

    assert [row["text"] for row in chosen] == [OTHER]
    assert chosen[0]["style"] == "chat"


def test_the_same_text_is_chosen_once() -> None:
    twice = [Pair(kind="talk", query=query, text=STORY) for query in ("first", "second")]

    assert len(passages.choose(twice, frozenset(), random.Random(1))) == 1


def test_a_written_question_becomes_a_pair_with_its_passage() -> None:
    name = passages.name_passage("talk", STORY)
    answers = [{"id": name, "question": 'Question: "Who paid when the walls got a new colour?"\nIt is in the text.'}]

    (pair,) = passages.join({name: STORY}, answers)

    assert pair == Pair(kind="asked chat", query="Who paid when the walls got a new colour?", text=STORY)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "What does the text say about the kitchen?",
        "because the old tiles were cracked",
        "Why?",
    ],
)
def test_an_answer_that_is_no_question_about_the_passage_is_dropped(answer: str) -> None:
    name = passages.name_passage("talk", STORY)

    assert list(passages.join({name: STORY}, [{"id": name, "question": answer}])) == []


def test_a_question_for_an_unknown_passage_is_dropped() -> None:
    assert list(passages.join({}, [{"id": "talk-0", "question": "Who paid for the paint in the end?"}])) == []


def test_an_answer_of_an_agent_is_kept_whole_without_its_tool_calls() -> None:
    request, answer = pairs.pair_transcript(SESSION)

    assert request.text == "How do I keep the import from running twice at the same time?"
    assert answer.query == request.text
    assert answer.text.startswith("Take a lock")
    assert answer.text.endswith("after a crash.")
    assert "tool-use" not in answer.text


def test_many_turns_of_a_dialogue_make_one_long_passage() -> None:
    turns = [(speaker, text.partition(": ")[2]) for speaker, text in (("a", STORY), ("b", OTHER))] * 6

    longest = max((pair.text for pair in pairs.pair_dialogue(turns, random.Random(1))), key=len)

    assert 1_000 < len(longest) <= pairs.MAX_TEXT
    assert "Anna" not in longest
