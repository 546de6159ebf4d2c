"""``dev/walk.py`` traces a command through the package."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_walk_lists_the_files_from_the_command_to_the_store(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "dev" / "walk.py"), "--list", "remember", "Deploys run from main only"]

    process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)

    counts, *files = process.stderr.splitlines()
    functions, count, changes = map(int, re.findall(r"\d+", counts))
    assert "Remembered" in process.stdout
    assert functions > count == len(files) == len(set(files))
    assert changes > 10
    assert files.index("__main__.py") < files.index(str(Path("store", "log.py")))
