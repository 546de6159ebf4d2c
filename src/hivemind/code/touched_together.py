"""Weigh files that agents touched in the same sessions."""

from collections import defaultdict
from collections.abc import Collection, Sequence

from hivemind.model.code import RelatedFile, SharedSession

READ_WEIGHT = 0.5
"""Weight of reading a file; editing it counts 1. Set by hand, like the half-life, for lack of data to measure on."""

HALF_LIFE_SESSIONS = 20
"""Number of sessions after which an older session counts half."""


def weigh_files(sessions: Sequence[SharedSession], seeds: Collection[str]) -> dict[str, float]:
    """How much each file was touched together with a seed, or as a seed with others; the newest session comes first."""
    totals: dict[str, float] = defaultdict(float)
    for age, session in enumerate(sessions):
        counts = dict.fromkeys(session.read, READ_WEIGHT) | dict.fromkeys(session.edited, 1.0)
        session_total, seed_total = sum(counts.values()), sum(count for path, count in counts.items() if path in seeds)
        # The weight is divided among the files: a session that went through the whole tree says little about any two.
        share = 2 ** (-age / HALF_LIFE_SESSIONS) / max(len(counts) - 1, 1)
        for path, count in counts.items():
            totals[path] += (session_total - count if path in seeds else seed_total) * count * share
    return {path: weight for path, weight in totals.items() if weight > 0}


def describe_touches(sessions: Sequence[SharedSession], path: str) -> str:
    """A sentence on how often a file was touched together with others, without any content of the sessions."""
    count = sum(path in session.edited or path in session.read for session in sessions)
    verb = "edited" if any(path in session.edited for session in sessions) else "read"
    return f"touched together in {f'{count} sessions' if count > 1 else 'a session'}: {verb}"


def find_related(sessions: Sequence[SharedSession], seeds: Collection[str], limit: int) -> tuple[RelatedFile, ...]:
    """The files that were touched together with seeds, including the seeds."""
    ranking = sorted(weigh_files(sessions, seeds).items(), key=lambda item: (-item[1], item[0]))[:limit]
    return tuple(
        RelatedFile(path=path, weight=weight, why=(describe_touches(sessions, path),)) for path, weight in ranking
    )
