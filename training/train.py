"""Train one student on what ``training.prepare`` wrote, and score it.

python -m training.train WORK NAME --layers 0,2,5 --seconds 240 --rate 2e-4
"""

import argparse
import json
import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from training import encoder, evaluate

TEMPERATURE = 0.04
SHARPNESS = 2.0
"""How steeply the teachers' standard scores become shares."""
NATURAL_WEIGHT = 0.3
NARROW = 256
NARROW_WEIGHT = 0.3
"""The first 256 numbers of a vector are trained to serve alone."""


def main() -> None:
    """Train for a given time, then write weights and scores."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("name")
    parser.add_argument("--layers", default="0,2,5", help="granite's layers to start from; empty for a static table")
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--steps", type=int, default=0, help="instead of seconds")
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--batch", type=int, default=1_024)
    parser.add_argument("--start", type=Path, help="weights to go on from")
    parser.add_argument("--out", type=Path, default=Path())
    parser.add_argument("--more", default="", help="kinds to draw more often, such as talk=2.5,related=1.5")
    parser.add_argument("--validate", action="store_true", help="score the validation sets too")
    parser.add_argument("--seed", type=int, default=18)
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.backends.cuda.matmul.allow_tf32 = True
    tokenizer = json.loads((options.work / "tokenizer.json").read_text())
    model = make_student(options.work, tokenizer["old_ids"], options.layers)
    if options.start:
        model.load_state_dict({name: torch.tensor(value).float() for name, value in np.load(options.start).items()})
    model.to(options.device)
    data = torch.load(options.work / "data.pt", weights_only=False)
    train(model, data, options)
    weights = {name: value.half().cpu().numpy() for name, value in model.state_dict().items()}
    np.savez(options.out / f"{options.name}.npz", **weights)
    for path in sorted(options.work.glob("cases-*.pt")):
        if options.validate or "validation" not in path.name:
            table = evaluate.score(model, path, 1, options.device, (encoder.WIDTH, NARROW))
            print(evaluate.format_row(f"SCORE {options.name} {path.stem}", table), flush=True)


def make_student(work: Path, old_ids: list[int], layers: str) -> nn.Module:
    """Return a student with granite's layers and its vectors of the tokens that are left."""
    numbers = [int(number) for number in layers.split(",") if number]
    pack = encoder.Pack(work / "granite-embedding-30m-english-int8.hmsemb")
    full = encoder.load_granite(pack, numbers)
    words = full.words.weight.detach()[old_ids]
    if not numbers:
        return encoder.Static(words)
    full.words = nn.Embedding.from_pretrained(words.clone(), freeze=False)
    return full


def train(model: nn.Module, data: dict[str, Any], options: argparse.Namespace) -> None:
    """Teach the student the teachers' order of rivals, and natural pairs."""
    device = options.device
    queries, texts, owners = (data[name].to(device) for name in ("queries", "texts", "owners"))
    share, natural = data["share"].to(device), data["natural"].to(device)
    teachers = [tuple(part.to(device) for part in data["vectors"][name]) for name in ("granite", "arctic")]
    groups = Groups(data, device, dict(part.split("=") for part in options.more.split(",") if part))
    optimiser = torch.optim.AdamW(model.parameters(), lr=options.rate, weight_decay=0.01, fused=device == "cuda")
    rng = np.random.default_rng(options.seed)
    started, step, progress, average = time.monotonic(), 0, 0.0, math.nan
    model.train()
    while progress < 1:
        rate = options.rate * min(1.0, (step + 1) / 300) * (0.5 * (1 + math.cos(math.pi * progress)) + 0.01)
        for group in optimiser.param_groups:
            group["lr"] = rate
        chosen = groups.draw(options.batch, rng)
        owner = owners[chosen]
        with torch.no_grad():
            target = blend([q[chosen].float() @ t[owner].float().T for q, t in teachers], share[chosen])
        with torch.autocast(device, torch.bfloat16):
            query = model(*_cut(queries[chosen]))
            text = model(*_cut(texts[owner]))
        same = (owner[:, None] == owner[None, :]) & ~torch.eye(len(owner), dtype=torch.bool, device=device)
        loss = measure_loss(query @ text.T, target, same, natural[chosen])
        narrow = functional.normalize(query[:, :NARROW], dim=1) @ functional.normalize(text[:, :NARROW], dim=1).T
        loss = loss + NARROW_WEIGHT * measure_loss(narrow, target, same, natural[chosen])
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if step % 250 == 0:
            average = float(loss.detach())
            print(f"{options.name} step {step} loss {average:.4f} after {time.monotonic() - started:.0f} s", flush=True)
        step += 1
        elapsed = time.monotonic() - started
        progress = step / options.steps if options.steps else elapsed / options.seconds
    print(f"{options.name}: {step} steps in {time.monotonic() - started:.0f} s", flush=True)


class Groups:
    """The queries by cluster and by kind, to draw batches of rivals from."""

    def __init__(self, data: dict[str, Any], device: str, more: Mapping[str, str]) -> None:
        self._clusters = _split(data["cluster"], device)
        self._kinds = _split(data["kind"], device)
        # Large kinds count for less than their size, so that small ones are learned too.
        sizes = np.array([len(members) for members in self._kinds], float) ** 0.7
        sizes *= [float(more.get(kind, 1)) for kind in data["kinds"]]
        self._kind_shares = sizes / sizes.sum()
        kind_of_cluster = np.array([int(data["kind"][members[0].cpu()]) for members in self._clusters])
        cluster_sizes = np.array([len(members) for members in self._clusters], float)
        totals = np.bincount(kind_of_cluster, cluster_sizes)[kind_of_cluster]
        self._cluster_shares = cluster_sizes / totals * self._kind_shares[kind_of_cluster]
        self._cluster_shares /= self._cluster_shares.sum()

    def draw(self, size: int, rng: np.random.Generator) -> Tensor:
        """Return queries of one kind; in half of the batches their texts are of one cluster."""
        if rng.random() < 0.5:
            members = self._clusters[rng.choice(len(self._clusters), p=self._cluster_shares)]
        else:
            members = self._kinds[rng.choice(len(self._kinds), p=self._kind_shares)]
        if len(members) <= size:
            return members
        return members[torch.randint(len(members), (size,), device=members.device).unique()]


def _split(labels: Tensor, device: str) -> list[Tensor]:
    order = labels.argsort()
    return [part.to(device) for part in order.split(torch.bincount(labels).tolist()) if len(part) > 1]


def blend(similarities: list[Tensor], share: Tensor) -> Tensor:
    """Return the teachers' shares of each text, from standard scores mixed by kind."""
    first, second = (
        (matrix - matrix.mean(1, keepdim=True)) / (matrix.std(1, keepdim=True) + 1e-6) for matrix in similarities
    )
    mixed = (1 - share[:, None]) * first + share[:, None] * second
    return functional.softmax(SHARPNESS * mixed, 1)


def measure_loss(similarity: Tensor, target: Tensor, same: Tensor, natural: Tensor) -> Tensor:
    """Return how far the student's order is from the teachers', and natural pairs from the first place."""
    logits = similarity / TEMPERATURE
    loss = functional.kl_div(functional.log_softmax(logits, 1), target, reduction="batchmean")
    own = torch.arange(len(logits), device=logits.device)
    contrast = functional.cross_entropy(logits.masked_fill(same, -1e4), own, reduction="none")
    return loss + NATURAL_WEIGHT * (contrast * natural).sum() / natural.sum().clamp(min=1)


def _cut(ids: Tensor) -> tuple[Tensor, Tensor]:
    """Return ids and mask without the columns that only pad."""
    mask = ids != 1
    length = -(-int(mask.sum(1).max()) // 8) * 8
    return ids[:, :length], mask[:, :length]


if __name__ == "__main__":
    main()
