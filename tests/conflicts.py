"""Compare two notes without a store."""

from hivemind.text.contradiction import Conflict, find_statement_conflict
from hivemind.text.imprint import normalise
from hivemind.text.statements import parse_statements


def find_conflict(newer: str, older: str) -> Conflict | None:
    """Return the conflict between two notes; None if both can be true."""
    if normalise(newer) == normalise(older):
        return None
    return find_statement_conflict(parse_statements(newer), parse_statements(older))
