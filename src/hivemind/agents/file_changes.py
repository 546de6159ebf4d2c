"""Planned changes to the user's files: show them as diffs, then write each file atomically."""

import difflib
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hivemind.errors import InvalidInput, Refused

EXECUTABLE_MODE = 0o755


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """The content of a file before and after a change; None if the file does not exist."""

    path: Path
    before: str | None
    after: str | None
    root: Path
    """Directories below this one are removed if the change leaves them empty."""
    what: tuple[str, ...] = ()
    """What the change adds or removes: server, hooks, instructions, trust."""


def read_file(path: Path) -> str | None:
    """Return the content of a file with its line endings unchanged, or None if there is no file."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is not UTF-8 text, so nothing was changed; convert it and try again") from None


def render_diff(change: FileChange) -> str:
    """Return the change as a unified diff."""
    name = str(change.path)
    old, new = (change.before or "").splitlines(), (change.after or "").splitlines()
    old_name, new_name = (os.devnull if text is None else name for text in (change.before, change.after))
    return "\n".join(difflib.unified_diff(old, new, old_name, new_name, lineterm=""))


def apply(changes: Iterable[FileChange]) -> None:
    """Write the changes; refuse if a file has changed since they were planned."""
    pending = list(changes)
    # All files are checked before the first is written, so that a conflict changes nothing.
    for change in pending:
        if read_file(change.path) != change.before:
            raise Refused(f"{change.path} was changed by another program; run the command again")
    for change in pending:
        if change.after is None:
            _remove(change.path, change.root)
        else:
            _write(change.path, change.after)


def _write(path: Path, text: str) -> None:
    # Settings are often symlinks into a repository of dotfiles: write the target and keep the link.
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    # Written to a temporary file and renamed, so that a crash leaves either the old or the new content.
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(EXECUTABLE_MODE if text.startswith("#!") else _get_mode(target))
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _get_mode(path: Path) -> int:
    """Return the mode of a file; a new one is private to the user, as agents keep API keys in such files."""
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
