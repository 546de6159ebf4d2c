"""Situations for wordings of our instructions, and how replies are counted."""

import json

import pytest

from lab.evals.moments.__main__ import EXPECTED, FOLDER, find_tool, format_counts, make_conversation


@pytest.mark.parametrize(
    ("reply", "tool"),
    [
        ('context {"task": "add a retry"}', "context"),
        ('```json\n{"name": "recall", "arguments": {}}\n```', "recall"),
        ("answer {}", "answer"),
        ("I am done.", "answer"),
    ],
)
def test_the_first_tool_that_a_reply_names_counts(reply: str, tool: str) -> None:
    assert find_tool(reply) == tool


def test_no_situation_for_choosing_is_used_for_reporting() -> None:
    sets = [(FOLDER / name).read_text("utf-8").splitlines() for name in ("dev.jsonl", "test.jsonl")]
    cases = [[json.loads(line) for line in lines] for lines in sets]

    assert [len(lines) for lines in sets] == [16, 27]
    assert not set(sets[0]) & set(sets[1])
    assert all({case["moment"] for case in part} == EXPECTED.keys() for part in cases)
    assert format_counts(cases[0], ["context"] * 16).startswith("9/16  task 4/4")
    assert "wording" in make_conversation("the wording", cases[0][0])[0]["content"]
