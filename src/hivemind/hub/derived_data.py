"""What is derived from a team's log and workers keep up to date: tables, vectors, and graphs over them.

Tables are rebuilt while the old ones answer. In one transaction, temporary tables stand before the derived ones in the
search path, so that the projections fill them instead. Members read and write meanwhile. At the end the transaction
becomes the team's writer, adds what was written since, and replaces the rows. Passages whose text is the same keep
their keys, and thereby their vectors.

Passages wait in a queue for a vector; any number of workers share it. A worker claims passages for some minutes and
holds no lock while its model works, so that nobody waits for it and Postgres can vacuum. Claims of a worker that was
killed end by themselves.

Vectors of a large team are searched with an HNSW graph: a partial index for each, so that a search meets no other team.
"""

from hivemind.hub.postgres import SCHEMA, Connection, Postgres, has_citus
from hivemind.hub.search import MOST_COMPARED
from hivemind.hub.team_sql import DISTRIBUTED_TABLES
from hivemind.store import log, projector
from hivemind.store.database import Database

READ_OLD = f"""
CREATE TEMP TABLE old ON COMMIT DROP AS
SELECT p.key, p.since, p.ordinal, m.id, m.scope, m.repo, w.text
FROM {SCHEMA}.passages p JOIN {SCHEMA}.memories m ON m.key = p.memory JOIN {SCHEMA}.words w ON w.rowid = p.key
WHERE p.team_id = '{{team}}' AND m.team_id = '{{team}}' AND w.team_id = '{{team}}'
"""
KEEP_KEYS = """
CREATE TEMP TABLE kept ON COMMIT DROP AS
SELECT p.key AS new_key, old.key AS old_key
FROM pg_temp.passages p JOIN pg_temp.memories m ON m.key = p.memory JOIN pg_temp.words w ON w.rowid = p.key
JOIN pg_temp.old ON old.id = m.id AND old.scope = m.scope AND old.repo = m.repo
    AND old.since = p.since AND old.ordinal = p.ordinal AND old.text = w.text
"""
"""A vector is filtered by scope and repository, so these must be the same too."""
PASSAGE_KEYS = (("passages", "key"), ("words", "rowid"), ("vectors_wanted", "passage"))
CLAIM_SECONDS = 300
"""Much longer than a batch takes, so that no passage is embedded twice."""
CLAIM = (
    "UPDATE vectors_wanted SET claimed_until = now() + make_interval(secs => ?) WHERE passage IN ("
    # With the schema, because rows of an expression cannot be locked; so it names the team itself.
    f"SELECT passage FROM {SCHEMA}.vectors_wanted WHERE team_id = ?::uuid AND claimed_until < now()"
    " ORDER BY passage DESC LIMIT ? FOR UPDATE SKIP LOCKED) RETURNING passage"
)
MIN_GRAPH_PASSAGES = MOST_COMPARED
"""Smaller teams are searched one by one anyway."""
MOST_GRAPHS = 100
"""Postgres considers every index of a table when it plans a statement; the vectors of further teams are compared one by
one, 11 ms of CPU for 25,000 of them."""


def rebuild_tables(db: Postgres) -> None:
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


def find_waiting_team(db: Database, model: str) -> str | None:
    """Return a team whose passages wait for vectors of a model, if there is one."""
    team = db.value("SELECT waiting_team(?)", model)
    return None if team is None else str(team)


def claim_passages(db: Postgres, model: str, limit: int) -> list[tuple[int, str]]:
    """Claim the newest passages that wait for a vector, and return them with their texts."""
    with db.reading():
        db.execute("UPDATE teams SET model = ? WHERE model = ''", model)
        # Another worker may have chosen another model for the team just before.
        if db.value("SELECT model FROM teams") != model:
            return []
        passages = [row[0] for row in db.execute(CLAIM, CLAIM_SECONDS, db.team, limit)]
        rows = db.execute("SELECT rowid, text FROM words WHERE rowid = ANY(?::bigint[])", passages)
        texts = {row[0]: row[1] for row in rows}
        return [(passage, texts.get(passage, "")) for passage in passages]


def release_passages(db: Database, passages: list[int]) -> None:
    """Give claimed passages back to the queue."""
    db.execute("UPDATE vectors_wanted SET claimed_until = '-infinity' WHERE passage = ANY(?::bigint[])", passages)


def change_model(db: Database, model: str) -> int:
    """Queue the passages with vectors of another model and return how many; until then they are found by words."""
    with db.transaction():
        # The old vectors stay until new ones replace them: programs of the version before still compare them.
        passages = [row[0] for row in db.execute("SELECT passage FROM vectors WHERE model <> ?", model)]
        rows = db.execute(
            "INSERT INTO vectors_wanted (passage) SELECT passage FROM unnest(?::bigint[]) AS p (passage)"
            " ON CONFLICT DO NOTHING RETURNING passage",
            passages,
        )
        db.execute("UPDATE teams SET model = ?", model)
    return len(rows)


def name_graph(team: str) -> str:
    """Return the name of a team's graph."""
    return f"vectors_near_{team.replace('-', '')}"


def ensure_graph(owner: Connection, team: str, model: str, dimension: int) -> bool:
    """Build the graph of a team unless it exists, and return whether it was built; nobody waits for it."""
    name = name_graph(team)
    is_building = "SELECT 1 FROM pg_stat_progress_create_index WHERE relid = $1::regclass"
    if owner.execute(is_building, [f"{SCHEMA}.vectors"]).fetchone():
        # Another worker is at it, or builds one for another team; the next round looks again.
        return False
    row = owner.execute(
        "SELECT i.indisvalid, pg_get_indexdef(c.oid) FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid"
        " WHERE c.relname = $1 AND c.relnamespace = $2::regnamespace",
        [name, SCHEMA],
    ).fetchone()
    if row and row[0] and f"'{model}'" in row[1]:
        return False
    count = owner.execute(
        "SELECT count(*) FROM pg_indexes WHERE schemaname = $1 AND indexname LIKE 'vectors_near_%'", [SCHEMA]
    ).fetchone()
    if row is None and count and count[0] >= MOST_GRAPHS:
        return False
    # An invalid one was left by a worker that was killed; one of another model is of no use any more.
    owner.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {SCHEMA}.{name}")
    # The constants are our own: a team's id, the name of a model and a number.
    owner.execute(
        f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON {SCHEMA}.vectors"
        f" USING hnsw ((embedding::public.halfvec({dimension})) public.halfvec_cosine_ops)"
        f" WHERE team_id = '{team}' AND model = '{model}'"
    )
    return True


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
    db.execute(READ_OLD.format(team=db.team))
    db.execute(KEEP_KEYS)
    for table, column in PASSAGE_KEYS:
        db.execute(f"UPDATE pg_temp.{table} SET {column} = old_key FROM kept WHERE {column} = new_key")
    keys = [row[0] for row in db.execute("SELECT key FROM pg_temp.passages")]
    db.index.keep_vectors(keys)
    model = db.value("SELECT model FROM teams")
    embedded_keys = [row[0] for row in db.execute("SELECT passage FROM vectors WHERE model = ?", model)]
    db.execute("DELETE FROM pg_temp.vectors_wanted WHERE passage = ANY(?::bigint[])", embedded_keys)


def _replace_rows(db: Postgres, tables: list[str]) -> None:
    is_distributed = has_citus(db.connection)
    for table in tables:
        db.execute(f"DELETE FROM {SCHEMA}.{table} WHERE team_id = ?::uuid", db.team)
    for table in reversed(tables):
        rows = db.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = ? AND table_name = ?",
            SCHEMA, table,
        )  # fmt: skip
        columns = ", ".join(row[0] for row in rows)
        insert = f"INSERT INTO {SCHEMA}.{table} ({columns}) OVERRIDING SYSTEM VALUE"
        if is_distributed and table in DISTRIBUTED_TABLES:
            # By way of this process: Citus would copy them, which row-level security does not allow.
            values = f"{insert} VALUES ({', '.join('?' * len(rows))})"
            db.many(values, db.execute(f"SELECT {columns} FROM pg_temp.{table}"))
        else:
            db.execute(f"{insert} SELECT {columns} FROM pg_temp.{table}")
