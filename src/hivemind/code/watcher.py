"""Keep an index up to date while a server runs. This only saves time: without it files are read on demand."""

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event

from watchfiles import watch

from hivemind.code.index import CodeIndex
from hivemind.errors import Unavailable

MAX_FOLDERS = 20_000
"""Larger trees are not watched."""

MAX_INCREMENTAL_CHANGES = 1_000
"""More changes at once, as after switching branches, refresh the whole tree instead."""

PROBLEM_FACT = "watching"
REMEDY = "raise fs.inotify.max_user_watches or max_user_instances with sysctl"
_INOTIFY_LIMIT = Path("/proc/sys/fs/inotify/max_user_watches")


def follow(index: CodeIndex, stop: Event, on_update: Callable[[int], None] = lambda changed: None) -> None:
    """Update the index whenever files change, until `stop` is set; `on_update` gets the number of changed files."""
    index.refresh()
    while not stop.is_set():
        folders = _list_folders(index)
        check_limits(len(folders))
        try:
            _watch_folders(index, folders, stop, on_update)
        except OSError as error:
            raise Unavailable(f"files cannot be watched here: {error}") from error


def keep_warm(index: CodeIndex, stop: Event) -> None:
    """Follow a tree that is indexed or small; a failure is stored for `hivemind doctor`."""
    index.refresh_if_older(0)
    if not index.is_built:
        return
    problem = ""
    try:
        follow(index, stop)
    except Unavailable as error:
        problem = str(error)
    index.set_fact(PROBLEM_FACT, problem)


def find_problem(index: CodeIndex) -> str:
    """Why the tree cannot be followed, now or the last time; empty if it can."""
    try:
        check_limits(len(_list_folders(index)))
        next(watch(index.root, recursive=False, rust_timeout=20, yield_on_timeout=True, raise_interrupt=False))
    except (Unavailable, OSError) as error:
        return str(error)
    return index.get_fact(PROBLEM_FACT)


def check_limits(folder_count: int) -> None:
    """Raise Unavailable if the platform does not allow watching this many folders."""
    limit = MAX_FOLDERS
    if _INOTIFY_LIMIT.exists():
        # The limit is per user, and editors need watches too.
        limit = min(limit, int(_INOTIFY_LIMIT.read_text("utf-8")) // 2)
    if folder_count > limit:
        raise Unavailable(f"{folder_count} folders are more than can be watched here ({limit})")


def _list_folders(index: CodeIndex) -> list[str]:
    """The folders of indexed files; watching the root recursively would include ignored folders."""
    relative_folders = {path.rpartition("/")[0] for path in index.list_paths()}
    return sorted(str(index.root / folder) for folder in relative_folders | {""} if (index.root / folder).is_dir())


def _watch_folders(index: CodeIndex, folders: Sequence[str], stop: Event, on_update: Callable[[int], None]) -> None:
    """Watch these folders until files were added or removed, so that other folders may be needed."""
    indexed_paths = set(index.list_paths())
    for changes in watch(
        *folders, watch_filter=None, recursive=False, stop_event=stop, raise_interrupt=False, rust_timeout=500
    ):
        paths = {_make_relative(index.root, file) for _, file in changes} - {""}
        if len(paths) <= MAX_INCREMENTAL_CHANGES and paths <= indexed_paths:
            on_update(index.update(sorted(paths)))
            continue
        # A new path may be a folder or ignored; a refresh asks git which files count.
        on_update(index.refresh())
        if set(index.list_paths()) != indexed_paths:
            return


def _make_relative(root: Path, file: str) -> str:
    path = Path(file)
    relative = path.relative_to(root).as_posix() if path.is_relative_to(root) else ""
    return "" if relative in (".", ".git") or relative.startswith(".git/") else relative
