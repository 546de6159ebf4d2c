"""Functions are found by their file and name, and stand beside what people search for them with."""

import json
from pathlib import Path

import pytest

from lab.training import functions


def test_a_function_is_read_from_a_package(tmp_path: Path) -> None:
    (tmp_path / "boxes").mkdir()
    (tmp_path / "boxes" / "lids.py").write_text("class Lid:\n    def close(self):\n        return 1\n")

    assert functions.read_function(tmp_path, "boxes/lids.py:close") == "def close(self):\n    return 1"
    assert functions.read_function(tmp_path, "boxes/lids.py:open") is None
    assert functions.read_function(tmp_path, "boxes/gone.py:close") is None


def test_functions_become_notes_of_projects_with_their_searches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "boxes.py").write_text("def close():\n    return 1\n")
    searches, out = tmp_path / "searches.jsonl", tmp_path / "notes.jsonl"
    lines = [{"function": f"boxes.py:{name}", "searches": ["shut a box"]} for name in ("close", "gone")]
    searches.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    monkeypatch.setattr("sys.argv", ["functions", str(tmp_path), str(searches), str(out)])

    functions.main()

    notes = [json.loads(line) for line in out.read_text().splitlines()]
    assert notes == [{"project": "functions 0", "note": "def close():\n    return 1", "question": ["shut a box"]}]
