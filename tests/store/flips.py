"""Single flipped bits anywhere in the file: how many does the doctor find?"""

import random
import shutil
from dataclasses import dataclass
from pathlib import Path

from hivemind.errors import StoreError
from hivemind.store import integrity
from hivemind.store.store import FILE, ID_FILE, Store
from tests.store.stores import lived_in


@dataclass(frozen=True, slots=True, kw_only=True)
class Flips:
    """What was tried and found."""

    tried: int
    found: int
    false_alarms: int


def measured(home: Path, *, memories: int, flips: int, seed: int) -> Flips:
    """Flip one bit at a time, each in a fresh copy of a lived-in store, and ask the doctor."""
    lived_in(home, memories)
    raw, name = (home / FILE).read_bytes(), (home / ID_FILE).read_bytes()
    chance = random.Random(seed)
    copy = home.parent / "flipped"

    def is_unwell(content: bytes) -> bool:
        copy.mkdir()
        try:
            (copy / FILE).write_bytes(content)
            (copy / ID_FILE).write_bytes(name)
            return not _is_well(copy)
        finally:
            shutil.rmtree(copy)

    found = 0
    for _ in range(flips):
        flipped = bytearray(raw)
        flipped[chance.randrange(len(raw))] ^= 1 << chance.randrange(8)
        found += is_unwell(bytes(flipped))
    return Flips(tried=flips, found=found, false_alarms=int(is_unwell(raw)))


def _is_well(directory: Path) -> bool:
    try:
        store = Store.open(directory)
    except StoreError:
        return False
    try:
        return all(finding.is_well for finding in integrity.examine(store))
    finally:
        store.close()
