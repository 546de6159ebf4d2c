"""Compare two notes without a store."""

from hivemind.memory.contradiction import Conflict, find_statement_conflict
from hivemind.memory.statements import parse_statements
from hivemind.text.excluded_text import normalise


def find_conflict(newer: str, older: str) -> Conflict | None:
    """Return the conflict between two notes; None if both can be true."""
    if normalise(newer) == normalise(older):
        return None
    return find_statement_conflict(parse_statements(newer), parse_statements(older))
