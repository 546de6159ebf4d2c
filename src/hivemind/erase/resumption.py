"""Finishes erasures whose note is lost, and checks again what a receipt says is left.

The log decides: an erasure without a receipt is not finished, whatever became of its note. By then its texts are gone
from the log. They may still be in a backup; if not, their imprints find them where at least half is quoted.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from hivemind.erase import erase, unfinished
from hivemind.erase.quotation import Quotation, QuotedRun
from hivemind.erase.unfinished import ErasureNote, ErasurePlan
from hivemind.errors import StoreError
from hivemind.model.erasure import ErasedLocation, Erasure
from hivemind.model.events import Event, MemoryErased
from hivemind.model.ids import MemoryId
from hivemind.model.scope import Scope
from hivemind.model.timestamps import format_timestamp
from hivemind.store import integrity, log
from hivemind.store.event_factory import EventFactory
from hivemind.store.sqlite import Sqlite
from hivemind.store.store import Store
from hivemind.text.imprint import MARK, ErasedTextFilter

WITHOUT_TEXT = (
    "the note with its text was lost; it was searched for by digests, which find it where at least half is quoted"
)
FROM_BACKUP = "the note with its text was lost; a backup still had the text, and it was searched for by that"


@dataclass(frozen=True, slots=True)
class ImprintSearch(Quotation):
    """Finds quotations of texts by what is known of them: some texts, and the imprints of all."""

    watch: ErasedTextFilter

    @property
    def patterns(self) -> list[tuple[str, ...]]:
        """One pattern that is in every content: digests say nothing about letters."""
        return [("",)]

    def find_runs(self, content: str) -> list[QuotedRun]:
        """The quotations in a content; one that its imprint finds counts as the whole text."""
        is_found = self.watch.replace_erased_texts(content) != content
        return Quotation.find_runs(self, content) or [QuotedRun(text=-1, start=0, stop=1, of=1)] * is_found

    def matches_question(self, question: str) -> bool:
        """Whether a question has enough words of one of the known texts, or quotes one by its imprint."""
        return Quotation.matches_question(self, question) or bool(self.find_runs(question))


def finish_erasures(store: Store, clock: Callable[[], datetime], *, home: Path | None = None) -> None:
    """Finish the erasures that were interrupted: by their notes, and without one by the log."""
    damaged_notes = erase.finish_by_notes(store, clock, home=home)
    finish_by_log(store, clock, home=home)
    for file in damaged_notes:
        file.unlink(missing_ok=True)


def finish_by_log(store: Store, clock: Callable[[], datetime], *, home: Path | None = None) -> list[Erasure]:
    """Finish the erasures of this device that have no receipt, with what is left of their texts."""
    # Another process may be between its erasure and its receipt.
    if store.directory is None or unfinished.is_any_locked(store.directory):
        return []
    chains = (store.device, store.chain)
    unfinished_erasures = log.find_unfinished_erasures(store.db, chains, erase.BATCH_PREFIX)
    return [_finish(store, clock, batch, events, home) for batch, events in unfinished_erasures.items()]


def _finish(store: Store, clock: Callable[[], datetime], batch: str, events: list[Event], home: Path | None) -> Erasure:
    ids = tuple(MemoryId(event.about) for event in events if isinstance(event.fact, MemoryErased))
    texts = erase.load_from_backups(store, ids)
    place = ErasedLocation(
        name="note of the erasure", state="outside", detail=FROM_BACKUP if texts else WITHOUT_TEXT
    )  # fmt: skip
    first = events[0]
    plan = ErasurePlan(
        batch=batch, at=first.at, actor=first.actor, channel=first.channel, session=first.session,
        memories=ids, texts=tuple(sorted(texts)), places=(place,),
    )  # fmt: skip
    search = ImprintSearch(Quotation.of(texts).texts, _load_watch(store, events))
    return erase.carry_out(store, erase.make_factory(plan, clock), ErasureNote(None, plan), plan, search, home)


def _load_watch(store: Store, events: Iterable[Event]) -> ErasedTextFilter:
    imprints: dict[bytes, list[str]] = {}
    for event in events:
        if isinstance(event.fact, MemoryErased):
            for key in store.known_keys_for(Scope(event.scope)):
                imprints.setdefault(key, []).extend(event.fact.imprints)
    return ErasedTextFilter(imprints)


def check_again(store: Store, factory: EventFactory, receipt: Erasure, home: Path | None) -> Erasure:
    """Check the places that a receipt says are left; record and return a new receipt if some are done since."""
    folders = [folder for folder in dict.fromkeys((home, store.directory)) if folder]
    events = [event for memory_id in receipt.memories for event in log.read_events_about(store.db, memory_id)]
    watch = _load_watch(store, events)
    places = tuple(_check_place(store, folders, receipt, watch, place) for place in receipt.places)
    if places == receipt.places:
        return receipt
    receipt = replace(receipt, places=places)
    erase.record_receipt(store, factory, receipt)
    return receipt


def _check_place(
    store: Store, folders: list[Path], receipt: Erasure, watch: ErasedTextFilter, place: ErasedLocation
) -> ErasedLocation:
    if place.state not in ("remains", "pending") or MARK in place.file:
        return place
    file = next((path for folder in folders if (path := folder / place.file).is_file()), None)
    if place.file and file is None:
        return replace(place, state="done", detail="deleted since", holders=(), file="")
    if place.holders:
        holders = _find_holders(store, file, place.holders)
        if holders:
            return replace(place, holders=tuple(holder for holder in place.holders if holder in holders))
        return replace(place, state="done", detail="erased since", holders=(), file="")
    if file and place.state == "remains" and _is_edited(file, receipt, watch):
        return replace(place, state="done", detail="edited since, and no longer quotes it", file="")
    return place


def _find_holders(store: Store, file: Path | None, holders: tuple[str, ...]) -> set[str]:
    """Find which memories and entries still have content, in the store or in a backup of it."""
    if file is None:
        return log.find_ids_with_content(store.db, holders)
    try:
        with Sqlite.open_for_reading(file) as copy:
            return log.find_ids_with_content(copy, holders)
    except (StoreError, *integrity.DAMAGE_ERRORS):
        return set(holders)


def _is_edited(file: Path, receipt: Erasure, watch: ErasedTextFilter) -> bool:
    """Whether a file was changed after the receipt and its imprint no longer finds the text."""
    changed_at = format_timestamp(datetime.fromtimestamp(file.stat().st_mtime, UTC))
    if changed_at <= receipt.at:
        return False
    text = file.read_bytes().decode("utf-8", "replace")
    return watch.replace_erased_texts(text) == text
