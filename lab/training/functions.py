"""Put functions beside the searches that were written for them, as notes to train on.

python -m lab.training.functions PACKAGES lab/training/written/searches/python.jsonl WORK/python_functions.jsonl

PACKAGES is a folder that ``pip install --no-deps --target`` filled with the packages named in
lab/training/written/README.md. A function is named by its file and its own name; one that is gone is left out.
"""

import ast
import json
import sys
import sysconfig
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path

RIVALS = 24
"""Functions that are compared with each other, as the notes of one project are."""


def main() -> None:
    """Write the functions as notes."""
    packages, searches, out = map(Path, sys.argv[1:])
    lines = [json.loads(line) for line in searches.read_text("utf-8").splitlines()]
    notes = [
        {"project": f"functions {place // RIVALS}", "note": code, "question": line["searches"]}
        for place, line in enumerate(lines)
        if (code := read_function(packages, line["function"]))
    ]
    out.write_text("".join(f"{json.dumps(note, ensure_ascii=False)}\n" for note in notes), "utf-8")
    print(f"{len(notes):,} of {len(lines):,} functions")


def read_function(packages: Path, name: str) -> str | None:
    """Return the code of a function that is named like ``boltons/iterutils.py:chunked``."""
    file, function = name.split(":")
    roots = [packages, Path(sysconfig.get_paths()["stdlib"])]
    path = next((root / file for root in roots if (root / file).exists()), None)
    return dict(list_functions(path)).get(function) if path else None


@cache
def list_functions(path: Path) -> list[tuple[str, str]]:
    """Return the names and the code of the functions of a file; of several with one name the last counts."""
    source = path.read_text("utf-8")
    return list(_walk(ast.parse(source), source.splitlines()))


def _walk(tree: ast.AST, lines: list[str]) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield node.name, textwrap.dedent("\n".join(lines[node.lineno - 1 : node.end_lineno]))


if __name__ == "__main__":
    main()
