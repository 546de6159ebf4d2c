"""Planned changes to the user's files: show them as diffs, then write each file atomically."""

import codecs
import difflib
import json
import os
import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path

from hivemind.errors import InvalidInput, Refused, Unavailable
from hivemind.model.dataclass import dataclass
from hivemind.system import replace_file

EXECUTABLE_MODE = 0o755

Notes = dict[Path, str | None]
"""Directories that we made, and files that had no text before us, with the white space that they had."""


class Purpose(StrEnum):
    """What an entry of ours in an agent's files is for."""

    SERVER = "server"
    HOOKS = "hooks"
    INSTRUCTIONS = "instructions"
    COMMANDS = "commands"
    STATUS_LINE = "status line"
    TRUST = "trust"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """The content of a file before and after a change; None if the file does not exist."""

    path: Path
    before: str | None
    after: str | None
    purposes: tuple[Purpose, ...] = ()
    """What the entries that it adds or removes are for."""


def read_file(path: Path) -> str | None:
    """Return the text of a file with its line endings, without a byte order mark; None if there is no file."""
    try:
        # Editors on Windows write the mark, and no parser of ours expects it; ``_write`` keeps it in the file.
        with path.open(encoding="utf-8-sig", newline="") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError:
        raise InvalidInput("is not UTF-8 text; convert it and try again") from None
    except OSError as error:
        raise InvalidInput(f"cannot be read ({error.strerror}); make it a readable file and try again") from None


def find_obstacle(path: Path) -> str | None:
    """Return why this file may not be written, and what to do; None if it may be."""
    target = Path(os.path.realpath(path))
    # A rename would replace a read-only file all the same, and for root every file seems writable: so ask the mode too.
    if target.exists() and not _is_writable(target):
        return f"{target} is read-only; make it writable (chmod u+w) or add our entries where it is made"
    if target.exists() and _belongs_to_another(target):
        return f"{target} belongs to another user; run the command as that user"
    folder = next(parent for parent in target.parents if parent.exists())
    if not folder.is_dir():
        return f"{folder} is not a directory; rename it and try again"
    return None if _is_writable(folder) else f"{folder} is read-only; make it writable (chmod u+w)"


def render_diff(change: FileChange) -> str:
    """Return the change as a unified diff."""
    name = str(change.path)
    old, new = (change.before or "").splitlines(), (change.after or "").splitlines()
    old_name, new_name = (os.devnull if text is None else name for text in (change.before, change.after))
    return "\n".join(difflib.unified_diff(old, new, old_name, new_name, lineterm=""))


def apply(changes: Iterable[FileChange], record: Path | None = None) -> None:
    """Write the changes; refuse if a file has changed since they were planned.

    ``record`` is a file in which calls note what later ones need: directories that they made, which are removed when
    they become empty, and files that had no text, which are not removed.
    """
    pending = list(changes)
    # All files are checked before the first is written, so that a conflict changes nothing.
    for change in pending:
        if read_file(change.path) != change.before:
            raise Refused(f"{change.path} was changed by another program; run the command again")
    notes = _load_notes(record) if record else {}
    try:
        _apply_all(pending, notes)
    finally:
        if record:
            _save_notes(record, notes)


def _apply_all(changes: Sequence[FileChange], notes: Notes) -> None:
    for position, change in enumerate(changes):
        try:
            _set_content(change.path, change.after, notes)
        except OSError as error:
            # A server without hooks, or hooks without a server, would look like a connection.
            for earlier in reversed(changes[:position]):
                _set_content(earlier.path, earlier.before, notes)
            raise Unavailable(f"{change.path} cannot be written ({error.strerror}); nothing was changed") from error


def _load_notes(record: Path) -> Notes:
    try:
        notes = json.loads(record.read_text("utf-8"))
        # Earlier versions wrote a list of directories.
        return {Path(path): notes[path] if isinstance(notes, dict) else None for path in notes}
    except (OSError, ValueError, TypeError):
        # Without a record nothing is known to be ours, and an empty directory of ours does less harm than a lost one.
        return {}


def _save_notes(record: Path, notes: Notes) -> None:
    # What is gone is forgotten: if it comes back, somebody else made it.
    existing = {path: text for path, text in notes.items() if (path.is_dir() if text is None else path.is_file())}
    if existing == _load_notes(record):
        return
    content = {str(path): text for path, text in sorted(existing.items())}
    try:
        _write(record, json.dumps(content, indent=2) + "\n", {})
    except OSError as error:
        raise Unavailable(f"{record} cannot be written ({error.strerror}); make its folder writable") from error


def _set_content(path: Path, text: str | None, notes: Notes) -> None:
    # Settings are often symlinks into a repository of dotfiles: change the target and keep the link.
    target = Path(os.path.realpath(path))
    if text is None:
        text = notes.pop(target, None)
    elif (before := read_file(target)) is not None and not before.strip():
        notes[target] = before
    if text is None:
        _remove(target, notes)
    else:
        _write(target, text, notes)


def _write(target: Path, text: str, notes: Notes) -> None:
    notes.update((parent, None) for parent in target.parents if not parent.exists())
    target.parent.mkdir(parents=True, exist_ok=True)
    encoding = "utf-8-sig" if _has_byte_order_mark(target) else "utf-8"
    # A new file is private to the user, as agents keep API keys in such files.
    mode = EXECUTABLE_MODE if text.startswith("#!") else target.stat().st_mode & 0o7777 if target.exists() else 0o600
    replace_file(target, text.encode(encoding), is_durable=True)
    target.chmod(mode)


def _has_byte_order_mark(path: Path) -> bool:
    if not path.exists():
        return False
    with path.open("rb") as file:
        return file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8


def _is_writable(path: Path) -> bool:
    # On Windows the mark on a directory does not mean that nothing can be written there.
    is_marked = not path.stat().st_mode & 0o222 and not (sys.platform == "win32" and path.is_dir())
    return not is_marked and os.access(path, os.W_OK)


def _belongs_to_another(path: Path) -> bool:
    """Whether replacing a file would change its owner; Windows keeps owners in another way and is not asked."""
    return sys.platform != "win32" and path.stat().st_uid != os.getuid()


def _remove(target: Path, notes: Notes) -> None:
    target.unlink()
    for parent in target.parents:
        # A directory that was there before us stays, also an empty one: an agent or its user made it.
        if parent not in notes:
            return
        try:
            parent.rmdir()
        except OSError:
            return
