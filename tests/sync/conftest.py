from pathlib import Path

import pytest

from hivemind import Hivemind
from tests.conftest import Open
from tests.sync.machines import Machines


@pytest.fixture
def machine(open_mind: Open, tmp_path: Path) -> Machines:
    """Return a function that opens the memory of a machine by its name."""

    def open_machine(name: str, **options: object) -> Hivemind:
        return open_mind(home=tmp_path / name, **options)

    return open_machine


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "folder"
