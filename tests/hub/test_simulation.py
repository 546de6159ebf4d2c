"""Devices and hubs under every fault, on the real code; the bugs that such code may have are each noticed."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def simulated(*arguments: str) -> str:
    """What the simulation says; in a process of its own, because measuring coverage would double what it costs."""
    command = [sys.executable, "-m", "evals.simulation", "--jobs", "1", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("first", [0, 1000])
def test_no_promise_is_broken_in_a_thousand_worlds(first: int) -> None:
    said = simulated("--seeds", "1000", "--first", str(first))

    assert "0 broke a promise; never happened: nothing" in said


def test_every_seeded_bug_is_noticed() -> None:
    said = simulated("--mutants", "--seeds", "400")

    assert "last_writer_wins" in said
