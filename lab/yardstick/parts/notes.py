"""Ask small stores of careless notes: which note comes first, what stands beside it, what is told unasked."""

import json
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from lab.yardstick.adapter import Note
from lab.yardstick.material import CASES
from lab.yardstick.parts import Figures, Run, average, count, is_absent, try_out
from lab.yardstick.texts import count_tokens

HALVES = {"development": ("A",), "test": ("B", "C")}
"""Half A was used for tuning recall of hivemind; B and C were set apart before anything was measured."""
SETS = {"topical": "short questions", "small_stores": "all kinds of questions", "languages": "ten languages"}


@dataclass(frozen=True, slots=True)
class Question:
    """A question or task, and the notes that it needs."""

    text: str
    kind: str
    right: frozenset[str]


@dataclass(frozen=True, slots=True)
class Store:
    """Notes by their id, and questions about them."""

    name: str
    notes: dict[str, str]
    questions: tuple[Question, ...]


def load_stores(name: str, part: str) -> list[Store]:
    """Read the stores of a set with the questions of a part."""
    lines = [json.loads(line) for line in (CASES / "notes" / f"{name}.jsonl").read_text("utf-8").splitlines()]
    stores = []
    for store, group in groupby(lines, key=lambda row: row["store"]):
        rows = list(group)
        half = rows[0].get("half", "")
        questions = tuple(
            Question(row["ask"], row["type"], frozenset(row["right"]))
            for row in rows
            if "ask" in row and row.get("half", half) in HALVES[part]
        )
        if questions:
            stores.append(Store(store, {row["note"]: row["text"] for row in rows if "note" in row}, questions))
    return stores


def measure(run: Run) -> Figures:
    """Ask all questions, then put all tasks."""
    figures: Figures = {}
    for name, title in SETS.items():
        asked = try_out(ask_all, run, name)
        figures |= {title: asked} if is_absent(asked) else summarise(title, asked)
    figures |= measure_tasks(run)
    return figures


Row = tuple[Question, list[str], list[str], int]
"""A question, the notes shown, those shown as answers, and the tokens of the answer."""


def ask_all(run: Run, name: str) -> list[Row]:
    """Fill one store with the notes of all small ones, each as a repository of its own, and ask."""
    stores = run.cut(load_stores(name, run.part))
    with run.open_store(f"notes-{name}"):
        return [
            row for store in stores for row in ask(run, store, run.make_repo(f"{name}-{store.name}".replace("_", "-")))
        ]


def ask(run: Run, store: Store, repo: Path) -> list[Row]:
    """Ask the questions of one repository."""
    ids = run.adapter.remember_all(Note(text=text, repo=repo) for text in store.notes.values())
    names = dict(zip(ids, store.notes, strict=True))
    rows = []
    for question in store.questions:
        answer = run.adapter.recall(question.text, repo)
        shown = [names.get(hit.id, "?") for hit in answer.hits]
        sure = [names.get(hit.id, "?") for hit in answer.hits if hit.is_sure]
        rows.append((question, shown, sure, count_tokens(answer.text)))
    return rows


def summarise(title: str, rows: list[Row]) -> Figures:
    """Return the figures of a set."""
    answerable = [row for row in rows if row[0].right]
    figures: Figures = {
        f"{title}: right note first": count(bool(shown) and shown[0] in question.right for question, shown, _, _ in answerable),
        f"{title}: right note among what is shown": count(bool(question.right & {*shown}) for question, shown, _, _ in answerable),
        f"{title}: other notes shown as answers, mean": average(len({*sure} - question.right) for question, _, sure, _ in answerable),
        f"{title}: tokens of an answer, mean": average((tokens for *_, tokens in answerable), 0),
    }  # fmt: skip
    for kind in ("foreign", "absent"):
        if unanswerable := [row for row in rows if row[0].kind == kind]:
            name = "about something else" if kind == "foreign" else "that no note answers"
            figures[f"{title}: questions {name}, answered with nothing"] = count(
                not sure for _, _, sure, _ in unanswerable
            )
    return figures


def measure_tasks(run: Run) -> Figures:
    """Tell tasks to the system, and count whether it tells the rule that governs each, and is silent otherwise."""

    def tell() -> list[tuple[Question, bool, bool, int]]:
        rows = []
        with run.open_store("tasks"):
            for store in run.cut(load_stores("prompts", run.part)):
                repo = run.make_repo(f"tasks-{store.name}")
                run.adapter.remember_all(Note(text=text, repo=repo) for text in store.notes.values())
                for task in store.questions:
                    text = run.adapter.tell(task.text, repo)
                    is_right = any(store.notes[note] in text for note in task.right)
                    rows.append((task, is_right, bool(text.strip()), count_tokens(text)))
        return rows

    rows: Any = try_out(tell)
    if is_absent(rows):
        return {"tasks: the rule is told unasked": rows}
    return {
        "tasks: the rule is told unasked": count(right for task, right, _, _ in rows if task.right),
        "tasks without a rule: something is told": count(speaks for task, _, speaks, _ in rows if not task.right),
        "tasks: tokens told, mean over all": average((tokens for *_, tokens in rows), 0),
    }
