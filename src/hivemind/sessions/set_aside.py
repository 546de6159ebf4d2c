"""The quarantine of unreadable input; works on files alone, also when the store does not open."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from hivemind.agents.writers import identify_writer
from hivemind.context import Context
from hivemind.errors import AmbiguousId, NotFound, Refused
from hivemind.model.memory import Channel
from hivemind.model.session import SkippedInput
from hivemind.sessions import quarantine as folder
from hivemind.sessions import spool
from hivemind.sessions.quarantine import Item, ItemOrigin
from hivemind.sessions.redact import collect_secrets
from hivemind.settings import Settings

__all__ = ["Item", "discard", "find", "retry", "set_aside"]


def set_aside(context: Context, door: ItemOrigin, unreadable: Iterable[SkippedInput]) -> None:
    """Put unreadable input into the quarantine."""
    folder.add(context.settings.home, door, unreadable, context.now, collect_secrets(os.environ))


def find(ids: Sequence[str] = ()) -> list[Item]:
    """Find items by their ids or prefixes; without any, all of them, oldest first."""
    items = folder.load_items(_find_home())
    return list(dict.fromkeys(_pick(items, id) for id in ids)) if ids else items


def discard(items: Iterable[Item]) -> None:
    """Delete items."""
    home = _find_home()
    for item in items:
        folder.discard(home, item)


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
