"""``hivemind`` and ``python -m hivemind``: from here on, also while the rest is loaded, Ctrl-C is a quiet end."""

# The public module takes several milliseconds to load, in which Ctrl-C would still show a stack trace.
import _signal as signal  # type: ignore[import-not-found]
import atexit
import gc
import os
import sys

GARBAGE_THRESHOLD = 100_000
"""New objects between two searches for garbage. With Python's 700, a command spends a tenth of its CPU time searching
among modules and classes, which are needed until it ends."""


def main() -> None:
    """Run the command that was typed."""
    # Whoever runs us in the background may have switched Ctrl-C off, which stays so.
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, leave)
    gc.set_threshold(GARBAGE_THRESHOLD)
    if sys.platform == "win32":
        from hivemind.system import use_utf8_streams

        use_utf8_streams()
    try:
        if sys.argv[1:] == ["statusline"]:
            # Runs at every change of an agent's screen, so it does not pay for the command line.
            from hivemind import statusline

            return statusline.main()
        from hivemind.cli import hivemind

        hivemind(prog_name="hivemind")
    except SystemExit as end:
        exit_at_once(end.code)
        raise
    finally:
        # There is nothing left to put in order, and Python would tell how it was interrupted while it ends.
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def exit_at_once(code: object) -> None:
    """End the process without destroying every object first, which takes 20 ms of CPU; mypy ends the same way."""
    # Not at the top: whatever ran has loaded it, and Ctrl-C meanwhile would still show a stack trace.
    from threading import active_count

    # Another thread may still write, and Python itself prints a code that is a message.
    if active_count() > 1 or not isinstance(code, int | None):
        return
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        # Python reports output that could not be written.
        return
    atexit._run_exitfuncs()
    os._exit(code or 0)


def leave(*_: object) -> None:
    """End as any other exit does: what is open is closed, prompts and servers let it pass, and nothing is told."""
    if sys.stderr.isatty():
        os.write(2, b"\n")  # behind the ^C; a buffered write could interrupt another
    sys.exit(128 + signal.SIGINT)  # as shells number it


if __name__ == "__main__":
    main()
