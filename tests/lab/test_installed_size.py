"""How much room an installation takes; ``python -m lab.benchmarks.install`` measures a fresh one."""

from pathlib import Path

import hivemind
from lab.benchmarks.install import BUDGET_MEGABYTES, measure_dependencies


def test_the_package_and_what_it_needs_stay_within_the_budget() -> None:
    package = Path(hivemind.__file__).parent
    own_size = sum(file.stat().st_size for file in package.rglob("*") if file.is_file() and file.suffix != ".pyc")
    sizes = measure_dependencies("hivemind-memory")

    assert {"numpy", "apsw", "tree-sitter-python"} <= sizes.keys()
    assert min(sizes.values()) > 0
    assert "psycopg" not in sizes
    assert (own_size + sum(sizes.values())) / 1e6 <= BUDGET_MEGABYTES
