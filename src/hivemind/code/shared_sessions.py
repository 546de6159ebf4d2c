"""Sessions that touched files of the working tree together."""

import os
from collections.abc import Collection, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

from hivemind.code.working_tree import stamp
from hivemind.model.code import SharedSession
from hivemind.model.scope import Repository, Visibility
from hivemind.model.session import Session
from hivemind.store.database import Database
from hivemind.store.projections import repositories, sessions

RECENT = 200
"""Sessions that are looked at, the newest: older ones would count next to nothing."""


def shared_sessions(db: Database, repository: Repository, inside: Collection[str]) -> tuple[SharedSession, ...]:
    """Find the sessions of this repository that touched one of these files together with others, newest first."""
    # Whatever else the question may see: what was done in other repositories says nothing about this tree.
    sight = Visibility.of(repository)
    recent = sessions.list_sessions(db, sight, limit=RECENT) if repository.root else []
    directories: dict[str, str] = {session.id: session.directory for session in recent}
    touched_files: dict[str, dict[str, bool]] = {session.id: {} for session in recent}
    path_in_tree = cache(partial(_path_in_tree, _roots(db, repository, sight)))
    for session_id, file, is_edited in sessions.find_touched_files(db, touched_files):
        if path := path_in_tree(directories[session_id], file):
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


def _roots(db: Database, repository: Repository, sight: Visibility) -> list[str]:
    """List the roots of all working trees of this repository, the current one first."""
    here = [repository.root, os.path.realpath(repository.root)]
    return [*dict.fromkeys([*here, *repositories.find_roots(db, sight.repos)])]


def _path_in_tree(roots: Sequence[str], directory: str, file: str) -> str:
    """Return the path of a file in the current tree; agents write it absolute or relative to their directory."""
    place = os.path.normpath(os.path.join(directory or roots[0], file))
    inside = next((place[len(root) + 1 :] for root in roots if place.startswith(root + os.sep)), "")
    path = inside.replace(os.sep, "/")
    return path if path and stamp(Path(roots[0]), path) else ""
