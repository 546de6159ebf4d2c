"""Run our test suites with larger amounts than a normal test run."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FAULTS = ("tests/store", "tests/sessions/test_hooks_never_wait.py")
ATTACKS = (
    "tests/property/test_bent_shapes.py",
    "tests/property/test_fuzz.py",
    "tests/code/test_hostile_repositories.py",
    "tests/sessions/test_pipes_and_links.py",
    "tests/recall/test_poisoning.py",
    "tests/text/test_smuggling.py",
    "tests/hub/test_poisoning.py",
)
GOVERNANCE = (
    "tests/journeys/test_governance.py",
    "tests/erase",
    "tests/cli/test_bad_input.py",
    "tests/memory/test_contradiction_pairs.py",
    "tests/memory/test_ids_and_scope.py",
    "tests/recall/test_labels.py",
    "tests/sessions/test_secrets.py",
    "tests/sessions/test_passwords_in_prose.py",
    "tests/transfer/test_export.py",
    "tests/maintenance/test_privacy.py",
)


def run(*arguments: str, more: dict[str, str] | None = None, **options: Any) -> int:
    """Run pytest with these arguments and additional environment variables, and return its exit code."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=ROOT, env=os.environ | (more or {}), check=False, **options).returncode
