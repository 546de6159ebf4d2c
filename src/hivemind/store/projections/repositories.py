"""Working trees and the names they were known by."""

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
    """Note that a working tree carried a name."""
    match event.fact:
        case RepositorySeen() as seen:
            values = (seen.repo, seen.root, seen.tree)
            db.execute("INSERT INTO repositories (repo, root, tree) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", *values)


def is_known(db: Database, repository: Repository) -> bool:
    """Whether this working tree was met under this name before."""
    sql = "SELECT 1 FROM repositories WHERE repo = ? AND root = ? AND tree = ?"
    return db.value(sql, repository.id, repository.root, repository.tree) is not None


def names_at(db: Database, root: str) -> list[str]:
    """Every name that was used at a path, whichever repository lay there."""
    return [row[0] for row in db.execute("SELECT DISTINCT repo FROM repositories WHERE root = ? ORDER BY repo", root)]


def names_of_tree(db: Database, tree: str) -> list[str]:
    """Every name that this very working tree had, wherever it lay."""
    sql = "SELECT DISTINCT repo FROM repositories WHERE tree = ? AND tree <> '' ORDER BY repo"
    return [row[0] for row in db.execute(sql, tree)]


def shared_a_path(db: Database, repo: str, other: str) -> bool:
    """Whether some path carried both names."""
    sql = "SELECT 1 FROM repositories a JOIN repositories b ON a.root = b.root WHERE a.repo = ? AND b.repo = ? LIMIT 1"
    return db.value(sql, repo, other) is not None


def roots_of(db: Database, names: Iterable[str]) -> list[str]:
    """Where the working trees of a repository were seen, under any of its names."""
    query = "SELECT DISTINCT root FROM repositories WHERE repo IN (SELECT value FROM json_each(?)) ORDER BY root"
    return [row[0] for row in db.execute(query, json.dumps(list(names)))]


def other_names(db: Database, repo: str) -> list[str]:
    """What working trees of a repository were also called: before they had a remote or a commit, or before it changed.

    A name of the same strength at the same path belongs to another repository, unless it is the very same tree.
    """
    rows = db.execute(
        "SELECT DISTINCT o.repo FROM repositories r JOIN repositories o"
        " ON o.root = r.root OR (o.tree = r.tree AND r.tree <> '') WHERE r.repo = ? AND r.repo <> o.repo"
        " AND ((o.tree = r.tree AND r.tree <> '') OR (r.repo NOT LIKE 'path:%'"
        " AND (o.repo LIKE 'path:%' OR (o.repo LIKE 'commit:%' AND r.repo LIKE 'remote:%'))))",
        repo,
    )
    return [row[0] for row in rows]
