"""Runs a hivemind command in the background.

A module of its own, because the hook loads it only when a session ends. Standard library only, to keep the hook fast.
"""

import os
import sys


def start(command: str) -> None:
    """Start a command and return at once; it goes on when the parent process ends."""
    # A session of its own and no inherited streams: it outlives its parent and keeps no pipe of the agent open.
    no_streams = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in (0, 1, 2)]
    line = [sys.executable, "-P", "-m", "hivemind", command]
    os.posix_spawn(sys.executable, line, os.environ, file_actions=no_streams, setsid=True)
