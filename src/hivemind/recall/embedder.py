"""Turn text into vectors on this machine, with the model that is installed with the package."""

from collections.abc import Sequence
from functools import cache
from typing import Protocol

import numpy as np

from hivemind.formats.dataclass import dataclass
from hivemind.model.recall import SHIPPED_MODEL
from hivemind.recall.tokenizer import Tokenizer
from hivemind.recall.weights import Floats, Weights

LAYERS = 3
HEADS = 12
HEAD_WIDTH = 32
"""The shape of this model; other models are loaded by ``models``."""

START, END = 0, 2
"""The ids of the tokens around every text."""

MAX_TOKENS = 512
"""In tokens, including start and end: the model was trained with positions up to this one."""

WORDING_LAYERS = 2
WORDING_TOKENS = 128
"""After so many layers a state still shows mood and wording; later ones keep little but the meaning."""


class Embedder(Protocol):
    """Turns texts into vectors whose dot product measures how close they are in meaning."""

    @property
    def name(self) -> str:
        """The model's name; vectors of different models cannot be compared."""

    @property
    def dimension(self) -> int:
        """The length of a vector."""

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return one row of unit length for each text, in the same order."""

    def rank_word(self, word: str) -> int | None:
        """Return how common a word is, 0 for the most common; None if the model's vocabulary does not have it."""


# Reading and verifying 18 MB of weights costs more than embedding a question.
@cache
def load_default() -> "ShippedModel":
    """Return the shipped model, loaded once per process."""
    return ShippedModel(Weights.read())


class ShippedModel:
    """The model that comes with the package, a BERT of three layers whose vector is the state of the first token."""

    name = SHIPPED_MODEL
    dimension = HEADS * HEAD_WIDTH

    def __init__(self, weights: Weights) -> None:
        """Unpack the layers; embeddings of words stay in the file until a text needs them, which keeps memory small."""
        self._tokenizer = Tokenizer(weights.merges)
        self._words, self._word_scales = weights.tensor("words.weight"), weights.floats("words.scale")
        self._positions = weights.floats("positions.weight")
        self._norm = _load_norm(weights, "ln")
        self._layers = [_load_layer(weights, f"layers.{number}") for number in range(LAYERS)]

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return one row of unit length for each text, in the same order; the end of a long text is ignored.

        Texts are embedded one by one: with weights in blocks a batch is no faster, and it would need padding.
        """
        rows = np.empty((len(texts), self.dimension), np.float32)
        for number, text in enumerate(texts):
            vector = self._embed(text)
            # Of unit length, so that a dot product is the cosine.
            rows[number] = vector / np.linalg.norm(vector)
        return rows

    def rank_word(self, word: str) -> int | None:
        """Return how common a word is, 0 for the most common; None if the vocabulary does not have it whole."""
        return self._tokenizer.rank_word(word)

    def encode_wording(self, texts: Sequence[str]) -> Floats:
        """Return one row for each text that describes how it is worded; it says little about its meaning."""
        rows = np.empty((len(texts), self.dimension), np.float32)
        for number, text in enumerate(texts):
            x = self._look_up([START, *self._tokenizer.encode(text, WORDING_TOKENS - 2), END])
            for layer in self._layers[:WORDING_LAYERS]:
                x = layer.apply(x, rows=len(x))
            rows[number] = x.mean(axis=0)
        return rows

    def _embed(self, text: str) -> Floats:
        *layers, last = self._layers
        x = self._look_up([START, *self._tokenizer.encode(text, MAX_TOKENS - 2), END])
        for layer in layers:
            x = layer.apply(x, rows=len(x))
        # Only the first token's state is used, so the last layer computes one row.
        return last.apply(x, rows=1)

    def _look_up(self, ids: list[int]) -> Floats:
        words = self._words[ids] * self._word_scales[ids, None]
        return self._norm.apply(words + self._positions[: len(ids)])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Norm:
    weight: Floats
    bias: Floats

    def apply(self, x: Floats) -> Floats:
        x = x - x.mean(axis=1, keepdims=True)
        x /= np.sqrt(np.square(x).mean(axis=1, keepdims=True) + 1e-12)
        x *= self.weight
        x += self.bias
        return x


@dataclass(frozen=True, slots=True, kw_only=True)
class _Linear:
    """A weight matrix cut into blocks, as high as a vector and as wide as a head.

    Before BLAS multiplies a few rows with a large matrix, it copies the whole matrix into another order. It does not
    copy small matrices, so with blocks a short question takes half the time.
    """

    blocks: Floats
    bias: Floats

    def by_head(self, x: Floats) -> Floats:
        parts = x.reshape(len(x), len(self.blocks), -1).swapaxes(0, 1)
        products = parts[:, None] @ self.blocks
        y: Floats = products[0] if len(products) == 1 else products.sum(axis=0)
        y += self.bias
        return y

    def apply(self, x: Floats) -> Floats:
        return _concatenate(self.by_head(x))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layer:
    queries: _Linear
    keys_and_values: _Linear
    attention_output: _Linear
    attention_norm: _Norm
    feed_forward_in: _Linear
    feed_forward_out: _Linear
    output_norm: _Norm

    def apply(self, x: Floats, rows: int) -> Floats:
        """Return the first rows after this layer; each attends to the whole text."""
        queries = self.queries.by_head(x[:rows])
        keys, values = self.keys_and_values.by_head(x).reshape(2, HEADS, len(x), HEAD_WIDTH)
        attention = _attend(queries, keys, values)
        x = self.attention_norm.apply(x[:rows] + self.attention_output.apply(attention))
        return self.output_norm.apply(x + self.feed_forward_out.apply(_gelu(self.feed_forward_in.apply(x))))


def _attend(queries: Floats, keys: Floats, values: Floats) -> Floats:
    weights: Floats = queries @ keys.swapaxes(1, 2)
    weights *= HEAD_WIDTH**-0.5
    # Subtracting the largest keeps the exponential from overflowing; the result is the same.
    weights -= weights.max(axis=2, keepdims=True)
    np.exp(weights, out=weights)
    weights /= weights.sum(axis=2, keepdims=True)
    heads: Floats = weights @ values
    return _concatenate(heads)


def _concatenate(heads: Floats) -> Floats:
    return heads.swapaxes(0, 1).reshape(heads.shape[1], -1)


def _gelu(x: Floats) -> Floats:
    """Apply GELU by its tanh approximation, because NumPy has no erf; it changes a cosine by less than 1e-5."""
    y = np.square(x)
    y *= 0.044715
    y += 1
    y *= x
    y *= (2 / np.pi) ** 0.5
    np.tanh(y, out=y)
    y += 1
    y *= x
    y *= 0.5
    return y


def _load_norm(weights: Weights, name: str) -> _Norm:
    return _Norm(weight=weights.floats(f"{name}.weight"), bias=weights.floats(f"{name}.bias"))


def _load_linear(weights: Weights, name: str) -> _Linear:
    integers, scales = weights.tensor(f"{name}.weight"), weights.floats(f"{name}.scale")
    height = ShippedModel.dimension
    down, across = integers.shape[1] // height, len(integers) // HEAD_WIDTH
    blocks = np.multiply(
        integers.reshape(across, HEAD_WIDTH, down, height).transpose(2, 0, 3, 1),
        scales.reshape(across, 1, HEAD_WIDTH),
        order="C",
    )
    return _Linear(blocks=blocks, bias=weights.floats(f"{name}.bias").reshape(across, 1, HEAD_WIDTH))


def _load_layer(weights: Weights, name: str) -> _Layer:
    # One matrix in the file; the last layer needs all keys and values, and a single query.
    attention = _load_linear(weights, f"{name}.qkv")
    return _Layer(
        queries=_Linear(blocks=attention.blocks[:, :HEADS], bias=attention.bias[:HEADS]),
        keys_and_values=_Linear(blocks=attention.blocks[:, HEADS:], bias=attention.bias[HEADS:]),
        attention_output=_load_linear(weights, f"{name}.ao"),
        attention_norm=_load_norm(weights, f"{name}.aln"),
        feed_forward_in=_load_linear(weights, f"{name}.f1"),
        feed_forward_out=_load_linear(weights, f"{name}.f2"),
        output_norm=_load_norm(weights, f"{name}.fln"),
    )
