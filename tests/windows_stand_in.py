"""Runs our commands in a process that looks like Windows to our code, as far as Linux can look like it.

``python -m tests.windows_stand_in ARGUMENTS…`` takes JSON: a list of commands, each a list of words. The POSIX modules
and functions that Windows lacks are gone, locks go through a stand-in for ``msvcrt``, and a file that this process has
open can be neither renamed nor deleted. It prints the exit code and the output of each command as JSON.
"""

import fcntl
import importlib
import json
import os
import pkgutil
import shutil
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

MISSING_MODULES = ("fcntl", "grp", "posix_ipc", "pty", "pwd", "resource", "termios", "tty")
# Without those that the standard library itself calls on this system; 'mypy --platform win32' finds these in our code.
MISSING_FUNCTIONS = (
    "POSIX_SPAWN_OPEN", "O_NOFOLLOW", "chown", "fchown", "fork", "geteuid", "getgid", "getuid",
    "killpg", "mkfifo", "nice", "openpty", "posix_spawn", "pread", "pwrite", "sched_getaffinity", "setsid",
)  # fmt: skip


def lock_with_flock(descriptor: int, mode: int, _: int) -> None:
    """Be ``msvcrt.locking``: the modes are 0 for unlocking and 2 for locking without waiting."""
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB if mode else fcntl.LOCK_UN)


def refuse_open_files(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that renames or deletes refuse files that this process has open, as Windows does."""

    def guarded(*paths: Any, **options: Any) -> Any:
        for path in paths:
            if is_open(os.path.realpath(path)):
                raise PermissionError(13, "the file is open in this process", str(path))
        return function(*paths, **options)

    return guarded


def is_open(path: str) -> bool:
    return any(os.path.realpath(link) == path for link in Path("/proc/self/fd").iterdir() if os.path.lexists(link))


def import_all() -> dict[str, str]:
    """Import every module of the package; return those that need something that is not there."""
    package = importlib.import_module("hivemind")
    failures = {}
    for module in pkgutil.walk_packages(package.__path__, "hivemind.", onerror=lambda _: None):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            failures[module.name] = str(error)
    return failures


def look_like_windows() -> dict[str, str]:
    """Take away what Windows lacks, and return the modules that could not be imported before either."""
    # Libraries decide at their import what system they run on, and must find the real one.
    failures = import_all()
    for name in [name for name in sys.modules if name.split(".")[0] == "hivemind"]:
        del sys.modules[name]
    sys.modules["msvcrt"] = types.SimpleNamespace(locking=lock_with_flock, LK_NBLCK=2, LK_UNLCK=0)  # type: ignore[assignment]
    sys.modules |= dict.fromkeys(MISSING_MODULES)  # type: ignore[arg-type]
    for name in MISSING_FUNCTIONS:
        delattr(os, name)
    for name in ("remove", "rename", "replace", "unlink"):
        setattr(os, name, refuse_open_files(getattr(os, name)))
    for name in ("DETACHED_PROCESS", "CREATE_NEW_PROCESS_GROUP"):
        setattr(subprocess, name, 0)
    # The standard library itself may use what is gone; this keeps it from doing so.
    subprocess._USE_POSIX_SPAWN = False  # type: ignore[misc]
    # From Python 3.12 on, looking for a program asks Windows whether the current directory counts.
    shutil._winapi = types.SimpleNamespace(NeedCurrentDirectoryForExePath=lambda _: False)  # type: ignore[attr-defined]
    sys.platform = "win32"
    return failures


def main() -> None:
    """Run the commands."""
    # Without the extra for a hub, some modules cannot be imported anywhere.
    failures = look_like_windows()
    assert import_all() == failures
    from tests.command_line import run

    results = []
    for command in json.loads(sys.argv[1]):
        result = run(*command)
        results.append({"command": command, "exit_code": result.exit_code, "output": result.output})
    print(json.dumps(results))


if __name__ == "__main__":
    main()
