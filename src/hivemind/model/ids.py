"""Names for things: ids that sort by time for events, short random ones for what people type."""

import hashlib
import secrets
from typing import NewType
from uuid import UUID

EventId = NewType("EventId", str)
MemoryId = NewType("MemoryId", str)
SessionId = NewType("SessionId", str)
ReceiptId = NewType("ReceiptId", str)

SHORT = 8
"""Characters shown to people; enough for a store of tens of thousands, and more may always be typed."""


def event_id(milliseconds: int) -> EventId:
    """A UUIDv7: 48 bits of time, then randomness, so that the log reads in order."""
    bits = (milliseconds << 80) | secrets.randbits(80)
    bits = bits & ~(0xF << 76) | (0x7 << 76)
    bits = bits & ~(0x3 << 62) | (0x2 << 62)
    return EventId(str(UUID(int=bits)))


def memory_id() -> MemoryId:
    """Random from its first character, because people shorten ids from the end as in git."""
    return MemoryId(secrets.token_hex(16))


def derived(*parts: str) -> str:
    """The same id for the same parts, so that seeing a thing twice records it once."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    return digest.hexdigest()[:32]


def short(identifier: str) -> str:
    """The form shown to people."""
    return identifier[:SHORT]
