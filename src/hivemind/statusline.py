"""One line for an agent's status bar: memories here, told this session, in doubt, waiting for review.

Agents run this file by its path, ``python -I …/statusline.py [--home DIR]``, at every change of the screen. So it loads
neither the command line nor the store, but the one module that has the queries.
"""

import os
import sys

if not __package__:
    # Appended, so that no file in that directory can replace a module of the standard library.
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from hivemind.paths import data_directory
from hivemind.store.counts import read_counts

MAX_PAYLOAD_CHARACTERS = 1 << 20


def main() -> None:
    """Print the line for the agent whose JSON is on standard input."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["--home"]:
        os.environ["HIVEMIND_HOME"] = arguments[1]
    if sys.platform == "win32":
        from hivemind.system import use_utf8_streams

        use_utf8_streams()
    payload = "" if sys.stdin.isatty() else sys.stdin.read(MAX_PAYLOAD_CHARACTERS)
    print(describe(payload, os.getcwd()))


def describe(payload: str, directory: str) -> str:
    """Return the line for an agent's JSON; without any, for a directory."""
    path = os.path.join(data_directory(os.environ), "memory.db")
    if not os.path.exists(path):
        return "hivemind: no memories yet"
    counts = read_counts(path, payload, directory)
    # A status bar has no room for details; the doctor has.
    if counts is None:
        return "hivemind: cannot read the store; run 'hivemind doctor'"
    memory_count, told_count, doubtful_count, waiting_count = counts
    parts = [f"{memory_count:,} {'memory' if memory_count == 1 else 'memories'}"]
    parts += [f"{told_count} told"] if told_count else []
    parts += [f"{doubtful_count} in doubt"] if doubtful_count else []
    parts += [f"{waiting_count} to review"] if waiting_count else []
    return f"hivemind: {' · '.join(parts)}"


if __name__ == "__main__":
    main()
