"""A student of random numbers goes through the file of the package and back."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hivemind.embedding.embedder import HEADS, LAYERS, MAX_TOKENS, ShippedModel
from hivemind.embedding.weights import Weights
from lab.training import export

WIDTH = ShippedModel.dimension
MERGES = ["h e", "l l", "he ll", "Ġ w"]


def make_student(seed: int) -> dict[str, NDArray[np.float16]]:
    rng = np.random.default_rng(seed)
    shapes: dict[str, tuple[int, ...]] = {
        "words.weight": (260 + len(MERGES), WIDTH),
        "positions.weight": (MAX_TOKENS, WIDTH),
    }
    for number in range(LAYERS):
        for part, rows, columns in (
            ("qkv", 3 * WIDTH, WIDTH),
            ("ao", WIDTH, WIDTH),
            ("f1", 4 * WIDTH, WIDTH),
            ("f2", WIDTH, 4 * WIDTH),
        ):
            shapes |= {f"layers.{number}.{part}.weight": (rows, columns), f"layers.{number}.{part}.bias": (rows,)}
        for part in ("aln", "fln"):
            shapes |= {f"layers.{number}.{part}.weight": (WIDTH,), f"layers.{number}.{part}.bias": (WIDTH,)}
    shapes |= {"ln.weight": (WIDTH,), "ln.bias": (WIDTH,)}
    return {name: rng.normal(0, 0.1, shape).astype(np.float16) for name, shape in shapes.items()}


def read(content: bytes, path: Path) -> Weights:
    path.write_bytes(content)
    return Weights.read(path, hashlib.sha256(content).hexdigest())


def test_a_written_student_can_be_run(tmp_path: Path) -> None:
    weights = read(export.pack(export.quantise(make_student(1)), MERGES), tmp_path / "model")

    rows = ShippedModel(weights).embed(["hello world", "hello"])

    assert weights.merges == MERGES
    assert rows.shape == (2, WIDTH)
    assert not np.allclose(rows[0], rows[1], atol=1e-3)


def test_integers_are_within_half_a_step_of_the_weights(tmp_path: Path) -> None:
    student = make_student(1)
    weights = read(export.pack(export.quantise(student), MERGES), tmp_path / "model")

    for name in ("words.weight", "layers.1.f2.weight"):
        scales = weights.read_floats(name.replace("weight", "scale"))[:, None]
        difference = np.abs(weights.read_tensor(name) * scales - student[name].astype(np.float32))
        assert (difference <= 0.51 * scales).all()


def test_the_mean_of_students_is_written(tmp_path: Path) -> None:
    first, second = make_student(1), make_student(2)

    mean = export.average([first, second])

    assert np.allclose(mean["ln.bias"], (first["ln.bias"] + second["ln.bias"]) / 2, atol=1e-3)
    assert np.array_equal(export.average([first])["words.weight"], first["words.weight"])


def test_two_merges_that_make_the_same_token_are_refused() -> None:
    tensors = export.quantise(make_student(1))

    assert export.pack(tensors, ["h e", "he l"])
    with pytest.raises(ValueError, match="same token"):
        export.pack(tensors, ["h e", "e l", "he l", "h el"])


def test_the_heads_of_the_written_model_fit_its_width() -> None:
    assert WIDTH % HEADS == 0


def test_a_student_read_back_from_the_file_differs_only_by_rounding(tmp_path: Path) -> None:
    student = make_student(4)
    path = tmp_path / "student.safetensors"
    path.write_bytes(export.pack(export.quantise(student), MERGES))

    weights = export.unpack(path)

    for name, value in student.items():
        assert np.allclose(weights[name], value, atol=0.004)


def test_students_are_mixed_by_their_shares_also_after_they_were_exported(tmp_path: Path) -> None:
    first, second = make_student(1), make_student(2)
    path = tmp_path / "second.safetensors"
    path.write_bytes(export.pack(export.quantise(second), MERGES))

    mixture = export.average([first, export.unpack(path)], [3, 1])

    expected = 0.75 * first["ln.bias"].astype(np.float32) + 0.25 * second["ln.bias"].astype(np.float32)
    assert np.allclose(mixture["ln.bias"], expected, atol=1e-3)
    # The words were rounded to 8 bits on their way through the file.
    assert np.allclose(mixture["words.weight"], 0.75 * first["words.weight"] + 0.25 * second["words.weight"], atol=2e-3)
    assert mixture.keys() == first.keys()
