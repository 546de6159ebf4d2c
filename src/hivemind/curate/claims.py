"""From what somebody says to the fact that is recorded: checked once, here."""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from hivemind.errors import InvalidInput
from hivemind.model.claim import Claim
from hivemind.model.events import MemoryRemembered
from hivemind.model.ids import MemoryId, memory_id
from hivemind.model.memory import Channel, Kind, Source
from hivemind.model.metadata import checked_metadata
from hivemind.model.moments import parse_date, parse_deadline
from hivemind.model.scope import Scope
from hivemind.model.text import checked, checked_label, tags
from hivemind.model.writer import Writer


def stated(
    claim: Claim, *, writer: Writer, owner: str, now: datetime, commit: str, replaces: list[MemoryId]
) -> MemoryRemembered:
    """The fact that a claim was made, or an error that says what is wrong with it."""
    return MemoryRemembered(
        memory_id=memory_id(),
        kind=claim.kind,
        text=checked(claim.text),
        owner=owner,
        tags=tags(claim.tags),
        sources=(_speaker(claim, writer), *(_file(written, commit) for written in claim.sources)),
        links=tuple(link(written) for written in claim.links),
        subject=checked_label(claim.subject, "the subject") if claim.subject else "",
        confidence=confidence(claim.confidence),
        valid_from=parse_date(claim.valid_from) if claim.valid_from else "",
        valid_to=parse_date(claim.valid_to) if claim.valid_to else "",
        expires_at=parse_deadline(claim.expires, now) if claim.expires else "",
        verify_by=parse_deadline(claim.verify_by, now) if claim.verify_by else "",
        supersedes=tuple(replaces),
        trace=claim.trace,
        proposed=claim.propose,
        metadata=checked_metadata(claim.metadata),
    )


KINDS = {kind.value: kind for kind in Kind} | {"architecture": Kind.DECISION}
"""What a word of another program means to us, by one of its parts: ``error_fix`` is a fix."""
MEMORY_TYPE = "memory_type"
"""The metadata that keeps such a word as it was given."""
ALIASES = {"content": "text", "type": MEMORY_TYPE, "repository": "repo"}


def from_dictionary(item: object, place: int, root: str = "") -> Claim:
    """The claim that a program wrote as a dictionary; an error names the item's place and the key."""
    if not isinstance(item, Mapping):
        raise InvalidInput(f"items[{place}] is {item!r}; give a dictionary or a Claim")
    read: dict[str, Any] = {}
    for key, value in item.items():
        name = ALIASES.get(key, key)
        if name not in READERS or name in read:
            wrong = "is given twice" if name in read else f"is not a key; use {', '.join((*ALIASES, *READERS))}"
            raise InvalidInput(f"items[{place}][{key!r}] {wrong}")
        if value is None:
            continue
        try:
            read[name] = READERS[name](value)
        except InvalidInput as error:
            raise InvalidInput(f"items[{place}][{key!r}]: {error}") from None
    if "text" not in read:
        raise InvalidInput(f"items[{place}] has no 'content'; say what is worth knowing")
    file, word = _in_repository(read.pop("file_path", ""), root), read.pop(MEMORY_TYPE, "")
    said_at, metadata = read.pop("timestamp", ""), dict(read.pop("metadata", {}))
    return Claim(
        **read,
        kind=kind_of(word),
        valid_from=said_at,
        sources=[file] if file else (),
        links=[file] if _is_link(file) else (),
        metadata=metadata | ({MEMORY_TYPE: word} if word else {}),
    )


def kind_of(word: str) -> Kind:
    """The kind that fits another program's word best; a fact if none does."""
    parts = re.split(r"[\W_]+", word.lower())
    return next((KINDS[part] for part in reversed(parts) if part in KINDS), Kind.FACT)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{value!r} is not text")
    return value


def _label(value: object) -> str:
    return checked_label(_text(value), "the value")


def _path(value: object) -> str:
    return _label(os.fspath(value) if isinstance(value, os.PathLike) else value)


def _tags(value: object) -> tuple[str, ...]:
    return tags(value if isinstance(value, str) else [_text(one) for one in _listed(value)])


def _listed(value: object) -> Iterable[object]:
    if not isinstance(value, Iterable):
        raise InvalidInput(f"{value!r} is not a list")
    return value


def _moment(value: object) -> str:
    """A date or time as text, as Python's own types, or as seconds since 1970."""
    match value:
        case bool():
            raise InvalidInput(f"{value!r} is not a time")
        case date():
            return parse_date(value.isoformat())
        case int() | float():
            try:
                return parse_date(datetime.fromtimestamp(value, UTC).isoformat())
            except (ValueError, OverflowError, OSError):
                raise InvalidInput(f"{value!r} is not a time in seconds since 1970") from None
        case _:
            return parse_date(_text(value))


READERS: dict[str, Callable[[Any], Any]] = {
    "text": lambda value: checked(_text(value), "the value"),
    MEMORY_TYPE: _label,
    "repo": _label,
    "file_path": _path,
    "session_id": _label,
    "timestamp": _moment,
    "tags": _tags,
    "scope": lambda value: Scope.parse(_text(value)),
    "metadata": checked_metadata,
}
"""The keys of a dictionary that becomes a claim, and what reads and checks each."""


def _in_repository(file: str, root: str) -> str:
    """A path as the repository knows it; one outside stays as it is."""
    is_inside = bool(root) and Path(file).is_absolute() and Path(file).is_relative_to(root)
    return Path(file).relative_to(root).as_posix() if is_inside else file


def _is_link(file: str) -> bool:
    """Whether a path can be a link: it lies in the repository and names no lines."""
    return bool(file) and not Path(file).is_absolute() and ".." not in file.split("/") and ":" not in file


def link(written: str) -> str:
    """A pointer into the repository's code, and nowhere else."""
    name = checked_label(written, "a link")
    if name.startswith("/") or ".." in name.split("::")[0].split("/"):
        raise InvalidInput(f"{name!r} does not point into the repository; write it like 'auth/service.py::login'")
    return name


def confidence(value: float) -> float:
    """How sure the speaker is."""
    if not 0 <= value <= 1:
        raise InvalidInput(f"{value} is not a confidence; give a number from 0 to 1")
    return value


def _speaker(claim: Claim, writer: Writer) -> Source:
    session = claim.session_id or writer.session_id
    return Source(channel=writer.channel, actor=writer.actor, model=writer.model, session_id=session)


def _file(written: str, commit: str) -> Source:
    file, _, lines = checked_label(written, "the source").partition(":")
    return Source(channel=Channel.FILE, file=file, lines=lines, commit=commit)
