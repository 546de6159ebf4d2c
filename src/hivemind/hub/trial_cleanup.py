"""Stop the Postgres of a trial and delete its folder, once the process that started this one has ended.

Nothing else is left to do it where the trial was killed.
"""

import contextlib
import os
import shutil
import signal
import sys
import time
from pathlib import Path

STOP_SECONDS = 60


def delete_trial(folder: Path) -> None:
    """Stop the server whose data are in a folder, and delete the folder."""
    lock = folder / "data" / "postmaster.pid"
    # Without this file there is no server, or it has stopped.
    with contextlib.suppress(OSError, ValueError, IndexError):
        os.kill(int(lock.read_text("utf-8").splitlines()[0]), signal.SIGINT)
        deadline = time.monotonic() + STOP_SECONDS
        while lock.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    # Until the other end of the pipe is closed, which the system does however that process ends.
    sys.stdin.read()
    delete_trial(Path(sys.argv[1]))
