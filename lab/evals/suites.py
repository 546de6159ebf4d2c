"""Run our test suites with larger amounts than a normal test run."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def run(*arguments: str, more: dict[str, str] | None = None, **options: Any) -> int:
    """Run pytest with these arguments and additional environment variables, and return its exit code."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=ROOT, env=os.environ | (more or {}), check=False, **options).returncode
