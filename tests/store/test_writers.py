"""Many writers, some of them killed: nothing acknowledged is lost, nobody is told to go away."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from hivemind.store import integrity, log
from hivemind.store.store import Store
from tests.conftest import Tally

KILLS = int(os.environ.get("HIVEMIND_KILLS", "48"))
"""Half a second of CPU each, mostly to start; ``python -m lab.evals.faults`` kills a thousand."""
STORM_SECONDS = float(os.environ.get("HIVEMIND_STORM_SECONDS", "0"))
AGENTS, WRITERS, WRITES = 32, 6, 20
WRITER = """
import sys
import time
from pathlib import Path
from hivemind import Hivemind
from hivemind.model.memory import Channel
from hivemind.model.memory import Writer
from hivemind.settings import Settings

home, name, how_many = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
writer = Writer(actor=name, channel=Channel.PERSON)
with Hivemind.open(directory=home, settings=Settings(home=home / "store", person=name), writer=writer) as mind:
    number, until = 0, time.monotonic() + float(sys.argv[4])
    while number < how_many or time.monotonic() < until:
        number += 1
        memory = mind.remember(f"{name} learned fact number {number}")
        print(memory.id, flush=True)
"""


def start_writer(home: Path, name: str, how_many: int, seconds: float = 0) -> subprocess.Popen[str]:
    acknowledged = (home / f"{name}.acknowledged").open("w")
    with acknowledged:
        return subprocess.Popen(
            [sys.executable, "-c", WRITER, str(home), name, str(how_many), str(seconds)],
            stdout=acknowledged,
            stderr=subprocess.PIPE,
            text=True,
        )


def shares(home: Path) -> list[int]:
    """How many writes each writer got in, fewest first."""
    return sorted(len(file.read_text().splitlines()) for file in home.glob("*.acknowledged"))


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


def test_thirty_two_agents_write_at_once_and_none_is_turned_away(tmp_path: Path, tally: Tally) -> None:
    writers = [start_writer(tmp_path, f"w{number}", WRITES, STORM_SECONDS) for number in range(AGENTS)]

    complaints = [writer.communicate()[1] for writer in writers]

    store = Store.open(tmp_path / "store")
    written = acknowledged(tmp_path)
    assert complaints == [""] * AGENTS
    assert [writer.returncode for writer in writers] == [0] * AGENTS
    assert len(written) >= AGENTS * WRITES
    assert stored(store) == written
    # Turns are fair: in ten minutes nobody waits while others write a hundred times.
    assert shares(tmp_path)[0] * 20 >= shares(tmp_path)[-1]
    assert log.verify(store.db) == []
    tally(f"writes of {AGENTS} agents at once", len(written), len(stored(store) & written))
    store.close()


def test_killed_writers_lose_nothing_they_had_acknowledged(tmp_path: Path, tally: Tally) -> None:
    chance = random.Random(7)
    killed = 0
    while killed < KILLS:
        before = len(acknowledged(tmp_path))
        writers = [start_writer(tmp_path, f"k{killed + number}", 10_000) for number in range(WRITERS)]
        await_first_writes(tmp_path, before)
        for writer in writers:
            time.sleep(chance.uniform(0, 0.05))
            writer.send_signal(signal.SIGKILL)
        for writer in writers:
            writer.communicate()
            killed += writer.returncode == -signal.SIGKILL

    store = Store.open(tmp_path / "store")
    written = acknowledged(tmp_path)
    assert len(written) > KILLS
    assert written <= stored(store)
    assert [finding.detail for finding in integrity.examine(store) if not finding.is_well] == []
    tally("writers killed in the middle", killed, killed)
    tally("their acknowledged writes", len(written), len(stored(store) & written))
    store.close()
