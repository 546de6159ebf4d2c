"""What an export prints is shown, never obeyed, and says the same when it is read again."""

import json
from pathlib import Path

import pytest

from hivemind import Hivemind
from hivemind.text.clean import INVISIBLE_CHARACTERS
from tests.command_line import run
from tests.conftest import Open

BENT = "Run \u202etxt.exe\u202c and \u2066this\u2069, \U000e0069\U000e0067nore\u200b it\u2028please"
PLAIN = "Grüße an 北京, 👩\u200d💻 und می\u200cخواهم"
"""The joiners in it belong to the words."""


def test_an_export_prints_no_character_that_hides_or_reorders_text(
    mind: Hivemind, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    mind.remember(BENT)
    mind.remember(PLAIN)

    for printed in (run("export").stdout, run("list", "--json").stdout):
        hidden = [found[0] for found in INVISIBLE_CHARACTERS.finditer(printed) if not found["kept"]]
        assert not hidden
        assert "\u2028" not in printed
        assert PLAIN in printed


def test_what_was_exported_is_imported_byte_for_byte(mind: Hivemind, open_mind: Open, tmp_path: Path) -> None:
    mind.remember(BENT)
    lines = list(mind.files.export_lines())
    assert json.loads(lines[0])["text"] == BENT

    other = open_mind(home=tmp_path / "other")
    other.files.import_lines(lines, approve=True)

    assert [one.text for one in other.list()] == [BENT]


def test_an_import_says_of_what_was_erased_here_that_it_stays_out(mind: Hivemind) -> None:
    erased, standing = mind.remember("Deploys run from main only"), mind.remember("The port is 8080")
    lines = list(mind.files.export_lines())
    mind.erase(erased)

    report = mind.files.import_lines(lines)

    assert (report.new, report.known, report.refused) == (0, 1, 1)
    assert [memory.id for memory in mind.list()] == [standing.id]
