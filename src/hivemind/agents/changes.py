"""Files of the user's that we are about to change: shown first, then written all or nothing each."""

import difflib
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hivemind.errors import InvalidInput, Refused

PROGRAM = 0o755


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a file holds and what it shall hold; nothing stands for no file."""

    path: Path
    before: str | None
    after: str | None
    root: Path
    """Directories left empty are removed below this one."""
    what: tuple[str, ...] = ()
    """What of ours it puts in or takes out: the server, hooks, instructions, trust."""


def on_disk(path: Path) -> str | None:
    """What the file holds now, every line ending as it is, or nothing if there is none."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is not UTF-8 text; nothing was changed") from None


def shown(change: Change) -> str:
    """The change as a unified diff, for people to look at before it is made."""
    name = str(change.path)
    old, new = (change.before or "").splitlines(), (change.after or "").splitlines()
    was, becomes = (os.devnull if text is None else name for text in (change.before, change.after))
    return "\n".join(difflib.unified_diff(old, new, was, becomes, lineterm=""))


def apply(changes: Iterable[Change]) -> None:
    """Make the changes, unless a file no longer holds what the plan was made for."""
    planned = list(changes)
    for change in planned:
        if on_disk(change.path) != change.before:
            raise Refused(f"{change.path} changed in the meantime; run the command again")
    for change in planned:
        if change.after is None:
            _remove(change.path, change.root)
        else:
            _write(change.path, change.after)


def _write(path: Path, text: str) -> None:
    # Settings are often links into a repository of dotfiles: the link stays, its target changes.
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(PROGRAM if text.startswith("#!") else _mode(target))
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _mode(path: Path) -> int:
    """The rights the file has; a new one of ours is for the user alone, as agents keep keys beside it."""
    return path.stat().st_mode & 0o7777 if path.exists() else 0o600


def _remove(path: Path, root: Path) -> None:
    path.unlink()
    for directory in path.parents:
        if root not in directory.parents:
            return
        try:
            directory.rmdir()
        except OSError:
            return
