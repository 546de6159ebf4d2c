"""The plan of an erasure: what is destroyed, which texts are searched for, and who asked.

It is saved as a note, a file beside the store, before the erasure begins, so that after a crash the next opening of the
store finishes it. The note contains the texts, because once they are gone from the store nothing else could find copies
of them. It is deleted after the last place was searched. The process that works on it locks it.
"""

import hashlib
import json
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from hivemind.erase.quotation import Quotation, list_content_words
from hivemind.model.codec import from_plain, to_json
from hivemind.model.dataclass import dataclass
from hivemind.model.erasure import ErasedLocation
from hivemind.model.events import MemoryRemembered, MemoryRevised, MemoryRolledBack
from hivemind.model.fold import fold_memory
from hivemind.model.ids import EventId, MemoryId
from hivemind.model.memory import Channel, Memory
from hivemind.model.scope import Scope
from hivemind.model.timestamps import format_timestamp
from hivemind.paths import ERASURE_PLANS
from hivemind.store import log
from hivemind.store.database import Database
from hivemind.store.event_factory import EventFactory
from hivemind.store.projections import memories, receipts
from hivemind.store.store import Store
from hivemind.system import FileLock

FEWEST_WORDS_OF_METADATA, FEWEST_WORDS_OF_A_TRACE, SHORTEST_NAME = 3, 4, 8
"""Metadata and parts of a trace are searched for from so many words on, or as a name with digits of so many letters."""
BATCH_PREFIX = "erase-"
LINE_NUMBERS = re.compile(r"[\d\s,:L-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """What to erase: memories, log entries that only repeat (observations, receipts, refusals), and further texts."""

    memories: tuple[Memory, ...] = ()
    entries: tuple[EventId, ...] = ()
    texts: tuple[str, ...] = ()
    """Searched for in addition to every text that the memories ever had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasurePlan:
    """A requested erasure: what to destroy, which texts to search for, and who asked."""

    batch: str
    at: str
    actor: str
    channel: Channel
    session: str = ""
    reason: str = ""
    memories: tuple[MemoryId, ...] = ()
    entries: tuple[EventId, ...] = ()
    texts: tuple[str, ...] = ()
    places: tuple[ErasedLocation, ...] = ()
    """Places that are already known, such as copies out of our reach."""


def make_plan(store: Store, factory: EventFactory, targets: Targets, reason: str) -> ErasurePlan:
    """Plan the erasure of targets and what was derived from them; it leaves out a reason that quotes them."""
    erased_memories = collect_with_derived(store, targets)
    ids = [memory.id for memory in erased_memories]
    texts = sorted(load_texts_and_details(store.db, ids) | set(targets.texts))
    quotation, reason = Quotation.of(texts), factory.redact(reason)
    places = list(_list_outside(erased_memories, quotation))
    if reason and quotation.find_runs(reason):
        reason = ""
        detail = "not recorded, because it quotes the erased text"
        places.append(ErasedLocation(name="reason", state="done", detail=detail))
    return ErasurePlan(
        batch=f"{BATCH_PREFIX}{secrets.token_hex(6)}", at=format_timestamp(factory.clock()), actor=factory.writer.actor,
        channel=factory.writer.channel, session=factory.writer.session_id, reason=reason,
        memories=tuple(memory.id for memory in erased_memories), texts=tuple(texts), places=tuple(places),
        entries=tuple(sorted({*targets.entries, *find_traces(store.db, erased_memories, quotation)})),
    )  # fmt: skip


def collect_with_derived(store: Store, targets: Targets) -> list[Memory]:
    """Return the memories of a target and all memories derived from them."""
    by_id = {memory.id: memory for memory in targets.memories}
    return list({**by_id, **{memory.id: memory for id in by_id for memory in find_derived(store, id)}}.values())


def find_derived(store: Store, memory_id: str) -> list[Memory]:
    """Find all memories derived from a memory, directly or indirectly, and its published copies."""
    derived_memories: dict[str, Memory] = {}
    queue = [memory_id]
    while queue:
        source = queue.pop()
        published_copies = memories.get_all(store.db, log.find_published_copies(store.db, source))
        for memory in [*memories.find_derived(store.db, source), *published_copies]:
            if memory.id not in derived_memories and memory.id != memory_id:
                derived_memories[memory.id] = memory
                queue.append(memory.id)
    return list(derived_memories.values())


def load_ignoring_rollbacks(db: Database, memory_id: str) -> Memory | None:
    """Load a memory as if no rollback had happened, because a rollback leaves its texts in the log."""
    return fold_memory(
        event for event in log.read_events_about(db, memory_id) if not isinstance(event.fact, MemoryRolledBack)
    )


def load_texts(db: Database, memory_ids: Iterable[str]) -> set[str]:
    """Load every text that these memories ever had, including conflicting edits and rolled back versions."""
    facts = [event.fact for memory_id in memory_ids for event in log.read_events_about(db, memory_id)]
    return {fact.text for fact in facts if isinstance(fact, MemoryRemembered | MemoryRevised) and fact.text}


def load_texts_and_details(db: Database, memory_ids: Iterable[str]) -> set[str]:
    """Load all that these memories ever said, also metadata and parts of traces, without common words and phrases."""
    ids = list(memory_ids)
    facts = [event.fact for memory_id in ids for event in log.read_events_about(db, memory_id)]
    values = {value for fact in facts for value in getattr(fact, "metadata", {}).values() if isinstance(value, str)}
    traces = [trace for fact in facts if (trace := getattr(fact, "trace", None))]
    parts = {part for trace in traces for part in (trace.action, trace.reasoning, trace.result)}
    details = [(value, FEWEST_WORDS_OF_METADATA) for value in values]
    details += [(part, FEWEST_WORDS_OF_A_TRACE) for part in parts]
    telling = {text for text, fewest in details if len(text.split()) >= fewest or _is_unusual(text)}
    return load_texts(db, ids) | telling


def _is_unusual(word: str) -> bool:
    return len(word) >= SHORTEST_NAME and any(map(str.isdigit, word))


def find_traces(db: Database, erased_memories: Sequence[Memory], quotation: Quotation) -> set[EventId]:
    """Find the observations that memories were learned from, and the queries they answered that repeat their words."""
    sources = {EventId(source.event) for memory in erased_memories for source in memory.sources if source.event}
    ids = [memory.id for memory in erased_memories]
    questions = receipts.find_queries(db, ids)
    return sources | {
        entry
        for entry, question in questions
        if quotation.matches_question(question) or _asks_in_own_words(db, question, quotation, ids)
    }


def _asks_in_own_words(db: Database, question: str, quotation: Quotation, ids: Sequence[str]) -> bool:
    """Whether a question has a word that only the erased memories have: it would still say what they were about."""
    own_words = quotation.list_words().intersection(list_content_words(question))
    return any(not db.index.is_word_elsewhere(word, ids) for word in own_words)


def _list_outside(erased_memories: list[Memory], quotation: Quotation) -> Iterator[ErasedLocation]:
    """List copies outside our reach, so that a person can delete them; the list must not repeat the text itself."""
    sources = [source for memory in erased_memories for source in memory.sources]
    places = [
        (f"{source.actor or 'agent'} transcript", f"session {source.session_id}")
        for source in sources
        # The person's words stand in the transcript of the agent, which is another source.
        if source.session_id and not source.is_quotation
    ]
    places += [
        (source.file, f"lines {(LINE_NUMBERS.fullmatch(source.lines) and source.lines) or 'unknown'}")
        for source in sources
        if source.file
    ]
    places += [("exports", "files you exported, backups kept elsewhere")]
    if any(memory.scope is Scope.TEAM for memory in erased_memories):
        places += [("backups of teammates", "copies that others made of their stores; they have to erase it there")]
    for place in dict.fromkeys(places):
        name, detail = place
        if quotation.find_runs(name) or quotation.find_runs(detail):
            name, detail = "a source", "not named here, because its name quotes the erased text"
        yield ErasedLocation(name=name, state="outside", detail=detail)


@contextmanager
def save_plan(directory: Path | None, plan: ErasurePlan) -> Iterator[Path | None]:
    """Save a note of a plan and lock it while the body runs; a hub does everything in one transaction instead."""
    if directory is None:
        yield None
        return
    file = directory / ERASURE_PLANS.replace("*", os.urandom(6).hex())
    with _lock(file):
        # For the user alone: the plan holds what is to be erased.
        with os.fdopen(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as content:
            content.write(_encode(plan))
            content.flush()
            # The plan must be on disk before the first text is erased.
            os.fsync(content.fileno())
        yield file


def load_notes(directory: Path) -> Iterator[tuple[Path, ErasurePlan | None]]:
    """Load the notes that no other process is working on, with the plan of each; None if the note is damaged."""
    for file in sorted(directory.glob(ERASURE_PLANS)):
        # A locked plan is being finished by another process.
        with suppress(BlockingIOError, FileNotFoundError), _lock(file):
            yield file, _decode(file.read_bytes())


def is_any_locked(directory: Path) -> bool:
    """Whether another process is working on an erasure."""
    try:
        for file in directory.glob(ERASURE_PLANS):
            with _lock(file):
                pass
    except BlockingIOError:
        return True
    return False


def count_unfinished(directory: Path) -> int:
    """Count the unfinished erasures."""
    return sum(1 for _ in directory.glob(ERASURE_PLANS))


def _encode(plan: ErasurePlan) -> bytes:
    content = to_json(plan).encode("utf-8", "surrogatepass")
    # A note that a failing disk changed must not be taken for the plan: it would search for another text.
    return content + b"\n" + hashlib.sha256(content).hexdigest().encode()


def _decode(note: bytes) -> ErasurePlan | None:
    """Decode a note; None if the process was killed while it wrote it, or if it was damaged since."""
    content, separator, checksum = note.partition(b"\n")
    # Notes of earlier versions have no checksum.
    if separator and hashlib.sha256(content).hexdigest().encode() != checksum:
        return None
    try:
        return from_plain(ErasurePlan, json.loads(content.decode("utf-8", "surrogatepass")))
    except ValueError:
        return None


@contextmanager
def _lock(plan_file: Path) -> Iterator[None]:
    """Hold the lock of a plan; its file is beside the plan, because Windows deletes no file that is open."""
    lock = plan_file.with_suffix(".lock")
    try:
        with FileLock(str(lock), is_waiting=False):
            yield
    finally:
        # While the plan is there, others must find the same lock.
        if not plan_file.exists():
            with suppress(OSError):
                lock.unlink()
