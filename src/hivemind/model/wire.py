"""Log entries as they are sent between devices and hub, with their hash chain.

The hashes are computed here, because the log that writes an entry and every machine that receives it must agree.
"""

import hashlib
import hmac
import json
import re
from functools import cached_property
from typing import Any, NamedTuple

from hivemind.errors import InvalidInput
from hivemind.model import timestamps
from hivemind.model.dataclass import dataclass
from hivemind.model.events import Event, find_shape_error
from hivemind.model.ids import Timestamp
from hivemind.model.memory import Channel
from hivemind.model.scope import Scope

FIRST_PREVIOUS_HASH = "0" * 64
"""The previous hash of the first entry of a chain."""
LONGEST_CONTENT = 512 * 1024
LONGEST_WORD = 2_000
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
"""Characters that databases cannot store as text."""


class Header(NamedTuple):
    """The metadata of an entry; it never changes and contains the hash of the header before it."""

    id: str
    device: str
    """The device whose chain it belongs to."""
    seq: int
    prev_hash: str
    at: Timestamp
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
        """The hash that the next header of the chain contains."""
        # As a JSON array, whose text is the same on every machine.
        return hashlib.sha256(json.dumps(self, ensure_ascii=False).encode()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class WireEntry:
    """A header with its content; the content is none once it was erased or refused."""

    header: Header
    salt: bytes = b""
    content: str | None = None

    @property
    def is_sealed(self) -> bool:
        """Whether the content matches the header's digest; true if there is no content to compare."""
        return self.content is None or compute_digest(self.salt, self.content) == self.header.digest

    # Kept, because a hub asks for it in each of its checks, and parsing is most of their cost.
    @cached_property
    def event(self) -> Event | None:
        """The event of the entry; none if it has no content."""
        if self.content is None:
            return None
        # Fields 4 to 10 are at, actor, channel, scope, repo, session and batch, as Event.read takes them.
        return Event.read(self.content, self.header.id, *self.header[4:11], self.header.fact)


def compute_digest(salt: bytes, content: str) -> str:
    """The salted digest of a content; it reveals nothing once the salt is deleted."""
    return hmac.digest(salt, content.encode(), "sha256").hex()


def pack_entry(entry: WireEntry) -> dict[str, Any]:
    """An entry as plain JSON types."""
    return {"header": list(entry.header), "salt": entry.salt.hex(), "content": entry.content}


def unpack_entry(values: Any) -> WireEntry:
    """Validate and parse an entry that ``pack_entry`` made; raises InvalidInput with the reason."""
    try:
        entry = WireEntry(
            header=Header(*values["header"]), salt=bytes.fromhex(values["salt"]), content=values["content"]
        )
    except (KeyError, TypeError, ValueError):
        raise InvalidInput("the entry is malformed; it needs a header, a salt and a content") from None
    # Checked here, because whatever passes is stored, and must not stop a store from opening.
    error = _find_error(entry)
    if error:
        raise InvalidInput(f"entry {str(entry.header.id)[:40]!r} is invalid: {error}")
    return entry


def _find_error(entry: WireEntry) -> str:
    header = entry.header
    words = [value for name, value in zip(Header._fields, header, strict=True) if name != "seq"]
    if not all(isinstance(word, str) and len(word) <= LONGEST_WORD and not UNSTORABLE.search(word) for word in words):
        return "a field of its header is not a short text"
    # Not isinstance, because True is an int. Parsers that use doubles keep integers exact below 1 << 53.
    if type(header.seq) is not int or not 0 < header.seq < 1 << 53:
        return "its sequence number is not a positive integer below 2^53"
    if not timestamps.is_timestamp(header.at) or header.channel not in set(Channel) or header.scope not in set(Scope):
        return "its timestamp, channel or scope is invalid"
    return "" if entry.content is None else _find_content_error(entry, entry.content)


def _find_content_error(entry: WireEntry, content: Any) -> str:
    if not isinstance(content, str) or len(content) > LONGEST_CONTENT or UNSTORABLE.search(content):
        return "its content is not text, or is too long"
    try:
        claimed_event = entry.event
    except (KeyError, TypeError, ValueError, AttributeError):
        return "its content does not match its fact"
    # Rights are checked against the header, so the content must not be about another memory.
    if claimed_event is None or claimed_event.about != entry.header.about:
        return "its content is about another memory or session than its header"
    return find_shape_error(claimed_event.fact)
