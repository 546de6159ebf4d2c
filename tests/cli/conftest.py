"""Commands run in an empty directory."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def in_a_plain_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
