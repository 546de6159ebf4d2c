"""A real agent from npm, offline, after nothing but ``hivemind install``; ``python -m lab.evals.clients`` runs more."""

from dataclasses import replace
from pathlib import Path

import pytest

from lab.evals.clients import trial
from lab.evals.clients.agents import CLIENTS
from lab.evals.clients.examiner import check_examiner
from lab.evals.played import play

LIGHTEST = "gemini"
# One npm installs it for both.
pytestmark = pytest.mark.xdist_group("clients")


def test_memory_works_underneath_a_real_agent(pytestconfig: pytest.Config, tmp_path: Path) -> None:
    npm = Path(pytestconfig.cache.mkdir("clients"))
    trial.install_package(npm, LIGHTEST, CLIENTS[LIGHTEST].package)
    person = trial.prepare(npm, tmp_path)

    held = trial.check_client(LIGHTEST, CLIENTS[LIGHTEST], replace(person, home=tmp_path / LIGHTEST), before="a person")

    assert len(held) == 10
    assert [what for what, is_so in held.items() if not is_so] == []


def test_a_real_agent_follows_a_convention_only_with_the_memory_that_knows_it(pytestconfig: pytest.Config) -> None:
    npm = Path(pytestconfig.cache.mkdir("clients"))
    trial.install_package(npm, LIGHTEST, CLIENTS[LIGHTEST].package)

    warm, broken = play(LIGHTEST, npm, ["convention"], ["hivemind", "broken"])

    assert (warm.run.success, warm.has_brief, warm.run.receipts) == (True, True, True)
    assert (broken.run.success, broken.has_brief, broken.run.receipts) == (False, False, None)


def test_a_real_agent_reads_a_session_for_its_owner_and_does_nothing_else(
    pytestconfig: pytest.Config, tmp_path: Path
) -> None:
    npm = Path(pytestconfig.cache.mkdir("clients"))
    trial.install_package(npm, LIGHTEST, CLIENTS[LIGHTEST].package)
    person = trial.prepare(npm, tmp_path)
    sandbox = replace(person, home=tmp_path / LIGHTEST)

    checks = check_examiner(LIGHTEST, LIGHTEST, CLIENTS[LIGHTEST], sandbox)

    assert len(checks) == 7
    assert [what for what, is_so in checks.items() if not is_so] == []
