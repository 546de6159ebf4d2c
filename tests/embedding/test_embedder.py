"""The reference figures were computed by torch in 32-bit floats, from the weights before they became integers."""

import os
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hivemind.embedding.embedder import END, HEAD_WIDTH, HEADS, LAYERS, MAX_TOKENS, START, Embedder, load_default
from hivemind.embedding.semantic_index import SemanticIndex
from hivemind.embedding.tokenizer import Tokenizer
from hivemind.embedding.weights import MODEL_FILE, SHA256, VERIFIED_SECONDS, Weights
from hivemind.errors import Unavailable

QUESTION = "How do I undo my last commit?"
ANSWER = "git reset --soft HEAD~1 takes back the newest change and keeps the files"
OTHER = "The cafeteria opens at nine"
TEXTS = [
    QUESTION,
    ANSWER,
    OTHER,
    "def undo(repo):\n    return repo.git.reset('--soft', 'HEAD~1')",
    "na\xefve caf\xe9 \U0001f642 \u65e5\u672c\u8a9e",
    "x",
]
BEGINNINGS = [
    [-0.0390, 0.0518, -0.0407, 0.0225, -0.0738, 0.0058],
    [-0.0509, 0.0752, -0.0225, -0.0781, -0.0955, -0.0260],
    [-0.0201, -0.0390, -0.0139, -0.0743, 0.0251, -0.0337],
    [-0.0922, 0.0274, 0.0084, -0.0344, -0.1118, -0.0320],
    [0.0021, -0.0622, -0.0666, -0.0181, 0.0233, 0.0238],
    [0.0105, 0.0412, -0.0761, 0.0644, -0.0497, 0.0069],
]
LIKENESS = [
    [1.0000, 0.5493, -0.0115, 0.6562, 0.1956, 0.1809],
    [0.5493, 1.0000, -0.0506, 0.6508, 0.0970, 0.1050],
    [-0.0115, -0.0506, 1.0000, -0.0197, 0.4045, 0.2298],
    [0.6562, 0.6508, -0.0197, 1.0000, 0.1825, 0.1774],
    [0.1956, 0.0970, 0.4045, 0.1825, 1.0000, 0.2331],
    [0.1809, 0.1050, 0.2298, 0.1774, 0.2331, 1.0000],
]


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return load_default()


def test_vectors_are_those_of_the_reference(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)

    assert np.allclose(vectors[:, :6], BEGINNINGS, atol=1e-2)
    assert np.allclose(vectors @ vectors.T, LIKENESS, atol=1e-2)


@pytest.mark.parametrize("words", [20, 90, MAX_TOKENS])
def test_a_text_of_any_length_has_the_vector_of_plain_products(embedder: Embedder, words: int) -> None:
    text = " ".join((ANSWER.split() * words)[:words])

    assert np.allclose(embedder.embed([text])[0], compute_plainly(text), atol=1e-5)


def compute_plainly(text: str) -> NDArray[np.float64]:
    """Compute a vector in double precision, with whole matrices and all rows of every layer."""
    weights = Weights.read()
    ids = [START, *Tokenizer(weights.merges).encode(text, MAX_TOKENS - 2), END]

    def multiply(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        matrix = weights.read_tensor(f"{name}.weight") * weights.read_floats(f"{name}.scale")[:, None].astype(
            np.float64
        )
        product: NDArray[np.float64] = x @ matrix.T + weights.read_floats(f"{name}.bias")
        return product

    def normalise(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        x = (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)
        scaled: NDArray[np.float64] = x * weights.read_floats(f"{name}.weight") + weights.read_floats(f"{name}.bias")
        return scaled

    words = weights.read_tensor("words.weight")[ids] * weights.read_floats("words.scale")[ids, None].astype(np.float64)
    x = normalise(words + weights.read_floats("positions.weight")[: len(ids)], "ln")
    for layer in (f"layers.{number}" for number in range(LAYERS)):
        states = multiply(x, f"{layer}.qkv").reshape(len(x), 3, HEADS, HEAD_WIDTH)
        queries, keys, values = states.transpose(1, 2, 0, 3)
        scores = np.exp(queries @ keys.swapaxes(1, 2) / HEAD_WIDTH**0.5)
        heads = scores / scores.sum(axis=2, keepdims=True) @ values
        x = normalise(x + multiply(heads.swapaxes(0, 1).reshape(len(x), -1), f"{layer}.ao"), f"{layer}.aln")
        inner = multiply(x, f"{layer}.f1")
        gelu = inner * (1 + np.tanh((2 / np.pi) ** 0.5 * (inner + 0.044715 * inner**3))) / 2
        x = normalise(x + multiply(gelu, f"{layer}.f2"), f"{layer}.fln")
    vector: NDArray[np.float64] = x[0] / np.linalg.norm(x[0])
    return vector


def test_what_answers_the_question_is_nearer_than_what_does_not(embedder: Embedder) -> None:
    question, answer, other = embedder.embed([QUESTION, ANSWER, OTHER])

    assert question @ answer > question @ other + 0.1


def test_vectors_are_of_unit_length_and_of_the_promised_width(embedder: Embedder) -> None:
    vectors = embedder.embed([*TEXTS, "", "word " * 1000])

    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS) + 2, embedder.dimension)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_no_texts_give_no_vectors(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.dimension)


def test_a_vector_does_not_depend_on_the_company_it_was_made_in(embedder: Embedder) -> None:
    together = embedder.embed(TEXTS)

    alone = [embedder.embed([text])[0] for text in TEXTS]

    assert np.array_equal(together, np.stack(alone))


def test_threads_give_each_passage_its_own_vector(embedder: Embedder) -> None:
    index, passages = SemanticIndex(embedder), list(enumerate(TEXTS[:5]))

    assert np.array_equal(index.embed_passages(passages, threads=2), index.embed_passages(passages))
    assert len(index.embed_passages(passages[:1], threads=2)) == 1
    assert len(index.embed_passages([], threads=2)) == 0


def test_a_long_text_counts_up_to_the_limit_and_no_further(embedder: Embedder) -> None:
    within = "word " * (MAX_TOKENS // 2)
    beyond = "word " * MAX_TOKENS

    plain, changed_within, plain_long, changed_beyond = embedder.embed([within, within + OTHER, beyond, beyond + OTHER])

    assert not np.allclose(plain, changed_within, atol=1e-3)
    assert np.array_equal(plain_long, changed_beyond)


def test_the_model_is_loaded_once(embedder: Embedder) -> None:
    assert load_default() is embedder


def test_a_file_that_is_not_there_is_named_with_its_remedy(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="pip install"):
        Weights.read(tmp_path / "weights")


def test_one_changed_bit_keeps_the_weights_from_being_read(tmp_path: Path) -> None:
    copy = tmp_path / "weights"
    content = bytearray(MODEL_FILE.read_bytes())
    copy.write_bytes(content)
    Weights.read(copy)

    content[-1] ^= 1
    copy.write_bytes(content)

    with pytest.raises(Unavailable, match="does not match its published checksum"):
        Weights.read(copy)


def test_a_verified_file_is_read_again_without_its_checksum_until_it_changes(tmp_path: Path) -> None:
    copy, mark = tmp_path / "weights", tmp_path / "mark"
    content = bytearray(MODEL_FILE.read_bytes())
    copy.write_bytes(content)
    Weights.read(copy, mark=mark)
    identity = mark.read_text()

    assert Weights.read(copy, mark=mark).merges
    assert mark.read_text() == identity

    content[-1] ^= 1
    copy.write_bytes(content)
    with pytest.raises(Unavailable, match="does not match its published checksum"):
        Weights.read(copy, mark=mark)


def test_a_mark_of_another_file_or_of_an_earlier_day_does_not_count(tmp_path: Path) -> None:
    damaged, mark = tmp_path / "weights", tmp_path / "mark"
    damaged.write_bytes(MODEL_FILE.read_bytes()[:-1] + b"x")
    Weights.read(mark=mark)
    with pytest.raises(Unavailable, match="does not match its published checksum"):
        Weights.read(damaged, mark=mark)

    status = damaged.stat()
    identity = f"{SHA256} {status.st_dev} {status.st_ino} {status.st_size} {status.st_mtime_ns}"
    mark.write_text(identity)
    Weights.read(damaged, mark=mark)
    os.utime(mark, (time.time() - 2 * VERIFIED_SECONDS,) * 2)
    with pytest.raises(Unavailable, match="does not match its published checksum"):
        Weights.read(damaged, mark=mark)


def test_a_mark_that_cannot_be_written_changes_nothing(tmp_path: Path) -> None:
    assert Weights.read(mark=tmp_path / "missing" / "mark").merges
