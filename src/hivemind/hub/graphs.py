"""HNSW graphs over the vectors of large teams: one partial index for each, so that a search meets no other team."""

from hivemind.hub.postgres import SCHEMA, Connection
from hivemind.hub.search import MOST_COMPARED

MIN_GRAPH_PASSAGES = MOST_COMPARED
"""Smaller teams are searched one by one anyway."""
MOST_GRAPHS = 100
"""Postgres considers every index of a table when it plans a statement; the vectors of further teams are compared one by
one, 11 ms of CPU for 25,000 of them."""


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
