"""Train one student on what ``lab.training.teach`` wrote, and score it.

python -m lab.training.train WORK NAME START --seconds 240 --rate 2e-4
"""

import argparse
import math
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from lab.training import encoder, evaluate
from lab.training.encoder import Packed
from lab.training.export import unpack

TEMPERATURE = 0.04
SHARPNESS = 2.0
"""How steeply the teachers' standard scores become shares."""
FOCUS = (1.0, 2.0)
"""The order is compared as it is, and once more twice as steeply, so that the first places count."""
NATURAL_WEIGHT = 0.6
"""How much it counts that a pair belongs together."""
TEXT_WEIGHT = 0.5
"""How much the order of texts for each other counts; it is what a long pasted question needs."""
MIRROR_WEIGHT = 2.0
"""How much it counts that a teacher's vector can be computed from the student's by one matrix."""
MIRROR_SAMPLE = 50_000
"""Texts that these matrices are first computed from."""


def main() -> None:
    """Train for a given time, then write weights and scores."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("name")
    parser.add_argument("start", type=Path, help="weights to go on from: a student or an exported file")
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--steps", type=int, default=0, help="instead of seconds")
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--batch", type=int, default=1_024)
    parser.add_argument("--out", type=Path, default=Path())
    parser.add_argument("--more", default="", help="kinds to draw more often, such as talk=2.5,related=1.5")
    parser.add_argument("--score-every", type=int, default=0, help="steps between scores of the development sets")
    parser.add_argument("--validate", action="store_true", help="score the validation sets too")
    parser.add_argument("--seed", type=int, default=18)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--compile", action="store_true", help="fuse what follows attention; takes a while to begin")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.backends.cuda.matmul.allow_tf32 = True
    model = load_student(options.start).to(options.device)
    if options.compile:
        encoder.finish = torch.compile(encoder.finish, dynamic=True)
    data = torch.load(options.work / "data.pt", weights_only=False, mmap=True)
    train(model, data, options)
    weights = {name: value.half().cpu().numpy() for name, value in model.state_dict().items()}
    np.savez(options.out / f"{options.name}.npz", **weights)
    score(model, options, f"SCORE {options.name}", with_validation=options.validate)


def score(model: nn.Module, options: argparse.Namespace, label: str, *, with_validation: bool) -> None:
    """Print the scores on the question sets."""
    for path in sorted(options.work.glob("cases-*.npz")):
        if with_validation or "validation" not in path.name:
            table = evaluate.score(model, path, options.device)
            print(evaluate.format_row(f"{label} {path.stem}", table), flush=True)


def load_student(path: Path) -> encoder.Encoder:
    """Return a student from its weights or from an exported file."""
    weights = unpack(path) if path.suffix == ".safetensors" else dict(np.load(path))
    layers = {name.split(".")[1] for name in weights if name.startswith("layers.")}
    model = encoder.Encoder(len(weights["words.weight"]), len(layers), len(weights["layers.0.f1.weight"]))
    model.load_state_dict({name: torch.tensor(weights[name]).float() for name in model.state_dict()})
    return model


class Texts:
    """Tokens of many texts, to take some out."""

    def __init__(self, tokens: tuple[Tensor, Tensor], device: str) -> None:
        self._ids, self._starts = (part.to(device) for part in tokens)

    def take(self, numbers: Tensor) -> Packed:
        """Return some of the texts without padding."""
        starts = self._starts[numbers]
        lengths = self._starts[numbers + 1] - starts
        ends = lengths.cumsum(0)
        # The one wait for the device in a step: how many tokens there are, and how long the longest text is.
        total, longest = torch.stack([ends[-1], lengths.max()]).tolist()
        shifts = (starts - ends + lengths).repeat_interleave(lengths, output_size=total)
        places = torch.arange(total, device=shifts.device) + shifts
        return Packed(ids=self._ids[places], starts=functional.pad(ends, (1, 0)).to(torch.int32), longest=int(longest))


def train(model: nn.Module, data: dict[str, Any], options: argparse.Namespace) -> None:
    """Teach the student the teachers' order of rivals, and natural pairs."""
    device = options.device
    queries, texts = (Texts(data[name], device) for name in ("queries", "texts"))
    owners, shares = (data[name].to(device) for name in ("owners", "shares"))
    natural = NATURAL_WEIGHT * data["natural"].to(device)
    teachers = [tuple(part.to(device) for part in vectors) for vectors in data["vectors"].values()]
    groups = Groups(data, device, dict(part.split("=") for part in options.more.split(",") if part))
    mirrors = make_mirrors(model, texts, [vectors for _, vectors in teachers]).to(device)
    parameters = [*model.parameters(), *mirrors.parameters()]
    optimiser = torch.optim.AdamW(parameters, lr=options.rate, weight_decay=0.01, fused=device == "cuda")
    rng = np.random.default_rng(options.seed)
    started, step, progress = time.monotonic(), 0, 0.0
    model.train()
    while progress < 1:
        rate = options.rate * min(1.0, (step + 1) / 300) * (0.5 * (1 + math.cos(math.pi * progress)) + 0.01)
        for group in optimiser.param_groups:
            group["lr"] = rate
        chosen = groups.draw(options.batch, rng)
        owner = owners[chosen]
        with torch.no_grad():
            query_scores = blend([q[chosen].float() @ t[owner].float().T for q, t in teachers], shares[chosen])
            text_scores = blend([t[owner].float() @ t[owner].float().T for _, t in teachers], shares[chosen])
        weights = halve(model.named_parameters())
        query = torch.func.functional_call(model, weights, (queries.take(chosen),))
        text = torch.func.functional_call(model, weights, (texts.take(owner),))
        same = owner[:, None] == owner[None, :]
        loss = measure_loss(query, text, query_scores, text_scores, same, natural[chosen])
        for mirror, (q, t) in zip(mirrors, teachers, strict=True):
            likeness = (mirror(query) * q[chosen]).sum(1).mean() + (mirror(text) * t[owner]).sum(1).mean()
            loss = loss + MIRROR_WEIGHT / len(mirrors) * (1 - likeness / 2)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        if step % 250 == 0:
            print(
                f"{options.name} step {step} loss {float(loss.detach()):.4f} after {time.monotonic() - started:.0f} s",
                flush=True,
            )
        step += 1
        if options.score_every and step % options.score_every == 0:
            score(model, options, f"SCORE {options.name} step {step}", with_validation=False)
        elapsed = time.monotonic() - started
        progress = step / options.steps if options.steps else elapsed / options.seconds
    print(f"{options.name}: {step} steps in {time.monotonic() - started:.0f} s", flush=True)


class Mirror(nn.Module):
    """Computes a teacher's vectors from the student's, so that each text says what it means, beside all rivals."""

    def __init__(self, own: Tensor, taught: Tensor) -> None:
        super().__init__()
        self.matrix = nn.Parameter(torch.linalg.lstsq(own, taught).solution.contiguous())

    def forward(self, own: Tensor) -> Tensor:
        """Return vectors of unit length."""
        return functional.normalize(own @ self.matrix, dim=1)


@torch.no_grad()
def make_mirrors(model: nn.Module, texts: Texts, teachers: list[Tensor]) -> nn.ModuleList:
    """Return a mirror for each teacher that fits the student as it is."""
    step = max(1, len(teachers[0]) // MIRROR_SAMPLE)
    sample = torch.arange(0, len(teachers[0]), step, device=teachers[0].device)
    weights = halve(model.named_parameters())
    own = torch.cat([torch.func.functional_call(model, weights, (texts.take(part),)) for part in sample.split(1_024)])
    return nn.ModuleList([Mirror(own, taught[sample].float()) for taught in teachers])


def halve(weights: Iterable[tuple[str, Tensor]]) -> dict[str, Tensor]:
    """Return the weights as bfloat16 on a GPU; the optimiser keeps the full ones, and words stay full."""
    return {
        name: value.bfloat16() if value.is_cuda and name not in {"words.weight", "positions.weight"} else value
        for name, value in weights
    }


class Groups:
    """The queries by cluster and by kind, to draw batches of rivals from."""

    def __init__(self, data: dict[str, Any], device: str, more: Mapping[str, str]) -> None:
        self._clusters = _split(data["cluster"], device)
        self._kinds = _split(data["kind"], device)
        # Large kinds count for less than their size, so that small ones are learned too.
        names = [data["kinds"][int(data["kind"][members[0].cpu()])] for members in self._kinds]
        sizes = {
            name: len(members) ** 0.7 * float(more.get(name, 1))
            for name, members in zip(names, self._kinds, strict=True)
        }
        self._kind_shares = np.array(list(sizes.values())) / sum(sizes.values())
        owners = [data["kinds"][int(data["kind"][members[0].cpu()])] for members in self._clusters]
        counts = np.array([len(members) for members in self._clusters], float)
        totals = {name: sum(c for c, owner in zip(counts, owners, strict=True) if owner == name) for name in owners}
        shares = np.array([c / totals[owner] * sizes[owner] for c, owner in zip(counts, owners, strict=True)])
        self._cluster_shares = shares / shares.sum()

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


def blend(similarities: list[Tensor], shares: Tensor) -> Tensor:
    """Return the teachers' standard scores of each text, mixed by the shares of each query."""
    standard = [
        (matrix - matrix.mean(1, keepdim=True)) / (matrix.std(1, keepdim=True) + 1e-6) for matrix in similarities
    ]
    return SHARPNESS * sum(shares[:, [place]] * matrix for place, matrix in enumerate(standard))


def measure_loss(
    query: Tensor, text: Tensor, query_scores: Tensor, text_scores: Tensor, same: Tensor, natural: Tensor
) -> Tensor:
    """Return how far the student's orders are from the teachers', and natural pairs from the first place, by weight."""
    logits = query @ text.T / TEMPERATURE
    loss = _compare(logits, query_scores)
    # A text is the nearest to itself for everyone, so nothing is learned from that.
    text_logits = (text @ text.T / TEMPERATURE).masked_fill(same, -1e4)
    loss = loss + TEXT_WEIGHT * _compare(text_logits, text_scores.masked_fill(same, -1e4))
    others = same & ~torch.eye(len(same), dtype=torch.bool, device=same.device)
    own = torch.arange(len(logits), device=logits.device)
    contrast = functional.cross_entropy(logits.masked_fill(others, -1e4), own, reduction="none")
    return loss + (contrast * natural).sum() / (natural > 0).sum().clamp(min=1)


def _compare(logits: Tensor, scores: Tensor) -> Tensor:
    """Return the divergence of the student's shares from the teachers'."""
    divergences = [
        functional.kl_div(
            functional.log_softmax(focus * logits, 1),
            functional.log_softmax(focus * scores, 1),
            reduction="batchmean",
            log_target=True,
        )
        for focus in FOCUS
    ]
    return sum(divergences) / len(FOCUS)


if __name__ == "__main__":
    main()
