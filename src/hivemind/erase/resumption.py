"""Finishes erasures that were interrupted: by their saved plan, or by the log if that is lost.

The log decides: an erasure without a receipt is not finished, whatever became of its plan. By then its texts are gone
from the log. They may still be in a backup; if not, their imprints find them where at least half is quoted.
"""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from hivemind.erase.plan import BATCH_PREFIX, ErasurePlan, is_any_locked, load_notes
from hivemind.erase.quotation import ImprintSearch, Quotation
from hivemind.erase.receipt import load_text_filter
from hivemind.erase.sweep import carry_out, load_from_backups
from hivemind.model.erasure import ErasedLocation
from hivemind.model.events import Event, MemoryErased
from hivemind.model.ids import MemoryId
from hivemind.model.memory import Writer
from hivemind.store import log
from hivemind.store.event_factory import EventFactory
from hivemind.store.store import Store

WITHOUT_TEXT = (
    "the note with its text was lost; it was searched for by digests, which find it where at least half is quoted"
)
FROM_BACKUP = "the note with its text was lost; a backup still had the text, and it was searched for by that"


def finish_erasures(store: Store, clock: Callable[[], datetime], home: Path | None) -> None:
    """Finish the erasures that were interrupted: by their notes, and without one by the log."""
    damaged_notes: list[Path] = []
    for note, plan in load_notes(store.directory) if store.directory else ():
        if plan is None:
            damaged_notes.append(note)
        else:
            carry_out(store, make_factory(plan, clock), plan, Quotation.of(plan.texts), home, note)
    finish_by_log(store, clock, home)
    for note in damaged_notes:
        note.unlink(missing_ok=True)


def finish_by_log(store: Store, clock: Callable[[], datetime], home: Path | None) -> None:
    """Finish the erasures of this device that have no receipt, with what is left of their texts."""
    # Another process may be between its erasure and its receipt.
    if store.directory is None or is_any_locked(store.directory):
        return
    unfinished_erasures = log.find_unfinished_erasures(store.db, (store.device, store.chain), BATCH_PREFIX)
    for batch, events in unfinished_erasures.items():
        _finish(store, clock, batch, events, home)


def _finish(store: Store, clock: Callable[[], datetime], batch: str, events: list[Event], home: Path | None) -> None:
    ids = tuple(MemoryId(event.about) for event in events if isinstance(event.fact, MemoryErased))
    texts = load_from_backups(store, ids)
    place = ErasedLocation(name="note of the erasure", state="outside", detail=FROM_BACKUP if texts else WITHOUT_TEXT)
    first = events[0]
    plan = ErasurePlan(
        batch=batch, at=first.at, actor=first.actor, channel=first.channel, session=first.session,
        memories=ids, texts=tuple(sorted(texts)), places=(place,),
    )  # fmt: skip
    search = ImprintSearch(Quotation.of(texts).texts, load_text_filter(store, events))
    carry_out(store, make_factory(plan, clock), plan, search, home)


def make_factory(plan: ErasurePlan, clock: Callable[[], datetime]) -> EventFactory:
    """Make the factory that goes on in the name of whoever asked for an erasure."""
    writer = Writer(actor=plan.actor, channel=plan.channel, session_id=plan.session)
    # No redaction is needed: the plan's reason was redacted before it was saved.
    return EventFactory(writer=writer, clock=clock, redact=str)
