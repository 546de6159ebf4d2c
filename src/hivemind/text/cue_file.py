"""The cue file of a working tree: digests of the cues of its memories, so that a hook need not open the store.

It contains no text: a random key and sorted digests made with it. It is a cache: every change of a memory deletes all
cue files, and the next hook of a tree writes its file again. Light imports only, as a hook reads it at every step.
"""

import os
from bisect import bisect_left
from collections.abc import Iterable
from contextlib import suppress

from hivemind.system import open_private

FOLDER = "cues"
KEY_BYTES, DIGEST_BYTES = 16, 8


def find_root(directory: str) -> str:
    """Return the top of the working tree of a directory, without asking git; the directory itself if there is none."""
    path = start = os.path.realpath(directory)
    while not os.path.exists(os.path.join(path, ".git")):
        parent = os.path.dirname(path)
        if parent == path:
            return start
        path = parent
    return path


def find_hits(home: str, root: str, session: str, cues: Iterable[str]) -> list[str] | None:
    """Return the cues that some memory of this tree has and that this session was not answered yet.

    None if the tree has no cue file, so that only the store can tell.
    """
    table = _read(_path(home, root))
    if table is None:
        return None
    if len(table) <= KEY_BYTES:
        return []
    # Not mapped but read: for 10,000 memories it is 400 kB, and the mmap module costs as much to load.
    answered = _read(_path(home, session, ".answered")) or b""
    return [cue for cue in cues if _contains(table, digest := _digest(table, cue)) and not _is_in(answered, digest)]


def mark_answered(home: str, root: str, session: str, cues: Iterable[str]) -> None:
    """Record that a session was answered at these cues."""
    table = _read(_path(home, root))
    if table and session:
        with open(_path(home, session, ".answered"), "ab", opener=open_private) as file:
            file.write(b"".join(_digest(table, cue) for cue in cues))


def write(home: str, root: str, cues: Iterable[str]) -> None:
    """Write the cue file of a tree, readable by its owner only."""
    key = os.urandom(KEY_BYTES)
    os.makedirs(os.path.join(home, FOLDER), mode=0o700, exist_ok=True)
    path = _path(home, root)
    # Renamed into place, so that no hook reads half a file.
    new_path = f"{path}.{os.urandom(4).hex()}"
    with open(new_path, "wb", opener=open_private) as file:
        file.write(key + b"".join(sorted({_digest(key, cue) for cue in cues})))
    os.replace(new_path, path)


def exists(home: str, root: str) -> bool:
    """Whether a tree has a cue file."""
    return os.path.exists(_path(home, root))


def forget_session(home: str, session: str) -> None:
    """Forget what a session was answered, as when its context was compacted."""
    with suppress(OSError):
        os.remove(_path(home, session, ".answered"))


def discard(home: str) -> None:
    """Delete all cue files, because a memory changed."""
    folder = os.path.join(home, FOLDER)
    with suppress(FileNotFoundError, NotADirectoryError):
        for name in os.listdir(folder):  # noqa: PTH208 - pathlib costs the hook
            with suppress(FileNotFoundError):
                os.remove(os.path.join(folder, name))


def _path(home: str, name: str, suffix: str = "") -> str:
    return os.path.join(home, FOLDER, _hash(name.encode("utf-8", "replace"), b"", KEY_BYTES).hex() + suffix)


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def _digest(table: bytes, cue: str) -> bytes:
    return _hash(cue.encode("utf-8", "replace"), table[:KEY_BYTES], DIGEST_BYTES)


def _hash(content: bytes, key: bytes, size: int) -> bytes:
    # Not by hashlib, which takes longer to import than all of this takes to run.
    from _blake2 import blake2b

    return blake2b(content, key=key, digest_size=size).digest()


def _contains(table: bytes, digest: bytes) -> bool:
    """Search the sorted digests after the key."""

    def get_digest(index: int) -> bytes:
        start = KEY_BYTES + index * DIGEST_BYTES
        return table[start : start + DIGEST_BYTES]

    count = (len(table) - KEY_BYTES) // DIGEST_BYTES
    return get_digest(bisect_left(range(count), digest, key=get_digest)) == digest


def _is_in(digests: bytes, digest: bytes) -> bool:
    """Search digests in the order in which they were appended."""
    return any(digests[at : at + DIGEST_BYTES] == digest for at in range(0, len(digests), DIGEST_BYTES))
