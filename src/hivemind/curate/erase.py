"""Deletion that really deletes, and says of each place whether it is done.

Erased are the memory with every version, what was derived from it, the observations it was read from, and whatever
else in the log repeats words that nothing else here says. Then the write-ahead log is folded into the file and every
file of the store is searched for the bytes.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from hivemind.curate.exclusion import forms, imprints
from hivemind.curate.pen import Pen
from hivemind.errors import StoreError
from hivemind.model.events import Event, MemoryErased, MemoryRemembered, MemoryRevised, ObservationsDropped
from hivemind.model.ids import EventId
from hivemind.model.memory import Memory
from hivemind.model.reports import Erasure, Place
from hivemind.model.scope import Scope
from hivemind.model.values import value
from hivemind.store import Store, backup, ballast, log
from hivemind.store.projections import memories, receipts
from hivemind.store.repair import FOLDER

TELLING = re.compile(r"[^\W_][\w.+/@:-]{4,}[^\W_]")
NEEDLES = 24
LOOKED_FOR, CHUNK = 3, 1 << 22
WINDOW, SHORTEST = 32, 8
"""Characters of a text that are looked for as they stand."""


def erase(store: Store, pen: Pen, memory: Memory, reason: str) -> Erasure:
    """Destroy a memory and all that came of it, then look whether a trace is left."""
    if store.directory and ballast.is_needed(store.directory):
        ballast.release(store.directory)
    with store.db.transaction():
        doomed = [memory, *_derived(store, memory.id)]
        ids = {one.id for one in doomed}
        needles = _needles(store, ids, _texts(store, ids))
        others = _repeating(store, doomed, needles)
        events = _goodbyes(store, pen, doomed, others, reason)
        store.record(events)
    places = [
        Place(name="memories", state="done", detail=f"{len(doomed)} with every version, words and vectors"),
        Place(name="log", state="done", detail=f"other entries whose content went with it: {len(others)}"),
    ]
    if store.directory:
        places += [_spool(store.directory, needles), _files(store.directory, store, pen, memory, needles)]
        places += _backups(store.directory, events)
    else:
        places += store.sweep(events[0].at)
    places += _outside(doomed)
    return Erasure(memories=tuple(one.id for one in doomed), at=events[0].at, places=tuple(places))


def _derived(store: Store, memory_id: str) -> list[Memory]:
    """Everything that was derived from a memory, and from that in turn."""
    found: dict[str, Memory] = {}
    queue = [memory_id]
    while queue:
        source = queue.pop()
        copies = memories.get_all(store.db, log.published(store.db, source))
        for one in [*memories.derived_from(store.db, source), *copies]:
            if one.id not in found and one.id != memory_id:
                found[one.id] = one
                queue.append(one.id)
    return list(found.values())


def follow(store: Store, pen: Pen, erased: Iterable[str]) -> list[Event]:
    """What has to go from here because others erased these memories: what repeats them or was derived from them.

    Ask before their content goes; a person's own memories that merely say the same stay theirs.
    """
    gone = set(erased)
    derived = {one.id: one for source in gone for one in _derived(store, source) if one.scope is not Scope.TEAM}
    texts = _texts(store, {*gone, *derived})
    if not texts:
        return []
    needles = _needles(store, {*gone, *derived}, texts)
    doomed = [*memories.get_all(store.db, gone), *derived.values()]
    if store.directory:
        _spool(store.directory, needles)
    # Nobody waits for this, so every entry is read, where an erasure of one's own looks for bytes in the files first.
    others = sorted({*_repeating(store, doomed, needles), *log.holding(store.db, needles)})
    return _goodbyes(store, pen, list(derived.values()), others, "the team erased what it repeated")


def _texts(store: Store, doomed: Iterable[str]) -> set[str]:
    """Everything these memories ever said, rival edits and what was rolled back among it."""
    facts = [event.fact for one in doomed for event in log.about(store.db, one)]
    return {fact.text for fact in facts if isinstance(fact, MemoryRemembered | MemoryRevised) and fact.text}


def _goodbyes(store: Store, pen: Pen, doomed: list[Memory], others: list[EventId], reason: str) -> list[Event]:
    """An erasure of each, and of what repeats them; the first may travel to a team, the second never does."""
    texts = {form for one in doomed for form in forms(one, _texts(store, [one.id]))}
    stones = {
        scope: tuple(sorted(value(text, store.key_for(scope)) for text in texts))
        for scope in {one.scope for one in doomed}
    }
    gone = [pen.about(one, _erasure(store, one, stones[one.scope], reason)) for one in doomed]
    return [*gone, *_let_go(pen, others)]


def _erasure(store: Store, memory: Memory, values: tuple[str, ...], reason: str) -> MemoryErased:
    left = imprints(store, memory.scope, forms(memory, _texts(store, [memory.id])))
    return MemoryErased(memory_id=memory.id, values=values, imprints=left, reason=reason)


def _let_go(pen: Pen, others: list[EventId]) -> list[Event]:
    dropped = ObservationsDropped(bodies=tuple(others), reason="repeated what was erased")
    return [pen.event(dropped, Scope.USER, "")] if others else []


def _needles(store: Store, doomed: Iterable[str], texts: set[str]) -> list[str]:
    """What would betray the texts: words and stretches of them that no other memory has."""
    said = {word for text in texts for word in TELLING.findall(text)}
    odd_first = sorted(said, key=lambda word: (not any(map(str.isdigit, word)), -len(word), word))[:NEEDLES]
    stretches = [form[:WINDOW] for text in texts for form in (text, json.dumps(text, ensure_ascii=False)[1:-1])]
    stretches += _metadata(store, doomed)
    candidates = dict.fromkeys([*odd_first, *(stretch for stretch in stretches if len(stretch) >= SHORTEST)])
    return [one for one in candidates if not store.db.index.is_said_elsewhere(one, doomed)]


def _metadata(store: Store, doomed: Iterable[str]) -> list[str]:
    """The strings in the metadata these memories ever had that no other memory's metadata has."""
    facts = [event.fact for one in doomed for event in log.about(store.db, one)]
    values = {value for fact in facts for value in getattr(fact, "metadata", {}).values() if isinstance(value, str)}
    encoded = {json.dumps(value, ensure_ascii=False)[1:-1] for value in values}
    return sorted(one for one in encoded if not memories.is_in_metadata_elsewhere(store.db, one, doomed))


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


def _files(directory: Path, store: Store, pen: Pen, memory: Memory, needles: list[str]) -> Place:
    """The bytes of every file, after the write-ahead log was folded in."""
    folded = store.fold_in_log()
    left = _left_in(directory, needles)
    if left:
        # A name in the code is no trace of what was said about it; to ask this of each erasure would cost too much.
        needles = [one for one in needles if not memories.is_tied_elsewhere(store.db, one, [memory.id])]
        left = _left_in(directory, needles)
    if left and (found := log.holding(store.db, needles)):
        # The quick look missed an observation or a question that repeats it; this one read every entry.
        store.record(_let_go(pen, found))
        folded = store.fold_in_log()
        left = _left_in(directory, needles)
    if left:
        why = (
            "something else here says the same" if folded else "another process still reads the old pages; run it again"
        )
        return Place(name="files", state="pending", detail=f"found in {', '.join(left)}: {why}")
    return Place(name="files", state="done", detail="no byte of it is left")


def _backups(directory: Path, events: list[Event]) -> Iterator[Place]:
    """Copies beside the store lose it too."""
    for file in sorted((directory / FOLDER).glob("*.db")):
        name = f"{FOLDER}/{file.name}"
        try:
            if backup.keep_out(file, events):
                yield Place(name=name, state="done", detail="erased there too")
        except StoreError:
            yield Place(name=name, state="pending", detail="it cannot be opened and may hold it; remove that file")


def _left_in(directory: Path, needles: list[str]) -> list[str]:
    """Files that still hold it; a few of the longest needles tell as much as all, and each costs a read of the file."""
    telling = sorted(needles, key=len, reverse=True)[:LOOKED_FOR]
    raw = [needle.encode("utf-8", "replace") for needle in telling]
    return [file.name for file in sorted(directory.glob("memory.db*")) if raw and _holds(file, raw)]


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
    sources = [source for one in doomed for source in one.sources]
    told = [(f"{one.actor or 'agent'} transcript", f"session {one.session_id}") for one in sources if one.session_id]
    told += [(one.file, f"lines {one.lines or 'unknown'}") for one in sources if one.file]
    told += [("exports", "files you exported, backups kept elsewhere")]
    return [Place(name=name, state="outside", detail=detail) for name, detail in dict.fromkeys(told)]
