"""The question sets: stores of notes, and questions with the notes that answer them.

A line of a file is a store, a note, or a question. ``half`` is A for tuning, B and C for reporting; it belongs to a
store, in ``languages`` to a question, and was set before anything was measured. C was written by one person before
recall was changed for topical and rambling questions; only these sets have it.
"""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "yardstick" / "cases" / "notes"
WRITTEN_TASKS = Path(__file__).parents[2] / "training" / "written" / "held_out_tasks.jsonl"
PARTS = ("A", "B", "C")
SETS = ("topical", "small_stores", "languages", "prompts")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question or task, and the notes that it needs."""

    text: str
    type: str
    """How it is asked: clean, typo, abbreviation, rambling; foreign and absent have no answer in the store."""
    right: frozenset[str]
    clean: str
    """The same question, asked clearly; empty where the question is clear itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """Notes by their id, and the questions about them."""

    name: str
    notes: dict[str, str]
    questions: tuple[Question, ...]


def load(name: str, part: str = "") -> list[Store]:
    """Return the stores of a set with the questions of a part; without a part, of all."""
    lines = [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()]
    stores = [_parse(list(rows), part) for _, rows in groupby(lines, key=lambda row: row["store"])]
    return [store for store in stores if store.questions]


def load_written_tasks() -> list[Store]:
    """Return the stores with tasks that were written for training and held out; each has its neighbour's notes too."""
    projects: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in map(json.loads, WRITTEN_TASKS.read_text("utf-8").splitlines()):
        projects[line["project"]].append(line)
    neighbours = [*projects.values()][1:] + [*projects.values()][:1]
    return [
        _parse_project(name, lines, others) for (name, lines), others in zip(projects.items(), neighbours, strict=True)
    ]


def _parse_project(name: str, lines: list[dict[str, Any]], others: list[dict[str, Any]]) -> Store:
    notes = {str(place): line["note"] for place, line in enumerate([*lines, *others]) if "note" in line}
    tasks = [(task, [str(place)]) for place, line in enumerate(lines) for task in line.get("task", ())]
    tasks += [(task, []) for line in lines for task in line.get("free_tasks", ())]
    questions = (Question(text=text, type="task", right=frozenset(right), clean="") for text, right in tasks)
    return Store(name=name, notes=notes, questions=tuple(questions))


def _parse(rows: list[dict[str, Any]], part: str) -> Store:
    half = rows[0].get("half", "")
    questions = [row for row in rows if "ask" in row and part in ("", row.get("half", half))]
    return Store(
        name=rows[0]["store"],
        notes={row["note"]: row["text"] for row in rows if "note" in row},
        questions=tuple(_parse_questions(questions)),
    )


def _parse_questions(rows: Iterable[dict[str, Any]]) -> Iterable[Question]:
    for row in rows:
        yield Question(text=row["ask"], type=row["type"], right=frozenset(row["right"]), clean=row.get("clean", ""))
