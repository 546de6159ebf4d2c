"""What the training of models imports from the package exists; mypy does not look there, because torch has no types."""

import ast
import importlib.util
from pathlib import Path

from lab import training

FILES = sorted(Path(training.__file__).parent.rglob("*.py"))


def test_training_imports_only_what_the_package_has() -> None:
    names = {
        (node.module, alias.name)
        for file in FILES
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "hivemind"
        for alias in node.names
    }

    missing = [
        f"{module}.{name}"
        for module, name in sorted(names)
        if not hasattr(importlib.import_module(module), name) and not _is_module(f"{module}.{name}")
    ]

    assert len(names) > 5
    assert missing == []


def _is_module(name: str) -> bool:
    return importlib.util.find_spec(name) is not None
