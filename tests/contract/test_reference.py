"""The reference pages say what the code says."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_reference_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "dev/reference.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"COLUMNS": "80"},
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "## hivemind remember" in (ROOT / "docs/reference/commands.md").read_text()
