"""What is known about code at hand and about what lies near it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from hivemind.model.code import Related, SharedSession, Symbol
from hivemind.model.memory import Memory
from hivemind.model.recall import Hit, Query, Recall, Signal
from hivemind.recall.budget import tokens
from hivemind.recall.rank import labels
from hivemind.recall.render import around, render
from hivemind.store.database import Database
from hivemind.store.projections import memories

ITSELF, ITS_FILE, NEAR_IT = 1.0, 0.8, 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearby:
    """Code that somebody asks about, and the files that bear on it."""

    symbols: tuple[Symbol, ...]
    inside: tuple[str, ...]
    """The files and folders it is, or lies in."""
    files: tuple[Related, ...] = ()
    sessions: tuple[SharedSession, ...] = ()
    """Those that touched files of it together with others."""


def cost(near: Nearby) -> int:
    """Tokens that files and sessions take of an answer."""
    return tokens("\n".join(around(near.files, near.sessions)))


def affordable(near: Nearby, max_tokens: int) -> Nearby:
    """The same without files and sessions, if these would take most of the room for memories."""
    return near if cost(near) <= max_tokens // 2 else replace(near, files=(), sessions=())


def shown_with(near: Nearby, found: Recall) -> Recall:
    """An answer with the files and sessions near it."""
    text = render(found.hits, near.files, near.sessions)
    return replace(found, text=text, files=near.files, sessions=near.sessions)


def hits(db: Database, query: Query, near: Nearby) -> Iterator[Hit]:
    """Memories about the code, then about its files, then about files near it; newest first among equals."""
    reach = (*near.inside, *(one.path for one in near.files))
    found = [_hit(memory, query, near) for memory in memories.anchored(db, query, reach)]
    yield from sorted(found, key=lambda hit: -hit.score)


def _hit(memory: Memory, query: Query, near: Nearby) -> Hit:
    signal = _signal(memory, near)
    return Hit(memory=memory, passage=memory.text, score=signal.score, signals=(signal,), labels=labels(memory, query))


def _signal(memory: Memory, near: Nearby) -> Signal:
    held = {anchor.label for anchor in memory.anchors}
    for symbol in near.symbols:
        if symbol.label in held:
            return Signal(name="place", score=ITSELF, why=f"is about {symbol.label}")
    paths = [anchor.path for anchor in memory.anchors]
    for path in paths:
        if path in near.inside:
            return Signal(name="place", score=ITS_FILE, why=f"is about {path}")
    most = max(one.weight for one in near.files)
    closest = max((one for one in near.files if one.path in paths), key=lambda one: one.weight)
    why = f"is about {closest.path} ({', '.join(closest.why)})"
    return Signal(name="place", score=round(NEAR_IT * closest.weight / most, 4), why=why)
