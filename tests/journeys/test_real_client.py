"""A real agent from npm, offline, after nothing but ``hivemind install``; ``python -m evals.clients`` runs more."""

from dataclasses import replace
from pathlib import Path

import pytest

from evals.clients import trial
from evals.clients.agents import CLIENTS

LIGHTEST = "gemini"


def test_memory_works_underneath_a_real_agent(pytestconfig: pytest.Config, tmp_path: Path) -> None:
    npm = Path(pytestconfig.cache.mkdir("clients"))
    trial.installed(npm, LIGHTEST, CLIENTS[LIGHTEST].package)
    person = trial.prepared(npm, tmp_path)

    held = trial.held(LIGHTEST, CLIENTS[LIGHTEST], replace(person, home=tmp_path / LIGHTEST), before="a person")

    assert len(held) == 8
    assert [what for what, is_so in held.items() if not is_so] == []
