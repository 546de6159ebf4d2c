"""The past: what agents kept of their sessions before anybody listened, and what they kept while we did."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from hivemind import agents
from hivemind.capture.intake import Arrival, arrival
from hivemind.model.session import Observation, Skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """A file in which an agent kept one session or several."""

    agent: str
    path: Path
    size: int


def transcripts(home: Path, names: Iterable[str], since: datetime | None) -> list[Transcript]:
    """What the named agents kept below a home, leaving out what was last touched before the moment."""
    return [
        Transcript(agent=name, path=path, size=path.stat().st_size)
        for name in names
        for path in agents.of(name).transcripts(home, since)
    ]


def arrivals(
    found: Iterable[Transcript],
    redact: Callable[[str], str],
    told_by_hooks: Callable[[str], bool],
    since: str = "",
    progress: Callable[[int], None] = lambda size: None,
) -> Iterator[Arrival | Skipped]:
    """What transcripts tell that hooks have not told, without its secrets.

    Where hooks and transcripts name the same step differently, a session that hooks told of is left out.
    """
    for transcript in found:
        same_ids = agents.of(transcript.agent).SAME_IDS
        for seen in _told(transcript):
            if isinstance(seen, Skipped):
                yield seen
            elif seen.at >= since and (same_ids or not told_by_hooks(seen.session_id)):
                yield arrival(seen, redact)
        progress(transcript.size)


def _told(transcript: Transcript) -> Iterator[Observation | Skipped]:
    try:
        yield from agents.of(transcript.agent).read_transcript(transcript.path)
    except OSError as error:
        yield Skipped(reason=f"a file that cannot be read: {error.strerror}", where=str(transcript.path))


def reason(skipped: Skipped) -> str:
    """Why a line was left out, without what is different in every line."""
    return skipped.reason.partition(":")[0]
