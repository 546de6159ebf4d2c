"""Turn text into vectors on this machine, with the model that is installed with the package."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Protocol

import numpy as np

from hivemind.embedding.tokenizer import Tokenizer
from hivemind.embedding.weights import WORDING_FILE, WORDING_SHA256, ChangedWeights, Floats, Weights
from hivemind.model.dataclass import dataclass
from hivemind.model.recall import SHIPPED_MODEL

LAYERS = 3
HEADS = 12
HEAD_WIDTH = 32
"""The shape of this model; other models are loaded by ``models``."""

START, PADDING, END = 0, 1, 2
"""The ids of the tokens around every text, and of one that nothing attends to."""

ROWS_AT_ONCE = 4
"""OpenBLAS multiplies so many rows together, and the rest one by one: 15 tokens take a third longer than 16."""

KEPT_BYTES = 4 << 20
"""More than an intermediate result of the longest text takes."""

MAX_TOKENS = 512
"""In tokens, including start and end: the model was trained with positions up to this one."""

WORDING_TOKENS = 128
"""Of a sentence; the longest that people are judged by have fewer."""


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
def load_wording(sha256: str = WORDING_SHA256, mark: Path | None = None) -> "ShippedModel":
    """Return the model that reads how people word things, loaded once per process; ``mark`` as above."""
    original, changes = Weights.read(mark=mark), Weights.read(WORDING_FILE, sha256)
    return ShippedModel(ChangedWeights(original=original, changes=changes))


class ShippedModel:
    """The model that comes with the package, a BERT of three layers whose vector is the state of the first token."""

    name = SHIPPED_MODEL
    dimension = HEADS * HEAD_WIDTH

    def __init__(self, weights: Weights | ChangedWeights) -> None:
        """Unpack the layers; embeddings of words stay in the file until a text needs them, which keeps memory small."""
        self._tokenizer = Tokenizer(weights.merges)
        self._words, self._word_scales = weights.read_tensor("words.weight"), weights.read_floats("words.scale")
        self._positions = weights.read_floats("positions.weight")
        self._norm = _load_norm(weights, "ln")
        # In one piece, which the system backs with large pages: that halves the time it takes to fill.
        squares = np.empty((LAYERS, 12, self.dimension, self.dimension), np.float32)
        self._layers = [_load_layer(weights, f"layers.{number}", squares[number]) for number in range(LAYERS)]
        # Freed at once. From then on glibc keeps freed pieces up to that size for the next text: getting them from the
        # system again, page by page, takes a tenth of the time of a text of 80 tokens.
        np.empty(KEPT_BYTES, np.uint8)

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return one row of unit length for each text, in the same order; the end of a long text is ignored.

        Texts are embedded one by one: a batch would need padding, and is hardly faster.
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
            x, length = self._look_up(text, WORDING_TOKENS)
            for layer in self._layers:
                x = layer.apply(x, length)
            rows[number] = np.concatenate([x[0], x[:length].mean(axis=0)])
        return rows

    def _embed(self, text: str) -> Floats:
        *layers, last = self._layers
        x, length = self._look_up(text, MAX_TOKENS)
        for layer in layers:
            x = layer.apply(x, length)
        # Only the first token's state is used.
        return last.apply_to_first(x, length)

    def _look_up(self, text: str, limit: int) -> tuple[Floats, int]:
        """Return a row for each token of a text and for some of padding behind them, and how many are the text's."""
        ids = [START, *self._tokenizer.encode(text, limit - 2), END]
        length = len(ids)
        ids += [PADDING] * (-length % ROWS_AT_ONCE)
        words = self._words[ids] * self._word_scales[ids, None]
        return self._norm.apply(words + self._positions[: len(ids)]), length


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
    weight: Floats
    bias: Floats

    def apply(self, x: Floats) -> Floats:
        y: Floats = x @ self.weight
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

    def apply(self, x: Floats, length: int) -> Floats:
        """Return all rows after this layer; each attends to the whole text, whose rows come first."""
        keys_and_values = self.keys_and_values.apply(x)[:length].reshape(length, 2, HEADS, HEAD_WIDTH)
        keys, values = keys_and_values.transpose(1, 2, 3, 0)
        # In the order in which they are multiplied; BLAS takes twice as long with the other one.
        keys = np.ascontiguousarray(keys)
        return self._feed_forward(x, _attend(self.queries.apply(x), keys, values))

    def apply_to_first(self, x: Floats, length: int) -> Floats:
        """Return the first row alone.

        A single query needs no key and value of each token: it is multiplied with the matrix of the keys instead, and
        the mean of the tokens with that of the values. For a text of 80 tokens this saves 5 % of the time.
        """
        text = x[:length]
        squares = self.keys_and_values.weight.reshape(-1, 2, HEADS, HEAD_WIDTH).transpose(1, 2, 0, 3)
        query = self.queries.apply(x[:1]).reshape(HEADS, HEAD_WIDTH, 1)
        query *= HEAD_WIDTH**-0.5
        # The bias of the keys adds the same to the weights of all tokens, which changes nothing.
        weights = (squares[0] @ query)[:, :, 0] @ text.T
        weights -= weights.max(axis=1, keepdims=True)
        np.exp(weights, out=weights)
        weights /= weights.sum(axis=1, keepdims=True)
        values = ((weights @ text)[:, None] @ squares[1]).reshape(1, -1)
        return self._feed_forward(x[:1], values + self.keys_and_values.bias[values.size :])

    def _feed_forward(self, x: Floats, attention: Floats) -> Floats:
        attention = self.attention_output.apply(attention)
        attention += x
        x = self.attention_norm.apply(attention)
        y = self.feed_forward_out.apply(_compute_double_gelu(self.feed_forward_in.apply(x)))
        y += x
        return self.output_norm.apply(y)


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


def _compute_double_gelu(x: Floats) -> Floats:
    """Return twice the GELU, by its tanh approximation, which changes a cosine by less than 1e-5: NumPy has no erf."""
    y = np.square(x)
    y *= 0.044715 * _GELU_SCALE
    y += _GELU_SCALE
    y *= x
    np.tanh(y, out=y)
    y += 1
    y *= x
    return y


def _load_norm(weights: Weights | ChangedWeights, name: str) -> _Norm:
    return _Norm(weight=weights.read_floats(f"{name}.weight"), bias=weights.read_floats(f"{name}.bias"))


def _load_linear(
    weights: Weights | ChangedWeights, name: str, squares: Floats, *, first_row: int = 0, factor: float = 1
) -> _Linear:
    """Fill squares with the rows of a matrix, from this one on, and multiply them with a factor."""
    integers = weights.read_tensor(f"{name}.weight")
    rows = slice(first_row, first_row + squares.size // integers.shape[1])
    scales = weights.read_floats(f"{name}.scale")[rows] * np.float32(factor)
    weight = np.multiply(integers[rows].T, scales, out=squares.reshape(integers.shape[1], -1))
    return _Linear(weight=weight, bias=weights.read_floats(f"{name}.bias")[rows])


def _load_layer(weights: Weights | ChangedWeights, name: str, squares: Floats) -> _Layer:
    return _Layer(
        # One matrix in the file; the last layer needs all keys and values, and a single query.
        queries=_load_linear(weights, f"{name}.qkv", squares[:1]),
        keys_and_values=_load_linear(weights, f"{name}.qkv", squares[1:3], first_row=ShippedModel.dimension),
        attention_output=_load_linear(weights, f"{name}.ao", squares[3:4]),
        attention_norm=_load_norm(weights, f"{name}.aln"),
        feed_forward_in=_load_linear(weights, f"{name}.f1", squares[4:8]),
        # Half, because the GELU before it is doubled.
        feed_forward_out=_load_linear(weights, f"{name}.f2", squares[8:], factor=0.5),
        output_norm=_load_norm(weights, f"{name}.fln"),
    )


_AVERAGE = np.full(ShippedModel.dimension, 1 / ShippedModel.dimension, np.float32)
_GELU_SCALE = (2 / np.pi) ** 0.5
# Reading and verifying 20 MB of weights costs more than embedding a question.
_loaded_models: list[ShippedModel] = []
