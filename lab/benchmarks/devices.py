"""Measure the exchange between a person's machines through a folder: the first one, and one with 20 new events.

python -m lab.benchmarks.devices [--memories 100000] [--save]
"""

import argparse
import random
import tempfile
from pathlib import Path

from hivemind import Hivemind
from hivemind.model.claim import Claim
from hivemind.model.memory import Channel, Writer
from hivemind.settings import Settings
from hivemind.sync.devices import Choices
from lab.benchmarks import results
from lab.benchmarks.corpus import sentences
from lab.benchmarks.measure import cpu_and_wall, quantiles

EVENTS, ROUNDS = 20, 5


def main() -> None:
    """Print the CPU time of publishing, of joining, and of sending and receiving 20 events."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=100_000, help="memories on the first machine")
    parser.add_argument("--save", action="store_true", help="save the figures to lab/evals/results")
    options = parser.parse_args()
    texts = sentences(random.Random(1), options.memories + EVENTS * ROUNDS)
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        with open_machine(home, "laptop") as laptop, open_machine(home, "desktop") as desktop:
            laptop.remember_all(Claim(text=text) for text in texts[: options.memories])
            plan = laptop.devices.plan(str(home / "folder"), Choices())
            figures = {"publish all, CPU s": cpu_and_wall(lambda: laptop.devices.set_up(plan, name="laptop"))[0] / 1000}
            phrase, plan = laptop.devices.phrase(), desktop.devices.plan(str(home / "folder"), Choices())
            join = cpu_and_wall(lambda: desktop.devices.set_up(plan, phrase=phrase, name="desktop"))
            figures["join and read all, CPU s"] = join[0] / 1000
            size = sum(file.stat().st_size for file in (home / "folder").rglob("*") if file.is_file())
            figures["bytes per memory"] = size / options.memories
            sent, received = [], []
            for start in range(options.memories, len(texts), EVENTS):
                laptop.remember_all(Claim(text=text) for text in texts[start : start + EVENTS])
                sent.append(cpu_and_wall(laptop.devices.sync)[0])
                received.append(cpu_and_wall(desktop.devices.sync)[0])
            figures[f"send {EVENTS} events, CPU ms"] = quantiles(sent)[0]
            figures[f"receive {EVENTS} events, CPU ms"] = quantiles(received)[0]
    for name, value in figures.items():
        print(f"{name:28}{value:>10,.1f}")
    if options.save:
        data = f"{options.memories:,} made-up sentences"
        results.save("devices", data=data, configuration="two machines, one folder", figures={"exchange": figures})


def open_machine(home: Path, name: str) -> Hivemind:
    """Open the memory of a machine."""
    writer = Writer(actor="bench", channel=Channel.PERSON)
    return Hivemind.open(directory=home, settings=Settings(home=home / name, person="bench"), writer=writer)


if __name__ == "__main__":
    main()
