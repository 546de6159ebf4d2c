"""The quarantine of unreadable input; works on files alone, also when the store does not open."""

import os
from collections.abc import Iterable, Sequence

from hivemind.app.callers import who_calls
from hivemind.app.context import Context
from hivemind.capture import quarantine as folder
from hivemind.capture import spool
from hivemind.capture.quarantine import Item, ItemOrigin
from hivemind.capture.redact import collect_secrets
from hivemind.errors import AmbiguousId, InvalidInput, NotFound, Refused
from hivemind.model.memory import Channel
from hivemind.model.session import SkippedInput
from hivemind.settings import Settings

__all__ = ["Item", "discard", "items", "retry", "set_aside", "show"]


def set_aside(context: Context, door: ItemOrigin, unreadable: Iterable[SkippedInput]) -> None:
    """Put unreadable input into the quarantine."""
    folder.add(context.settings.home, door, unreadable, context.now, collect_secrets(os.environ))


def items() -> tuple[Item, ...]:
    """List the items in quarantine, oldest first."""
    return tuple(folder.load_items(_settings().home))


def show(id: str) -> Item:
    """Return one item by its id or a prefix."""
    return _item(items(), id)


def discard(ids: Sequence[str] = (), *, everything: bool = False) -> int:
    """Delete some or all items; return their number."""
    return folder.discard(_settings().home, [item.id for item in _select(ids, everything=everything)])


def retry(ids: Sequence[str] = ()) -> tuple[Item, ...]:
    """Put hook input back into the spool, to be read when the store is next opened; return these items.

    Truncated items are left out; transcripts and imports are read from their own files instead.
    """
    home = _settings().home
    again = [item for item in _select(ids, everything=not ids) if item.door == ItemOrigin.HOOK and not item.is_cut]
    for item in again:
        agent, event, at, payload = (item.content.split("\t", 3) + [""] * 3)[:4]
        # Appended before it is removed: a crash between the two reads it twice, and events are recorded once.
        spool.append(str(home), agent, event, at, payload)
        folder.discard(home, [item.id])
    return tuple(again)


def _settings() -> Settings:
    """Load the settings; refuses agents."""
    # Nobody has checked what is in the quarantine, so no agent may read it.
    settings = Settings.load()
    if who_calls(settings).channel is not Channel.PERSON:
        raise Refused("only a person may look into the quarantine")
    return settings


def _select(ids: Sequence[str], *, everything: bool) -> list[Item]:
    every_item = items()
    if everything:
        return list(every_item)
    if not ids:
        raise InvalidInput("name an item, or use --all; 'hivemind quarantine list' has the ids")
    return [_item(every_item, id) for id in ids]


def _item(candidates: Sequence[Item], id: str) -> Item:
    matches = [item for item in candidates if item.id.startswith(id.strip().lower())]
    if not matches:
        raise NotFound(f"there is no item {id!r} in the quarantine; 'hivemind quarantine list' has the ids")
    if len(matches) > 1:
        raise AmbiguousId(id, [f"{item.id}  {item.reason}" for item in matches[:10]])
    return matches[0]
