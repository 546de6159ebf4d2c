"""What differs between operating systems: file locks, processes in the background, priority, command lines.

The hook imports this at every event, so its top needs light modules of the standard library alone. The code for Windows
has been tried on Linux with a stand-in for ``msvcrt``, never on Windows itself (docs/explanation/inside.md).
"""

import os
import sys
import time
from collections.abc import Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

HOOK_SECONDS = 1.8
"""After which a hook ends without an answer, on a machine of usual speed."""
MOST_HOOK_SECONDS = 3600.0
POLL_SECONDS = 0.01
HELD_ERROR = OSError if sys.platform == "win32" else BlockingIOError
"""What the system raises if another process holds a lock; Windows does not tell that from other errors."""
LOWEST_PRIORITY = 19
LOW_PRIORITY = 10
IDLE_PRIORITY_CLASS = 0x40
"""Of the Windows API: runs when nothing else wants to."""


def open_private(path: str, flags: int) -> int:
    """Open a file for ``open(..., opener=open_private)``; if that creates it, only its owner can read it."""
    return os.open(path, flags | getattr(os, "O_BINARY", 0), 0o600)


def replace_file(path: "str | os.PathLike[str]", content: bytes, *, is_durable: bool = False) -> None:
    """Write a file that only its owner can read, in one step: others read what it had before, or all of the new.

    ``is_durable`` waits for the disk, so that a power cut leaves one of the two as well.
    """
    new_path = f"{os.fspath(path)}.{os.urandom(4).hex()}"
    try:
        # As a new file, so that nobody else's can take its place.
        with open(new_path, "xb", opener=open_private) as file:
            file.write(content)
            if is_durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(new_path, path)
    except BaseException:
        remove_file(new_path)
        raise


def remove_file(path: str) -> None:
    """Delete a file, unless that is not possible."""
    # Not by contextlib, which a hook would take a millisecond to import.
    try:
        os.remove(path)
    except OSError:
        return


def read_hook_seconds() -> float:
    """How long a hook may take; people with a slow machine or home directory set more."""
    try:
        seconds = float(os.environ.get("HIVEMIND_HOOK_SECONDS", ""))
    except ValueError:
        return HOOK_SECONDS
    # Neither zero nor "nan" nor "inf" is a time after which a hook could end.
    return seconds if 0 < seconds <= MOST_HOOK_SECONDS else HOOK_SECONDS


def stretch(seconds: float) -> float:
    """A limit of time as this machine needs it: longer by the same factor as that of hooks, and never shorter."""
    return seconds * max(1.0, read_hook_seconds() / HOOK_SECONDS)


# A class, because contextlib would take a hook a millisecond to import.
class FileLock:
    """Holds the lock that a file stands for, while in a ``with``.

    Without waiting, or after the timeout, raise BlockingIOError if another process holds it.

    The file is only for the lock: Windows neither renames nor deletes a file that somebody has open.
    """

    def __init__(self, path: str, *, is_waiting: bool = True, timeout_seconds: float | None = None) -> None:
        self._path = path
        self._seconds = timeout_seconds if is_waiting else 0.0
        self._descriptor = -1

    def __enter__(self) -> None:
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock_within(self._descriptor, self._seconds)
        except BaseException:
            os.close(self._descriptor)
            raise

    def __exit__(self, *_: object) -> None:
        # The system releases a lock when its process ends, however it ends.
        try:
            _unlock(self._descriptor)
        finally:
            os.close(self._descriptor)


def _lock_within(descriptor: int, seconds: float | None) -> None:
    # The waiting variant of Windows tries once a second; hooks have less time.
    if seconds is None and sys.platform != "win32":
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return
    end = None if seconds is None else time.monotonic() + seconds
    while not _try_lock(descriptor):
        if end is not None and time.monotonic() >= end:
            raise BlockingIOError("another process holds the lock")
        time.sleep(POLL_SECONDS)


def _try_lock(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except HELD_ERROR:
        return False
    return True


def _unlock(descriptor: int) -> None:
    # Elsewhere closing the file does it at once; Windows does it "some time" later.
    if sys.platform == "win32":
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)


def start_apart(command: list[str], environment: "Mapping[str, str]" = os.environ) -> "BackgroundProcess":
    """Start a program that goes on when this process ends and keeps no stream of it open."""
    if sys.platform == "win32":
        import subprocess  # here, because it takes the hook longer to load than its work

        flags = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            creationflags=flags,
        )
        return BackgroundProcess(lambda: process.poll() is not None)
    # A process that ended stays in the system's table until its parent asks for it; a server starts many.
    _started_processes[:] = [process for process in _started_processes if not process.has_ended()]
    no_streams = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in (0, 1, 2)]
    process_id = os.posix_spawn(command[0], command, environment, file_actions=no_streams, setsid=True)
    _started_processes.append(BackgroundProcess(lambda: os.waitpid(process_id, os.WNOHANG)[0] != 0))
    return _started_processes[-1]


class BackgroundProcess:
    """A process that was started apart."""

    def __init__(self, find_end: "Callable[[], bool]") -> None:
        self._find_end = find_end
        self._has_ended = False

    def has_ended(self) -> bool:
        """Whether it has ended."""
        # The system tells it once.
        self._has_ended = self._has_ended or self._find_end()
        return self._has_ended

    def wait(self, seconds: float) -> bool:
        """Wait until it ends, for so long at most; return whether it ended."""
        end = time.monotonic() + seconds
        while not self.has_ended():
            if time.monotonic() >= end:
                return False
            time.sleep(POLL_SECONDS)
        return True


_started_processes: list[BackgroundProcess] = []


def lower_priority(steps: int = LOWEST_PRIORITY) -> None:
    """Let other processes go first, until this one ends; Windows has one such level only."""
    if sys.platform == "win32":
        import ctypes  # here, because only background work needs it

        kernel = ctypes.windll.kernel32
        kernel.SetPriorityClass(kernel.GetCurrentProcess(), IDLE_PRIORITY_CLASS)
    else:
        os.nice(steps)


def join_command(words: Sequence[str]) -> str:
    """Return a command line for the shell through which agents run hooks.

    On Windows that is cmd or the bash of Git, depending on the agent. To both, double quotes and forward slashes mean
    the same; the backslashes in our words separate folders. PowerShell needs ``& `` before it.
    """
    if sys.platform == "win32":
        paths = (word.replace("\\", "/") for word in words)
        return " ".join(word if word.replace("-", "").isalnum() else f'"{word}"' for word in paths)
    import shlex  # here, because the hook joins no commands

    return shlex.join(words)


def use_utf8_streams() -> None:
    """Let pipes carry UTF-8 on Windows too, where Python would use the code page of the machine."""
    if sys.platform == "win32":
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
