"""What an installation takes: room on disk, and what importing it costs beside bare Python in the same run.

python -m benchmarks.install
"""

import subprocess
import sys
import tempfile
from collections import Counter
from importlib.metadata import distributions
from pathlib import Path

from benchmarks.measure import BARE, cpu_of

ROOT = Path(__file__).parents[1]
BUDGET_MEGABYTES = 250
IMPORTS = (
    "hivemind",
    "hivemind.errors",
    "click",
    "hivemind.entrypoints.cli",
    "apsw",
    "hivemind.app",
    "numpy",
    "rich.table",
)


def main() -> None:
    """Print sizes and CPU milliseconds."""
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        empty = Counter(_sizes(Path(place)))
        install = [f"{place}/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(ROOT)]
        subprocess.run(install, check=True)
        sizes = Counter(_sizes(Path(place))) - empty
    print(f"{'on disk':<38}{'MB':>8}  budget")
    print(f"{'all':<38}{sizes.total() / 1e6:>8.1f}  {BUDGET_MEGABYTES} MB")
    for name, size in sizes.most_common(8):
        print(f"  {name:<36}{size / 1e6:>8.1f}")
    bare = cpu_of(BARE)
    print(f"\n{'import':<38}{'CPU ms':>8}{'x bare':>8}")
    print(f"{'nothing':<38}{bare:>8.1f}{1:>8.1f}")
    for module in IMPORTS:
        cost = cpu_of([sys.executable, "-c", f"import {module}"])
        print(f"{module:<38}{cost:>8.1f}{cost / bare:>8.1f}")


def _sizes(place: Path) -> dict[str, int]:
    """Bytes by distribution, compiled files included; what belongs to none is not ours."""
    libraries = [str(one) for one in place.glob("lib*/python*/site-packages")]
    return {
        one.name: sum(_size(Path(str(file.locate()))) for file in one.files or ())
        for one in distributions(path=libraries)
    }


def _size(file: Path) -> int:
    return file.stat().st_size if file.is_file() else 0


if __name__ == "__main__":
    main()
