"""Which files agents touched together, from what was observed of their sessions."""

from collections import defaultdict
from collections.abc import Collection, Sequence

from hivemind.model.code import Related, SharedSession

READ = 0.5
"""What reading a file counts, beside 1 for editing it."""

HALF_LIFE = 20
"""Sessions after which a session counts half."""


def weights(sessions: Sequence[SharedSession], seeds: Collection[str]) -> dict[str, float]:
    """How much each file was touched together with a seed, or as a seed with others, in sessions given newest first."""
    found: dict[str, float] = defaultdict(float)
    for place, session in enumerate(sessions):
        counts = dict.fromkeys(session.read, READ) | dict.fromkeys(session.edited, 1.0)
        every, of_seeds = sum(counts.values()), sum(count for path, count in counts.items() if path in seeds)
        # A session that went through the whole tree says little about any two files.
        share = 2 ** (-place / HALF_LIFE) / max(len(counts) - 1, 1)
        for path, count in counts.items():
            found[path] += (every - count if path in seeds else of_seeds) * count * share
    return {path: weight for path, weight in found.items() if weight > 0}


def reason(sessions: Sequence[SharedSession], path: str) -> str:
    """How a file was touched together with others, in a person's words; nothing of what was said in a session."""
    count = sum(path in session.edited or path in session.read for session in sessions)
    verb = "edited" if any(path in session.edited for session in sessions) else "read"
    return f"touched together in {f'{count} sessions' if count > 1 else 'a session'}: {verb}"


def related(sessions: Sequence[SharedSession], seeds: Collection[str], limit: int) -> tuple[Related, ...]:
    """The files that were touched together with seeds, the seeds among them."""
    ranked = sorted(weights(sessions, seeds).items(), key=lambda item: (-item[1], item[0]))[:limit]
    return tuple(Related(path=path, weight=weight, why=(reason(sessions, path),)) for path, weight in ranked)
