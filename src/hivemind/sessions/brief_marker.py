"""Records which sessions have received their brief, for agents that accept it at any step.

A plain file, so that the hook can ask without opening the store. Standard library only, to keep the hook fast.
"""

import os

from hivemind.system import open_private

FILE = "briefed"
MOST_SESSIONS = 50


def mark_briefed(directory: str, session: str) -> None:
    """Record that this session has its brief; only the newest sessions are kept."""
    earlier_sessions = [session_id for session_id in _read_sessions(directory) if session_id != session][
        1 - MOST_SESSIONS :
    ]
    with open(os.path.join(directory, FILE), "w", encoding="utf-8", opener=open_private) as file:
        file.write("".join(f"{session_id}\n" for session_id in (*earlier_sessions, session)))


def is_briefed(directory: str, payload: str) -> bool:
    """Whether the payload names a session that has its brief."""
    # Searching the text is enough and saves the hook from parsing JSON.
    return any(f'"{session_id}"' in payload for session_id in _read_sessions(directory))


def _read_sessions(directory: str) -> list[str]:
    try:
        with open(os.path.join(directory, FILE), encoding="utf-8", errors="replace") as file:
            return file.read().split()
    except OSError:
        return []
