"""Keeps input that could not be read, one file per item, so that it stops nothing and is not lost.

A file is a line of JSON that says when, where from and why, followed by the redacted input. Its content is never shown
to an agent.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path

from hivemind.agents.writers import identify_writer
from hivemind.context import Context
from hivemind.errors import AmbiguousId, NotFound, Refused
from hivemind.model.dataclass import dataclass
from hivemind.model.memory import Channel
from hivemind.model.session import MAX_RAW_CHARACTERS, SkippedInput
from hivemind.sessions import spool
from hivemind.sessions.redact import collect_secrets, redact_payload
from hivemind.settings import Settings
from hivemind.system import open_private
from hivemind.text.clean import neutralise

FOLDER = "quarantine"
NAME = re.compile(r"[0-9a-f]{12}")
MARGIN = 8 * 1024
"""Characters that are redacted and then dropped: a secret that is cut in two would not be recognised."""
LONGEST_CONTENT = MAX_RAW_CHARACTERS - MARGIN
"""Characters kept of an item."""
MOST_ITEMS = 1_000
MOST_BYTES = 16 << 20
LONGEST_NOTE = 300


class ItemOrigin(StrEnum):
    """How an item came in."""

    HOOK = "hook"
    TRANSCRIPT = "transcript"
    IMPORT = "import"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Input that could not be read."""

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


def add(
    home: Path, door: ItemOrigin, unreadable: Iterable[SkippedInput], at: str, known_secrets: frozenset[str]
) -> None:
    """Store redacted input that could not be read; beyond the limits the oldest items are removed."""
    are_new = [_write_item(home / FOLDER, _make_item(door, item, at, known_secrets)) for item in unreadable]
    if any(are_new):
        _drop_oldest(home / FOLDER)


def load_items(home: Path) -> list[Item]:
    """Load all items, oldest first."""
    return sorted((_read_item(path) for path in _list_paths(home / FOLDER)), key=lambda item: (item.at, item.id))


def count_items(home: Path) -> int:
    """Count the items."""
    return len(_list_paths(home / FOLDER))


def is_full(home: Path) -> bool:
    """Whether the next item may push out the oldest ones."""
    paths = _list_paths(home / FOLDER)
    # Full if there is no room for one more item of the largest size.
    return len(paths) >= MOST_ITEMS or sum(path.stat().st_size for path in paths) > MOST_BYTES - MAX_RAW_CHARACTERS


def _make_item(door: ItemOrigin, unreadable: SkippedInput, at: str, known_secrets: frozenset[str]) -> Item:
    # Without its NUL bytes, UTF-16 text reads like any other, so that secrets in it are recognised.
    raw = unreadable.raw[:MAX_RAW_CHARACTERS].replace("\0", "").encode("utf-8", "replace").decode()
    content = redact_payload(raw, known_secrets)
    content = content[:-MARGIN] if len(unreadable.raw) >= MAX_RAW_CHARACTERS else content
    where, reason = (_clean_note(redact_payload(text, known_secrets)) for text in (unreadable.where, unreadable.reason))
    # Without the time, so that the same input read twice is one item.
    digest = hashlib.sha256(json.dumps([door, where, raw]).encode()).hexdigest()
    return Item(
        id=digest[:12], at=at, door=door, where=where, reason=reason, is_cut=len(unreadable.raw) > LONGEST_CONTENT,
        content=content[:LONGEST_CONTENT],
    )  # fmt: skip


def _clean_note(text: str) -> str:
    return " ".join(neutralise(text).split())[:LONGEST_NOTE]


def _write_item(folder: Path, item: Item) -> bool:
    """Write an item and return whether it is new; the same input read again has the same id and is kept once."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / item.id
    # A crash may have left half of the file; then the line is still in the spool and is read again.
    if path.exists() and _read_item(path).content == item.content:
        return False
    note = {name: getattr(item, name) for name in ("at", "door", "where", "reason", "is_cut")}
    with open(path, "w", encoding="utf-8", newline="", opener=open_private) as file:
        file.write(f"{json.dumps(note, ensure_ascii=False)}\n{item.content}")
    return True


def _read_item(path: Path) -> Item:
    note, _, content = path.read_bytes().decode("utf-8", "replace").partition("\n")
    try:
        return Item(id=path.name, content=content, **json.loads(note))
    except (ValueError, TypeError):
        reason = "its first line, which says why, is damaged"
        return Item(id=path.name, at="", door="", where="", reason=reason, is_cut=True, content=content)


def _list_paths(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if NAME.fullmatch(path.name)] if folder.is_dir() else []


def _drop_oldest(folder: Path) -> None:
    stats = [(path.stat(), path) for path in _list_paths(folder)]
    total_bytes = item_count = 0
    for stat, path in sorted(stats, key=lambda pair: (pair[0].st_mtime_ns, pair[1]), reverse=True):
        total_bytes, item_count = total_bytes + stat.st_size, item_count + 1
        if total_bytes > MOST_BYTES or item_count > MOST_ITEMS:
            path.unlink(missing_ok=True)


def set_aside(context: Context, door: ItemOrigin, unreadable: Iterable[SkippedInput]) -> None:
    """Put unreadable input into the quarantine."""
    add(context.settings.home, door, unreadable, context.now, collect_secrets(os.environ))


def find(ids: Sequence[str] = ()) -> list[Item]:
    """Find items by their ids or prefixes; without any, all of them, oldest first."""
    items = load_items(_find_home())
    return list(dict.fromkeys(_pick(items, id) for id in ids)) if ids else items


def discard(items: Iterable[Item]) -> None:
    """Delete items."""
    home = _find_home()
    for item in items:
        (home / FOLDER / item.id).unlink(missing_ok=True)


def retry(items: Iterable[Item]) -> list[Item]:
    """Put hook input back into the spool, to be read when the store is next opened; return these items.

    Truncated items are left out; transcripts and imports are read from their own files instead.
    """
    again = [item for item in items if item.door == ItemOrigin.HOOK and not item.is_cut]
    for item in again:
        agent, event, at, payload = (item.content.split("\t", 3) + [""] * 3)[:4]
        # Appended before it is removed: a crash between the two reads it twice, and events are recorded once.
        spool.append(str(_find_home()), agent, event, at, payload)
        discard([item])
    return again


def _find_home() -> Path:
    """Return the home folder; refuses agents."""
    # Nobody has checked what is in the quarantine, so no agent may read it.
    settings = Settings.load()
    if identify_writer(settings).channel is not Channel.PERSON:
        raise Refused("only a person may look into the quarantine")
    return settings.home


def _pick(items: Sequence[Item], id: str) -> Item:
    matches = [item for item in items if item.id.startswith(id.strip().lower())]
    if not matches:
        raise NotFound(f"there is no item {id!r} in the quarantine; 'hivemind quarantine' has the ids")
    if len(matches) > 1:
        raise AmbiguousId(id, [f"{item.id}  {item.reason}" for item in matches[:10]])
    return matches[0]
