"""Fit what depends on the embedding model on part A; to be run again after a change of the model.

The model of tasks is written to its file, the constants of ``recall/confidence.py`` and ``recall/ranking.py`` are
printed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hivemind.embedding.embedder import Embedder, load_default
from hivemind.embedding.semantic_index import TASK_MODEL_FILE, TaskModel
from hivemind.embedding.weights import Floats
from hivemind.recall.confidence import compute_needed_cosine
from hivemind.recall.unasked_hits import CLOSE_TO_BEST, MOST_RULES, TASK_CHARACTERS, UNASKED_MARGIN
from hivemind.text.thesaurus import name_concepts
from lab.evals.recall.asking import fill
from lab.evals.recall.sets import Store, load, load_written_tasks

TUNING = "A"
COMMON_SHARE = 0.5
"""Of the average task that is taken off; 0.3 and 0.7 bring as many right rules."""
NEED_WEIGHT, RIDGE = 0.16, 4.0
"""How much the kind of a task counts beside closeness. With more, a task brings rules of other projects more often, and
hardly more right ones."""
MOST_WRONG = 0.03
"""The share of tasks without a rule that may bring one; of stores that were left out, about as many do."""
UNRELATED_QUANTILE, SAME_QUANTILE = 0.2, 0.8
"""Where the constants of ``recall/ranking.py``, which were set on large sets, lie among the cosines of small stores."""
NEWTON_STEPS = 25
"""A logistic regression of two variables has converged long before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task with its vector, the vectors of its store's notes, and which of these it needs."""

    store: str
    vector: Floats
    notes: Floats
    is_right: NDArray[np.bool_]

    @property
    def needs_rule(self) -> bool:
        """Whether a note governs the task."""
        return bool(self.is_right.any())


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedHit:
    """What decides whether a hit is sure, and whether it should be."""

    cosine: float
    behind_best: float
    """The distance of its score to the best one."""
    is_right: bool


def run() -> None:
    """Fit everything, print the figures, and write the model of tasks."""
    embedder = load_default()
    stores = [*load("prompts", TUNING), *load_written_tasks()]
    tasks = [task for store in stores for task in _embed_store(embedder, store)]
    for what, value in measure_left_out(tasks).items():
        print(f"{what}, each store with the model of the others: {value:.3f}")
    np.save(TASK_MODEL_FILE, fit_tasks(tasks).to_rows())
    print(f"wrote {TASK_MODEL_FILE.name}")
    unrelated, same = measure_cosines(embedder, load("small_stores", TUNING))
    hits = list(ask_questions([*load("small_stores", TUNING), *load("topical", TUNING)]))
    lowest, behind_weight, steepness = fit_curve(hits)
    print(
        f"recall/confidence.py: LOWEST_COSINE = {lowest:.2f}, BEHIND_BEST_WEIGHT = {behind_weight:.1f},"
        f" STEEPNESS = {steepness:.0f}"
    )
    print(f"recall/ranking.py: UNRELATED_COSINE, SAME_COSINE = {unrelated:.2f}, {same:.2f}")


def fit_tasks(tasks: Sequence[Task]) -> TaskModel:
    """Fit the model; its bias lets tasks without a rule bring one as rarely as they may."""
    # Chosen by tasks whose store was left out: those it was fitted on would look too good.
    stores = {task.store for task in tasks}
    fits = {store: _fit_directions([task for task in tasks if task.store != store]) for store in stores}
    best_scores = [_score(task, fits[task.store]).max() for task in tasks if not task.needs_rule]
    model = _fit_directions(tasks)
    bias = _get_threshold(tasks[0]) - float(np.quantile(best_scores, 1 - MOST_WRONG))
    return TaskModel(common=model.common, weights=model.weights, bias=bias)


def measure_left_out(tasks: Sequence[Task]) -> dict[str, float]:
    """Measure how well a model speaks for stores that it was not fitted on."""
    rightly: list[bool] = []
    needlessly: list[bool] = []
    elsewhere: list[bool] = []
    notes_by_store = {task.store: task.notes for task in tasks}
    for store in notes_by_store:
        model = fit_tasks([task for task in tasks if task.store != store])
        for task in (task for task in tasks if task.store == store):
            choice = _choose(task, model)
            if task.needs_rule:
                rightly.append(bool(task.is_right[choice].any()))
                # The rules of another project say nothing about this task.
                others = (notes for other, notes in notes_by_store.items() if other != store)
                elsewhere += [bool(_choose(replace(task, notes=notes), model)) for notes in others]
            else:
                needlessly.append(bool(choice))
    return {
        "speaks rightly": float(np.mean(rightly)),
        "speaks where nothing is needed": float(np.mean(needlessly)),
        "speaks for a task of another project": float(np.mean(elsewhere)),
    }


def ask_questions(stores: Sequence[Store]) -> Iterator[JudgedHit]:
    """Ask every question, and yield the hits; those of questions without an answer are wrong."""
    for store in stores:
        with fill(store) as memory:
            for question in store.questions:
                hits = memory.recall(question.text).hits
                for hit in hits:
                    yield JudgedHit(
                        cosine=next((signal.score for signal in hit.signals if signal.name == "meaning"), 0.0),
                        behind_best=hits[0].score - hit.score,
                        is_right=memory.name_note(hit) in question.right,
                    )


def fit_curve(hits: Sequence[JudgedHit]) -> tuple[float, float, float]:
    """Fit the curve of confidence by logistic regression.

    Return the cosine with which half of the best hits are right, how much the distance to the best counts, and the
    steepness.
    """
    inputs = np.array([[hit.cosine, hit.behind_best, 1.0] for hit in hits])
    targets = np.array([float(hit.is_right) for hit in hits])
    weights = np.zeros(3)
    for _ in range(NEWTON_STEPS):
        chances = 1 / (1 + np.exp(-inputs @ weights))
        curvature = (inputs * (chances * (1 - chances))[:, None]).T @ inputs
        weights += np.linalg.solve(curvature, inputs.T @ (targets - chances))
    steepness, distance, offset = map(float, weights)
    return -offset / steepness, -distance / steepness, steepness


def measure_cosines(embedder: Embedder, stores: Sequence[Store]) -> tuple[float, float]:
    """Return the cosine of a question with unrelated notes, and with the note that answers it."""
    notes = [_embed(embedder, list(store.notes.values())) for store in stores]
    unrelated: list[float] = []
    same: list[float] = []
    for place, store in enumerate(stores):
        questions = [question for question in store.questions if question.type == "clean" and question.right]
        vectors = _embed(embedder, [question.text for question in questions])
        ids = list(store.notes)
        for question, vector in zip(questions, vectors, strict=True):
            same.append(max(float(notes[place][ids.index(note)] @ vector) for note in question.right))
        unrelated += [
            float(cosine) for other in notes if other is not notes[place] for cosine in (other @ vectors.T).flat
        ]
    return float(np.quantile(unrelated, UNRELATED_QUANTILE)), float(np.quantile(same, SAME_QUANTILE))


def _fit_directions(tasks: Sequence[Task]) -> TaskModel:
    """Fit what tasks have in common, and by ridge regression which of them need a rule; the bias is zero."""
    vectors = np.array([task.vector for task in tasks])
    needs = np.array([1.0 if task.needs_rule else -1.0 for task in tasks])
    mean = vectors.mean(axis=0)
    centred = vectors - mean
    weights = np.linalg.solve(centred.T @ centred + RIDGE * np.eye(len(mean)), centred.T @ (needs - needs.mean()))
    common = COMMON_SHARE * vectors[needs > 0].mean(axis=0)
    scaled_weights = (NEED_WEIGHT * weights).astype(np.float32)
    return TaskModel(common=common, weights=scaled_weights, bias=-NEED_WEIGHT * float(mean @ weights))


def _score(task: Task, model: TaskModel) -> Floats:
    scores: Floats = task.notes @ model.adjust(task.vector) + model.measure_need(task.vector)
    return scores


def _choose(task: Task, model: TaskModel) -> list[int]:
    """Return the notes that the prompt hook would tell, as ``recall/unasked_hits.py`` chooses them."""
    scores = _score(task, model)
    best_first = [int(place) for place in np.argsort(-scores)[:MOST_RULES]]
    if scores[best_first[0]] < _get_threshold(task):
        return []
    return [place for place in best_first if scores[place] >= scores[best_first[0]] - CLOSE_TO_BEST]


def _get_threshold(task: Task) -> float:
    return compute_needed_cosine(len(task.notes)) + UNASKED_MARGIN


def _embed_store(embedder: Embedder, store: Store) -> Iterator[Task]:
    notes = _embed(embedder, list(store.notes.values()))
    vectors = _embed(embedder, [question.text[:TASK_CHARACTERS] for question in store.questions])
    for question, vector in zip(store.questions, vectors, strict=True):
        is_right = np.array([note in question.right for note in store.notes])
        yield Task(store=store.name, vector=vector, notes=notes, is_right=is_right)


def _embed(embedder: Embedder, texts: Sequence[str]) -> Floats:
    # With the names of concepts, as the product embeds them.
    return embedder.embed([name_concepts(text) for text in texts])
