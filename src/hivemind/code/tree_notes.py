"""Notes about working trees, each a small file beside the code index that may be deleted at any time.

* Which repository a directory belongs to. git takes three processes to tell, which is most of the time of a hook that a
  running server answers. The note has the state of every file that the answer depends on.
* Where a history begins, which takes git a second for 100,000 commits.
* The memories that name code which was not there, so that the next commands look for it again. A command without any
  looks for one file and loads no parsers.
"""

import hashlib
import json
import os
import stat
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from hivemind.code import git
from hivemind.model.ids import derive_id
from hivemind.model.scope import Repository
from hivemind.system import replace_file
from hivemind.text.cues import find_root

IDS_TO_NOTE = ("remote:", "commit:")
"""A tree without commits is identified by its path, until its next commit."""
QUIET_NS = 2_000_000_000
"""How long the files must not have changed before something is noted; some file systems count in seconds."""
MAX_TRIES = 5
"""Commands that look for the code of a memory; after that, `hivemind code index` does."""
MAX_WAITING = 20
"""Memories whose code is looked for."""

FileState = list[int] | None
"""The inode of a file, and of anything but a folder its time and size; None if there is none."""


def read_note(cache: Path, directory: Path) -> Repository | None:
    """Return the repository that was noted for a directory; None if there is none, or something changed since."""
    try:
        note = _read(_name_note(cache, directory))
        repository = Repository(id=note["id"], root=note["root"], tree=note["tree"])
        is_same = all(_read_state(path) == state for path, state in note["files"].items())
    except (TypeError, KeyError, AttributeError):
        return None
    return repository if is_same and find_root(str(directory)) == repository.root else None


def write_note(cache: Path, directory: Path, repository: Repository) -> None:
    """Note what git said about a directory, if every file is known that this depends on."""
    place = git.find_repository(directory)
    if place is None or str(place[0]) != repository.root:
        return
    files = git.list_identifying_files(*place)
    if files is None or repository.problem or not repository.id.startswith(IDS_TO_NOTE):
        return
    states = {str(file): _read_state(str(file)) for file in (*files, *_list_user_files())}
    # Perhaps after git read it; the note would last although it is wrong.
    if max((state[1] for state in states.values() if state and len(state) > 1), default=0) > time.time_ns() - QUIET_NS:
        return
    note = {"id": repository.id, "root": repository.root, "tree": repository.tree, "files": states}
    _write(_name_note(cache, directory), note)


def read_first_commit(cache: Path | None, tree: str) -> tuple[str, str]:
    """The commit at which the first one was last looked for, and the first one; empty if nothing is noted."""
    note = _read(cache / f"first-{tree}.json") if cache and tree else None
    names = note if isinstance(note, list) and len(note) == 2 else ["", ""]
    is_valid = all(isinstance(name, str) and git.COMMIT_ID.fullmatch(name) for name in names)
    return (names[0], names[1]) if is_valid else ("", "")


def write_first_commit(cache: Path, tree: str, head: str, first: str) -> None:
    """Note the first commit of the history of another one."""
    _write(cache / f"first-{tree}.json", [head, first])


def has_waiting(cache: Path, root: Path) -> bool:
    """Whether memories of this tree wait for their code."""
    return _name_waiting(cache, root).exists()


def read_waiting(cache: Path, root: Path) -> dict[str, int]:
    """The ids of the memories that wait for their code, and how often it was looked for."""
    waiting = _read(_name_waiting(cache, root))
    return {str(memory_id): int(tries) for memory_id, tries in waiting.items()} if isinstance(waiting, dict) else {}


def write_waiting(cache: Path, root: Path, waiting: Mapping[str, int]) -> None:
    """Replace the waiting memories by those whose code was not looked for too often, the newest."""
    newest = [(memory_id, tries) for memory_id, tries in waiting.items() if tries < MAX_TRIES][-MAX_WAITING:]
    _write(_name_waiting(cache, root), dict(newest))


def _read(note: Path) -> Any:
    """The content of a note; None if there is none, or it is damaged."""
    try:
        return json.loads(note.read_text("utf-8"))
    except (OSError, ValueError):
        return None


def _write(note: Path, content: Any) -> None:
    """Replace a note; delete it if the content is empty."""
    # A home that cannot be written to costs time, and nothing else.
    with suppress(OSError):
        if not content:
            note.unlink(missing_ok=True)
            return
        note.parent.mkdir(exist_ok=True, mode=0o700)
        replace_file(note, json.dumps(content).encode())


def _name_waiting(cache: Path, root: Path) -> Path:
    return cache / f"unlinked-{derive_id(os.path.realpath(root))[:16]}.json"


def _name_note(cache: Path, directory: Path) -> Path:
    # As a digest, because a variable may have a password for a remote.
    variables = sorted(item for item in os.environ.items() if item[0].startswith(git.INHERITED_PREFIXES))
    digest = hashlib.sha256(repr((str(directory), variables)).encode("utf-8", "replace")).hexdigest()
    return cache / f"tree-{digest[:32]}.json"


def _list_user_files() -> list[Path]:
    """List the user's own configuration of git."""
    folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    other_file = os.environ.get("GIT_CONFIG_GLOBAL")
    return [Path(other_file)] if other_file else [Path.home() / ".gitconfig", Path(folder) / "git" / "config"]


def _read_state(path: str) -> FileState:
    try:
        status = os.stat(path)
    except OSError:
        return None
    # The time of a folder changes at almost every command of git.
    is_folder = stat.S_ISDIR(status.st_mode)
    return [status.st_ino] if is_folder else [status.st_ino, status.st_mtime_ns, status.st_size]
