"""Measure recall on small stores, in ten languages and on prompts, as a person or an agent meets it.

python -m evals.recall [--part A|B] [--sets topical,small_stores,languages,prompts] [--save]
python -m evals.recall --fit

Part A is for tuning, part B for reporting; without a part, both are printed. A right note is "reached" when it is in
the sure part of an answer or among the three below it. An absent answer belongs to the project but to none of its
notes.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks import results
from evals.recall import fitting, measures
from evals.recall.sets import SETS, Store, load

MEASURES: dict[str, Callable[[Sequence[Store]], Mapping[str, Any]]] = {
    "topical": lambda stores: {"topical": measures.measure_topical(stores)},
    "small_stores": measures.measure_small_stores,
    "languages": measures.measure_languages,
    "prompts": lambda stores: {"prompts": measures.measure_prompts(stores)},
}


def main() -> None:
    """Print the figures of each set, a part beside the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("A", "B"), help="the half to measure; both if left out")
    parser.add_argument("--sets", default=",".join(SETS), help="question sets, separated by commas")
    parser.add_argument("--save", action="store_true", help="save the figures to evals/results/recall-small.json")
    parser.add_argument("--fit", action="store_true", help="fit what depends on the embedding model, on part A")
    options = parser.parse_args()
    if options.fit:
        fitting.run()
        return
    parts = (options.part,) if options.part else ("A", "B")
    figures = {}
    for name in options.sets.split(","):
        figures[name] = {part: MEASURES[name](load(name, part)) for part in parts}
        print(format_table(name, figures[name]), flush=True)
    if options.save:
        data = "our own questions and tasks over small stores; A is for tuning, B for reporting"
        results.save("recall-small", data=data, configuration="as installed", figures=figures)


def format_table(name: str, figures: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """Return a table with a row for each figure and a column for each part."""
    first = next(iter(figures.values()))
    rows = [(group, what) for group, values in first.items() for what in values]
    width = max(len(f"{group}: {what}") for group, what in rows)
    lines = [f"\n{name:<{width}}" + "".join(f"{part:>9}" for part in figures)]
    for group, what in rows:
        values = (figures[part][group][what] for part in figures)
        lines.append(f"{f'{group}: {what}':<{width}}" + "".join(f"{_format(value):>9}" for value in values))
    return "\n".join(lines)


def _format(value: float) -> str:
    return f"{value:.3f}" if value <= 1 else f"{value:,.0f}"


if __name__ == "__main__":
    main()
