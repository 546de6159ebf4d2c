"""Print how well each system finds what was asked for, and what that costs.

python -m benchmarks.retrieval DATA [--sets locomo,beam] [--systems "hivemind,words only"] [--save]

``@k`` looks at exactly the first k that were rendered. Lures are copies of what is wanted that must not be found: every
other one was learned in another repository, the rest were retracted. A foreign question belongs to another store.
With ``HIVEMIND_BENCH_VECTORS=FILE`` texts that an earlier run has embedded are not embedded again.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks import results
from benchmarks.retrieval import scores
from benchmarks.retrieval.sets import SETS, Case, Question, Text
from benchmarks.retrieval.systems import SYSTEMS, Product, Search

MEASURES: dict[str, Callable[[Sequence[str], Sequence[str]], float]] = {
    "recall@5": lambda order, wanted: scores.recall(order, wanted, 5),
    "recall@10": lambda order, wanted: scores.recall(order, wanted, 10),
    "recall_any@5": lambda order, wanted: scores.recall_any(order, wanted, 5),
    "recall_all@5": lambda order, wanted: scores.recall_all(order, wanted, 5),
    "recall_all@10": lambda order, wanted: scores.recall_all(order, wanted, 10),
    "NDCG@10": lambda order, wanted: scores.ndcg(order, wanted, 10),
    "MRR": scores.mrr,
}
LURED = 40
"""Questions of a set that are asked with lures in the store."""
WRITES = 3
"""Writes into each store after which is looked whether they can be read."""
SHOWN = ("questions", *MEASURES, "forbidden@10", "p50 ms", "p95 ms", "p99 ms")


def main() -> None:
    """Run every system on every set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder with longmemeval/, locomo/, beam/, swebench/, cosqa/")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--save", action="store_true", help="keep the figures in evals/results, a file for each set")
    asked = parser.parse_args()
    for name in asked.sets.split(","):
        print(f"\n| {name} | " + " | ".join(SHOWN) + " |\n|---|" + "---|" * len(SHOWN))
        figures: dict[str, dict[str, float]] = {}
        for system in asked.systems.split(","):
            figures[system] = measured(partial(SETS[name], asked.data), SYSTEMS[system])
            print(f"| {system} | " + " | ".join(_cell(figures[system].get(one)) for one in SHOWN) + " |", flush=True)
        if "hivemind" in figures:
            more = {what: value for what, value in figures["hivemind"].items() if what not in SHOWN}
            print("\n" + "\n".join(f"{what}: {_cell(value)}" for what, value in more.items()), flush=True)
        if asked.save:
            held = f"{name}, {next(iter(figures.values()))['questions']:.0f} questions of the part that was pointed at"
            settings = (
                "as installed; scores over the first 100 without a token budget, 'shown' within 5 and 1,200 tokens"
            )
            if "HIVEMIND_BENCH_VECTORS" in os.environ:
                settings += "; vectors of texts from an earlier run"
            results.save(f"retrieval-{name}", data=held, configuration=settings, figures=figures)


def measured(cases: Callable[[], Iterator[Case]], system: Callable[[Sequence[Text]], Any]) -> dict[str, float]:
    """What one system reaches on one set."""
    scored: list[list[float]] = []
    spent: list[float] = []
    shown: list[dict[str, float]] = []
    foreign: Sequence[Question] = ()
    for case in cases():
        search = system(case.texts)
        for question in case.questions:
            order = search(question.text)
            start = time.perf_counter()
            search.rendered(question.text) if isinstance(search, Product) else search(question.text)
            spent.append(1000 * (time.perf_counter() - start))
            if question.wanted:
                scored.append([measure(order, question.wanted) for measure in MEASURES.values()])
        if isinstance(search, Product):
            shown.append(_shown(search, case, foreign))
        foreign = case.questions
    means = [statistics.mean(column) for column in zip(*scored, strict=True)]
    costs = dict(zip(("p50 ms", "p95 ms", "p99 ms"), _quantiles(spent), strict=True))
    lured = {"forbidden@10": statistics.mean(_forbidden(cases(), system))}
    return {"questions": len(scored), **dict(zip(MEASURES, means, strict=True)), **lured, **costs, **_together(shown)}


def _shown(product: Product, case: Case, foreign: Sequence[Question]) -> dict[str, float]:
    """Sums over one store of what an agent sees by default, and what keeping it takes."""
    sums: dict[str, float] = {"stores": 1, "memories": len(case.texts), "bytes": product.bytes}
    for question in case.questions:
        order, tokens, is_answered = product.rendered(question.text)
        kind = "answerable" if question.is_answerable else "unanswerable"
        seen: dict[str, float] = {kind: 1, f"declined {kind}": not is_answered}
        if question.wanted:
            any_of, all_of = (
                score(order, question.wanted, len(order)) for score in (scores.recall_any, scores.recall_all)
            )
            seen |= {"asked": 1, "tokens": tokens, "any": any_of, "all": all_of}
        sums = {one: sums.get(one, 0) + seen.get(one, 0) for one in {**sums, **seen}}
    answered = [product.rendered(question.text)[2] for question in islice(foreign, LURED)]
    lags = [product.lag(f"Note {number} of the bench: the {number}th heron stands still") for number in range(WRITES)]
    return sums | {"foreign": len(answered), "declined foreign": answered.count(False), "lag": sum(lags)}


def _together(shown: Sequence[dict[str, float]]) -> dict[str, float]:
    """The sums of all stores as shares and means."""
    if not shown:
        return {}
    total = {what: sum(one.get(what, 0) for one in shown) for what in {what for one in shown for what in one}}
    declined = {
        f"declined, {kind}": total[f"declined {kind}"] / total[kind]
        for kind in ("answerable", "unanswerable", "foreign")
        if total.get(kind)
    }
    return {
        "shown: recall_any": total["any"] / total["asked"],
        "shown: recall_all": total["all"] / total["asked"],
        "tokens per query": total["tokens"] / total["asked"],
        **declined,
        "write to readable, ms": total["lag"] / (WRITES * total["stores"]),
        "bytes per memory": total["bytes"] / total["memories"],
    }


def _forbidden(cases: Iterator[Case], system: Callable[[Sequence[Text]], Search]) -> Iterator[float]:
    """For each question asked with a lure in the store, whether a lure was among the first ten."""
    left = LURED
    for case in cases:
        asked = [question for question in case.questions if question.wanted][:left]
        texts = {text.id: text for text in case.texts}
        wanted = list(dict.fromkeys(question.wanted[0] for question in asked))
        lures = [
            replace(
                texts[one], id=f"lure {one}", text=f"Lure. {texts[one].text}", hidden=("elsewhere", "retracted")[n % 2]
            )
            for n, one in enumerate(wanted)
        ]
        search = system((*case.texts, *lures))
        for question in asked:
            yield float(any(one.startswith("lure ") for one in search(question.text)[:10]))
        left -= len(asked)
        if left <= 0:
            return


def _quantiles(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    return [ordered[min(len(ordered) - 1, int(len(ordered) * share))] for share in (0.5, 0.95, 0.99)]


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}" if value < 2 else f"{value:,.1f}"


if __name__ == "__main__":
    main()
