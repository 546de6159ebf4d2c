"""What stays out: values that were rejected, erased or taken back, and texts that contain an erased one."""

from collections.abc import Iterable

from hivemind.curate.files import BATCH, without_heading
from hivemind.model.events import MemoryRejected, MemoryRestored, MemoryRetracted
from hivemind.model.imprint import Watch, imprint
from hivemind.model.life import rolled_back
from hivemind.model.memory import Channel, Memory
from hivemind.model.scope import Scope
from hivemind.model.values import value
from hivemind.store import Store, log
from hivemind.store.projections import tombstones


def stays_out(store: Store, text: str, repo: str, *, said_by_person: bool = False) -> str | None:
    """Why a text is refused in a repository, by the person's own verdicts or the team's; nothing if it is not.

    What a person took back may be said again by a person, and by nobody else.
    """
    values = {value(text, store.key_for(scope)) for scope in Scope}
    reason = tombstones.refusal(store.db, values, repo, by_person=said_by_person)
    return reason or ("erased" if watch(store).holds(text) else None)


def watch(store: Store) -> Watch:
    """Finds what was erased here inside other texts."""
    return tombstones.watch(store.db, {scope: store.key_for(scope) for scope in Scope})


def imprints(store: Store, scope: Scope, texts: Iterable[str]) -> tuple[str, ...]:
    """By what texts that are being erased will be found inside others."""
    key = store.key_for(scope)
    return tuple(sorted(filter(None, {imprint(text, key) for text in texts})))


def forms(memory: Memory, texts: Iterable[str]) -> set[str]:
    """What a memory said, and where it came from an instruction file, the same without the heading before it."""
    said = set(texts)
    return said | {without_heading(text) for text in said} if memory.channel is Channel.FILE else said


def verdict_on(store: Store, memory_id: str) -> str:
    """How a person took a memory back: rejected or retracted; empty if nobody did, or only because it left its file."""
    events = log.about(store.db, memory_id)
    away = rolled_back(events)
    verdict = ""
    for event in (one for one in events if one.id not in away):
        match event.fact:
            case MemoryRejected():
                verdict = "rejected"
            case MemoryRetracted():
                verdict = "" if event.batch.startswith(f"{BATCH}-") else "retracted"
            case MemoryRestored():
                verdict = ""
            case _:
                continue
    return verdict
