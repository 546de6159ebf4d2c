"""Run commands at a terminal, as a person sees them."""

import os
import pty
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress

COMMAND = [sys.executable, "-m", "hivemind"]


def on_a_terminal(
    *arguments: str, program: Sequence[str] = COMMAND, lines: int = 24, typed: str = "", **environ: str
) -> str:
    """What a person sees who runs this at a terminal, and then types something."""
    screen, keyboard = pty.openpty()
    size = {"TERM": "xterm", "COLUMNS": "80", "LINES": str(lines)}
    process = subprocess.Popen(
        [*program, *arguments], stdin=keyboard, stdout=keyboard, stderr=keyboard, env=os.environ | size | environ
    )
    os.close(keyboard)
    os.write(screen, typed.encode())
    seen = b""
    with os.fdopen(screen, "rb", buffering=0) as output:
        # Linux ends a terminal that nobody holds any more with an error.
        with suppress(OSError):
            while part := output.read(65536):
                seen += part
        process.wait()
    return seen.decode(errors="replace")
