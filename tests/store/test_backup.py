"""A copy made while others write, and a way back that never brings back what was erased."""

import itertools
import subprocess
import sys
from pathlib import Path

import pytest

from hivemind import Hivemind
from hivemind.errors import Refused
from hivemind.model.memory import Status
from hivemind.store.store import FILE
from tests.command_line import residue, run, run_json
from tests.conftest import Open, Tally

MARK = "zanzibar-7719"


def texts(mind: Hivemind) -> set[str]:
    return {memory.text for memory in mind.list(limit=1000)}


def is_well() -> bool:
    return all(finding["is_well"] for finding in run_json("doctor") if finding["what"] in ("file", "log", "tables"))


def test_a_backup_holds_what_was_there_and_is_listed(mind: Hivemind) -> None:
    mind.remember("Deploys run from main")

    made = run_json("backup")

    assert [one["file"] for one in run_json("backup", "list")] == [made["file"]]
    assert made["entries"] > 0
    assert residue(Path(made["file"]).parent, b"Deploys run from main")


def test_backups_are_listed_and_restored_when_the_store_no_longer_opens(mind: Hivemind, home: Path) -> None:
    mind.remember("Deploys run from main")
    made = run_json("backup")
    mind.close()
    (home / "memory.db").write_bytes(b"not a database at all" * 100)

    listed = run_json("backup", "list")
    run("backup", "restore", Path(listed[0]["file"]).name, "--yes")

    assert [backup["file"] for backup in listed] == [made["file"]]
    assert is_well()


def test_a_backup_made_while_others_write_is_whole(tmp_path: Path, home: Path) -> None:
    writing = subprocess.Popen(
        [sys.executable, "-c", "from hivemind import Hivemind\n"
         "with Hivemind.open() as mind:\n"
         "    print('begun', flush=True)\n"
         "    for number in range(10_000): mind.remember(f'fact number {number}')"],
        stdout=subprocess.PIPE, cwd=tmp_path,
    )  # fmt: skip
    assert writing.stdout
    writing.stdout.readline()

    made = [run_json("backup", str(tmp_path / f"copy-{number}.db")) for number in range(5)]
    writing.kill()
    writing.communicate()

    assert all(earlier["entries"] <= later["entries"] for earlier, later in itertools.pairwise(made))
    assert run("backup", "restore", made[-1]["file"], "--yes").exit_code == 0
    assert is_well()


def test_restoring_goes_back_and_can_be_undone(mind: Hivemind) -> None:
    mind.remember("The old port is 8080")
    made = run_json("backup")
    mind.remember("The new port is 9090")

    back = run_json("backup", "restore", made["file"])
    then = texts(mind)
    run_json("backup", "restore", Path(back["before"]).name)

    assert then == {"The old port is 8080"}
    assert texts(mind) == {"The old port is 8080", "The new port is 9090"}
    assert is_well()


def test_restoring_asks_first(mind: Hivemind) -> None:
    mind.remember("The old port is 8080")
    made = run_json("backup")
    mind.remember("The new port is 9090")

    declined = run("backup", "restore", made["file"], stdin="n\n")

    assert declined.exit_code == 1
    assert len(texts(mind)) == 2


def test_a_backup_that_does_not_exist_is_named_before_anybody_is_asked(mind: Hivemind) -> None:
    mind.remember("The old port is 8080")

    missing = run("backup", "restore", "nothing.db", stdin="y\n")

    assert missing.exit_code == 2
    assert "Replace" not in missing.output
    assert "hivemind backup list" in missing.stderr


def test_what_was_erased_since_does_not_come_back_from_a_backup_elsewhere(
    mind: Hivemind, tmp_path: Path, home: Path
) -> None:
    erased = mind.remember(f"The code word is {MARK}")
    mind.remember("Deploys run from main")
    made = run_json("backup", str(tmp_path / "elsewhere.db"))
    mind.erase(erased.id)

    back = run_json("backup", "restore", made["file"])

    assert MARK.encode() in (tmp_path / "elsewhere.db").read_bytes()
    assert back["kept_out"] == 1
    assert texts(mind) == {"Deploys run from main"}
    assert residue(home, MARK.encode()) == []
    with pytest.raises(Refused, match="erased"):
        mind.remember(f"the code word is {MARK}")
    assert is_well()


def test_erasing_reaches_the_backups_beside_the_store(mind: Hivemind, home: Path) -> None:
    erased = mind.remember(f"The code word is {MARK}")
    made = run_json("backup")
    held = residue(home / "backups", MARK.encode())

    receipt = mind.erase(erased.id)

    assert held
    assert residue(home, MARK.encode()) == []
    assert [place.state for place in receipt.places if place.name.startswith("backups/")] == ["done"]
    assert run("backup", "restore", made["file"], "--yes").exit_code == 0
    assert texts(mind) == set()


def test_what_was_rejected_since_stays_rejected(mind: Hivemind) -> None:
    wrong = mind.remember("Tests need a network")
    made = run_json("backup")
    mind.reject(wrong.id)

    run_json("backup", "restore", made["file"])

    assert mind.show(wrong.id).status is Status.RETRACTED
    with pytest.raises(Refused, match="rejected"):
        mind.remember("tests need a network")


@pytest.mark.parametrize("wreck", ["missing", "empty", "garbage", "cut"])
def test_a_backup_restores_over_a_wreck(mind: Hivemind, home: Path, tally: Tally, wreck: str) -> None:
    mind.remember("Deploys run from main")
    made = run_json("backup")
    mind.close()
    file = home / FILE
    match wreck:
        case "missing":
            file.unlink()
        case "empty":
            file.write_bytes(b"")
        case "garbage":
            file.write_bytes(b"no database at all " * 1000)
        case "cut":
            file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])

    told = run("doctor")
    back = run("backup", "restore", made["file"], "--yes")

    assert told.exit_code == 1
    assert "backup restore" in told.output
    assert back.exit_code == 0, back.output
    assert [one["text"] for one in run_json("list", "--everywhere")] == ["Deploys run from main"]
    assert is_well()
    tally("file missing, empty, garbage or cut; restored", 1, 1)


def test_erasures_are_carried_over_from_a_damaged_store(mind: Hivemind, home: Path, tmp_path: Path) -> None:
    erased = mind.remember(f"The code word is {MARK}")
    made = run_json("backup", str(tmp_path / "elsewhere.db"))
    mind.erase(erased.id)
    mind.remember("A later fact, soon to be damaged")
    mind.close()
    raw = bytearray((home / FILE).read_bytes())
    at = raw.find(b"A later fact, soon to be damaged")
    raw[at] ^= 1
    (home / FILE).write_bytes(bytes(raw))

    run_json("backup", "restore", made["file"])

    assert residue(home, MARK.encode()) == []
    assert run_json("list", "--everywhere") == []


def test_a_damaged_backup_is_refused_and_nothing_changes(mind: Hivemind) -> None:
    mind.remember("Deploys run from main")
    file = Path(run_json("backup")["file"])
    raw = bytearray(file.read_bytes())
    raw[raw.find(b"Deploys run from main")] ^= 1
    file.write_bytes(bytes(raw))

    refused = run("backup", "restore", str(file), "--yes")

    assert refused.exit_code == 5
    assert "damaged" in refused.output
    assert texts(mind) == {"Deploys run from main"}


def test_a_backup_of_another_store_is_refused_where_something_was_erased(
    mind: Hivemind, open_mind: Open, tmp_path: Path
) -> None:
    other = open_mind(home=tmp_path / "other")
    other.remember("Said elsewhere")
    made = other.maintenance.backup(str(tmp_path / "other.db"))
    mind.erase(mind.remember(f"The code word is {MARK}").id)

    refused = run("backup", "restore", made.file, "--yes")
    named = run("--store", "from/elsewhere", "backup", "restore", made.file, "--yes")

    assert refused.exit_code == 4
    assert named.exit_code == 0
    assert "Said elsewhere" in run("--store", "from/elsewhere", "list", "--everywhere").output


def test_an_agent_may_not_restore(mind: Hivemind, monkeypatch: pytest.MonkeyPatch) -> None:
    mind.remember("Deploys run from main")
    made = run_json("backup")
    monkeypatch.setenv("CLAUDECODE", "1")

    assert run("backup", "restore", made["file"], "--yes").exit_code == 4


def test_a_writer_that_had_it_open_goes_on_after_a_restore(mind: Hivemind) -> None:
    mind.remember("The old port is 8080")
    made = run_json("backup")

    run_json("backup", "restore", made["file"])
    mind.remember("Said after the restore")

    assert texts(mind) == {"The old port is 8080", "Said after the restore"}
    assert is_well()


def test_a_file_that_is_no_backup_is_refused_without_blaming_the_store(mind: Hivemind, tmp_path: Path) -> None:
    mind.remember("Deploys run from main")
    (tmp_path / "notes.txt").write_text("no database at all " * 1000)

    refused = run("backup", "restore", str(tmp_path / "notes.txt"), "--yes")

    assert (refused.exit_code, "notes.txt is not a database" in refused.stderr) == (2, True)
    assert texts(mind) == {"Deploys run from main"}


def test_restore_of_a_memory_points_at_restore_of_a_backup(mind: Hivemind) -> None:
    mind.remember("Deploys run from main")
    made = run_json("backup")

    said = run("restore", made["file"])

    assert said.exit_code == 2
    assert "hivemind backup restore" in said.output
