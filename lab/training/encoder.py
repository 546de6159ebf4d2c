"""The encoders in torch: the two teachers, the students that start from the first teacher's layers."""

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer, pre_tokenizers
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.attention.varlen import varlen_attn
from torch.nn.utils.rnn import pad_sequence

WIDTH = 384
INNER = 4 * WIDTH
"""Numbers between both matrices of a teacher's feed-forward part; students may have fewer."""
HEADS = 12
POSITIONS = 512
TOKENS_AT_ONCE = 400_000
ARCTIC_PREFIX = "Represent this sentence for searching relevant passages: "
"""What snowflake-arctic-embed-s was trained to see before a query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """Texts one after the other without padding, which would be a third of all tokens."""

    ids: Tensor
    starts: Tensor
    """Where each text starts, and where the last one ends."""
    longest: int

    def to(self, device: str) -> "Packed":
        """Return the same texts on a device."""
        return Packed(ids=self.ids.to(device), starts=self.starts.to(device), longest=self.longest)


def attend(query: Tensor, key: Tensor, value: Tensor, query_starts: Tensor, packed: Packed) -> Tensor:
    """Return what each query token collects from the tokens of its own text."""
    if query.is_cuda:
        longest = packed.longest if len(query) == len(key) else 1
        return varlen_attn(query, key, value, query_starts, packed.starts, longest, packed.longest)
    # A CPU has no such kernel, so texts are padded for this step alone.
    queries, keys, values = (
        pad_sequence(part.split(starts.diff().tolist()), batch_first=True).transpose(1, 2)
        for part, starts in ((query, query_starts), (key, packed.starts), (value, packed.starts))
    )
    is_text = torch.arange(packed.longest) < packed.starts.diff()[:, None]
    states = functional.scaled_dot_product_attention(queries, keys, values, attn_mask=is_text[:, None, None])
    is_query = torch.arange(queries.shape[2]) < query_starts.diff()[:, None]
    return states.transpose(1, 2)[is_query]


class Layer(nn.Module):
    """One transformer layer, normalised after each addition, as BERT does."""

    def __init__(self, inner: int = INNER) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.ao = nn.Linear(WIDTH, WIDTH)
        self.aln = nn.LayerNorm(WIDTH, eps=1e-12)
        self.f1 = nn.Linear(WIDTH, inner)
        self.f2 = nn.Linear(inner, WIDTH)
        self.fln = nn.LayerNorm(WIDTH, eps=1e-12)

    def forward(self, x: Tensor, packed: Packed) -> Tensor:
        """Return the states after attention and feed-forward."""
        query, key, value = self.qkv(x).view(len(x), 3, HEADS, -1).unbind(1)
        return self.finish(x, attend(query, key, value, packed.starts, packed).flatten(1))

    def finish_first(self, x: Tensor, packed: Packed) -> Tensor:
        """Return the state of each text's first token alone; the last layer needs no other."""
        key, value = (
            functional.linear(x, self.qkv.weight[WIDTH:], self.qkv.bias[WIDTH:]).view(len(x), 2, HEADS, -1).unbind(1)
        )
        first = x[packed.starts[:-1].long()]
        query = functional.linear(first, self.qkv.weight[:WIDTH], self.qkv.bias[:WIDTH]).view(len(first), HEADS, -1)
        starts = torch.arange(len(first) + 1, dtype=torch.int32, device=x.device)
        return self.finish(first, attend(query, key, value, starts, packed).flatten(1))

    def finish(self, x: Tensor, attention: Tensor) -> Tensor:
        """Return the states after what follows attention, which looks at each token alone."""
        parts = (self.ao, self.aln, self.f1, self.f2, self.fln)
        return finish(x, attention, *(weight for part in parts for weight in (part.weight, part.bias)))


def finish(x: Tensor, attention: Tensor, *weights: Tensor) -> Tensor:
    """Return a layer's states from what attention collected, given weights and biases in the order of use."""
    ao, ao_bias, aln, aln_bias, f1, f1_bias, f2, f2_bias, fln, fln_bias = weights
    x = functional.layer_norm(x + functional.linear(attention, ao, ao_bias), (WIDTH,), aln, aln_bias, 1e-12)
    inner = functional.gelu(functional.linear(x, f1, f1_bias))
    return functional.layer_norm(x + functional.linear(inner, f2, f2_bias), (WIDTH,), fln, fln_bias, 1e-12)


class Encoder(nn.Module):
    """A BERT whose vector is the state of the first token."""

    def __init__(self, vocabulary: int, layers: int, inner: int = INNER) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, WIDTH)
        self.positions = nn.Embedding(POSITIONS, WIDTH)
        self.ln = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList([Layer(inner) for _ in range(layers)])

    def forward(self, packed: Packed) -> Tensor:
        """Return a vector of unit length for each text."""
        x = self.look_up(packed)
        for layer in self.layers[:-1]:
            x = layer(x, packed)
        last: Layer = self.layers[-1]  # type: ignore[assignment]
        return functional.normalize(last.finish_first(x, packed).float(), dim=1)

    def look_up(self, packed: Packed) -> Tensor:
        """Return the states before the first layer."""
        lengths = packed.starts.diff().long()
        starts = packed.starts[:-1].long().repeat_interleave(lengths, output_size=len(packed.ids))
        places = torch.arange(len(packed.ids), device=packed.ids.device) - starts
        # Word vectors stay in full precision, because many small steps add up in them.
        return self.ln((self.words(packed.ids) + self.positions(places)).to(self.ln.weight.dtype))


class Pack:
    """The tensors of the file that granite-embedding-30m-english is published in."""

    def __init__(self, path: Path) -> None:
        self._raw = np.fromfile(path, np.uint8)
        header_end = 16 + int(self._raw[8:16].view("<u8")[0])
        header = json.loads(self._raw[16:header_end].tobytes())
        start = header_end + header["tokenizer_len"]
        self.tokenizer: dict[str, Any] = json.loads(self._raw[header_end:start].tobytes())
        self._tensors = {}
        for tensor in header["tensors"]:
            self._tensors[tensor["name"]] = (start, tensor)
            start += tensor["len"]

    def floats(self, name: str) -> Tensor:
        """Return a tensor that is stored as floats."""
        start, tensor = self._tensors[name]
        count = int(np.prod(tensor["shape"]))
        return torch.tensor(self._read_floats(start, count)).reshape(tensor["shape"])

    def matrix(self, name: str) -> Tensor:
        """Return a matrix that is stored as small integers with scales."""
        start, tensor = self._tensors[name]
        rows, columns = tensor["shape"]
        groups = columns // tensor["group"]
        integers = self._raw[start : start + rows * columns].view(np.int8).reshape(rows, groups, -1)
        scales = self._read_floats(start + rows * columns, rows * groups).reshape(rows, groups, 1)
        return torch.tensor(integers * scales).reshape(rows, columns)

    def _read_floats(self, start: int, count: int) -> np.ndarray[Any, Any]:
        return self._raw[start : start + 4 * count].view("<f4").astype(np.float32)


def load_granite(pack: Pack, layers: Sequence[int] = range(6)) -> Encoder:
    """Return granite-embedding-30m-english with some of its six layers."""
    model = Encoder(len(pack.tokenizer["model"]["vocab"]), len(layers))
    state = {
        "words.weight": pack.matrix("word_emb"),
        # RoBERTa counts positions from 2, and all tokens of a single text have type 0.
        "positions.weight": (pack.floats("pos_emb")[2:] + pack.floats("type_emb")[0])[:POSITIONS],
        "ln.weight": pack.floats("emb_ln.w"),
        "ln.bias": pack.floats("emb_ln.b"),
    }
    for place, number in enumerate(layers):
        for part in ("qkv", "ao", "f1", "f2"):
            state[f"layers.{place}.{part}.weight"] = pack.matrix(f"l{number}.{part}.w")
            state[f"layers.{place}.{part}.bias"] = pack.floats(f"l{number}.{part}.b").reshape(-1)
        for part in ("aln", "fln"):
            state[f"layers.{place}.{part}.weight"] = pack.floats(f"l{number}.{part}.w")
            state[f"layers.{place}.{part}.bias"] = pack.floats(f"l{number}.{part}.b")
    model.words = nn.Embedding(*state["words.weight"].shape)
    model.load_state_dict(state)
    return model


def load_arctic(path: Path) -> Encoder:
    """Return snowflake-arctic-embed-s from the NumPy file that ``lab.training.arctic`` makes."""
    file = np.load(path)

    def matrix(key: str) -> Tensor:
        return torch.tensor(((file[f"{key}.q"].astype(np.float32) - file[f"{key}.z"]) * file[f"{key}.s"]).T.copy())

    def table(name: str) -> Tensor:
        key = f"E/embeddings.{name}.weight"
        integers = file[f"{key}_quantized"].astype(np.float32) - float(file[f"{key}_zero_point"])
        return torch.tensor(integers * float(file[f"{key}_scale"]))

    state = {
        "words.weight": table("word_embeddings"),
        "positions.weight": table("position_embeddings") + table("token_type_embeddings")[0],
        "ln.weight": torch.tensor(file["embeddings.LayerNorm.weight"]),
        "ln.bias": torch.tensor(file["embeddings.LayerNorm.bias"]),
    }
    for number in range(12):
        attention, prefix = ("query", "key", "value"), f"encoder.layer.{number}"
        state[f"layers.{number}.qkv.weight"] = torch.cat([matrix(f"{number}/attention/self/{p}") for p in attention])
        state[f"layers.{number}.qkv.bias"] = torch.cat(
            [torch.tensor(file[f"{prefix}.attention.self.{part}.bias"]) for part in attention]
        )
        for part, name in (("ao", "attention/output/dense"), ("f1", "intermediate/dense"), ("f2", "output/dense")):
            state[f"layers.{number}.{part}.weight"] = matrix(f"{number}/{name}")
            state[f"layers.{number}.{part}.bias"] = torch.tensor(file[f"{prefix}.{name.replace('/', '.')}.bias"])
        for part, name in (("aln", "attention.output.LayerNorm"), ("fln", "output.LayerNorm")):
            for kind in ("weight", "bias"):
                state[f"layers.{number}.{part}.{kind}"] = torch.tensor(file[f"{prefix}.{name}.{kind}"])
    model = Encoder(len(state["words.weight"]), 12)
    model.load_state_dict(state)
    return model


def make_tokenizer(merges: Sequence[str]) -> dict[str, Any]:
    """Return the tokenizer that these merges make: four markers, 256 bytes, and what each merge joins."""
    tokens = ["<s>", "<pad>", "</s>", "<unk>"]
    tokens += sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens += dict.fromkeys(merge.replace(" ", "") for merge in merges)
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "post_processor": {
            "type": "RobertaProcessing",
            "sep": ["</s>", 2],
            "cls": ["<s>", 0],
            "trim_offsets": True,
            "add_prefix_space": False,
        },
        "decoder": None,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": {token: number for number, token in enumerate(tokens)},
            "merges": list(merges),
        },
    }


def encode(tokenizer: Tokenizer, texts: Sequence[str], limit: int) -> list[NDArray[np.uint16]]:
    """Return the ids of each text; a long text is cut before its end token."""
    tokenizer.no_padding()
    tokenizer.enable_truncation(limit)
    ids: list[NDArray[np.uint16]] = []
    for start in range(0, len(texts), 20_000):
        ids += [np.array(e.ids, np.uint16) for e in tokenizer.encode_batch_fast(list(texts[start : start + 20_000]))]
    return ids


def pack(rows: Sequence[NDArray[Any]]) -> Packed:
    """Return texts without padding."""
    lengths = np.array([len(row) for row in rows])
    starts = np.concatenate([[0], lengths.cumsum()]).astype(np.int32)
    ids = np.concatenate(rows).astype(np.int32)
    return Packed(ids=torch.from_numpy(ids), starts=torch.from_numpy(starts), longest=int(lengths.max()))


@torch.no_grad()
def embed(model: nn.Module, rows: Sequence[NDArray[Any]], device: str) -> Tensor:
    """Return a half-precision vector for each text."""
    # bfloat16 has the kernels that read texts without padding; a CPU has neither and needs no speed.
    model = copy.deepcopy(model).to(device).to(torch.bfloat16 if device == "cuda" else torch.float32).eval()
    vectors = []
    start = 0
    while start < len(rows):
        end, tokens = start, 0
        while end < len(rows) and tokens < TOKENS_AT_ONCE:
            tokens += len(rows[end])
            end += 1
        vectors.append(model(pack(rows[start:end]).to(device)).half())
        start = end
    return torch.cat(vectors)
