"""Cues of commands, notes and errors, and the file that keeps their digests."""

from pathlib import Path

import pytest

from hivemind.sessions.action_cues import read_action
from hivemind.text import cues


@pytest.mark.parametrize(
    ("note", "command", "is_concerned"),
    [
        ("Use pnpm, not npm", "CI=1 npm install", True),
        ("Use pnpm, not npm", "pnpm install", False),
        ("Never run npm install here", "npm test", False),
        ("Never run npm install here", "sudo npm install", True),
        ("Tests need the database", "npx vitest run", True),
        ("Tests need the database", "npm install pkg@latest", False),
        ("Migrations must run before the server starts", "make migrate", True),
    ],
)
def test_a_note_concerns_the_commands_it_warns_of(note: str, command: str, is_concerned: bool) -> None:
    common = set(cues.list_command_cues(command)) & set(cues.list_warning_cues(note))

    assert bool(common) == is_concerned


def test_an_error_is_the_same_whatever_its_numbers_and_folders_and_another_is_not() -> None:
    error = "src/app.py:12: ImportError: cannot import name 'Engine'"

    assert cues.states_error(error, ["/home/bob/src/app.py:99: ImportError: cannot import name 'Engine' from 'db'"])
    assert not cues.states_error(error, ["ImportError: no module named 'left_pad'"])


def test_the_cue_file_finds_what_was_written_and_nothing_else_until_it_is_discarded(tmp_path: Path) -> None:
    home, root = str(tmp_path), "/somewhere"
    assert cues.find_hits(home, root, "s1", ["c npm"]) is None

    cues.write_file(home, root, [f"c command{number}" for number in range(500)])
    hits = cues.find_hits(home, root, "s1", ["c command7", "c other", "c command499"])
    cues.mark_answered(home, root, "s1", ["c command7"])

    assert hits == ["c command7", "c command499"]
    assert cues.find_hits(home, root, "s1", ["c command7"]) == []
    assert cues.find_hits(home, root, "s2", ["c command7"]) == ["c command7"]
    assert cues.find_hits(home, "/elsewhere", "s1", ["c command7"]) is None
    cues.discard_files(home)
    assert cues.find_hits(home, root, "s1", ["c command7"]) is None


def test_a_cue_file_of_another_version_counts_as_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cues.write_file(str(tmp_path), "/somewhere", ["c npm"])

    monkeypatch.setattr(cues, "TABLE", ".0.1.0")

    assert cues.find_hits(str(tmp_path), "/somewhere", "s1", ["c npm"]) is None
    cues.discard_files(str(tmp_path))
    assert list((tmp_path / cues.FOLDER).iterdir()) == []


@pytest.mark.parametrize("left", [0, 9, 16 + 8 + 3])
def test_a_cue_file_that_a_power_cut_left_in_part_counts_as_missing(tmp_path: Path, left: int) -> None:
    home, root = str(tmp_path), "/somewhere"
    cues.write_file(home, root, ["c npm", "c make"])
    (file,) = (tmp_path / cues.FOLDER).iterdir()

    file.write_bytes(file.read_bytes()[:left])

    assert cues.find_hits(home, root, "s1", ["c npm"]) is None
    assert not cues.has_file(home, root)


def test_a_file_outside_the_working_tree_has_no_cue(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    inside = f'{{"cwd": "{tmp_path}", "tool_input": {{"file_path": "a.py"}}}}'
    outside = inside.replace("a.py", "../a.py")

    actions = [read_action("claude-code", "PreToolUse", text) for text in (inside, outside)]

    assert [action[2] for action in actions if action] == [["f a.py", "gf a.py", "gf *"], []]
