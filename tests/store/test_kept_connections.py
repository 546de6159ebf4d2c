"""A process that answers many hooks keeps the connection to a store for its next answer."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hivemind.errors import StoreBusy
from hivemind.store.sqlite import KEPT, Sqlite

IN_A_HURRY = 0.05


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    file = tmp_path / "memory.db"
    with Sqlite.open(file) as db:
        db.execute("CREATE TABLE notes (text TEXT)")
    KEPT.is_on = True
    yield file
    KEPT.close()


def test_who_opens_a_file_next_gets_the_connection_and_nobody_else_does(file: Path) -> None:
    first = Sqlite.open(file, IN_A_HURRY)
    first.close()
    first.close()

    with Sqlite.open(file, IN_A_HURRY) as again, Sqlite.open(file, IN_A_HURRY) as other, Sqlite.open(file) as patient:
        connections = [db.connection for db in (again, other, patient)]

    assert connections[0] is first.connection
    assert len(set(connections)) == 3


def test_a_kept_connection_reads_what_others_wrote_and_waits_as_long_as_a_new_one(file: Path) -> None:
    Sqlite.open(file, IN_A_HURRY).close()
    with Sqlite.open(file) as other:
        other.execute("INSERT INTO notes VALUES ('new')")
        for _ in range(2):
            with other.transaction(), Sqlite.open(file, IN_A_HURRY) as db, pytest.raises(StoreBusy), db.transaction():
                pass

    with Sqlite.open(file, IN_A_HURRY) as db, db.transaction():
        assert db.execute("SELECT text FROM notes") == [("new",)]


def test_a_connection_to_a_file_that_was_replaced_is_not_used_and_leaves_the_new_log_alone(file: Path) -> None:
    old = Sqlite.open(file, IN_A_HURRY)
    old.execute("INSERT INTO notes VALUES ('old')")
    old.close()
    for name in (file.name, f"{file.name}-wal", f"{file.name}-shm"):
        file.with_name(name).rename(file.with_name(f"old {name}"))
    # As another process has it: SQLite in this one knows which of its connections share a file.
    fill = "import sqlite3, sys, os; db = sqlite3.connect(sys.argv[1]); db.execute('PRAGMA journal_mode = WAL');"
    fill += "db.execute('CREATE TABLE others (text TEXT)'); db.commit(); os._exit(0)"
    subprocess.run([sys.executable, "-c", fill, str(file)], check=True)
    log = file.with_name(f"{file.name}-wal").read_bytes()

    with Sqlite.open(file, IN_A_HURRY) as db:
        assert db.connection is not old.connection
        assert file.with_name(f"{file.name}-wal").read_bytes() == log != b""
        assert db.value("SELECT name FROM sqlite_schema") == "others"


def test_a_process_that_keeps_nothing_closes_its_connections(file: Path) -> None:
    KEPT.close()
    first = Sqlite.open(file, IN_A_HURRY)
    first.close()

    with Sqlite.open(file, IN_A_HURRY) as db:
        assert db.connection is not first.connection
