"""Score weighted means of students on the development sets, and write those that gain most as files of the package.

python -m lab.training.mixtures WORK OUT S=shipped.safetensors A=main.npz B=other.npz --mix A B A=1,B=1 S=1,A=2 --best 2

The first file is what the gains are counted from. Means of weights are students too where one was trained on from
another.
"""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lab.training import evaluate, export
from lab.training.train import load_student

COLUMNS = slice(0, 3)
"""Vectors alone and with up to 0.35 of BM25; the product's own mixture lies in between."""
LOSS_WEIGHT = 2.0
"""How much the worst loss on a set counts beside the mean gain: a model that loses somewhere is not adopted."""

Weights = Mapping[str, NDArray[Any]]


def main() -> None:
    """Print the scores of each mixture, then write the best ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("files", nargs="+", metavar="NAME=FILE")
    parser.add_argument("--mix", nargs="+", required=True, metavar="NAME[=WEIGHT],...")
    parser.add_argument("--best", type=int, default=1)
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    files = dict(entry.split("=") for entry in options.files)
    students = {name: read(Path(file)) for name, file in files.items()}
    tokenizer = json.loads((options.work / "tokenizer.json").read_text())
    model = load_student(Path(next(iter(files.values()))))

    def score(label: str, weights: Weights) -> dict[str, float]:
        # Rounded to 8 bits first, because that is what would be shipped.
        rounded = export.dequantise(export.quantise(weights))
        model.load_state_dict({name: torch.tensor(rounded[name]).float() for name in model.state_dict()})
        table = evaluate.score(model, options.work / "cases-data.npz", options.device)
        print(evaluate.format_row(label, table), flush=True)
        return {name: float(np.mean(row[COLUMNS])) for name, row in table.items()}

    first = next(iter(students))
    baseline = score(first, export.average([students[first]]))
    mixtures: dict[str, tuple[float, Weights]] = {}
    for label in options.mix:
        recipe = parse_recipe(label)
        weights = export.average([students[name] for name in recipe], list(recipe.values()))
        scores = score(label, weights)
        mixtures[label] = (rate({name: scores[name] - baseline[name] for name in scores}), weights)
        print(f"{label}: {mixtures[label][0]:+.4f}", flush=True)
    best = sorted(mixtures, key=lambda name: -mixtures[name][0])[: options.best]
    for place, label in enumerate(best, 1):
        content = export.pack(export.quantise(mixtures[label][1]), tokenizer["model"]["merges"])
        (options.out / f"best-{place}.safetensors").write_bytes(content)
        print(f"best-{place} is {label}", flush=True)


def read(path: Path) -> Weights:
    """Return the weights of a student or of an exported file."""
    return export.unpack(path) if path.suffix == ".safetensors" else dict(np.load(path))


def parse_recipe(recipe: str) -> dict[str, float]:
    """Return the weight of each student in a recipe such as ``S=1,A=2``; a name alone has weight 1."""
    parts = [part.partition("=") for part in recipe.split(",")]
    return {name: float(weight or 1) for name, _, weight in parts}


def rate(gains: Mapping[str, float]) -> float:
    """Return the mean gain, less the worst loss."""
    return float(np.mean(list(gains.values())) + LOSS_WEIGHT * min(0.0, *gains.values()))


if __name__ == "__main__":
    main()
