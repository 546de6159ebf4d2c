"""``hivemind`` and ``python -m hivemind``: from here on, also while the rest is loaded, Ctrl-C is a quiet end."""

# The public module takes several milliseconds to load, in which Ctrl-C would still show a stack trace.
import _signal as signal  # type: ignore[import-not-found]
import os
import sys


def main() -> None:
    """Run the command that was typed."""
    # Whoever runs us in the background may have switched Ctrl-C off, which stays so.
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, leave)
    try:
        if sys.argv[1:] == ["statusline"]:
            # Runs at every change of an agent's screen, so it does not pay for the command line.
            from hivemind.entrypoints import statusline

            return statusline.main()
        from hivemind.entrypoints.cli import hivemind

        hivemind(prog_name="hivemind")
    finally:
        # There is nothing left to put in order, and Python would tell how it was interrupted while it ends.
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def leave(*_: object) -> None:
    """End as any other exit does: what is open is closed, prompts and servers let it pass, and nothing is told."""
    if sys.stderr.isatty():
        os.write(2, b"\n")  # behind the ^C; a buffered write could interrupt another
    sys.exit(128 + signal.SIGINT)  # as shells number it


if __name__ == "__main__":
    main()
