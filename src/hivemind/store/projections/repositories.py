"""Working trees and the names they were known by."""

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


def weaker_names(db: Database, repo: str) -> list[str]:
    """What working trees of a repository were called before they had a remote or a commit.

    A name of the same strength belongs to another repository that lay in the same place.
    """
    rows = db.execute(
        "SELECT DISTINCT o.repo FROM repositories r JOIN repositories o ON o.root = r.root WHERE r.repo = ?"
        " AND r.repo <> o.repo AND r.repo NOT LIKE 'path:%'"
        " AND (o.repo LIKE 'path:%' OR (o.repo LIKE 'commit:%' AND r.repo LIKE 'remote:%'))",
        repo,
    )
    return [row[0] for row in rows]
