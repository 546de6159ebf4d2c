"""Working trees and the repository names they had."""

import json
from collections.abc import Iterable

from hivemind.model.events import Event, RepositorySeen
from hivemind.model.scope import Repository
from hivemind.store.database import Database

TABLES = ("repositories",)
SCHEMA = """
CREATE TABLE repositories (
    repo TEXT NOT NULL,
    root TEXT NOT NULL,
    tree TEXT NOT NULL,           -- what tells the working tree from a later one at the same path; may be empty
    PRIMARY KEY (repo, root, tree)
) STRICT, WITHOUT ROWID;
CREATE INDEX repositories_root ON repositories (root);
CREATE INDEX repositories_tree ON repositories (tree) WHERE tree <> '';
"""


def apply(db: Database, event: Event) -> None:
    """Record that a working tree had a repository name."""
    if isinstance(event.fact, RepositorySeen):
        # Names are only added: a memory recorded under an old name must still be found.
        values = (event.fact.repo, event.fact.root, event.fact.tree)
        db.execute("INSERT INTO repositories (repo, root, tree) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", *values)


def is_known(db: Database, repository: Repository) -> bool:
    """Whether this working tree was recorded under this name before."""
    sql = "SELECT 1 FROM repositories WHERE repo = ? AND root = ? AND tree = ?"
    return db.value(sql, repository.id, repository.root, repository.tree) is not None


def find_names_at(db: Database, root: str) -> list[str]:
    """Every repository name that was recorded at a path."""
    return [row[0] for row in db.execute("SELECT DISTINCT repo FROM repositories WHERE root = ? ORDER BY repo", root)]


def find_names_of_tree(db: Database, tree: str) -> list[str]:
    """Every repository name that one working tree had, at any path."""
    sql = "SELECT DISTINCT repo FROM repositories WHERE tree = ? AND tree <> '' ORDER BY repo"
    return [row[0] for row in db.execute(sql, tree)]


def find_roots(db: Database, names: Iterable[str]) -> list[str]:
    """The paths at which working trees of a repository were recorded, under any of its names."""
    sql = "SELECT DISTINCT root FROM repositories WHERE repo IN (SELECT value FROM json_each(?)) ORDER BY root"
    return [row[0] for row in db.execute(sql, json.dumps(list(names)))]


def list_trees(db: Database) -> list[tuple[str, str]]:
    """Every path at which a working tree was recorded, with its repository; in the order of their names."""
    return [(row[0], row[1]) for row in db.execute("SELECT root, repo FROM repositories ORDER BY root, repo")]


def find_other_names(db: Database, repo: str) -> list[str]:
    """Earlier names of a repository: before it had a remote or a commit, or before its remote changed.

    At the same path only a weaker name counts (path, then commit, then remote): a name of the same kind there belongs
    to another repository, unless it is the same working tree.
    """
    rows = db.execute(
        "SELECT DISTINCT o.repo FROM repositories r JOIN repositories o"
        " ON o.root = r.root OR (o.tree = r.tree AND r.tree <> '') WHERE r.repo = ? AND r.repo <> o.repo"
        " AND ((o.tree = r.tree AND r.tree <> '') OR (r.repo NOT LIKE 'path:%'"
        " AND (o.repo LIKE 'path:%' OR (o.repo LIKE 'commit:%' AND r.repo LIKE 'remote:%'))))",
        repo,
    )
    return [row[0] for row in rows]
