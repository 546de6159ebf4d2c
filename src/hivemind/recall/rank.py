"""One order out of what was found, each place with its reasons."""

from collections.abc import Iterable

from hivemind.model.memory import Status
from hivemind.model.recall import Hit, Query, Signal
from hivemind.recall.search import Candidate

BY_TRUST = {1: 0.85, 2: 0.97, 3: 1.0}


def rank(found: Iterable[Candidate], query: Query) -> list[Hit]:
    """Best first. Words decide; trust and standing settle what words leave close."""
    hits = [_hit(candidate, query) for candidate in found]
    newest_first = sorted(hits, key=lambda hit: (hit.memory.revised_at, hit.memory.id), reverse=True)
    return sorted(newest_first, key=lambda hit: -hit.score)


def _hit(candidate: Candidate, query: Query) -> Hit:
    memory = candidate.memory
    trusted = BY_TRUST[memory.trust]
    signals = (
        Signal(name="words", score=candidate.words, why="shares words with the question"),
        Signal(name="trust", score=trusted, why=f"came from {memory.channel}, trust {memory.trust}"),
    )
    return Hit(
        memory=memory,
        passage=candidate.passage,
        score=round(candidate.words * trusted, 4),
        signals=signals,
        labels=_labels(candidate, query),
    )


def _labels(candidate: Candidate, query: Query) -> tuple[str, ...]:
    memory = candidate.memory
    labels = [] if memory.status is Status.ACTIVE else [memory.status.value]
    if memory.repo and memory.repo not in query.sight.repos:
        labels.append(f"from another repository: {memory.repo.rsplit('/', 1)[-1]}")
    if memory.is_overdue(query.moment):
        labels.append(f"was to be verified by {memory.verify_by[:10]}: verify before acting")
    if memory.valid_to and memory.valid_to <= query.moment:
        labels.append(f"was true until {memory.valid_to[:10]}")
    return tuple(labels)
