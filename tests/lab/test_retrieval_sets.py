"""The public question sets are read under the names that their parts have."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from lab.benchmarks.retrieval.sets import locomo, locomo_plus, longmemeval

CONVERSATION: dict[str, Any] = {
    "conversation": {
        "session_1": [{"dia_id": "D1:1", "speaker": "Ada", "text": "I moved to Graz"}],
        "session_1_date_time": "1:56 pm on 8 May, 2023",
    },
    "qa": [{"question": "Where did Ada move?", "evidence": ["D1:1"]}],
}
HAYSTACK = {
    "question_id": "q1",
    "question": "Where did I move?",
    "haystack_session_ids": ["answer_1", "other"],
    "haystack_sessions": [[{"content": "I moved to Graz"}], [{"content": "Hello"}]],
    "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 02:21"],
    "answer_session_ids": ["answer_1"],
}


@pytest.mark.parametrize("name", ["locomo10.json", "locomo_dev3.json", "locomo_validation2.json"])
def test_every_part_of_locomo_is_read(tmp_path: Path, name: str) -> None:
    (tmp_path / "locomo").mkdir()
    (tmp_path / "locomo" / name).write_text(json.dumps([CONVERSATION]))

    (case,) = locomo(tmp_path)

    assert [text.text for text in case.texts] == ["Ada: I moved to Graz"]
    assert [question.relevant for question in case.questions] == [("D1:1",)]


@pytest.mark.parametrize("name", ["longmemeval_s_dev50.json.gz", "longmemeval_s_validation150.json.gz"])
def test_every_part_of_longmemeval_is_read_and_its_ids_give_nothing_away(tmp_path: Path, name: str) -> None:
    (tmp_path / "longmemeval").mkdir()
    (tmp_path / "longmemeval" / name).write_bytes(gzip.compress(json.dumps([HAYSTACK]).encode()))

    (case,) = longmemeval(tmp_path)

    assert [text.id for text in case.texts] == ["s0", "s1"]
    assert case.questions[0].relevant == ("s0",)


def test_a_remark_of_locomo_plus_is_among_the_turns_and_answers_its_trigger(tmp_path: Path) -> None:
    talk = CONVERSATION["conversation"] | {"speaker_a": "Ada", "speaker_b": "Ben"}
    remark = {"cue_dialogue": "A: I learned to say no.\nB: Good.", "trigger_query": "A: I am overwhelmed again."}
    (tmp_path / "locomo-plus").mkdir()
    (tmp_path / "locomo-plus" / "locomo10.json").write_text(json.dumps([{"conversation": talk}]))
    (tmp_path / "locomo-plus" / "locomo_plus.json").write_text(json.dumps([remark]))

    (case,) = locomo_plus(tmp_path)

    assert [text.text for text in case.texts] == ["Ada: I moved to Graz", "Ada: I learned to say no.", "Ben: Good."]
    assert [(question.text, question.relevant) for question in case.questions] == [
        ("I am overwhelmed again.", ("cue 0:0",))
    ]


def test_a_missing_set_is_named_with_where_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="download the set first"):
        next(locomo(tmp_path))
