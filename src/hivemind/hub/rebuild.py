"""Rebuild a team's derived tables from the log while the old ones answer.

In one transaction, temporary tables stand before the derived ones in the search path, so that the projections fill them
instead. Members read and write meanwhile. At the end the transaction becomes the team's writer, adds what was written
since, and replaces the rows. Passages whose text is the same keep their keys, and thereby their vectors.
"""

from hivemind.hub.postgres import SCHEMA, Postgres
from hivemind.store import log, projector

KEEP_KEYS = f"""
CREATE TEMP TABLE kept ON COMMIT DROP AS
SELECT p.key AS new_key, old_p.key AS old_key
FROM pg_temp.passages p JOIN pg_temp.memories m ON m.key = p.memory JOIN pg_temp.words w ON w.rowid = p.key
JOIN {SCHEMA}.memories old_m ON old_m.id = m.id AND old_m.scope = m.scope AND old_m.repo = m.repo
JOIN {SCHEMA}.passages old_p ON old_p.memory = old_m.key AND old_p.since = p.since AND old_p.ordinal = p.ordinal
JOIN {SCHEMA}.words old_w ON old_w.rowid = old_p.key AND old_w.text = w.text
"""
"""A vector is filtered by scope and repository, so these must be the same too."""
PASSAGE_KEYS = (("passages", "key"), ("words", "rowid"), ("vectors_wanted", "passage"))


def rebuild(db: Postgres) -> None:
    """Replace the derived tables of the team by new ones."""
    with db.reading():
        tables = _list_tables(db)
        # Bookmarks too, or the first page would hold up every writer of the team until the end.
        for table in (*tables, "bookmarks"):
            _create_shadow(db, table)
        position = _replay(db, 0)
        with db.transaction():
            position = _replay(db, position)
            db.execute("DROP TABLE pg_temp.bookmarks")
            _keep_vectors(db)
            _replace_rows(db, tables)
            projector.set_bookmark(db, projector.READER, position, projector.VERSION)


def _list_tables(db: Postgres) -> list[str]:
    """Return the derived tables in an order in which their rows can be deleted, without the vectors."""
    existing = {row[0] for row in db.execute("SELECT tablename FROM pg_tables WHERE schemaname = ?", SCHEMA)}
    tables = [table for owner in reversed(projector.OWNERS) for table in owner.TABLES]
    return [table for table in tables if table in existing and table != "vectors"]


def _create_shadow(db: Postgres, table: str) -> None:
    db.execute(f"CREATE TEMP TABLE {table} (LIKE {SCHEMA}.{table} INCLUDING DEFAULTS INCLUDING INDEXES) ON COMMIT DROP")
    columns = db.execute(
        "SELECT column_name FROM information_schema.columns"
        " WHERE table_schema = ? AND table_name = ? AND is_identity = 'YES'",
        SCHEMA, table,
    )  # fmt: skip
    for (column,) in columns:
        # Numbers of the real table, so that they can be taken over.
        sequence = f"pg_get_serial_sequence('{SCHEMA}.{table}', '{column}')"
        db.execute(f"ALTER TABLE pg_temp.{table} ALTER {column} SET DEFAULT nextval({sequence})")


def _replay(db: Postgres, position: int) -> int:
    """Apply the entries after a position, also those that are committed meanwhile; return the last position."""
    while page := log.read_events(db, position, projector.PAGE):
        projector.apply(db, page)
        position = page[-1][0]
    return position


def _keep_vectors(db: Postgres) -> None:
    db.execute(KEEP_KEYS)
    for table, column in PASSAGE_KEYS:
        db.execute(f"UPDATE pg_temp.{table} SET {column} = old_key FROM kept WHERE {column} = new_key")
    db.index.delete_unused_vectors()
    db.execute(
        "DELETE FROM pg_temp.vectors_wanted w WHERE EXISTS (SELECT FROM vectors v"
        " JOIN teams USING (team_id, model) WHERE v.passage = w.passage)"
    )


def _replace_rows(db: Postgres, tables: list[str]) -> None:
    for table in tables:
        db.execute(f"DELETE FROM {SCHEMA}.{table}")
    for table in reversed(tables):
        rows = db.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = ? AND table_name = ?",
            SCHEMA, table,
        )  # fmt: skip
        columns = ", ".join(row[0] for row in rows)
        db.execute(
            f"INSERT INTO {SCHEMA}.{table} ({columns}) OVERRIDING SYSTEM VALUE SELECT {columns} FROM pg_temp.{table}"
        )
