"""Deletion that really deletes, and says of each place whether it is done.

Erased are the memory with every version, what was derived from it, the observations it was read from, and whatever
else in the log repeats words that nothing else here says. Then the write-ahead log is folded into the file and every
file of the store is searched for the bytes.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hivemind.curate.pen import Pen
from hivemind.curate.values import value
from hivemind.errors import StoreError
from hivemind.model.events import Event, MemoryErased
from hivemind.model.ids import EventId
from hivemind.model.life import steps
from hivemind.model.memory import Memory
from hivemind.store import FILE, Store, backup, ballast, log
from hivemind.store.projections import memories, receipts, words
from hivemind.store.repair import FOLDER

TELLING = re.compile(r"[^\W_][\w.+/@:-]{4,}[^\W_]")
NEEDLES = 24
LOOKED_FOR, CHUNK = 3, 1 << 22
OURS = f"{FILE}*"
WINDOW, SHORTEST = 32, 8
"""Characters of a text that are looked for as they stand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Somewhere the content was or may be, and what became of it."""

    name: str
    state: Literal["done", "pending", "outside"]
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """The receipt of an erasure."""

    memories: tuple[str, ...]
    at: str
    places: tuple[Place, ...]

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left that we could destroy."""
        return all(place.state != "pending" for place in self.places)


def erase(store: Store, pen: Pen, memory: Memory, reason: str) -> Erasure:
    """Destroy a memory and all that came of it, then look whether a trace is left."""
    if ballast.is_needed(store.directory):
        ballast.release(store.directory)
    with store.db.transaction():
        doomed = [memory, *_derived(store, memory)]
        texts = {step.after.text for one in doomed for step in steps(log.about(store.db, one.id))}
        needles = _needles(store, doomed, texts)
        others = _repeating(store, doomed, needles)
        stones = tuple(sorted(value(text, store.secret) for text in texts))
        events = [
            pen.about(one, MemoryErased(memory_id=one.id, values=stones, bodies=tuple(others), reason=reason))
            for one in doomed
        ]
        store.record(events)
    places = [
        Place(name="memories", state="done", detail=f"{len(doomed)} with every version, words and vectors"),
        Place(name="log", state="done", detail=f"the content of {len(others)} other entries went with it"),
        _spool(store.directory, needles),
        _files(store, pen, memory, needles),
        *_backups(store, events, needles),
        *_outside(doomed),
    ]
    return Erasure(memories=tuple(one.id for one in doomed), at=events[0].at, places=tuple(places))


def _derived(store: Store, memory: Memory) -> list[Memory]:
    """Everything that was derived from a memory, and from that in turn."""
    found: dict[str, Memory] = {}
    queue = [memory.id]
    while queue:
        for one in memories.derived_from(store.db, queue.pop()):
            if one.id not in found and one.id != memory.id:
                found[one.id] = one
                queue.append(one.id)
    return list(found.values())


def _needles(store: Store, doomed: list[Memory], texts: set[str]) -> list[str]:
    """What would betray the texts: words and stretches of them that no other memory has."""
    said = {word for text in texts for word in TELLING.findall(text)}
    odd_first = sorted(said, key=lambda word: (not any(map(str.isdigit, word)), -len(word), word))[:NEEDLES]
    stretches = [form[:WINDOW] for text in texts for form in (text, json.dumps(text, ensure_ascii=False)[1:-1])]
    own = {one.id for one in doomed}
    candidates = dict.fromkeys([*odd_first, *(stretch for stretch in stretches if len(stretch) >= SHORTEST)])
    return [one for one in candidates if not words.is_said_elsewhere(store.db, one, own)]


def _repeating(store: Store, doomed: list[Memory], needles: list[str]) -> list[EventId]:
    """Other entries of the log that repeat it: observations it was read from, and questions that quoted it."""
    sources = {source.event for one in doomed for source in one.sources if source.event}
    asked = receipts.quoting(store.db, [one.id for one in doomed], needles)
    return [EventId(one) for one in sorted(sources | set(asked))]


def _spool(directory: Path, needles: list[str]) -> Place:
    """Lines that hooks left and nobody has taken in yet."""
    dropped = 0
    for file in directory.glob("spool*"):
        lines = file.read_text(errors="replace").splitlines(keepends=True)
        kept = [line for line in lines if not any(needle in line for needle in needles)]
        if len(kept) < len(lines):
            dropped += len(lines) - len(kept)
            file.write_text("".join(kept))
    return Place(name="spool", state="done", detail=f"{dropped} lines")


def _files(store: Store, pen: Pen, memory: Memory, needles: list[str]) -> Place:
    """The bytes of every file, after the write-ahead log was folded in."""
    folded = store.fold_in_log()
    left = _left_in(store.directory, OURS, needles)
    if left:
        # A name in the code is no trace of what was said about it; to ask this of each erasure would cost too much.
        needles = [one for one in needles if not memories.is_tied_elsewhere(store.db, one, [memory.id])]
        left = _left_in(store.directory, OURS, needles)
    if left and (found := log.holding(store.db, needles)):
        # The quick look missed an observation or a question that repeats it; this one read every entry.
        store.record([pen.about(memory, MemoryErased(memory_id=memory.id, bodies=tuple(found)))])
        folded = store.fold_in_log()
        left = _left_in(store.directory, OURS, needles)
    if left:
        why = (
            "something else here says the same" if folded else "another process still reads the old pages; run it again"
        )
        return Place(name="files", state="pending", detail=f"found in {', '.join(file.name for file in left)}: {why}")
    return Place(name="files", state="done", detail="no byte of it is left")


def _backups(store: Store, events: list[Event], needles: list[str]) -> list[Place]:
    """Copies beside the store lose it too."""
    places = []
    for file in _left_in(store.directory, f"{FOLDER}/*.db*", needles):
        name = f"{FOLDER}/{file.name}"
        try:
            backup.keep_out(file, events)
            left = bool(_left_in(store.directory, name, needles))
        except StoreError:
            left = True
        state: Literal["done", "pending"] = "pending" if left else "done"
        detail = "it still holds it; remove that file" if left else "erased there too"
        places.append(Place(name=name, state=state, detail=detail))
    return places


def _left_in(directory: Path, files: str, needles: list[str]) -> list[Path]:
    """Files that still hold it; a few of the longest needles tell as much as all, and each costs a read of the file."""
    telling = sorted(needles, key=len, reverse=True)[:LOOKED_FOR]
    raw = [needle.encode("utf-8", "replace") for needle in telling]
    return [file for file in sorted(directory.glob(files)) if raw and _holds(file, raw)]


def _holds(file: Path, needles: list[bytes]) -> bool:
    overlap = max(map(len, needles)) - 1
    with file.open("rb") as raw:
        tail = b""
        while chunk := raw.read(CHUNK):
            seam = tail + chunk[:overlap]
            if any(needle in chunk or needle in seam for needle in needles):
                return True
            tail = chunk[-overlap:] if overlap else b""
    return False


def _outside(doomed: list[Memory]) -> list[Place]:
    """Copies that are not ours to destroy, named so that a person can."""
    places = [
        Place(name=f"{source.actor or 'agent'} transcript", state="outside", detail=f"session {source.session_id}")
        for one in doomed
        for source in one.sources
        if source.session_id
    ]
    places += [
        Place(name=source.file, state="outside", detail=f"lines {source.lines or 'unknown'}")
        for one in doomed
        for source in one.sources
        if source.file
    ]
    exported = Place(
        name="exports", state="outside", detail="files you made with 'hivemind export', backups kept elsewhere"
    )
    return [*dict.fromkeys(places), exported]
