"""The machines of this person, by what each of them recorded when it joined the others."""

from hivemind.model.events import DeviceJoined, Event
from hivemind.store.database import Database

TABLES = ("peers",)
SCHEMA = """
CREATE TABLE peers (
    device TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    secret TEXT NOT NULL          -- key for its digests of rejected and erased values, in hexadecimal
) STRICT, WITHOUT ROWID;
"""


def apply(db: Database, event: Event) -> None:
    """Record a machine; joining again under another name replaces it."""
    if isinstance(fact := event.fact, DeviceJoined):
        db.execute("DELETE FROM peers WHERE device = ?", fact.device)
        db.execute("INSERT INTO peers (device, name, secret) VALUES (?, ?, ?)", fact.device, fact.name, fact.secret)


def list_secrets(db: Database) -> list[bytes]:
    """The keys for digests of all machines."""
    return [bytes.fromhex(row[0]) for row in db.execute("SELECT secret FROM peers ORDER BY device")]


def is_known(db: Database, device: str, name: str) -> bool:
    """Whether a machine was recorded under this name."""
    return db.one("SELECT 1 FROM peers WHERE device = ? AND name = ?", device, name) is not None
