"""The switch of a repository: a file that turns memory off there, for hooks, transcripts and agents.

Other people write in a repository, so the file can only turn memory off; anything else in it is ignored. Light imports
only: a hook asks at every event.
"""

import os
import re
import stat
from collections.abc import Iterator

from hivemind.text.cues import find_root

FILE = ".hivemind.toml"
LINE = b'memory = "off"\n'
IS_OFF = rb"""(?m)^(?:\xef\xbb\xbf)?[ \t]*memory[ \t]*=[ \t]*(?:"off"|'off')[ \t]*(?:#.*)?\r?$"""
MOST_BYTES = 4096
"""Of a file that are read; somebody else may have written it."""
DIRECTORY = r'"(?:cwd|workdir|directory|workspace_?[rR]oots|workspacePaths)"\s*:\s*\[?\s*("(?:[^"\\]|\\.)*")'
"""A field of a payload that names a directory. Inside of a text quotation marks are escaped, so it matches none."""
NOTICE = "Memory is off in this repository. A person can turn it on: hivemind on"


def is_off(directory: str) -> bool:
    """Whether memory is off in the repository of a directory."""
    try:
        files = [os.path.join(place, FILE) for place in list_places(directory)]
    except (OSError, ValueError):
        # A name that no directory can have.
        return False
    return any(re.search(IS_OFF, content) for content in map(read_start, files) if content)


def is_payload_off(payload: str) -> bool:
    """Whether memory is off in a directory that the payload of a hook names; without any, in the current one."""
    return any(map(is_off, set(_find_directories(payload)) or {os.curdir}))


def _find_directories(payload: str) -> Iterator[str]:
    # Searched for, because parsing JSON takes a hook longer than all of this.
    for text in re.findall(DIRECTORY, payload):
        if "\\" not in text:
            yield text[1:-1]
            continue
        import json  # here, because few directories need it

        try:
            yield json.loads(text)
        except ValueError:
            continue


def list_places(directory: str) -> list[str]:
    """Return the folders whose file counts: the top of the working tree; in a linked worktree one more.

    That one, the last, is the same for all worktrees: the top of the main one, or else the folder of git.
    """
    root = find_root(directory)
    pointer = read_start(os.path.join(root, ".git"))
    if not pointer.startswith(b"gitdir:"):
        return [root]
    folder = os.path.join(root, os.fsdecode(pointer[len("gitdir:") :].strip()))
    common = os.path.realpath(os.path.join(folder, os.fsdecode(read_start(os.path.join(folder, "commondir")).strip())))
    return [root, os.path.dirname(common) if os.path.basename(common) == ".git" else common]


def read_start(path: str) -> bytes:
    """Return the first bytes of a regular file; none of anything else, which may block or lead elsewhere."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return b""
        # A pipe may have taken the place of the file since.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return b""
    try:
        return os.read(descriptor, MOST_BYTES)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
