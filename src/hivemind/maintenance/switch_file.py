"""Writes the file that turns memory off in a repository, and removes it."""

import os
import re
from collections.abc import Callable
from pathlib import Path

from hivemind.agents.callers import is_agent_calling
from hivemind.errors import Refused
from hivemind.text import switch

EXCLUDE_LINE = f"/{switch.FILE}\n".encode()
ANY_VALUE = rb"(?m)^(?:\xef\xbb\xbf)?[ \t]*memory[ \t]*=.*\n?"
OFF_LINE = switch.IS_OFF + rb"\n?"


def turn_off(directory: Path) -> tuple[Path, ...]:
    """Turn memory off in the repository of a directory; return the files that changed."""
    if switch.is_off(str(directory)):
        return ()
    file = Path(switch.list_places(str(directory))[-1], switch.FILE)
    is_new = not os.path.lexists(file)
    # First, because only the start of the file is read, and because later lines may belong to a table.
    changed_files = [*_change_file(file, lambda content: switch.LINE + re.sub(ANY_VALUE, b"", content))]
    # Beside the folder of git a new file would be offered for the next commit.
    if is_new and (file.parent / ".git").is_dir():
        changed_files += _change_file(_find_exclude(file), _add_exclude_line)
    return tuple(changed_files)


def turn_on(directory: Path) -> tuple[Path, ...]:
    """Remove what turns memory off in the repository of a directory; return the files that changed."""
    if is_agent_calling():
        raise Refused("only a person may turn memory on")
    changed_files: list[Path] = []
    for place in dict.fromkeys(switch.list_places(str(directory))):
        file = Path(place, switch.FILE)
        if not switch.read_start(str(file)):
            continue
        changed_files += _change_file(file, lambda content: re.sub(OFF_LINE, b"", content))
        if not file.exists() and _find_exclude(file).exists():
            changed_files += _change_file(_find_exclude(file), lambda content: content.replace(EXCLUDE_LINE, b""))
    return tuple(changed_files)


def _find_exclude(file: Path) -> Path:
    return file.parent / ".git" / "info" / "exclude"


def _add_exclude_line(content: bytes) -> bytes:
    if EXCLUDE_LINE.strip() in content.splitlines():
        return content
    return (content if not content or content.endswith(b"\n") else content + b"\n") + EXCLUDE_LINE


def _change_file(file: Path, change: Callable[[bytes], bytes]) -> list[Path]:
    """Change the content of a file; one that is then empty is deleted."""
    if os.path.lexists(file) and (file.is_symlink() or not file.is_file()):
        raise Refused(f"{file} is not a regular file; remove it and try again")
    content = file.read_bytes() if file.exists() else b""
    new_content = change(content)
    if new_content == content:
        return []
    if new_content.strip():
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(new_content)
    else:
        file.unlink()
    return [file]
