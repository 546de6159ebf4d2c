"""The quarantine: what could not be read, one file each, set aside so that it stops nothing and is not lost.

A file is a line of JSON that says when, where from and why, and then what was read, without secrets. Nothing in it is
ever shown to an agent.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from hivemind.capture.redact import redact_payload
from hivemind.model.session import LONGEST_RAW, Skipped
from hivemind.model.text import OBEYED, neutral
from hivemind.model.values import SOFT, normalised

FOLDER = "quarantine"
NAME = re.compile(r"[0-9a-f]{12}")
MARGIN = 8 * 1024
"""Characters that are looked at and not kept: a secret that the cut leaves in two would not be recognised."""
LONGEST_CONTENT = LONGEST_RAW - MARGIN
"""Characters kept of an item."""
MOST_ITEMS = 1_000
MOST_BYTES = 16 << 20
LONGEST_NOTE = 300

ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|([nrtbf"\\/]))')
LAYERS = 3
"""How often text is unescaped to look into it: JSON in a string of JSON in a string."""


class Door(StrEnum):
    """Where an item came in."""

    HOOK = "hook"
    TRANSCRIPT = "transcript"
    IMPORT = "import"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Something that could not be read."""

    id: str
    at: str
    """When it was set aside."""
    door: str
    where: str
    """The agent and event, or the file and line."""
    reason: str
    is_cut: bool
    """Whether only its beginning was kept."""
    content: str


def add(home: Path, door: Door, unreadable: Iterable[Skipped], at: str, known: frozenset[str]) -> None:
    """Set aside what could not be read, without secrets; beyond the limits the oldest items go."""
    written = [_write(home / FOLDER, _item(door, one, at, known)) for one in unreadable]
    if any(written):
        _drop_oldest(home / FOLDER)


def items(home: Path) -> list[Item]:
    """Everything set aside, oldest first."""
    return sorted((_read(path) for path in _paths(home / FOLDER)), key=lambda item: (item.at, item.id))


def count(home: Path) -> int:
    """How many items there are."""
    return len(_paths(home / FOLDER))


def is_full(home: Path) -> bool:
    """Whether older items have to go for new ones."""
    paths = _paths(home / FOLDER)
    return len(paths) >= MOST_ITEMS or sum(path.stat().st_size for path in paths) > MOST_BYTES - LONGEST_RAW


def discard(home: Path, ids: Iterable[str]) -> int:
    """Remove items for good; return how many there were."""
    return sum(_remove(home / FOLDER / id) for id in ids if NAME.fullmatch(id))


def discard_containing(home: Path, texts: Sequence[str]) -> int:
    """Remove every item that holds one of the texts, however it is spelled or escaped; return how many there were."""
    wanted = [text for text in map(normalised, texts) if text]
    found = (item.id for item in items(home) if _holds(item, wanted))
    return discard(home, list(found))


def _holds(item: Item, wanted: Sequence[str]) -> bool:
    content = "\n".join((item.where, item.reason, item.content))
    for _ in range(LAYERS):
        said = _normalised(content)
        if any(text in said for text in wanted):
            return True
        if "\\" not in content:
            break
        content = ESCAPE.sub(lambda escape: chr(int(escape[1], 16)) if escape[1] else _unescaped(escape[2]), content)
    return False


def _normalised(text: str) -> str:
    # Plain text takes a tenth of the time this way, and nearly all of what is kept is plain.
    is_plain = text.isascii() and not OBEYED.search(text)
    return SOFT.sub(" ", text.lower()).strip() if is_plain else normalised(text)


def _unescaped(letter: str) -> str:
    return letter if letter in '"\\/' else " "


def _item(door: Door, skipped: Skipped, at: str, known: frozenset[str]) -> Item:
    # Without the zero bytes text in UTF-16 reads like any other, and so do the secrets in it.
    raw = skipped.raw[:LONGEST_RAW].replace("\0", "").encode("utf-8", "replace").decode()
    content = redact_payload(raw, known)
    content = content[:-MARGIN] if len(skipped.raw) >= LONGEST_RAW else content
    where, reason = (_note(redact_payload(text, known)) for text in (skipped.where, skipped.reason))
    digest = hashlib.sha256(json.dumps([door, where, raw]).encode()).hexdigest()
    return Item(
        id=digest[:12], at=at, door=door, where=where, reason=reason, is_cut=len(skipped.raw) > LONGEST_CONTENT,
        content=content[:LONGEST_CONTENT],
    )  # fmt: skip


def _note(text: str) -> str:
    return " ".join(neutral(text).split())[:LONGEST_NOTE]


def _write(folder: Path, item: Item) -> bool:
    """Whether it is new. The same line read again has the same id, so that it is kept once."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / item.id
    # A crash may have left half of it; then the line is still in the spool and comes again.
    if path.exists() and _read(path).content == item.content:
        return False
    note = {name: getattr(item, name) for name in ("at", "door", "where", "reason", "is_cut")}
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8", newline="") as file:
        file.write(f"{json.dumps(note, ensure_ascii=False)}\n{item.content}")
    return True


def _read(path: Path) -> Item:
    note, _, content = path.read_bytes().decode("utf-8", "replace").partition("\n")
    try:
        return Item(id=path.name, content=content, **json.loads(note))
    except (ValueError, TypeError):
        damaged = "the note about it is damaged"
        return Item(id=path.name, at="", door="", where="", reason=damaged, is_cut=True, content=content)


def _paths(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if NAME.fullmatch(path.name)] if folder.is_dir() else []


def _drop_oldest(folder: Path) -> None:
    stats = [(path.stat(), path) for path in _paths(folder)]
    total = kept = 0
    for stat, path in sorted(stats, key=lambda pair: (pair[0].st_mtime_ns, pair[1]), reverse=True):
        total, kept = total + stat.st_size, kept + 1
        if total > MOST_BYTES or kept > MOST_ITEMS:
            _remove(path)


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    return True
