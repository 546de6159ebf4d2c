"""Our own suites, run by a command that wants more of them than a normal run does."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def run(*arguments: str, more: dict[str, str] | None = None, **how: Any) -> int:
    """Let pytest run with these arguments, and more in its environment; return how it ended."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=ROOT, env=os.environ | (more or {}), check=False, **how).returncode
