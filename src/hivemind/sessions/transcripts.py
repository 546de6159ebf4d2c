"""Reads the transcripts that agents keep of their sessions, from before and after hooks were installed."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from hivemind.agents.agent import get_agent
from hivemind.context import Progress, quietly
from hivemind.model.session import Observation, SkippedInput

LONGEST_CACHED = 200
"""Characters of a text whose redaction is cached."""
ID_CHARACTERS_IN_NAME = 8
"""Characters of a session's id that every agent puts into the name of its transcript."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """A file in which an agent recorded one session or several."""

    agent: str
    path: Path
    size: int


def find_transcripts(home: Path, names: Iterable[str], since: datetime | None) -> list[Transcript]:
    """Find the transcripts of the named agents below a home directory, modified since then, oldest first per agent."""
    results = []
    for name in names:
        paths = (path for pattern in get_agent(name).transcripts for path in home.glob(pattern) if path.is_file())
        times_and_paths = sorted((path.stat().st_mtime, path) for path in paths)
        recent = [path for modified_at, path in times_and_paths if since is None or modified_at >= since.timestamp()]
        results += [Transcript(agent=name, path=path, size=path.stat().st_size) for path in recent]
    return results


def find_session_transcripts(home: Path, agent: str, session: str, since: datetime) -> list[Transcript]:
    """Find the transcripts that may hold one session: files named after it, or databases of all sessions."""
    # With other ids than the hooks', every step of the session would be stored a second time.
    candidates = find_transcripts(home, [agent], since) if get_agent(agent).same_ids else []
    return [
        transcript
        for transcript in candidates
        if session[:ID_CHARACTERS_IN_NAME] in str(transcript.path) or transcript.path.suffix == ".db"
    ]


def read_observations(
    transcripts: Sequence[Transcript],
    is_recorded_by_hooks: Callable[[str], bool],
    since: str = "",
    progress: Progress = quietly,
) -> Iterator[Observation | SkippedInput]:
    """Read the observations in transcripts, file by file and not yet redacted; the progress is in bytes.

    Where hooks and transcripts give the same step different ids, sessions recorded by hooks are skipped: every step
    would be stored twice.
    """
    total, bytes_read = sum(transcript.size for transcript in transcripts), 0
    for transcript in transcripts:
        same_ids = get_agent(transcript.agent).same_ids
        for step in _read_transcript(transcript):
            if isinstance(step, SkippedInput) or (
                step.at >= since and (same_ids or not is_recorded_by_hooks(step.session_id))
            ):
                yield step
        bytes_read += transcript.size
        progress(bytes_read, total)


def _read_transcript(transcript: Transcript) -> Iterator[Observation | SkippedInput]:
    where = str(transcript.path)
    try:
        for step in get_agent(transcript.agent).read_transcript(transcript.path):
            yield replace(step, where=f"{where} {step.where}".strip()) if isinstance(step, SkippedInput) else step
    except OSError as error:
        yield SkippedInput(reason=f"a file that cannot be read: {error.strerror}", where=where)
    except Exception as error:  # noqa: BLE001 - an agent's next version may write anything, and other files count
        yield SkippedInput(reason=f"a file that cannot be read: {type(error).__name__}: {error}", where=where)


def summarise_reason(unreadable: SkippedInput) -> str:
    """Return why a line was skipped, without the details that differ in every line, so that reasons can be counted."""
    return unreadable.reason.partition(":")[0]


def cache_redaction(redact: Callable[[str], str]) -> Callable[[str], str]:
    """Cache the redaction of short texts: directories, tools and models repeat in every line."""
    cached_redact = lru_cache(maxsize=10_000)(redact)
    return lambda text: cached_redact(text) if len(text) <= LONGEST_CACHED else redact(text)
