"""Runs a hivemind command in the background."""

import os
import sys

from hivemind.system import BackgroundProcess, start_apart


def start(*command: str, home: str = "") -> BackgroundProcess:
    """Start a command and return at once; it goes on when the parent process ends.

    ``home`` names the folder it works in, for callers that did not take theirs from the environment.
    """
    environment = {**os.environ, "HIVEMIND_HOME": home} if home else os.environ
    return start_apart([sys.executable, "-P", "-m", "hivemind", *command], environment)
