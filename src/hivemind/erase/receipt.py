"""Receipts of erasures: recorded, loaded, and checked again where a receipt says that something is left."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from hivemind.errors import StoreError
from hivemind.model.erasure import ErasedLocation, Erasure
from hivemind.model.events import ErasureFinished, Event, MemoryErased
from hivemind.model.ids import MemoryId
from hivemind.model.scope import Scope, Visibility
from hivemind.model.timestamps import format_timestamp
from hivemind.store import integrity, log
from hivemind.store.database import Database
from hivemind.store.event_factory import EventFactory
from hivemind.store.sqlite import Sqlite
from hivemind.store.store import Store
from hivemind.text.excluded_text import MARK, ErasedTextFilter

ANY_REPOSITORY = Visibility(repos=(), everywhere=True)
"""A receipt belongs to no repository."""
MOST_RECEIPTS = 1_000
"""Versions of a receipt that are looked at; each machine that confirms an erasure adds one."""


def load_receipt(db: Database, batch: str) -> Erasure | None:
    """Load the newest receipt of an erasure by its batch; None if there is none."""
    if not batch:
        return None
    entries = log.read_entries(db, ANY_REPOSITORY, batch=batch, facts=["erasure.finished"], limit=MOST_RECEIPTS)
    # After a backup was restored, other machines return the entries that this one wrote, without their content.
    facts = (entry.event.fact for entry in entries if entry.event)
    fact = next((fact for fact in facts if isinstance(fact, ErasureFinished)), None)
    return Erasure(memories=fact.memories, at=fact.at, places=fact.places, batch=batch) if fact else None


def record_receipt(store: Store, factory: EventFactory, receipt: Erasure) -> None:
    """Record a receipt as it is now."""
    ids = tuple(MemoryId(memory_id) for memory_id in receipt.memories)
    fact = ErasureFinished(at=receipt.at, memories=ids, places=receipt.places)
    store.record([replace(factory, batch=receipt.batch).event(fact, Scope.USER, "")])


def check_again(store: Store, factory: EventFactory, receipt: Erasure, home: Path | None) -> Erasure:
    """Check the places that a receipt says are left; record and return a new receipt if some are done since."""
    folders = [folder for folder in dict.fromkeys((home, store.directory)) if folder]
    events = [event for memory_id in receipt.memories for event in log.read_events_about(store.db, memory_id)]
    text_filter = load_text_filter(store, events)
    places = tuple(_check_place(store, folders, receipt, text_filter, place) for place in receipt.places)
    checked = replace(receipt, places=places).with_places(store.check_locations(receipt.batch))
    if checked != receipt:
        record_receipt(store, factory, checked)
    return checked


def _check_place(
    store: Store, folders: list[Path], receipt: Erasure, text_filter: ErasedTextFilter, place: ErasedLocation
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
    if file and place.state == "remains" and _is_edited(file, receipt, text_filter):
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


def _is_edited(file: Path, receipt: Erasure, text_filter: ErasedTextFilter) -> bool:
    """Whether a file was changed after the receipt and its imprint no longer finds the text."""
    changed_at = format_timestamp(datetime.fromtimestamp(file.stat().st_mtime, UTC))
    if changed_at <= receipt.at:
        return False
    text = file.read_bytes().decode("utf-8", "replace")
    return text_filter.replace_erased_texts(text) == text


def load_text_filter(store: Store, events: Iterable[Event]) -> ErasedTextFilter:
    """Load a filter that finds the texts of erasures by their imprints."""
    imprints: dict[bytes, list[str]] = {}
    for event in events:
        if isinstance(event.fact, MemoryErased):
            for key in store.list_keys_for(Scope(event.scope)):
                imprints.setdefault(key, []).extend(event.fact.imprints)
    return ErasedTextFilter(imprints)


def merge_places(places: Iterable[ErasedLocation]) -> list[ErasedLocation]:
    """Merge the reports on each place into one, with the worst state."""
    order = {"done": 0, "outside": 1, "pending": 2, "remains": 3}
    by_name: dict[str, ErasedLocation] = {}
    for place in places:
        earlier = by_name.get(place.name)
        if earlier is None or order[place.state] > order[earlier.state]:
            by_name[place.name] = place
        elif place.detail not in earlier.detail and place.state == earlier.state:
            by_name[place.name] = replace(earlier, detail=f"{earlier.detail}; {place.detail}")
    return list(by_name.values())
