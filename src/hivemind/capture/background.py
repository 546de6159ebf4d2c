"""Runs a hivemind command in the background."""

import sys

from hivemind.system import BackgroundProcess, start_apart


def start(*command: str) -> BackgroundProcess:
    """Start a command and return at once; it goes on when the parent process ends."""
    return start_apart([sys.executable, "-P", "-m", "hivemind", *command])
