"""The past: what agents kept of their sessions before anybody listened, and what they kept while we did."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from hivemind import agents
from hivemind.model.session import Observation, Skipped

SHORT = 200
NAMING = 8
"""Characters of a session's id that every agent puts into the name of its file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """A file in which an agent kept one session or several."""

    agent: str
    path: Path
    size: int


def transcripts(home: Path, names: Iterable[str], since: datetime | None) -> list[Transcript]:
    """What each of the named agents kept below a home and touched since the moment, oldest first."""
    found = []
    for name in names:
        paths = (path for pattern in agents.of(name).TRANSCRIPTS for path in home.glob(pattern) if path.is_file())
        stamped = sorted((path.stat().st_mtime, path) for path in paths)
        recent = [path for touched, path in stamped if since is None or touched >= since.timestamp()]
        found += [Transcript(agent=name, path=path, size=path.stat().st_size) for path in recent]
    return found


def of_session(home: Path, agent: str, session: str, since: datetime) -> list[Transcript]:
    """Where an agent kept one session: in a file whose name tells, or in a database of all."""
    found = transcripts(home, [agent], since) if agents.of(agent).SAME_IDS else []
    return [one for one in found if session[:NAMING] in str(one.path) or one.path.suffix == ".db"]


def observations(
    found: Iterable[Transcript],
    told_by_hooks: Callable[[str], bool],
    since: str = "",
    progress: Callable[[int], None] = lambda size: None,
) -> Iterator[Observation | Skipped]:
    """What transcripts tell, file by file, with their secrets.

    Where hooks and transcripts name the same step differently, a session that hooks told of is left out.
    """
    for transcript in found:
        same_ids = agents.of(transcript.agent).SAME_IDS
        for seen in _told(transcript):
            if isinstance(seen, Skipped) or (seen.at >= since and (same_ids or not told_by_hooks(seen.session_id))):
                yield seen
        progress(transcript.size)


def _told(transcript: Transcript) -> Iterator[Observation | Skipped]:
    where = str(transcript.path)
    try:
        for seen in agents.of(transcript.agent).read_transcript(transcript.path):
            yield replace(seen, where=f"{where} {seen.where}".strip()) if isinstance(seen, Skipped) else seen
    except OSError as error:
        yield Skipped(reason=f"a file that cannot be read: {error.strerror}", where=where)
    except Exception as error:  # noqa: BLE001 - an agent's next version may write anything, and other files count
        yield Skipped(reason=f"a file that cannot be read: {type(error).__name__}: {error}", where=where)


def reason(skipped: Skipped) -> str:
    """Why a line was left out, without what is different in every line."""
    return skipped.reason.partition(":")[0]


def looking_once(redact: Callable[[str], str]) -> Callable[[str], str]:
    """The same redaction, which remembers short texts: directories, tools and models stand in every line."""
    remembered = lru_cache(maxsize=10_000)(redact)
    return lambda text: remembered(text) if len(text) <= SHORT else redact(text)
