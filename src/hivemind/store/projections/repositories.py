"""Working trees and the names they were known by."""

import json
from collections.abc import Iterable

from hivemind.model.events import Event, RepositorySeen
from hivemind.store.database import Database

TABLES = ("repositories",)
SCHEMA = """
CREATE TABLE repositories (
    repo TEXT NOT NULL,
    root TEXT NOT NULL,
    PRIMARY KEY (repo, root)
) STRICT, WITHOUT ROWID;
CREATE INDEX repositories_root ON repositories (root);
"""


def apply(db: Database, event: Event) -> None:
    """Note that a working tree carried a name."""
    match event.fact:
        case RepositorySeen() as seen:
            db.execute("INSERT INTO repositories VALUES (?, ?) ON CONFLICT DO NOTHING", seen.repo, seen.root)


def names_of(db: Database, root: str) -> list[str]:
    """Every name a working tree was ever known by."""
    return [row[0] for row in db.execute("SELECT repo FROM repositories WHERE root = ? ORDER BY repo", root)]


def roots_of(db: Database, names: Iterable[str]) -> list[str]:
    """Where the working trees of a repository were seen, under any of its names."""
    query = "SELECT DISTINCT root FROM repositories WHERE repo IN (SELECT value FROM json_each(?)) ORDER BY root"
    return [row[0] for row in db.execute(query, json.dumps(list(names)))]
