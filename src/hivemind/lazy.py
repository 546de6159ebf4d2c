"""The one way to import a module when it is first needed, for what takes long to import and is often not used."""

import importlib
from collections.abc import Callable
from typing import Any


def when_called(module: str, name: str) -> Callable[..., Any]:
    """Return a function that imports its module when it is first called; a class is made in the same way."""

    def call(*values: Any, **options: Any) -> Any:
        return getattr(importlib.import_module(f"hivemind.{module}"), name)(*values, **options)

    return call


class LazyModule:
    """Stands for a module of this package, which is imported when something of it is first used."""

    def __init__(self, name: str) -> None:
        self._name = f"hivemind.{name}"

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)
