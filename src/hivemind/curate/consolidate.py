"""Finds memories that say the same and memories that nobody uses, and makes the events that merge and retire them."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from hivemind.curate.event_factory import EventFactory
from hivemind.model.events import Event, MemoryCorroborated, MemoryRetracted, MemorySuperseded
from hivemind.model.ids import MemoryId
from hivemind.model.memory import Memory
from hivemind.model.review import Consolidation, Merge
from hivemind.text.contradiction import find_statement_conflict
from hivemind.text.statements import parse_statements
from hivemind.text.tokenise import extract_terms

FEWEST_TERMS = 3
"""Significant words of a memory; shorter ones agree by chance."""
SAME_SHARE = 0.6
"""The share of the longer memory's words that the shorter must have; with less, the longer says something else too."""
RAREST_TERMS = 5
"""Words of a memory by which others are found that may say the same: rare ones, so that few pairs are compared."""


def find_merges(memories: Sequence[Memory], rate: Callable[[Memory], tuple[int, int]]) -> list[Merge]:
    """Find memories of one scope and repository that say the same; of each group the best rated is kept.

    Every significant word of one must stand in the other: "staging" in one and "production" in the other may be all
    that differs, and makes two facts of them.
    """
    terms = {memory.id: frozenset(extract_terms(memory.text)) for memory in memories}
    counts = Counter(term for words in terms.values() for term in words)
    by_term: dict[str, list[Memory]] = defaultdict(list)
    for memory in memories:
        for term in terms[memory.id]:
            by_term[term].append(memory)
    merged_ids: set[MemoryId] = set()
    merges = []
    # The best first, so that what is kept is never merged into another.
    for keeper in sorted(memories, key=lambda memory: (*rate(memory), len(memory.text), memory.id), reverse=True):
        if keeper.id in merged_ids:
            continue
        # A word that only this memory has finds no other.
        shared_terms = sorted((counts[term], term) for term in terms[keeper.id] if counts[term] > 1)
        candidates = {memory.id: memory for _, term in shared_terms[:RAREST_TERMS] for memory in by_term[term]}
        duplicates = [
            memory
            for memory in candidates.values()
            if memory.id not in merged_ids and memory.id != keeper.id and _say_the_same(keeper, memory, terms)
        ]
        if duplicates:
            merged_ids |= {keeper.id, *(memory.id for memory in duplicates)}
            merges.append(Merge(keep=keeper, duplicates=tuple(duplicates)))
    return merges


def make_consolidation_events(factory: EventFactory, plan: Consolidation) -> list[Event]:
    """Make the events of a plan: duplicates are superseded and their sources kept, retired memories retracted."""
    events: list[Event] = []
    for merge in plan.merges:
        for duplicate in merge.duplicates:
            reason = "says the same"
            events.append(
                factory.about(duplicate, MemorySuperseded(memory_id=duplicate.id, by=merge.keep.id, reason=reason))
            )
            new_sources = [source for source in duplicate.sources if source not in merge.keep.sources]
            events += [
                factory.about(merge.keep, MemoryCorroborated(memory_id=merge.keep.id, source=source))
                for source in new_sources
            ]
    # Without the digest of the value: it was not wrong, and may come again.
    return events + [
        factory.about(item.memory, MemoryRetracted(memory_id=item.memory.id, reason=item.why))
        for item in plan.retirements
    ]


def _say_the_same(first: Memory, second: Memory, terms: dict[MemoryId, frozenset[str]]) -> bool:
    if (first.scope, first.repo, first.subject) != (second.scope, second.repo, second.subject):
        return False
    # Not by meaning: by the shipped model, two facts that differ in "staging" and "production" have a cosine of 0.93,
    # and three paraphrases that were tried 0.72 to 0.84.
    shorter, longer = sorted((terms[first.id], terms[second.id]), key=len)
    if len(shorter) < FEWEST_TERMS or not shorter <= longer or len(shorter) < SAME_SHARE * len(longer):
        return False
    is_valid_together = first.period.overlaps(second.period)
    return is_valid_together and not find_statement_conflict(
        parse_statements(first.text), parse_statements(second.text)
    )
