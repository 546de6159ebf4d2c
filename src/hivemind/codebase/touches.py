"""Which files agents touched together, from what was observed of their sessions."""

from collections import defaultdict
from collections.abc import Collection, Sequence

from hivemind.model.code import Related, SharedSession

READ = 0.5
"""What reading a file counts, beside 1 for editing it."""

HALF_LIFE = 20
"""Sessions after which a session counts half."""


def weights(sessions: Sequence[SharedSession], path: str) -> dict[str, float]:
    """How much each other file was touched together with this one, in sessions given newest first."""
    found: dict[str, float] = defaultdict(float)
    for place, session in enumerate(sessions):
        counts = dict.fromkeys(session.read, READ) | dict.fromkeys(session.edited, 1.0)
        own = counts.pop(path, 0.0)
        for other, count in counts.items():
            # A session that went through the whole tree says little about any two files.
            found[other] += own * count / len(counts) * 2 ** (-place / HALF_LIFE)
    return {other: weight for other, weight in found.items() if weight}


def reason(sessions: Sequence[SharedSession], path: str) -> str:
    """How a file was touched together with others, in a person's words; nothing of what was said in a session."""
    count = sum(path in (*session.edited, *session.read) for session in sessions)
    verb = "edited" if any(path in session.edited for session in sessions) else "read"
    return f"touched together in {f'{count} sessions' if count > 1 else 'a session'}: {verb}"


def related(sessions: Sequence[SharedSession], inside: Collection[str], limit: int) -> tuple[Related, ...]:
    """The files that were touched together with one of these, and these where they were touched together."""
    found: dict[str, float] = defaultdict(float)
    for path in inside:
        for other, weight in weights(sessions, path).items():
            found[other] += weight
    ranked = sorted(found.items(), key=lambda item: (-item[1], item[0]))[:limit]
    return tuple(Related(path=path, weight=weight, why=(reason(sessions, path),)) for path, weight in ranked)
