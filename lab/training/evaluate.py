"""Score vectors on question sets that ``lab.training.cases`` wrote: alone, and mixed with BM25."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lab.training import encoder

MIXTURES = (0.0, 0.2, 0.35, 0.5)
"""Shares of BM25."""


def score(model: nn.Module, path: Path, device: str) -> dict[str, list[float]]:
    """Return, for each set, the measure at each mixture."""
    cases = np.load(path)
    passages, questions = (
        encoder.embed(model, np.split(cases[name], cases[f"{name}_lengths"].astype(np.int64).cumsum()[:-1]), device)
        for name in ("passages", "questions")
    )
    return score_vectors(json.loads(str(cases["content"])), passages.float(), questions.float())


def score_vectors(cases: dict[str, Any], passages: Tensor, questions: Tensor) -> dict[str, list[float]]:
    """Return the measures of these vectors."""
    numbers = {question: number for number, question in enumerate(cases["questions"])}
    table = {}
    for name, stores in cases["sets"].items():
        values: list[list[float]] = []
        for store in stores:
            chosen = [numbers[question] for question in store["questions"]]
            values += _score_store(name, store, questions[chosen] @ passages[store["passages"]].T)
        table[name] = [round(float(mean), 3) for mean in torch.tensor(values).mean(0)]
    return table


def _score_store(name: str, store: dict[str, Any], similarity: Tensor) -> list[list[float]]:
    owners = torch.tensor(store["owners"], device=similarity.device)
    best = torch.full((len(similarity), store["texts"]), -9.0, device=similarity.device)
    best.scatter_reduce_(1, owners.expand(len(similarity), -1), similarity, "amax")
    middle = best.median(1, keepdim=True).values
    meaning = (best - middle) / (best.max(1, keepdim=True).values - middle).clamp(min=1e-6)
    words = torch.zeros_like(best)
    for number, scores in enumerate(store["words"]):
        if scores:
            highest = max(1e-9, *scores.values())
            places = torch.tensor([int(place) for place in scores], device=best.device)
            words[number, places] = torch.tensor([s / highest for s in scores.values()], device=best.device)
    orders = [
        (share * words + (1 - share) * meaning).argsort(1, descending=True)[:, :100].tolist() for share in MIXTURES
    ]
    return [
        [measure(name, order[number], relevant) for order in orders]
        for number, relevant in enumerate(store["relevant"])
    ]


def measure(name: str, order: Sequence[int], relevant: Sequence[int]) -> float:
    """Return the set's own measure: MRR for code search, recall_all@5 for sessions, recall@10 for the others."""
    if not relevant:
        return math.nan
    if name == "cosqa":
        return next((1 / (place + 1) for place, number in enumerate(order) if number in relevant), 0.0)
    if name == "longmemeval":
        return float(all(number in order[:5] for number in relevant))
    return sum(number in order[:10] for number in relevant) / len(relevant)


def format_row(label: str, table: dict[str, list[float]]) -> str:
    """Return one line: for each set the measure at each mixture."""
    cells = [f"{name} " + "/".join(f"{value:.3f}" for value in row) for name, row in table.items()]
    return f"{label}: " + " | ".join(cells)
