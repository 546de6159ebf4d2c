"""Refuses texts that were rejected, erased or retracted before, and texts that contain an erased one."""

from collections.abc import Iterable

from hivemind.model.events import MemoryRejected, MemoryRemembered, MemoryRestored, MemoryRetracted
from hivemind.model.fold import filter_effective
from hivemind.model.free_text import iterate_text
from hivemind.model.memory import Channel, Memory
from hivemind.model.scope import Scope
from hivemind.store import Store, log
from hivemind.store.gate import ExclusionGate, FieldRefusal
from hivemind.store.projections.tombstones import Exclusion
from hivemind.text.imprint import make_imprint
from hivemind.transfer.rules_files import BATCH, strip_heading


def find_refusal(store: Store, text: str, repo: str, *, said_by_person: bool = False) -> Exclusion | None:
    """Return why a text is refused in a repository, by this person's or the team's verdict; None if it is accepted.

    A text that a person retracted may be added again by a person, and by nobody else.
    """
    refusal = store.load_gate().find_refusal([("text", text)], repo, by_person=said_by_person)
    return refusal.reason if refusal else None


def find_refused_field(
    gate: ExclusionGate, fact: MemoryRemembered, repo: str, *, said_by_person: bool = False
) -> FieldRefusal | None:
    """Return which field of a claim is refused; None if all of them are accepted."""
    return gate.find_refusal([*iterate_text(fact), ("repository", repo)], repo, by_person=said_by_person)


def compute_imprints(store: Store, scope: Scope, texts: Iterable[str]) -> tuple[str, ...]:
    """Compute the imprints by which erased texts are recognised inside others."""
    key = store.key_for(scope)
    return tuple(sorted(filter(None, {make_imprint(text, key) for text in texts})))


def list_text_forms(memory: Memory, texts: Iterable[str]) -> set[str]:
    """List the texts of a memory; if it came from an instruction file, also without the heading before them."""
    all_texts = set(texts)
    return all_texts | {strip_heading(text) for text in all_texts} if memory.channel is Channel.FILE else all_texts


def find_verdict(store: Store, memory_id: str) -> Exclusion | None:
    """Return how a person decided against a memory; None if nobody did, or if it only left its file."""
    verdict: Exclusion | None = None
    for event in filter_effective(log.read_events_about(store.db, memory_id)):
        match event.fact:
            case MemoryRejected():
                verdict = Exclusion.REJECTED
            case MemoryRetracted():
                # Reading the instruction files retracts what is no longer in them; that is no verdict.
                verdict = None if event.batch.startswith(f"{BATCH}-") else Exclusion.RETRACTED
            case MemoryRestored():
                verdict = None
    return verdict
