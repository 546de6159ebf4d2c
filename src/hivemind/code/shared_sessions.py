"""Sessions that touched files of the working tree together, and how related that makes these files."""

import os
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

from hivemind.code.working_tree import stamp
from hivemind.model.code import RelatedFile, SharedSession
from hivemind.model.scope import Repository, Visibility
from hivemind.model.session import Session
from hivemind.store.database import Database
from hivemind.store.projections import repositories, sessions

RECENT = 200
"""Sessions that are looked at, the newest: older ones would count next to nothing."""

READ_WEIGHT = 0.5
"""Weight of reading a file; editing it counts 1. Set by hand, like the half-life, for lack of data to measure on."""

HALF_LIFE_SESSIONS = 20
"""Number of sessions after which an older session counts half."""


def find_shared_sessions(db: Database, repository: Repository, inside: Collection[str]) -> tuple[SharedSession, ...]:
    """Find the sessions of this repository that touched one of these files together with others, newest first."""
    # Whatever else the question may see: what was done in other repositories says nothing about this tree.
    sight = Visibility.of(repository)
    recent = sessions.list_sessions(db, sight, limit=RECENT) if repository.root else []
    directories: dict[str, str] = {session.id: session.directory for session in recent}
    touched_files: dict[str, dict[str, bool]] = {session.id: {} for session in recent}
    # All working trees of the repository, the current one first.
    here = (repository.root, os.path.realpath(repository.root))
    roots = [*dict.fromkeys([*here, *repositories.find_roots(db, sight.repos)])]
    find_path = cache(partial(_find_path_in_tree, roots))
    for session_id, file, is_edited in sessions.find_touched_files(db, touched_files):
        if path := find_path(directories[session_id], file):
            touched_files[session_id][path] = is_edited or touched_files[session_id].get(path, False)
    target_paths = frozenset(inside)
    return tuple(
        _make_shared_session(session, touched_files[session.id], target_paths)
        for session in recent
        if len(touched_files[session.id]) > 1 and not target_paths.isdisjoint(touched_files[session.id])
    )


def _make_shared_session(
    session: Session, touched_files: Mapping[str, bool], target_paths: Collection[str]
) -> SharedSession:
    """Make a session with its files, target files first."""
    in_order = sorted(touched_files, key=lambda path: path not in target_paths)
    return SharedSession(
        id=session.id,
        agent=session.agent,
        at=session.last_seen_at,
        task=session.task,
        edited=tuple(path for path in in_order if touched_files[path]),
        read=tuple(path for path in in_order if not touched_files[path]),
    )


def _find_path_in_tree(roots: Sequence[str], directory: str, file: str) -> str:
    """Return the path of a file in the current tree; agents write it absolute or relative to their directory."""
    place = os.path.normpath(os.path.join(directory or roots[0], file))
    inside = next((place[len(root) + 1 :] for root in roots if place.startswith(root + os.sep)), "")
    path = inside.replace(os.sep, "/")
    return path if path and stamp(Path(roots[0]), path) else ""


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


def find_touched_together(
    sessions: Sequence[SharedSession], seeds: Collection[str], limit: int
) -> tuple[RelatedFile, ...]:
    """The files that were touched together with seeds, including the seeds."""
    ranking = sorted(weigh_files(sessions, seeds).items(), key=lambda item: (-item[1], item[0]))[:limit]
    return tuple(
        RelatedFile(path=path, weight=weight, why=(describe_touches(sessions, path),)) for path, weight in ranking
    )
