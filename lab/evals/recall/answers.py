"""Check that a change leaves every answer the same: ids, order, scores, labels and what is sure.

    python -m lab.evals.recall.answers FILE    # before the change: writes the answers to FILE
    python -m lab.evals.recall.answers FILE    # after it: compares with FILE

Asks all questions of the sets over small stores, and questions of ``lab.benchmarks.recall`` over 2,000 notes with
random vectors.
"""

import json
import math
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hivemind.embedding.semantic_index import SemanticIndex
from hivemind.model.recall import Recall
from lab.benchmarks.notes import NoteWriter
from lab.benchmarks.recall import RandomVectors, fill, open_memory
from lab.evals.recall import asking
from lab.evals.recall.sets import load

SETS = ("topical", "small_stores", "languages")
TOLERANCE = 1e-6
NOTES, QUESTIONS = 2_000, 200


def main() -> None:
    """Write the answers, or compare them with those written before."""
    file = Path(sys.argv[1])
    answers = dict([*_ask_small_stores(), *_ask_notes()])
    if not file.exists():
        file.write_text(json.dumps(answers), "utf-8")
        print(f"{len(answers)} answers written to {file}")
        return
    earlier = json.loads(file.read_text("utf-8"))
    differing = [name for name in earlier if not is_same(answers.get(name), earlier[name])]
    for name in differing[:10]:
        print(f"{name}\n  before {str(earlier[name])[:400]}\n  now    {str(answers.get(name))[:400]}")
    print(f"{len(earlier) - len(differing)} of {len(earlier)} answers are the same")
    sys.exit(bool(differing))


def is_same(value: Any, other: Any) -> bool:
    """Whether two values are equal, numbers within the tolerance."""
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(map(is_same, value, other))
    if isinstance(value, float) and isinstance(other, float):
        return math.isclose(value, other, rel_tol=0, abs_tol=TOLERANCE)
    return bool(value == other)


def _ask_small_stores() -> Iterator[tuple[str, Any]]:
    for name in SETS:
        for store in load(name):
            with asking.fill(store) as filled_store:
                for question in store.questions:
                    recall = filled_store.recall(question.text)
                    notes = [filled_store.name_note(hit) for hit in recall.hits]
                    yield f"{name} {store.name}: {question.text}", [notes, _describe(recall)]


def _ask_notes() -> Iterator[tuple[str, Any]]:
    texts, model = NoteWriter(11), RandomVectors()
    with tempfile.TemporaryDirectory() as folder, open_memory(Path(folder), "here") as mind:
        mind._context.embedder.meaning = SemanticIndex(model)
        mind.remember(texts.write(1)[0])
        mind.maintenance.catch_up()
        fill(mind, model, texts, NOTES)
        for number, question in enumerate(map(texts.ask, NoteWriter(11).write(QUESTIONS))):
            recall = mind.recall(question, limit=5 + number % 30, max_tokens=9_000, everywhere=number % 2 == 0)
            yield f"notes {number}: {question}", [[hit.memory.text for hit in recall.hits], _describe(recall)]
            alone = mind.recall(f'"{question.split()[-1][:-1]}"')
            yield f"notes {number}, quoted", [[hit.memory.text for hit in alone.hits], _describe(alone)]


def _describe(recall: Recall) -> list[Any]:
    """What a reader sees of the hits, without ids, which are random."""
    return [
        [hit.score, hit.confidence, hit.is_sure, hit.tokens, hit.passage, len(hit.labels), len(hit.may_conflict),
         [[signal.name, signal.score, signal.why] for signal in hit.signals]]
        for hit in recall.hits
    ]  # fmt: skip


if __name__ == "__main__":
    main()
