"""Long work lets others in: imports, rebuilds and checkpoints hold the write lock for a moment at a time."""

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import apsw

from hivemind import Hivemind
from hivemind.errors import StoreBusy
from hivemind.model.memory import Channel, Writer
from hivemind.settings import Settings
from hivemind.store import integrity, log
from hivemind.store.sqlite import Sqlite
from hivemind.store.store import FILE, Store
from tests.command_line import run_json
from tests.store.stores import lived_in, opened

EXPORTED = {
    "hivemind": 1,
    "kind": "fact",
    "owner": "ada",
    "scope": "user",
    "repo": "",
    "sources": [{"channel": "person"}],
}


MANY = 1_900
"""Memories of an import; to import them takes some seconds."""


def hurried(home: Path) -> Hivemind:
    """The store for somebody who does not wait, as a hook."""
    writer = Writer(actor="ada", channel=Channel.PERSON)
    settings = Settings(home=home, person="ada")
    return Hivemind.open(directory=home.parent, settings=settings, writer=writer, is_hurried=True)


def write_lines(file: Path, count: int) -> None:
    lines = ({**EXPORTED, "id": f"{n:032x}", "text": f"Service {n} listens on port {9000 + n}"} for n in range(count))
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


def start_import(file: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "hivemind", "import", "memories", "--approve", str(file)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def await_memories(home: Path, count: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with opened(home) as mind:
            if len(mind.list(limit=count, everywhere=True)) == count:
                return
        time.sleep(0.02)


def test_others_write_while_many_memories_are_imported(tmp_path: Path, home: Path) -> None:
    opened(home).close()
    write_lines(tmp_path / "memories.jsonl", MANY)
    importing = start_import(tmp_path / "memories.jsonl")
    await_memories(home, 1)

    written = 0
    while importing.poll() is None:
        with opened(home) as mind:
            mind.remember(f"Meanwhile somebody noted {written}")
        written += 1
    importing.communicate()

    assert importing.returncode == 0
    assert written > 1
    assert run_json("status", "--counts")["events"] >= MANY + written


def test_an_import_that_was_stopped_goes_on_where_it_stopped(tmp_path: Path, home: Path) -> None:
    opened(home).close()
    write_lines(tmp_path / "memories.jsonl", MANY)
    importing = start_import(tmp_path / "memories.jsonl")
    await_memories(home, 1)
    importing.send_signal(signal.SIGINT)
    _, told = importing.communicate()
    with opened(home) as mind:
        kept = len(mind.list(limit=2000, everywhere=True))

    report = run_json("import", "memories", "--approve", str(tmp_path / "memories.jsonl"))

    assert importing.returncode == 130
    assert "the same command imports the rest" in told
    assert 0 < kept < MANY
    assert (report["new"], report["known"]) == (MANY - kept, kept)


def test_others_read_and_write_while_the_tables_are_rebuilt(home: Path) -> None:
    lived_in(home, 40)
    with opened(home) as mind:
        before = {memory.id: memory for memory in mind.list(limit=1000, everywhere=True)}
    erased = next(iter(before))
    added: list[str] = []

    def write_meanwhile(*_: int) -> None:
        if added:
            return
        with hurried(home) as other:
            added.append(other.remember("Somebody writes during a rebuild").id)
            other.erase(erased, everywhere=True)

    with Store.open(home) as store:
        store.rebuild(write_meanwhile)
        # The same connection goes on with the new tables.
        assert [finding.detail for finding in integrity.examine(store) if not finding.is_well] == []
    with opened(home) as mind:
        mind.remember("And somebody writes after it")
        after = {memory.id: memory for memory in mind.list(limit=1000, everywhere=True)}
        found = mind.recall("who writes during a rebuild?")

    assert erased not in after
    assert added[0] in after
    assert {id_: memory for id_, memory in after.items() if id_ in before} == {
        id_: memory for id_, memory in before.items() if id_ != erased
    }
    assert found.hits[0].memory.id == added[0]
    assert run_json("status", "--counts")["events"] == log_entries(home)


def log_entries(home: Path) -> int:
    with Store.open(home) as store:
        return log.count_entries(store.db)


def test_a_rebuild_starts_again_if_the_log_was_replaced_meanwhile(home: Path) -> None:
    with opened(home) as mind:
        mind.remember("Deploys run on Fridays")
        backup = Path(mind.maintenance.backup().file)
        mind.remember("This was said after the backup")
    replaced: list[str] = []

    def restore(*_: int) -> None:
        if not replaced:
            replaced.append(run_json("backup", "restore", str(backup), "--yes")["before"])

    with Store.open(home) as store:
        store.rebuild(restore)
        assert [finding.detail for finding in integrity.examine(store) if not finding.is_well] == []

    with opened(home) as mind:
        assert [memory.text for memory in mind.list(everywhere=True)] == ["Deploys run on Fridays"]


def test_a_rebuild_that_fails_leaves_the_tables_as_they_were(home: Path) -> None:
    lived_in(home, 10)

    def fail(*_: int) -> None:
        raise StoreBusy("stopped on purpose")

    with Store.open(home) as store:
        try:
            store.rebuild(fail)
        except StoreBusy:
            assert [finding.detail for finding in integrity.examine(store) if not finding.is_well] == []
        else:
            raise AssertionError("nothing was rebuilt")


def test_a_checkpoint_that_waits_for_a_reader_lets_writers_in(home: Path) -> None:
    with opened(home) as mind:
        mind.remember("Deploys run on Fridays")
        reader = apsw.Connection(str(home / FILE), flags=apsw.SQLITE_OPEN_READONLY)
        reader.execute("BEGIN")
        assert list(reader.execute("SELECT count(*) FROM memories")) == [(1,)]
        mind.remember("A reader still sees the store without this")
        outcome: list[bool] = []

        def checkpoint() -> None:
            with Sqlite.open(home / FILE) as db:
                outcome.append(db.checkpoint(3.0))

        waiting = threading.Thread(target=checkpoint)
        waiting.start()
        written = 0
        while waiting.is_alive():
            mind.remember(f"Written meanwhile: {written}")
            written += 1
        waiting.join()

    assert written > 1
    assert outcome == [False]
    reader.execute("COMMIT")
    with Sqlite.open(home / FILE) as db:
        assert db.checkpoint(60.0)
