"""Which team a store belongs to, and how far the two have come with each other; a store has one team at most."""

from dataclasses import astuple

from hivemind.model.plain import from_row
from hivemind.model.team import Membership
from hivemind.store.database import Database

SCHEMA = """
CREATE TABLE team (
    team TEXT PRIMARY KEY,
    key BLOB NOT NULL,            -- keys the digests of values that stay out of the team
    person TEXT NOT NULL,
    role TEXT NOT NULL,
    lease_days INTEGER NOT NULL,
    cursor INTEGER NOT NULL,      -- how far the team's log was read
    pushed INTEGER NOT NULL,      -- how many of our shared entries the hub has
    synchronised_at TEXT NOT NULL
) STRICT;
"""


def membership(db: Database) -> Membership | None:
    """The team this store belongs to, if it has one."""
    row = db.one("SELECT team, key, person, role, lease_days, cursor, pushed, synchronised_at FROM team")
    # Postgres gives bytes in a form of its own.
    return from_row(Membership, (row[0], bytes(row[1]), *row[2:])) if row else None


def note(db: Database, now: Membership) -> None:
    """Note how the store stands with its team now."""
    with db.transaction():
        db.execute("DELETE FROM team")
        db.execute("INSERT INTO team VALUES (?, ?, ?, ?, ?, ?, ?, ?)", *astuple(now))


def leave(db: Database) -> None:
    """Belong to no team any more."""
    db.execute("DELETE FROM team")
