"""The notes that were written for training can be read, and none of those held out is trained on."""

import json
from pathlib import Path

import pytest

from lab import training

FOLDER = Path(training.__file__).with_name("written")
FILES = sorted(FOLDER.rglob("*.jsonl"))


def read(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_note_and_message_says_what_asks_for_it(path: Path) -> None:
    for line in read(path):
        if "conversation" in line:
            assert line["speaker"]
            assert line["text"]
            assert line["summary_topic"]
        elif "free_tasks" in line:
            assert line["project"]
        elif "function" in line:
            assert line["searches"]
        else:
            assert line["project"]
            assert line["note"]
            assert line["topics"]
            assert line["question"]


def test_nothing_that_is_held_out_is_trained_on() -> None:
    held_out = {get_text(line) for path in FILES if path.stem.startswith("held_out") for line in read(path)} - {None}
    trained = {get_text(line) for path in FILES if not path.stem.startswith("held_out") for line in read(path)}

    assert held_out
    assert trained
    assert not held_out & trained


def get_text(line: dict[str, object]) -> object:
    return line.get("note") or line.get("text")
