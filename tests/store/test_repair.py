"""A damaged store: the doctor says so, and repair saves what verifies, no more and no less."""

import json
import os
import random
from pathlib import Path

import apsw
import pytest

from hivemind import Hivemind
from hivemind.errors import StoreError
from hivemind.store.store import FILE, Store
from tests.command_line import residue, run, run_json
from tests.conftest import Open, Tally
from tests.store.flips import measured

FLIPS = int(os.environ.get("HIVEMIND_FLIPS", "40"))
MARK = "zanzibar-7719"


def flip(file: Path, at: int) -> None:
    raw = bytearray(file.read_bytes())
    raw[at] ^= 1
    file.write_bytes(bytes(raw))


def altered(home: Path, sql: str) -> None:
    """Change the file behind the program's back."""
    connection = apsw.Connection(str(home / FILE))
    connection.execute(sql)
    connection.close()


def unwell() -> list[str]:
    seen = ("store", "file", "log", "word index", "vectors", "tables")
    return [one["what"] for one in run_json_of_a_sick("doctor") if not one["is_well"] and one["what"] in seen]


def run_json_of_a_sick(*arguments: str) -> list[dict[str, str]]:
    return list(json.loads(run(*arguments, "--json").stdout))


def texts() -> set[str]:
    return {one["text"] for one in run_json("list", "--everywhere", "--limit", "1000")}


def test_a_healthy_store_needs_no_repair(mind: Hivemind, home: Path) -> None:
    mind.remember("Deploys run from main")
    before = {file.name for file in home.iterdir()}

    done = run("repair")

    assert done.exit_code == 0
    assert "none lost; the tables match the log" in done.output
    assert {file.name for file in home.iterdir()} == before


@pytest.mark.parametrize("table", ["memories", "receipts"])
def test_a_table_that_says_something_else_is_found_and_derived_again(mind: Hivemind, home: Path, table: str) -> None:
    mind.remember("Deploys run from main")
    mind.recall("deploys")
    mind.close()
    altered(home, {"memories": "UPDATE memories SET trust = 1", "receipts": "DELETE FROM receipts"}[table])

    found = unwell()
    done = run("repair")

    assert found == ["tables"]
    assert done.exit_code == 0
    assert unwell() == []


def test_content_that_was_changed_is_lost_and_the_rest_is_saved(mind: Hivemind, home: Path) -> None:
    mind.remember("Deploys run from main")
    mind.remember(f"The code word is {MARK}")
    mind.remember("Tests run without a network")
    mind.close()
    raw = (home / FILE).read_bytes()
    flip(home / FILE, raw.find(MARK.encode(), raw.find(b'"text":"The code word')))
    altered(home, "UPDATE bodies SET content = replace(content, 'zanzibar', 'bermuda')")

    found = unwell()
    done = run("repair")

    assert "log" in found
    assert done.exit_code == 1
    assert "content of 1 others" in done.output
    assert texts() == {"Deploys run from main", "Tests run without a network"}
    assert unwell() == []
    assert run("log", "--audit").exit_code == 0


def test_an_entry_that_is_gone_leaves_a_gap_on_record(mind: Hivemind, home: Path) -> None:
    mind.remember("Deploys run from main")
    lost = mind.remember(f"The code word is {MARK}")
    mind.remember("Tests run without a network")
    mind.close()
    altered(home, f"DELETE FROM bodies WHERE position = (SELECT position FROM events WHERE about = '{lost.id}')")
    altered(home, f"DELETE FROM events WHERE about = '{lost.id}'")

    found = unwell()
    done = run("repair")

    assert "log" in found
    assert "Lost: 1 entry" in done.output
    assert texts() == {"Deploys run from main", "Tests run without a network"}
    assert unwell() == []
    assert "entries.lost" in run("log").output


def test_a_gap_on_record_excuses_no_other_gap(mind: Hivemind, home: Path) -> None:
    first, second = mind.remember("Deploys run from main"), mind.remember("The port is 8080")
    mind.remember("Tests run without a network")
    mind.close()
    altered(home, f"DELETE FROM events WHERE about = '{first.id}'")
    run("repair")

    altered(home, f"DELETE FROM events WHERE about = '{second.id}'")

    assert "log" in unwell()


def test_a_header_that_was_changed_is_not_believed(mind: Hivemind, home: Path) -> None:
    changed = mind.remember("Deploys run from main")
    mind.remember("Tests run without a network")
    mind.close()
    altered(home, f"UPDATE events SET channel = 'file' WHERE about = '{changed.id}'")

    done = run("repair")

    assert "Lost: 1 entry" in done.output
    assert texts() == {"Tests run without a network"}


def test_pages_that_no_longer_read_cost_only_what_lies_on_them(mind: Hivemind, home: Path, tally: Tally) -> None:
    for number in range(300):
        mind.remember(f"Service number {number} listens on port {9000 + number}")
    mind.close()
    connection = apsw.Connection(str(home / FILE))
    leaves = [row[0] for row in connection.execute(
        "SELECT pageno FROM dbstat WHERE name = 'bodies' AND pagetype = 'leaf' ORDER BY pageno")]  # fmt: skip
    connection.close()
    raw = bytearray((home / FILE).read_bytes())
    at = (leaves[len(leaves) // 2] - 1) * 4096
    raw[at : at + 4096] = random.Random(1).randbytes(4096)
    (home / FILE).write_bytes(bytes(raw))

    found = unwell()
    done = run("repair")

    assert found
    assert done.exit_code == 1
    assert 270 < len(texts()) < 300
    tally("memories beside a page that no longer reads", 300, len(texts()))
    assert unwell() == []


def test_what_was_erased_stays_erased_through_a_repair(mind: Hivemind, home: Path) -> None:
    mind.erase(mind.remember(f"The code word is {MARK}").id)
    kept = mind.remember("Deploys run from main")
    mind.remember("Tests run without a network")
    mind.close()
    altered(home, f"UPDATE events SET actor = 'mallory' WHERE about = '{kept.id}'")

    run("repair")

    assert texts() == {"Tests run without a network"}
    assert run("remember", f"the code word is {MARK}").exit_code == 4
    assert residue(home, MARK.encode()) == []


def test_a_file_of_which_nothing_is_left_is_not_replaced_by_an_empty_one(mind: Hivemind, home: Path) -> None:
    mind.remember("Deploys run from main")
    mind.close()
    (home / FILE).write_bytes(b"")

    done = run("repair")

    assert done.exit_code == 5
    assert "hivemind backup list" in done.output


def test_another_store_in_its_place_is_not_blessed_by_a_repair(
    mind: Hivemind, open_mind: Open, home: Path, tmp_path: Path
) -> None:
    other = open_mind(home=tmp_path / "other")
    other.remember("Said elsewhere")
    other.close()
    mind.close()
    (home / FILE).write_bytes((tmp_path / "other" / FILE).read_bytes())

    done = run("repair")

    assert done.exit_code == 5
    assert "another store" in done.output


def test_writing_to_a_file_that_was_replaced_is_refused(mind: Hivemind, home: Path) -> None:
    mind.remember("Deploys run from main")
    copy = (home / FILE).read_bytes()
    (home / "copy").write_bytes(copy)
    (home / "copy").replace(home / FILE)

    with pytest.raises(StoreError, match="replaced while it was open"):
        mind.remember("This would be gone")


@pytest.mark.parametrize("sql", ["DROP TABLE identity", "DELETE FROM identity", "DROP TABLE events"])
def test_a_store_that_lost_a_table_says_so(mind: Hivemind, home: Path, sql: str) -> None:
    mind.close()
    altered(home, f"PRAGMA foreign_keys = OFF; {sql}")

    told = run("doctor")

    assert told.exit_code == 1
    assert "hivemind repair" in told.output
    assert "Traceback" not in told.output


def test_the_doctor_finds_nearly_all_flipped_bits(home: Path, tally: Tally) -> None:
    seen = measured(home, memories=FLIPS, flips=FLIPS, seed=11)

    tally("single bits flipped, found by the doctor", seen.tried, seen.found)
    assert seen.false_alarms == 0
    # A few lie where nothing can tell, such as a comment of the schema; a small sample may have more of them.
    assert seen.found >= (0.97 if FLIPS >= 400 else 0.9) * seen.tried


def test_a_bit_in_free_space_is_found(mind: Hivemind, home: Path) -> None:
    mind.remember("Deploys run from main")
    mind.close()
    store = Store.open(home)
    store.checkpoint()
    page = store.db.value("SELECT pageno FROM dbstat WHERE name = 'bookmarks'")
    store.close()
    before = unwell()
    flip(home / FILE, (page - 1) * 4096 + 2000)

    assert before == []
    assert unwell() == ["file"]
