"""Meaning as numbers: text to vectors on this machine, with weights that came with the installation."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np

from hivemind.recall.weights import Floats, Weights, installed
from hivemind.recall.wordpieces import WordPieces

LAYERS = 6
HEADS = 12
HEAD_WIDTH = 32

START, END = 0, 2
"""The markers around every text."""

LONGEST_TEXT = 512
"""In pieces, markers included: as far as the model has learned positions."""


class Embedder(Protocol):
    """Turns texts into vectors whose dot product says how near they are in meaning."""

    @property
    def name(self) -> str:
        """The model; vectors of different names cannot be compared."""

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row of unit length for each text, in the order given."""


@cache
def default() -> Embedder:
    """The model that came with the installation, loaded once in a process."""
    return Granite(Weights.read(installed()))


class Granite:
    """granite-embedding-30m-english by IBM, a RoBERTa that gathers a text's meaning at its first marker."""

    name = "granite-embedding-30m-english"
    dimension = HEADS * HEAD_WIDTH

    def __init__(self, weights: Weights) -> None:
        """Unpack what every text needs; the rows of words stay in the file until a text has them."""
        self._pieces = WordPieces(weights.vocabulary["vocab"], weights.vocabulary["merges"])
        self._words, self._word_scales = weights.integers("word_emb"), weights.scales("word_emb")
        # RoBERTa counts positions from 2, and all of a text is of the first type.
        self._positions = weights.floats("pos_emb")[2:] + weights.floats("type_emb")[0]
        self._norm = _norm(weights, "emb_ln")
        self._layers = [_layer(weights, f"l{number}") for number in range(LAYERS)]

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row of unit length for each text, in the order given; a long text is cut at its end.

        One text after another: with blocked weights a batch is no quicker, and it would need padding.
        """
        rows = np.empty((len(texts), self.dimension), np.float32)
        for number, text in enumerate(texts):
            meaning = self._meaning(text)
            rows[number] = meaning / np.linalg.norm(meaning)
        return rows

    def _meaning(self, text: str) -> Floats:
        *layers, last = self._layers
        x = self._looked_up([START, *self._pieces.ids(text, LONGEST_TEXT - 2), END])
        for layer in layers:
            x = layer.apply(x, rows=len(x))
        return last.apply(x, rows=1)

    def _looked_up(self, ids: list[int]) -> Floats:
        scales = self._word_scales[ids]
        words = self._words[ids].reshape(*scales.shape, -1) * scales[:, :, None]
        return self._norm.apply(words.reshape(len(ids), -1) + self._positions[: len(ids)])


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

    Before it multiplies a few rows with a large matrix, BLAS copies all of the matrix into another order. It
    leaves that out for small ones, and a short question then takes half the time.
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
        return _side_by_side(self.by_head(x))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layer:
    attention: _Linear
    attended: _Linear
    attended_norm: _Norm
    widened: _Linear
    narrowed: _Linear
    norm: _Norm

    def apply(self, x: Floats, rows: int) -> Floats:
        """The first rows after this layer, each having looked at the whole text."""
        queries, keys, values = self.attention.by_head(x).reshape(3, HEADS, len(x), HEAD_WIDTH)
        seen = _attend(queries[:, :rows], keys, values)
        x = self.attended_norm.apply(x[:rows] + self.attended.apply(seen))
        return self.norm.apply(x + self.narrowed.apply(_gelu(self.widened.apply(x))))


def _attend(queries: Floats, keys: Floats, values: Floats) -> Floats:
    weights: Floats = queries @ keys.swapaxes(1, 2)
    weights *= HEAD_WIDTH**-0.5
    weights -= weights.max(axis=2, keepdims=True)
    np.exp(weights, out=weights)
    weights /= weights.sum(axis=2, keepdims=True)
    seen: Floats = weights @ values
    return _side_by_side(seen)


def _side_by_side(heads: Floats) -> Floats:
    return heads.swapaxes(0, 1).reshape(heads.shape[1], -1)


def _gelu(x: Floats) -> Floats:
    """By tanh, because NumPy has no erf; that turns a vector by less than 1e-5 in cosine."""
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


def _norm(weights: Weights, name: str) -> _Norm:
    return _Norm(weight=weights.floats(f"{name}.w"), bias=weights.floats(f"{name}.b"))


def _linear(weights: Weights, name: str) -> _Linear:
    integers, scales = weights.integers(f"{name}.w"), weights.scales(f"{name}.w")
    height = Granite.dimension
    down, across = integers.shape[1] // height, len(integers) // HEAD_WIDTH
    groups = scales.shape[1] // down
    blocks = np.multiply(
        integers.reshape(across, HEAD_WIDTH, down, groups, -1).transpose(2, 0, 3, 4, 1),
        scales.reshape(across, HEAD_WIDTH, down, groups, 1).transpose(2, 0, 3, 4, 1),
        order="C",
    )
    return _Linear(
        blocks=blocks.reshape(down, across, height, HEAD_WIDTH),
        bias=weights.floats(f"{name}.b").reshape(across, 1, HEAD_WIDTH),
    )


def _layer(weights: Weights, name: str) -> _Layer:
    return _Layer(
        attention=_linear(weights, f"{name}.qkv"),
        attended=_linear(weights, f"{name}.ao"),
        attended_norm=_norm(weights, f"{name}.aln"),
        widened=_linear(weights, f"{name}.f1"),
        narrowed=_linear(weights, f"{name}.f2"),
        norm=_norm(weights, f"{name}.fln"),
    )
