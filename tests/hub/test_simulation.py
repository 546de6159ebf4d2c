"""Simulate devices and hubs with faults on the real code, and check that seeded bugs are detected."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run_simulation(*arguments: str) -> str:
    """Run the simulation in its own process, because measuring coverage would double its cost."""
    command = [sys.executable, "-m", "lab.evals.simulation", "--jobs", "1", *arguments]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


# Two halves, so that two processors share them. Each seed takes 0.2 s, and seeded bugs are found within 400.
@pytest.mark.parametrize("first", [0, 250])
def test_no_promise_is_broken_in_five_hundred_worlds(first: int) -> None:
    output = run_simulation("--seeds", "250", "--first", str(first))

    assert "0 broke a promise; never happened: nothing" in output


def test_every_seeded_bug_is_noticed() -> None:
    output = run_simulation("--mutants", "--seeds", "400")

    assert "last_writer_wins" in output
