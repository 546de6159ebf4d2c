"""Many writers, some of them killed: nothing acknowledged is lost, nobody is told to go away."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from hivemind.store import Store, checkup, log

KILLS = int(os.environ.get("HIVEMIND_KILLS", "200"))
WRITER = """
import sys
from pathlib import Path
from hivemind import Hivemind
from hivemind.model.memory import Channel
from hivemind.model.writer import Writer
from hivemind.settings import Settings

home, name, how_many = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
writer = Writer(actor=name, channel=Channel.PERSON)
with Hivemind.open(directory=home, settings=Settings(home=home / "store", person=name), writer=writer) as mind:
    for number in range(how_many):
        memory = mind.remember(f"{name} learned fact number {number}")
        print(memory.id, flush=True)
"""


def start_writer(home: Path, name: str, how_many: int) -> subprocess.Popen[str]:
    acknowledged = (home / f"{name}.acknowledged").open("w")
    with acknowledged:
        return subprocess.Popen(
            [sys.executable, "-c", WRITER, str(home), name, str(how_many)],
            stdout=acknowledged,
            stderr=subprocess.PIPE,
            text=True,
        )


def acknowledged(home: Path) -> set[str]:
    """Ids that a writer printed whole, which it does only after the memory was committed."""
    lines = [line for file in home.glob("*.acknowledged") for line in file.read_text().split("\n")]
    return {line for line in lines if len(line) == 32}


def await_first_writes(home: Path, before: int) -> None:
    """Killing what has not begun proves nothing."""
    deadline = time.monotonic() + 60
    while len(acknowledged(home)) < before + 8 and time.monotonic() < deadline:
        time.sleep(0.02)


def stored(store: Store) -> set[str]:
    return {row[0] for row in store.db.execute("SELECT id FROM memories")}


def test_thirty_two_processes_write_at_once_and_none_is_turned_away(tmp_path: Path) -> None:
    writers = [start_writer(tmp_path, f"w{number}", 20) for number in range(32)]

    complaints = [writer.communicate()[1] for writer in writers]

    store = Store.open(tmp_path / "store")
    assert complaints == [""] * 32
    assert [writer.returncode for writer in writers] == [0] * 32
    assert len(acknowledged(tmp_path)) == 32 * 20
    assert stored(store) == acknowledged(tmp_path)
    assert log.verify(store.db) == []
    store.close()


def test_killed_writers_lose_nothing_they_had_acknowledged(tmp_path: Path) -> None:
    chance = random.Random(7)
    killed = 0
    while killed < KILLS:
        before = len(acknowledged(tmp_path))
        writers = [start_writer(tmp_path, f"k{killed + number}", 10_000) for number in range(8)]
        await_first_writes(tmp_path, before)
        for writer in writers:
            time.sleep(chance.uniform(0, 0.05))
            writer.send_signal(signal.SIGKILL)
        for writer in writers:
            writer.communicate()
            killed += writer.returncode == -signal.SIGKILL

    store = Store.open(tmp_path / "store")
    assert len(acknowledged(tmp_path)) > KILLS
    assert acknowledged(tmp_path) <= stored(store)
    assert [finding.detail for finding in checkup.examine(store) if not finding.is_well] == []
    print(f"{killed} kills, {len(acknowledged(tmp_path))} acknowledged writes, 0 lost")
    store.close()
