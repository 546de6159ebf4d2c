"""The model of lasting statements as it is installed."""

from pathlib import Path

import numpy as np
import pytest

from hivemind.embedding.embedder import load_default, load_wording
from hivemind.embedding.weights import WORDING_FILE, WORDING_SHA256, Weights
from hivemind.errors import Unavailable
from hivemind.learning.lasting_statements import WEIGHTS, LastingModel, load_judge
from hivemind.learning.statement_forms import FORM_NAMES, SpokenSentence, measure_form


def test_a_damaged_or_missing_model_is_refused_and_the_installed_one_is_read(tmp_path: Path) -> None:
    damaged = tmp_path / "lasting.npy"
    damaged.write_bytes(WEIGHTS.read_bytes()[:-1])

    for path in (damaged, tmp_path / "gone.npy"):
        with pytest.raises(Unavailable, match="missing or damaged; reinstall"):
            LastingModel.read(path)
    assert LastingModel.read().center.shape == (len(FORM_NAMES) + 2 * load_wording().dimension,)


def test_a_rule_scores_higher_than_a_request_and_nothing_has_no_verdicts() -> None:
    judge = load_judge(load_wording().encode_wording)

    rule, request = judge(
        [SpokenSentence(text="We never mock the database here."), SpokenSentence(text="Fix the login page.")]
    )

    assert rule.certainty >= 0.65 > request.certainty
    assert judge([]) == []


def test_every_form_has_a_number_even_for_odd_text() -> None:
    for text in ("?", "…", "a" * 400, "déjà vu"):
        assert len(measure_form(SpokenSentence(text=text))) == len(FORM_NAMES)


def test_damaged_changes_of_the_encoder_are_refused_and_whole_ones_change_what_it_reads(tmp_path: Path) -> None:
    damaged = tmp_path / "wording.safetensors"
    damaged.write_bytes(WORDING_FILE.read_bytes()[:-1])

    with pytest.raises(Unavailable, match="checksum"):
        Weights.read(damaged, WORDING_SHA256)
    assert not np.allclose(load_wording().embed(["a rule"]), load_default().embed(["a rule"]))
    assert load_wording().encode_wording(["a rule"]).shape == (1, 2 * load_default().dimension)
