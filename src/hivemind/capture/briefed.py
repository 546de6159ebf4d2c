"""Which sessions have their brief, for an agent that takes it at any step: asked without opening the store.

Standard library only.
"""

import os

FILE = "briefed"
MOST = 50


def note(directory: str, session: str) -> None:
    """Remember that this session has it; the oldest of many are forgotten."""
    kept = [one for one in _sessions(directory) if one != session][1 - MOST :]
    with open(os.path.join(directory, FILE), "w", encoding="utf-8") as file:
        file.write("".join(f"{one}\n" for one in (*kept, session)))


def has_it(directory: str, payload: str) -> bool:
    """Whether the payload names a session that has it."""
    return any(f'"{one}"' in payload for one in _sessions(directory))


def _sessions(directory: str) -> list[str]:
    try:
        with open(os.path.join(directory, FILE), encoding="utf-8") as file:
            return file.read().split()
    except FileNotFoundError:
        return []
