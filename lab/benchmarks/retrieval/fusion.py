"""Choose how words and meaning are mixed for each question set on the other sets, and score it there."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from hivemind.recall.ranking import FUSION, Fusion, Ranked, rank
from lab.benchmarks.retrieval import scores
from lab.benchmarks.retrieval.sets import SETS
from lab.benchmarks.retrieval.systems import Product

CHOICES = [
    Fusion(prose_weight=prose, code_weight=min(prose, code), passages_penalty=penalty)
    for prose, code, penalty in product((0.2, 0.3, 0.4, 0.5), (0.05, 0.1, 0.2, 0.5), (0.0, 0.1, 0.2))
]
MEASURES: dict[str, tuple[str, Callable[[Sequence[str], Sequence[str]], float]]] = {
    "longmemeval": ("recall_all@5", lambda order, relevant: scores.recall_all(order, relevant, 5)),
    "locomo": ("recall@10", lambda order, relevant: scores.recall(order, relevant, 10)),
    "beam": ("recall@10", lambda order, relevant: scores.recall(order, relevant, 10)),
    "swe": ("recall@10", lambda order, relevant: scores.recall(order, relevant, 10)),
    "cosqa": ("MRR", scores.mrr),
}
QUESTIONS_PER_STORE = 100
"""Ranking with every choice takes longer than a recall."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetScores:
    """The mean scores of one set with each choice, and without a mixture."""

    choices: list[float]
    shipped: float
    words: float
    meaning: float


def make_table(data: Path, names: Sequence[str]) -> str:
    """Return a row for each set, with the values that are best on the average of the other sets."""
    measured = {name: measure_set(data, name) for name in names}
    header = "| set | measure | words alone | meaning alone | chosen on the others | score | as shipped |"
    rows = [header, "|---" * 7 + "|"]
    for name, own in measured.items():
        others = [values.choices for other, values in measured.items() if other != name] or [own.choices]
        best = max(range(len(CHOICES)), key=lambda place: sum(choices[place] for choices in others))
        chosen = CHOICES[best]
        values = f"{chosen.prose_weight} / {chosen.code_weight} / {chosen.passages_penalty}"
        figures = (own.words, own.meaning, values, own.choices[best], own.shipped)
        cells = [figure if isinstance(figure, str) else f"{figure:.3f}" for figure in figures]
        rows.append(f"| {name} | {MEASURES[name][0]} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def measure_set(data: Path, name: str) -> SetScores:
    """Search each question of a set once, and rank what was found with every choice."""
    columns = zip(*_score_questions(data, name), strict=True)
    *choices, shipped, words, meaning = map(statistics.fmean, columns)
    return SetScores(choices=choices, shipped=shipped, words=words, meaning=meaning)


def _score_questions(data: Path, name: str) -> Iterator[list[float]]:
    measure = MEASURES[name][1]
    for case in SETS[name](data):
        store = Product(case.texts)
        questions = [question for question in case.questions if question.relevant][:QUESTIONS_PER_STORE]
        for question in questions:
            query, candidates = store.find_candidates(question.text)
            rankings = [rank(candidates, query, fusion) for fusion in (*CHOICES, FUSION)]
            rankings += [_sort_by_words(rankings[0]), _sort_by_meaning(rankings[0])]
            yield [measure(store.get_text_ids(ranking), question.relevant) for ranking in rankings]


def _sort_by_words(ranking: Sequence[Ranked]) -> list[Ranked]:
    return sorted(ranking, key=lambda place: -place.words)


def _sort_by_meaning(ranking: Sequence[Ranked]) -> list[Ranked]:
    return sorted(ranking, key=lambda place: -(place.meaning or -1.0))
