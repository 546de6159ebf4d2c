"""One line for an agent's status bar: memories here; told, heard and guarded this session; in doubt; to review.

Agents run it as ``python -I …/entrypoints/statusline.py [--home DIR]`` at every change of the screen. So it loads
neither the command line nor the store, but the one module that has the queries.
"""

import os
import sys

from hivemind.paths import data_directory
from hivemind.store.statusline_counts import read_counts

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
    memory_count, waiting_count, told_count, doubtful_count, guard_count, heard_count = counts
    parts = [
        (told_count, "told"), (heard_count, "heard"), (guard_count, "guarded"), (doubtful_count, "in doubt"),
        (waiting_count, "to review"),
    ]  # fmt: skip
    memories = f"{memory_count:,} {'memory' if memory_count == 1 else 'memories'}"
    return f"hivemind: {' · '.join([memories, *(f'{count} {what}' for count, what in parts if count)])}"
