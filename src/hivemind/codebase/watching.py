"""Keeping an index warm while a server runs. Nothing is wrong without it, only slower."""

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event

from watchfiles import watch

from hivemind.codebase.index import Index
from hivemind.errors import Unavailable

MAX_FOLDERS = 20_000
MAX_INCREMENTAL_CHANGES = 1_000
"""Changes at once beyond which the whole tree is looked at, as after a change of branch."""

PROBLEM_FACT = "watching"
REMEDY = "raise fs.inotify.max_user_watches or max_user_instances with sysctl"
_INOTIFY_LIMIT = Path("/proc/sys/fs/inotify/max_user_watches")


def follow(index: Index, stop: Event, on_update: Callable[[int], None] = lambda changed: None) -> None:
    """Update the index whenever files change, until told to stop."""
    index.refresh()
    while not stop.is_set():
        folders = _list_folders(index)
        check_limits(len(folders))
        try:
            _watch_folders(index, folders, stop, on_update)
        except OSError as error:
            raise Unavailable(f"files cannot be watched here: {error}") from error


def keep_warm(index: Index, stop: Event) -> None:
    """Follow a tree that is known or small; what hinders that is noted for the doctor."""
    index.refresh_if_older(0)
    if not index.is_built:
        return
    problem = ""
    try:
        follow(index, stop)
    except Unavailable as error:
        problem = str(error)
    index.note(PROBLEM_FACT, problem)


def trouble(index: Index) -> str:
    """Why the tree cannot be followed: what hindered it last, or what hinders it now; empty if nothing does."""
    try:
        check_limits(len(_list_folders(index)))
        next(watch(index.root, recursive=False, rust_timeout=20, yield_on_timeout=True, raise_interrupt=False))
    except (Unavailable, OSError) as error:
        return str(error)
    return index.fact(PROBLEM_FACT)


def check_limits(folder_count: int) -> None:
    """Raise Unavailable, with the reason, if the platform does not allow so many folders to be watched."""
    limit = MAX_FOLDERS
    if _INOTIFY_LIMIT.exists():
        # Editors need their share of what the whole user may watch.
        limit = min(limit, int(_INOTIFY_LIMIT.read_text()) // 2)
    if folder_count > limit:
        raise Unavailable(f"{folder_count} folders are more than can be watched here ({limit})")


def _list_folders(index: Index) -> list[str]:
    """The folders that hold listed files; to watch the root recursively would include what git ignores."""
    relative_folders = {path.rpartition("/")[0] for path in index.paths()}
    return sorted(str(index.root / folder) for folder in relative_folders | {""} if (index.root / folder).is_dir())


def _watch_folders(index: Index, folders: Sequence[str], stop: Event, on_update: Callable[[int], None]) -> None:
    """Watch these folders until they are no longer the right ones."""
    indexed_paths = set(index.paths())
    for changes in watch(
        *folders, watch_filter=None, recursive=False, stop_event=stop, raise_interrupt=False, rust_timeout=500
    ):
        paths = {_relative_path(index.root, file) for _, file in changes} - {""}
        if len(paths) <= MAX_INCREMENTAL_CHANGES and paths <= indexed_paths:
            on_update(index.update(sorted(paths)))
            continue
        # Something new, perhaps a folder, perhaps ignored: git decides what is worth knowing.
        on_update(index.refresh())
        if set(index.paths()) != indexed_paths:
            return


def _relative_path(root: Path, file: str) -> str:
    path = Path(file)
    relative = path.relative_to(root).as_posix() if path.is_relative_to(root) else ""
    return "" if relative in (".", ".git") or relative.startswith(".git/") else relative
