"""Runs a command of ours in a process that nobody waits for.

Standard library only.
"""

import os
import sys


def run(command: str) -> None:
    """Start it and leave; whoever started us may end first."""
    nowhere = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in (0, 1, 2)]
    line = [sys.executable, "-P", "-m", "hivemind", command]
    os.posix_spawn(sys.executable, line, os.environ, file_actions=nowhere, setsid=True)
