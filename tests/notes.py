"""Notes as tests compare them: by their words, without a store."""

from hivemind.model.contradiction import Conflict, find_statement_conflict
from hivemind.model.statements import parse_statements
from hivemind.model.values import normalise


def find_conflict(newer: str, older: str) -> Conflict | None:
    """The conflict between two notes; none if they can both hold or say the same."""
    if normalise(newer) == normalise(older):
        return None
    return find_statement_conflict(parse_statements(newer), parse_statements(older))
