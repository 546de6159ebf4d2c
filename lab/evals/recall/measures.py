"""Figures of each question set."""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lab.benchmarks.retrieval.scores import auroc, precision_at_kept
from lab.evals.recall.asking import Answer, fill
from lab.evals.recall.sets import Question, Store

NOISE = ("typo", "abbreviation", "rambling")
UNANSWERABLE = ("foreign", "absent")
DIRECTLY_BELOW = 3
"""Memories below the sure part that a reader still takes in at a glance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question, its answer, and the answer to the clean version of the question."""

    store: str
    question: Question
    answer: Answer
    clean: Answer


def ask_all(stores: Sequence[Store]) -> Iterator[Asked]:
    """Ask every question of every store."""
    for store in stores:
        with fill(store) as memory:
            for question in store.questions:
                answer = memory.ask(question.text)
                clean = memory.ask(question.clean) if question.clean else answer
                yield Asked(store=store.name, question=question, answer=answer, clean=clean)


def first_place_share(asked: Sequence[Asked]) -> float:
    """Return the share of questions whose first note is right."""
    return _mean(_is_first_right(item.answer, item.question) for item in asked)


def sure_precision(asked: Sequence[Asked]) -> float:
    """Return the share of all notes in the sure parts that are right; questions without an answer count too."""
    notes = [note in item.question.right for item in asked for note in item.answer.notes[: item.answer.sure]]
    return _mean(notes)


def reach(asked: Sequence[Asked]) -> float:
    """Return the share of right notes that stand in the sure part or directly below it."""
    return _mean(_list_reached(item.answer, item.question) for item in asked)


def measure_noise(asked: Sequence[Asked]) -> dict[str, dict[str, float]]:
    """Return for each kind of noise what is found with it, beside what is found without."""
    figures = {}
    for kind in NOISE:
        items = [item for item in asked if item.question.type == kind]
        if not items:
            continue
        figures[kind] = {
            "questions": len(items),
            "first right": first_place_share(items),
            "clean first right": _mean(_is_first_right(item.clean, item.question) for item in items),
            "reached": reach(items),
            "clean reached": _mean(_list_reached(item.clean, item.question) for item in items),
        }
    return figures


def measure_topical(stores: Sequence[Store]) -> dict[str, float]:
    """Measure short topical questions."""
    asked = list(ask_all(stores))
    return {"questions": len(asked), "first right": first_place_share(asked)}


def measure_small_stores(stores: Sequence[Store]) -> dict[str, dict[str, float]]:
    """Measure the sure part, noise in questions, and confidence on small stores."""
    asked = list(ask_all(stores))
    answerable = [item for item in asked if item.question.right]
    clean = [item for item in answerable if item.question.type == "clean"]
    figures = {
        kind: {
            "questions": len(items),
            "first right": first_place_share(items),
            "sure part right": sure_precision(items),
            "reached": reach(items),
        }
        for kind, items in (("all answerable", answerable), ("clean", clean))
    }
    positive = [item.answer.confidence for item in answerable]
    for kind in UNANSWERABLE:
        items = [item for item in asked if item.question.type == kind]
        if not items:
            continue
        negative = [item.answer.confidence for item in items]
        figures[kind] = {
            "questions": len(items),
            "declared sure": _mean(item.answer.sure > 0 for item in items),
            "AUROC": auroc(positive, negative),
            "precision at 99 % kept": precision_at_kept(positive, negative),
        }
    return figures | measure_noise(asked)


def measure_languages(stores: Sequence[Store]) -> dict[str, dict[str, float]]:
    """Measure the share of first places in each language."""
    asked: dict[str, list[Asked]] = defaultdict(list)
    for item in ask_all(stores):
        asked[item.store].append(item)
    figures = {
        language: {"questions": len(items), "first right": first_place_share(items)}
        for language, items in asked.items()
    }
    everything = [item for items in asked.values() for item in items]
    return figures | {"all": {"questions": len(everything), "first right": first_place_share(everything)}}


def measure_prompts(stores: Sequence[Store]) -> dict[str, float]:
    """Measure whether the prompt hook tells the rule that a task needs, and is silent where none is needed."""
    replies = []
    for store in stores:
        with fill(store) as memory:
            replies += [(task, memory.send_prompt(task.text)) for task in store.questions]
    needing = [(task, reply) for task, reply in replies if task.right]
    needless = [reply for task, reply in replies if not task.right]
    spoken = [note in task.right for task, reply in needing for note in reply.notes]
    tokens = [reply.tokens for _, reply in replies if reply.tokens]
    return {
        "tasks": len(replies),
        "speaks rightly": _mean(bool(reply.notes & task.right) for task, reply in needing),
        "speaks only wrongly": _mean(bool(reply.notes) and not reply.notes & task.right for task, reply in needing),
        "spoken rules that are right": _mean(spoken),
        "speaks where nothing is needed": _mean(reply.tokens > 0 for reply in needless),
        "tokens, mean where it speaks": _mean(tokens),
        "tokens, most": max(tokens, default=0),
        "CPU ms, median": statistics.median(reply.cpu_ms for _, reply in replies),
        "CPU ms, most": max(reply.cpu_ms for _, reply in replies),
    }


def _is_first_right(answer: Answer, question: Question) -> bool:
    return bool(answer.notes) and answer.notes[0] in question.right


def _list_reached(answer: Answer, question: Question) -> float:
    seen = answer.notes[: answer.sure + DIRECTLY_BELOW]
    return sum(note in seen for note in question.right) / len(question.right)


def _mean(values: Iterable[float]) -> float:
    """Return the mean as a float, 0 without values."""
    numbers = [float(value) for value in values]
    return statistics.fmean(numbers) if numbers else 0.0
