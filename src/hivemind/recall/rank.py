"""One order out of what was found, each place with its reasons."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from hivemind.model.memory import Memory, Status
from hivemind.model.recall import Hit, Query, Signal
from hivemind.recall.search import Candidate

BY_WORDS = 0.5
"""How much words count against meaning."""
UNRELATED, MANY = 0.5, 30
"""How near two texts are that have nothing to do with each other, by the model that comes with the installation."""
TAIL = 0.2
"""What reaches less than this share of the best hit's score is not worth its tokens."""
BY_TRUST = {1: 0.85, 2: 0.97, 3: 1.0}


@dataclass(frozen=True, slots=True)
class Scale:
    """What the best candidate reaches and what is nothing special, for this question."""

    most_words: float
    nearest: float
    typical: float

    @classmethod
    def of(cls, found: Sequence[Candidate]) -> "Scale":
        """The scale that a set of candidates gives."""
        near = [candidate.meaning for candidate in found if candidate.meaning is not None]
        return cls(
            max((candidate.words for candidate in found), default=0.0),
            max(near, default=1.0),
            # A few candidates may all be near; what is nothing special is then known from the model.
            median(near) if len(near) >= MANY else min([UNRELATED, *near]),
        )

    def words(self, candidate: Candidate) -> float:
        """From 0 to 1."""
        return candidate.words / self.most_words if self.most_words > 0 else 0.0

    def meaning(self, candidate: Candidate) -> float:
        """1 for the nearest, 0 for the typical, less for what is further away."""
        if candidate.meaning is None:
            return 0.0
        return (candidate.meaning - self.typical) / max(self.nearest - self.typical, 1e-6)


def rank(found: Sequence[Candidate], query: Query) -> list[Hit]:
    """Best first, each memory once, by the passage that fits best."""
    scale = Scale.of(found)
    best: dict[str, Hit] = {}
    for candidate in found:
        hit = _hit(candidate, scale, query)
        if hit.memory.id not in best or hit.score > best[hit.memory.id].score:
            best[hit.memory.id] = hit
    newest_first = sorted(best.values(), key=lambda hit: (hit.memory.revised_at, hit.memory.id), reverse=True)
    in_order = sorted(newest_first, key=lambda hit: -hit.score)
    return [hit for hit in in_order if hit.score >= TAIL * in_order[0].score]


def _hit(candidate: Candidate, scale: Scale, query: Query) -> Hit:
    memory = candidate.memory
    words, meaning, trusted = scale.words(candidate), scale.meaning(candidate), BY_TRUST[memory.trust]
    signals = [Signal(name="words", score=words, why=_words_say(words))] if words else []
    if candidate.meaning is not None:
        signals.append(Signal(name="meaning", score=candidate.meaning, why=_meaning_says(meaning)))
    signals.append(Signal(name="trust", score=trusted, why=f"came from {memory.channel}, trust {memory.trust}"))
    fit = BY_WORDS * words + (1 - BY_WORDS) * meaning
    return Hit(
        memory=memory,
        passage=candidate.passage,
        score=round(fit * trusted if fit > 0 else fit, 4),
        signals=tuple(signals),
        labels=labels(memory, query),
    )


def _words_say(words: float) -> str:
    return "shares the telling words of the question" if words > 0.6 else "shares words with the question"


def _meaning_says(meaning: float) -> str:
    return "is near the question in meaning" if meaning > 0.6 else "has something to do with the question"


def labels(memory: Memory, query: Query) -> tuple[str, ...]:
    """What a reader must know before using it: disputed, elsewhere, overdue, past."""
    said = [] if memory.status is Status.ACTIVE else [memory.status.value]
    if memory.repo and memory.repo not in query.sight.repos:
        said.append(f"from another repository: {memory.repo.rsplit('/', 1)[-1]}")
    if memory.is_overdue(query.moment):
        said.append(f"was to be verified by {memory.verify_by[:10]}: verify before acting")
    if memory.valid_to and memory.valid_to <= query.moment:
        said.append(f"was true until {memory.valid_to[:10]}")
    return tuple(said)
