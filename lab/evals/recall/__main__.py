"""Measure recall on small stores, in ten languages and on prompts, as a person or an agent meets it.

python -m lab.evals.recall [--part A|B|C] [--sets topical,small_stores,languages,prompts] [--save]
python -m lab.evals.recall --fit

Part A is for tuning, parts B and C for reporting; without a part, all are printed. C has other stores with topical and
rambling questions, written by one person before the change that they were first used for. A right note is "reached"
when it is in the sure part of an answer or among the three below it. An absent answer belongs to the project but to
none of its notes.
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lab.benchmarks import results
from lab.evals.recall import fitting, measures
from lab.evals.recall.sets import PARTS, SETS, Store, load

MEASURES: dict[str, Callable[[Sequence[Store]], Mapping[str, Any]]] = {
    "topical": lambda stores: {"topical": measures.measure_topical(stores)},
    "small_stores": measures.measure_small_stores,
    "languages": measures.measure_languages,
    "prompts": lambda stores: {"prompts": measures.measure_prompts(stores)},
}


def main() -> None:
    """Print the figures of each set, a part beside the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=PARTS, help="the part to measure; all if left out")
    parser.add_argument("--sets", default=",".join(SETS), help="question sets, separated by commas")
    parser.add_argument("--save", action="store_true", help="save the figures to lab/evals/results/recall-small.json")
    parser.add_argument("--fit", action="store_true", help="fit what depends on the embedding model, on part A")
    options = parser.parse_args()
    if options.fit:
        fitting.run()
        return
    parts = (options.part,) if options.part else PARTS
    figures = {}
    for name in options.sets.split(","):
        stores_by_part = {part: load(name, part) for part in parts}
        figures[name] = {part: MEASURES[name](stores) for part, stores in stores_by_part.items() if stores}
        print(format_table(name, figures[name]), flush=True)
    if options.save:
        data = "our own questions and tasks over small stores; A is for tuning, B and C for reporting"
        saved_figures = _load_saved()
        other_sets = ", ".join(saved_figures.keys() - figures)
        configuration = f"as installed; kept from an earlier version: {other_sets}" if other_sets else "as installed"
        command = "python -m lab.evals.recall --save"
        results.save(
            "recall-small", data=data, configuration=configuration, figures=saved_figures | figures, made_by=command
        )


def _load_saved() -> dict[str, Any]:
    """Return the figures saved before, so that a run of some sets keeps those of the others."""
    file = results.FOLDER / "recall-small.json"
    figures: dict[str, Any] = json.loads(file.read_text("utf-8"))["figures"] if file.exists() else {}
    return figures


def format_table(name: str, figures: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """Return a table with a row for each figure and a column for each part."""
    first = next(iter(figures.values()))
    rows = [(group, what) for group, values in first.items() for what in values]
    width = max(len(f"{group}: {what}") for group, what in rows)
    lines = [f"\n{name:<{width}}" + "".join(f"{part:>9}" for part in figures)]
    for group, what in rows:
        values = (figures[part].get(group, {}).get(what) for part in figures)
        lines.append(f"{f'{group}: {what}':<{width}}" + "".join(f"{_format(value):>9}" for value in values))
    return "\n".join(lines)


def _format(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if value <= 1 else f"{value:,.0f}"


if __name__ == "__main__":
    main()
