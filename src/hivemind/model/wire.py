"""Entries of a log as they travel: the header word for word, and what keeps it honest.

The arithmetic of the chain stands here, because the log that writes it and every machine that takes an entry in must
reckon the same.
"""

import hashlib
import hmac
import json
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from hivemind.errors import InvalidInput
from hivemind.model import moments
from hivemind.model.events import Event, ill_shaped
from hivemind.model.memory import Channel
from hivemind.model.scope import Scope

START = "0" * 64
"""What stands before the first entry of a chain."""
LONGEST_CONTENT = 512 * 1024
LONGEST_WORD = 2_000
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
"""What a database will not keep as text."""


class Header(NamedTuple):
    """Who, when, where and which fact; never changed, and chained to the one before it."""

    id: str
    device: str
    """The chain it stands in."""
    seq: int
    prev_hash: str
    at: str
    actor: str
    channel: str
    scope: str
    repo: str
    session: str
    batch: str
    about: str
    fact: str
    digest: str

    @property
    def hash(self) -> str:
        """What the next header of the chain names."""
        return hashlib.sha256(json.dumps(self, ensure_ascii=False).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A header with the content it seals; without it once that was erased or refused."""

    header: Header
    salt: bytes = b""
    content: str | None = None

    @property
    def is_sealed(self) -> bool:
        """Whether the content is what the header says; nothing can be said of what is gone."""
        return self.content is None or digest(self.salt, self.content) == self.header.digest

    @property
    def event(self) -> Event | None:
        """The event it tells of, unless its content is gone."""
        return None if self.content is None else event(self.header, self.content)


def digest(salt: bytes, content: str) -> str:
    """The name of a content that tells nothing once its salt is gone."""
    return hmac.digest(salt, content.encode(), "sha256").hex()


def event(header: Header, content: str) -> Event:
    """The event that a header and its content tell of."""
    return Event.read(content, header.id, *header[4:11], header.fact)


def packed(entry: Entry) -> dict[str, Any]:
    """An entry as plain JSON types."""
    return {"header": list(entry.header), "salt": entry.salt.hex(), "content": entry.content}


def unpacked(held: Any) -> Entry:
    """The entry that ``packed`` made, or an error that says what is wrong with it."""
    try:
        entry = Entry(header=Header(*held["header"]), salt=bytes.fromhex(held["salt"]), content=held["content"])
    except (KeyError, TypeError, ValueError):
        raise InvalidInput("an entry has a header, a salt and a content; this one has not") from None
    wrong = _wrong(entry)
    if wrong:
        raise InvalidInput(f"entry {str(entry.header.id)[:40]!r} cannot be taken: {wrong}")
    return entry


def _wrong(entry: Entry) -> str:
    header = entry.header
    words = [value for name, value in zip(Header._fields, header, strict=True) if name != "seq"]
    if not all(isinstance(word, str) and len(word) <= LONGEST_WORD and not UNSTORABLE.search(word) for word in words):
        return "a field of its header is no short text"
    if type(header.seq) is not int or not 0 < header.seq < 1 << 53:
        return "its number is none"
    if not moments.is_written(header.at) or header.channel not in set(Channel) or header.scope not in set(Scope):
        return "its moment, channel or scope is none"
    return "" if entry.content is None else _wrong_content(entry, entry.content)


def _wrong_content(entry: Entry, content: Any) -> str:
    if not isinstance(content, str) or len(content) > LONGEST_CONTENT or UNSTORABLE.search(content):
        return "its content is no text, or too long"
    try:
        told = event(entry.header, content)
    except (KeyError, TypeError, ValueError, AttributeError):
        return "its content is not the fact that it says"
    if told.about != entry.header.about:
        return "it is about something else than it says"
    return ill_shaped(told.fact)
