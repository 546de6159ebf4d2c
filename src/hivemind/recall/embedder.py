"""Turn text into vectors on this machine, with the model that is installed with the package."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Protocol

import numpy as np

from hivemind.formats.dataclass import dataclass
from hivemind.model.recall import SHIPPED_MODEL
from hivemind.recall.tokenizer import Tokenizer
from hivemind.recall.weights import WORDING_FILE, WORDING_SHA256, ChangedWeights, Floats, ModelTensors, Weights

LAYERS = 3
HEADS = 12
HEAD_WIDTH = 32
"""The shape of this model; other models are loaded by ``models``."""

START, END = 0, 2
"""The ids of the tokens around every text."""

MAX_TOKENS = 512
"""In tokens, including start and end: the model was trained with positions up to this one."""

WORDING_TOKENS = 128
"""Of a sentence; the longest that people are judged by have fewer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiling:
    """Into what parts products are cut; the results are the same but for rounding."""

    chunk_rows: int
    """Tokens of a text that are computed together."""
    block_width: int
    """Columns of a weight matrix that are multiplied at once."""


# With AVX-512, OpenBLAS multiplies without first copying both sides into another order, if a product has less than a
# million multiplications: 40 x 384 x 64. Elsewhere it always copies, and large products repay that best.
SMALL_TILES = Tiling(chunk_rows=40, block_width=64)
LARGE_TILES = Tiling(chunk_rows=MAX_TOKENS, block_width=HEADS * HEAD_WIDTH)


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


def load_default(mark: Path | None = None) -> "ShippedModel":
    """Return the shipped model, loaded once per process; its checksum is verified once a day with a file for a mark."""
    if not _loaded_models:
        _loaded_models.append(ShippedModel(Weights.read(mark=mark)))
    return _loaded_models[0]


# A second set of layers takes 21 MB of memory, so only what judges sentences loads it.
@cache
def load_wording(sha256: str = WORDING_SHA256) -> "ShippedModel":
    """Return the model that reads how people word things, loaded once per process."""
    return ShippedModel(ChangedWeights(original=Weights.read(), changes=Weights.read(WORDING_FILE, sha256)))


class ShippedModel:
    """The model that comes with the package, a BERT of three layers whose vector is the state of the first token."""

    name = SHIPPED_MODEL
    dimension = HEADS * HEAD_WIDTH

    def __init__(self, weights: ModelTensors, tiling: Tiling | None = None) -> None:
        """Unpack the layers; embeddings of words stay in the file until a text needs them, which keeps memory small."""
        self._tokenizer = Tokenizer(weights.merges)
        self._words, self._word_scales = weights.tensor("words.weight"), weights.floats("words.scale")
        self._positions = weights.floats("positions.weight")
        self._norm = _load_norm(weights, "ln")
        # In one piece, which the system backs with large pages: that halves the time it takes to fill.
        squares = np.empty((LAYERS, 12, self.dimension, self.dimension), np.float32)
        tiling = tiling or _choose_tiling()
        self._layers = [_load_layer(weights, f"layers.{number}", squares[number], tiling) for number in range(LAYERS)]

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return one row of unit length for each text, in the same order; the end of a long text is ignored.

        Texts are embedded one by one: a batch would need padding, and with small tiles it is no faster.
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
        """Return one row for each text: the state of its first token, then the mean of all."""
        rows = np.empty((len(texts), 2 * self.dimension), np.float32)
        for number, text in enumerate(texts):
            x = self._look_up([START, *self._tokenizer.encode(text, WORDING_TOKENS - 2), END])
            for layer in self._layers:
                x = layer.apply(x, rows=len(x))
            rows[number] = np.concatenate([x[0], x.mean(axis=0)])
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
        """Normalise each row, in place."""
        # Means by dot products: NumPy's own sums along short rows take three times as long.
        x -= (x @ _AVERAGE)[:, None]
        x /= np.sqrt(np.vecdot(x, x) / len(_AVERAGE) + 1e-12)[:, None]
        x *= self.weight
        x += self.bias
        return x


@dataclass(frozen=True, slots=True, kw_only=True)
class _Linear:
    """A weight matrix cut into blocks, as high as a vector and as wide as the tiling says."""

    blocks: Floats
    bias: Floats

    def apply(self, x: Floats) -> Floats:
        down, across, height, width = self.blocks.shape
        products = np.empty((down, len(x), across * width), np.float32)
        np.matmul(
            x.reshape(len(x), 1, down, height).transpose(2, 1, 0, 3),
            self.blocks,
            # Written where they belong, so that nothing has to be put together afterwards.
            out=products.reshape(down, len(x), across, width).swapaxes(1, 2),
        )
        y: Floats = products[0] if down == 1 else products.sum(axis=0)
        y += self.bias
        return y


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layer:
    queries: _Linear
    keys_and_values: _Linear
    attention_output: _Linear
    attention_norm: _Norm
    feed_forward_in: _Linear
    feed_forward_out: _Linear
    output_norm: _Norm
    chunk_rows: int

    def apply(self, x: Floats, rows: int) -> Floats:
        """Return the first rows after this layer; each attends to the whole text."""
        keys_and_values = np.concatenate([self.keys_and_values.apply(part) for part in _cut(x, self.chunk_rows)])
        keys, values = keys_and_values.reshape(len(x), 2, HEADS, HEAD_WIDTH).transpose(1, 2, 3, 0)
        # In the order in which they are multiplied; BLAS takes twice as long with the other one.
        keys = np.ascontiguousarray(keys)
        return np.concatenate([self._apply(part, keys, values) for part in _cut(x[:rows], self.chunk_rows)])

    def _apply(self, x: Floats, keys: Floats, values: Floats) -> Floats:
        attention = self.attention_output.apply(_attend(self.queries.apply(x), keys, values))
        attention += x
        x = self.attention_norm.apply(attention)
        y = self.feed_forward_out.apply(_double_gelu(self.feed_forward_in.apply(x)))
        y += x
        return self.output_norm.apply(y)


def _cut(x: Floats, limit: int) -> list[Floats]:
    """Cut rows into parts of nearly equal height, because a part of a few rows takes as long as one of many."""
    parts = -(-len(x) // limit)
    height = -(-len(x) // parts)
    return [x[start : start + height] for start in range(0, len(x), height)]


def _attend(queries: Floats, keys: Floats, values: Floats) -> Floats:
    queries *= HEAD_WIDTH**-0.5
    by_head = queries.reshape(len(queries), HEADS, HEAD_WIDTH).swapaxes(0, 1)
    weights: Floats = by_head @ keys
    # Subtracting the largest keeps the exponential from overflowing; the result is the same.
    weights -= weights.max(axis=2, keepdims=True)
    np.exp(weights, out=weights)
    sums = weights @ np.ones((weights.shape[2], 1), np.float32)
    np.matmul(weights, values.swapaxes(1, 2), out=by_head)
    # Later than usual: there are fewer values than weights.
    by_head /= sums
    return queries


def _double_gelu(x: Floats) -> Floats:
    """Return twice the GELU, by its tanh approximation, which changes a cosine by less than 1e-5: NumPy has no erf."""
    y = np.square(x)
    y *= 0.044715 * _GELU_SCALE
    y += _GELU_SCALE
    y *= x
    np.tanh(y, out=y)
    y += 1
    y *= x
    return y


def _load_norm(weights: ModelTensors, name: str) -> _Norm:
    return _Norm(weight=weights.floats(f"{name}.weight"), bias=weights.floats(f"{name}.bias"))


def _load_linear(
    weights: ModelTensors, name: str, squares: Floats, width: int, *, first: int = 0, factor: float = 1
) -> _Linear:
    """Fill squares with a matrix, from its square with this number on, and multiply it with a factor."""
    height = ShippedModel.dimension
    integers = weights.tensor(f"{name}.weight")
    rows = slice(first * height, first * height + squares.size // integers.shape[1])
    integers, scales = integers[rows], weights.floats(f"{name}.scale")[rows] * np.float32(factor)
    down, across = integers.shape[1] // height, len(integers) // width
    blocks = np.multiply(
        integers.reshape(across, width, down, height).transpose(2, 0, 3, 1),
        scales.reshape(across, 1, width),
        out=squares.reshape(down, across, height, width),
    )
    return _Linear(blocks=blocks, bias=weights.floats(f"{name}.bias")[rows])


def _load_layer(weights: ModelTensors, name: str, squares: Floats, tiling: Tiling) -> _Layer:
    width = tiling.block_width
    return _Layer(
        # One matrix in the file; the last layer needs all keys and values, and a single query.
        queries=_load_linear(weights, f"{name}.qkv", squares[:1], width),
        keys_and_values=_load_linear(weights, f"{name}.qkv", squares[1:3], width, first=1),
        attention_output=_load_linear(weights, f"{name}.ao", squares[3:4], width),
        attention_norm=_load_norm(weights, f"{name}.aln"),
        feed_forward_in=_load_linear(weights, f"{name}.f1", squares[4:8], width),
        # Half, because the GELU before it is doubled.
        feed_forward_out=_load_linear(weights, f"{name}.f2", squares[8:], width, factor=0.5),
        output_norm=_load_norm(weights, f"{name}.fln"),
        chunk_rows=tiling.chunk_rows,
    )


def _choose_tiling() -> Tiling:
    # NumPy leaves out what is empty, and calls AVX-512 with its basic extensions X86_V4 from version 2.4 on.
    features = np.show_config(mode="dicts").get("SIMD Extensions", {}).get("found", ())
    return SMALL_TILES if {"AVX512_SKX", "X86_V4"} & set(features) else LARGE_TILES


_AVERAGE = np.full(ShippedModel.dimension, 1 / ShippedModel.dimension, np.float32)
_GELU_SCALE = (2 / np.pi) ** 0.5
# Reading and verifying 20 MB of weights costs more than embedding a question.
_loaded_models: list[ShippedModel] = []
