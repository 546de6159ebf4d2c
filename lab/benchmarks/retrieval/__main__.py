"""Measure how well each system finds the relevant texts of public question sets, and what that costs.

python -m lab.benchmarks.retrieval DATA [--sets locomo,beam] [--systems hivemind,"words only"] [--jobs N] [--save PART]
python -m lab.benchmarks.retrieval DATA --fusion

``@k`` looks at exactly the first k results that were rendered. Lures are copies of relevant texts that must not be
found: half of them belong to another repository, the others were retracted. A foreign question belongs to another
store; confidence is to separate such questions from answerable ones. With ``--fusion``, the weights of words and
meaning are chosen for each set on the other sets, and compared with words alone and meaning alone. With
``HIVEMIND_BENCH_VECTORS=FILE``, vectors are kept in FILE and texts of earlier runs are not embedded again. With
``--jobs``, stores are filled and asked by several processes at once: the scores stay the same, times are left out.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

from hivemind.recall.confidence import SURE
from lab.benchmarks import results
from lab.benchmarks.retrieval import fusion, scores
from lab.benchmarks.retrieval.sets import SETS, Case, Question
from lab.benchmarks.retrieval.systems import SYSTEMS, Product, embed_ahead

MEASURES: dict[str, Callable[[Sequence[str], Sequence[str]], float]] = {
    "recall@1": lambda order, relevant: scores.recall(order, relevant, 1),
    "recall@5": lambda order, relevant: scores.recall(order, relevant, 5),
    "recall@10": lambda order, relevant: scores.recall(order, relevant, 10),
    "recall_any@5": lambda order, relevant: scores.recall_any(order, relevant, 5),
    "recall_all@5": lambda order, relevant: scores.recall_all(order, relevant, 5),
    "recall_all@10": lambda order, relevant: scores.recall_all(order, relevant, 10),
    "NDCG@10": lambda order, relevant: scores.ndcg(order, relevant, 10),
    "MRR": scores.mrr,
}
USUAL_SETS = "longmemeval,locomo,beam,swe,cosqa"
QUESTIONS_WITH_LURES = 40
"""How many questions of a set are asked again with lures in the store."""
WRITES = 3
"""How many writes to each store are timed until they can be read."""
COLUMNS = ("questions", *MEASURES, "forbidden@10", "p50 ms", "p95 ms", "p99 ms")
TIMES = ("p50 ms", "p95 ms", "p99 ms", "write to readable, ms")
"""What processes beside each other cannot measure."""
Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


@dataclass(slots=True)
class CaseFigures:
    """What one store gave."""

    scores: list[list[float]] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)
    sums: dict[str, float] = field(default_factory=dict)
    confidences: dict[str, list[float]] = field(default_factory=dict)


def main() -> None:
    """Run every system on every set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder with longmemeval/, locomo/, beam/, swebench/, cosqa/")
    parser.add_argument("--sets", default=USUAL_SETS, help=f"of {', '.join(SETS)}; default: {USUAL_SETS}")
    parser.add_argument("--systems", default=",".join(SYSTEMS), help="systems, separated by commas")
    parser.add_argument("--jobs", type=int, default=1, help="processes; times are measured with one only")
    parser.add_argument(
        "--save",
        nargs="?",
        const="",
        metavar="PART",
        help="save the figures to lab/evals/results, one file for each set and part of it, such as 'validation'",
    )
    parser.add_argument("--fusion", action="store_true", help="only the table of weights chosen on the other sets")
    options = parser.parse_args()
    if options.fusion:
        print(fusion.make_table(options.data, options.sets.split(",")))
        return
    if options.jobs > 1 and "HIVEMIND_BENCH_VECTORS" not in os.environ:
        # Processes share their vectors through this file.
        os.environ["HIVEMIND_BENCH_VECTORS"] = str(Path(tempfile.mkdtemp(prefix="hivemind-bench-")) / "vectors")
    for name in options.sets.split(","):
        if options.jobs > 1:
            embed_ahead((text for case in SETS[name](options.data) for text in case.texts), options.jobs)
        print(f"\n| {name} | " + " | ".join(COLUMNS) + " |\n|---|" + "---|" * len(COLUMNS))
        figures: dict[str, dict[str, float]] = {}
        for system in options.systems.split(","):
            figures[system] = evaluate(partial(SETS[name], options.data), system, options.jobs)
            print(
                f"| {system} | " + " | ".join(_cell(figures[system].get(column)) for column in COLUMNS) + " |",
                flush=True,
            )
        if "hivemind" in figures:
            more = {what: value for what, value in figures["hivemind"].items() if what not in COLUMNS}
            print("\n" + "\n".join(f"{what}: {_cell(value)}" for what, value in more.items()), flush=True)
        if options.save is not None:
            part = f" {options.save}" if options.save else ""
            data = f"{name}{part}, {next(iter(figures.values()))['questions']:.0f} questions"
            settings = (
                "as installed; scores over the first 100 without a token budget, 'shown' within 5 and 1,200 tokens"
            )
            if "HIVEMIND_BENCH_VECTORS" in os.environ:
                settings += "; vectors of texts from an earlier run"
            results.save(
                "-".join(filter(None, ("retrieval", name, options.save))),
                data=data,
                configuration=settings,
                figures=figures,
            )


def evaluate(cases: Callable[[], Iterator[Case]], system: str, jobs: int = 1) -> dict[str, float]:
    """Return the scores and costs of one system on one set."""
    all_figures = list(_map(partial(_judge_case, system), _pair_with_foreign(cases()), jobs))
    scores_by_question = [row for figures in all_figures for row in figures.scores]
    confidences: dict[str, list[float]] = {}
    for figures in all_figures:
        for kind, values in figures.confidences.items():
            confidences.setdefault(kind, []).extend(values)
    means = [statistics.mean(column) for column in zip(*scores_by_question, strict=True)]
    milliseconds = [value for figures in all_figures for value in figures.milliseconds]
    lures = (found for group in _map(partial(_find_lures, system), _choose_lures(cases()), jobs) for found in group)
    result = {
        "questions": len(scores_by_question),
        **dict(zip(MEASURES, means, strict=True)),
        "forbidden@10": statistics.mean(lures),
        **dict(zip(("p50 ms", "p95 ms", "p99 ms"), _quantiles(milliseconds), strict=True)),
        **_summarise([figures.sums for figures in all_figures if figures.sums]),
        **_judge_confidence(confidences),
    }
    return result if jobs == 1 else {what: value for what, value in result.items() if what not in TIMES}


def _map(function: Callable[[Item], Outcome], items: Iterable[Item], jobs: int) -> Iterator[Outcome]:
    """Apply a function to each item, in this process or in several."""
    if jobs == 1:
        yield from map(function, items)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(function, items)


def _pair_with_foreign(cases: Iterator[Case]) -> Iterator[tuple[Case, Sequence[Question]]]:
    """Yield each store with the questions of the one before it, which it cannot answer."""
    foreign: Sequence[Question] = ()
    for case in cases:
        yield case, foreign
        foreign = case.questions


def _judge_case(system: str, work: tuple[Case, Sequence[Question]]) -> CaseFigures:
    """Fill a store and ask it all its questions."""
    case, foreign = work
    search = SYSTEMS[system](case.texts)
    figures = CaseFigures()
    for question in case.questions:
        order = search(question.text)
        start = time.perf_counter()
        search.render(question.text) if isinstance(search, Product) else search(question.text)
        figures.milliseconds.append(1000 * (time.perf_counter() - start))
        if question.relevant:
            figures.scores.append([measure(order, question.relevant) for measure in MEASURES.values()])
    if isinstance(search, Product):
        figures.sums = _measure_product(search, case, foreign, figures.confidences)
    return figures


def _measure_product(
    product: Product, case: Case, foreign: Sequence[Question], confidences: dict[str, list[float]]
) -> dict[str, float]:
    """Return sums over one store: what an agent sees by default, what is declined, bytes and lag.

    Adds the confidence of each question to ``confidences``, by whether it is answerable.
    """
    sums: dict[str, float] = {"stores": 1, "memories": len(case.texts), "bytes": product.bytes}
    for question in case.questions:
        order, tokens, confidence = product.render(question.text)
        kind = "answerable" if question.is_answerable else "unanswerable"
        confidences.setdefault(kind, []).append(confidence)
        figures: dict[str, float] = {kind: 1, f"declined {kind}": confidence < SURE}
        if question.relevant:
            any_of, all_of = (
                score(order, question.relevant, len(order)) for score in (scores.recall_any, scores.recall_all)
            )
            figures |= {"asked": 1, "tokens": tokens, "any": any_of, "all": all_of}
        sums = {figure: sums.get(figure, 0) + figures.get(figure, 0) for figure in {**sums, **figures}}
    # A store that quotes the question, such as an issue with its fix, has an answer.
    unquoted = (question for question in foreign if not any(question.text in text.text for text in case.texts))
    of_foreign = [product.render(question.text)[2] for question in islice(unquoted, QUESTIONS_WITH_LURES)]
    confidences.setdefault("foreign", []).extend(of_foreign)
    declined_count = sum(confidence < SURE for confidence in of_foreign)
    lags = [product.lag(f"Note {number} of the bench: the {number}th heron stands still") for number in range(WRITES)]
    return sums | {"foreign": len(of_foreign), "declined foreign": declined_count, "lag": sum(lags)}


def _judge_confidence(confidences: dict[str, list[float]]) -> dict[str, float]:
    """Return how well confidence separates answerable questions from the others."""
    answerable = confidences.get("answerable", [])
    figures = {}
    for kind in ("foreign", "unanswerable"):
        if answerable and (others := confidences.get(kind)):
            figures[f"confidence, {kind}: AUROC"] = scores.auroc(answerable, others)
            figures[f"confidence, {kind}: precision at 99 % kept"] = scores.precision_at_kept(answerable, others)
    return figures


def _summarise(sums_by_store: Sequence[dict[str, float]]) -> dict[str, float]:
    """Turn the sums of all stores into shares and means."""
    if not sums_by_store:
        return {}
    total = {
        what: sum(sums.get(what, 0) for sums in sums_by_store)
        for what in {what for sums in sums_by_store for what in sums}
    }
    declined_shares = {
        f"declined, {kind}": total[f"declined {kind}"] / total[kind]
        for kind in ("answerable", "unanswerable", "foreign")
        if total.get(kind)
    }
    return {
        "shown: recall_any": total["any"] / total["asked"],
        "shown: recall_all": total["all"] / total["asked"],
        "tokens per query": total["tokens"] / total["asked"],
        **declined_shares,
        "write to readable, ms": total["lag"] / (WRITES * total["stores"]),
        "bytes per memory": total["bytes"] / total["memories"],
    }


def _choose_lures(cases: Iterator[Case]) -> Iterator[Case]:
    """Yield the first stores with lures in them, and questions that they may mislead."""
    questions_left = QUESTIONS_WITH_LURES
    for case in cases:
        questions = tuple(question for question in case.questions if question.relevant)[:questions_left]
        texts = {text.id: text for text in case.texts}
        relevant_ids = list(dict.fromkeys(question.relevant[0] for question in questions))
        lures = (
            replace(
                texts[text_id],
                id=f"lure {text_id}",
                text=f"Lure. {texts[text_id].text}",
                hidden=("elsewhere", "retracted")[n % 2],
            )
            for n, text_id in enumerate(relevant_ids)
        )
        yield Case(texts=(*case.texts, *lures), questions=questions)
        questions_left -= len(questions)
        if questions_left <= 0:
            return


def _find_lures(system: str, case: Case) -> list[float]:
    """Return 1 for each question with a lure among its first ten results, else 0."""
    search = SYSTEMS[system](case.texts)
    return [
        float(any(text_id.startswith("lure ") for text_id in search(question.text)[:10])) for question in case.questions
    ]


def _quantiles(values: Sequence[float]) -> list[float]:
    ascending = sorted(values)
    return [ascending[min(len(ascending) - 1, int(len(ascending) * share))] for share in (0.5, 0.95, 0.99)]


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}" if value < 2 else f"{value:,.1f}"


if __name__ == "__main__":
    main()
