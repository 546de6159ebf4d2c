"""A few seeds of the simulation of own machines; `python -m lab.evals.simulation --machines` runs many."""

from collections.abc import Callable
from typing import Any

import pytest

from lab.evals.simulation.own_machines import simulate
from lab.evals.simulation.own_mutants import OWN_MUTANTS
from lab.evals.simulation.world import patch

SEEDS_PER_MUTANT = 30
"""Every bug shows within so many seeds; see the module's command for how soon."""


@pytest.mark.parametrize("seed", [*range(8), 1083, 6000044])
def test_own_machines_keep_their_promises(seed: int) -> None:
    assert simulate(seed)[0] == ""


@pytest.mark.parametrize("mutant", OWN_MUTANTS)
def test_a_bug_breaks_a_promise(mutant: Callable[[], list[Any]]) -> None:
    with patch(mutant()):
        assert any(simulate(seed)[0] for seed in range(SEEDS_PER_MUTANT))
