"""Ids: time-ordered ones for events, random ones for memories, derived ones for what must be recorded only once."""

import hashlib
import os
from collections.abc import Sequence
from typing import Annotated, NewType
from uuid import UUID

EventId = NewType("EventId", str)
MemoryId = NewType("MemoryId", str)
SessionId = NewType("SessionId", str)
ReceiptId = NewType("ReceiptId", str)

CLOSED, FOREIGN = "closed", "foreign"
"""Marks of string types: one that cannot hold free text, and an id that another program chose."""
Timestamp = Annotated[str, CLOSED]
"""UTC text of fixed width, so that comparing text compares time; ``model/timestamps.py`` makes and parses it."""
Digest = Annotated[str, CLOSED]
"""A digest or a key, in hexadecimal."""
OwnId = Annotated[str, CLOSED]
"""An id that we made, other than the ones above."""
ForeignId = Annotated[str, FOREIGN]
"""The id of a session or step, as its agent chose it: it may hold any text."""

SHORT = 8
"""Characters shown to people; enough for tens of thousands of memories, and longer prefixes are accepted too."""
SHORTEST_PREFIX = 4
"""Characters that stand for an id, as in git: the place of a memory in a list, such as 1, is none."""


def new_event_id(milliseconds: int) -> EventId:
    """A new UUIDv7: 48 bits of time, then random bits, so that ids sort by time."""
    bits = (milliseconds << 80) | int.from_bytes(os.urandom(10))
    # Version 7 and variant 2, as RFC 9562 places them.
    bits = bits & ~(0xF << 76) | (0x7 << 76)
    bits = bits & ~(0x3 << 62) | (0x2 << 62)
    return EventId(str(UUID(int=bits)))


def new_memory_id() -> MemoryId:
    """A new id that is random from its first character, because people type prefixes of ids, as in git."""
    return MemoryId(os.urandom(16).hex())


def derive_id(*parts: str) -> str:
    """The same id for the same parts, so that something seen twice is recorded once."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        # The length keeps ("ab", "c") and ("a", "bc") apart.
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()[:32]


def shorten_id(identifier: str) -> str:
    """The shortened id that people see."""
    return identifier[:SHORT]


def shorten_session_ids(identifiers: Sequence[str]) -> list[str]:
    """Shorten the ids of sessions, each as far as it stays different from the others.

    Ids that begin with the time, as those of Codex do, have the same first characters for a minute.
    """
    return [
        next(
            (short for end in range(SHORT, len(identifier)) if _is_unique(short := identifier[:end], identifiers)),
            identifier,
        )
        for identifier in identifiers
    ]


def _is_unique(prefix: str, identifiers: Sequence[str]) -> bool:
    return sum(identifier.startswith(prefix) for identifier in identifiers) == 1
