"""The two networks in torch: the teacher of 12 layers, and our own encoder with narrow changes to its layers."""

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import parametrize

from hivemind.embedding.weights import Weights
from lab.training.encoder import HEADS, WIDTH, load_arctic

Ids = Sequence[Sequence[int]]
RANK = 32
"""Of the changes; all of them together have 600,000 numbers."""
BATCH = 32
WARM_UP = 0.08
"""Share of the steps in which the rate rises; then it falls to nearly nothing."""


class Layer(nn.Module):
    """One transformer layer, normalised after each addition, as BERT does."""

    def __init__(self, state: dict[str, Tensor], dropout: float) -> None:
        super().__init__()
        self.qkv, self.ao = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.f1, self.f2 = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.aln, self.fln = nn.LayerNorm(WIDTH, eps=1e-12), nn.LayerNorm(WIDTH, eps=1e-12)
        self.dropout = nn.Dropout(dropout)
        self.load_state_dict(state)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return the states after attention and feed-forward."""
        query, key, value = self.qkv(x).view(*x.shape[:2], 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        attention = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask.to(query.dtype))
        x = self.aln(x + self.dropout(self.ao(attention.transpose(1, 2).flatten(2))))
        return self.fln(x + self.dropout(self.f2(functional.gelu(self.f1(x), approximate="tanh"))))


class JudgeNetwork(nn.Module):
    """An encoder, and a weight for each number of its states and of the form of the sentence."""

    def __init__(self, embeddings: dict[str, Tensor], layers: Sequence[Layer], forms: int) -> None:
        super().__init__()
        self.words = nn.Embedding.from_pretrained(embeddings["words.weight"], freeze=True)
        self.positions = nn.Embedding.from_pretrained(embeddings["positions.weight"], freeze=True)
        self.ln = nn.LayerNorm(WIDTH, eps=1e-12)
        self.ln.weight.data, self.ln.bias.data = embeddings["ln.weight"], embeddings["ln.bias"]
        self.layers, self.dropout = nn.ModuleList(layers), nn.Dropout(0.1)
        self.head = nn.Linear(2 * WIDTH + forms, 1)
        nn.init.zeros_(self.head.weight)
        # Most sentences pass.
        nn.init.constant_(self.head.bias, -2)

    def forward(self, ids: Tensor, lengths: Tensor, forms: Tensor) -> Tensor:
        """Return a score for each sentence: the higher, the more likely it lasts."""
        places = torch.arange(ids.shape[1])
        inside = places[None] < lengths[:, None]
        mask = torch.zeros(inside.shape).masked_fill(~inside, -1e4)[:, None, None]
        x = self.dropout(self.ln(self.words(ids) + self.positions(places)))
        for layer in self.layers:
            x = layer(x, mask)
        x, shares = x.float(), inside[..., None] / lengths[:, None, None]
        states = self.dropout(torch.cat([x[:, 0], (x * shares).sum(1)], 1))
        return self.head(torch.cat([states, forms], 1))[:, 0]


class Change(nn.Module):
    """What is added to a matrix: the product of two narrow ones."""

    def __init__(self, height: int, width: int) -> None:
        super().__init__()
        self.down, self.up = (
            nn.Parameter(torch.randn(RANK, width) / width**0.5),
            nn.Parameter(torch.zeros(height, RANK)),
        )

    def forward(self, weight: Tensor) -> Tensor:
        """Return the changed matrix."""
        return weight + self.up @ self.down


def make_teacher(arctic: Path, forms: int) -> JudgeNetwork:
    """Return snowflake-arctic-embed-s, all layers of which are trained."""
    model = load_arctic(arctic)
    embeddings = {name: value for name, value in model.state_dict().items() if not name.startswith("layers.")}
    return JudgeNetwork(embeddings, [Layer(layer.state_dict(), 0.1) for layer in model.layers], forms)


def make_student(forms: int) -> JudgeNetwork:
    """Return the shipped encoder, whose matrices stay as they are but for narrow changes."""
    weights = Weights.read()

    def load(name: str) -> Tensor:
        scale = name.removesuffix("weight") + "scale"
        if name.endswith(".weight") and scale in weights.header:
            return torch.tensor(weights.read_tensor(name) * weights.read_floats(scale)[:, None])
        return torch.tensor(weights.read_floats(name))

    embeddings = {name: load(name) for name in ("words.weight", "positions.weight", "ln.weight", "ln.bias")}
    layers = []
    for number in range(3):
        prefix = f"layers.{number}."
        names = [name for name in weights.header if name.startswith(prefix) and not name.endswith(".scale")]
        layer = Layer({name.removeprefix(prefix): load(name) for name in names}, 0.05)
        for part in (layer.qkv, layer.ao, layer.f1, layer.f2):
            part.weight.requires_grad = False
            parametrize.register_parametrization(part, "weight", Change(*part.weight.shape))
        layers.append(layer)
    return JudgeNetwork(embeddings, layers, forms)


def train(
    network: JudgeNetwork,
    ids: Ids,
    forms: NDArray[np.float64],
    targets: NDArray[np.float64],
    weights: NDArray[np.float64],
    choose: Callable[[], NDArray[np.int64]],
    *,
    epochs: int,
    rate: float,
    head_rate: float,
    decay: float,
    seed: int,
) -> None:
    """Train a network; ``choose`` draws the rows of an epoch."""
    random = np.random.RandomState(seed)
    head = list(network.head.parameters())
    body = [value for name, value in network.named_parameters() if value.requires_grad and not name.startswith("head")]
    groups = [{"params": body, "lr": rate}, {"params": head, "lr": head_rate}]
    optimizer = torch.optim.AdamW(groups, weight_decay=decay, fused=True)
    steps = epochs * math.ceil(len(choose()) / BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / (WARM_UP * steps)) * max(0.02, 1 - step / steps)
    )
    goal, weight = torch.tensor(targets, dtype=torch.float32), torch.tensor(weights, dtype=torch.float32)
    form = torch.tensor(forms, dtype=torch.float32)
    network.train()
    for epoch in range(epochs):
        total = 0.0
        for rows in make_batches(choose(), ids, random):
            with torch.autocast("cpu", torch.bfloat16), parametrize.cached():
                scores = network(*pad([ids[row] for row in rows]), form[rows])
            losses = functional.binary_cross_entropy_with_logits(scores.float(), goal[rows], reduction="none")
            loss = (losses * weight[rows]).sum() / (1.5 * BATCH)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 2.0)
            optimizer.step()
            schedule.step()
            total += loss.item()
        print(f"epoch {epoch + 1}: loss {total * epochs / steps:.4f}", flush=True)


@torch.no_grad()
def score(network: JudgeNetwork, ids: Ids, forms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the network's score of each sentence."""
    network.eval()
    order = np.argsort([len(row) for row in ids], kind="stable")
    scores = np.zeros(len(ids))
    for rows in np.array_split(order, max(1, len(order) // 64)):
        with torch.autocast("cpu", torch.bfloat16):
            batch = network(*pad([ids[row] for row in rows]), torch.tensor(forms[rows], dtype=torch.float32))
        scores[rows] = batch.float().numpy()
    return scores


def make_batches(rows: NDArray[np.int64], ids: Ids, random: np.random.RandomState) -> Iterator[NDArray[np.int64]]:
    """Yield rows of about the same length together, in random order."""
    rows = random.permutation(rows)
    batches = []
    for start in range(0, len(rows), 12 * BATCH):
        pool = sorted(rows[start : start + 12 * BATCH], key=lambda row: len(ids[row]))
        batches += [np.array(pool[place : place + BATCH]) for place in range(0, len(pool), BATCH)]
    yield from (batches[place] for place in random.permutation(len(batches)))


def pad(rows: Ids) -> tuple[Tensor, Tensor]:
    """Return texts as a rectangle, and their lengths."""
    lengths = torch.tensor([len(row) for row in rows])
    ids = torch.zeros(len(rows), int(lengths.max()), dtype=torch.long)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = torch.tensor(row)
    return ids, lengths
