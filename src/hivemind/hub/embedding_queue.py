"""The queue of passages that wait for a vector; any number of workers share it.

A worker claims passages for some minutes and holds no lock while its model works, so that nobody waits for it and
Postgres can vacuum. Claims of a worker that was killed end by themselves.
"""

from hivemind.store.database import Database

CLAIM_SECONDS = 300
"""Much longer than a batch takes, so that no passage is embedded twice."""
CLAIM = (
    "WITH claimed AS (UPDATE vectors_wanted SET claimed_until = now() + make_interval(secs => ?) WHERE passage IN ("
    "SELECT passage FROM vectors_wanted WHERE claimed_until < now() ORDER BY passage DESC LIMIT ?"
    " FOR UPDATE SKIP LOCKED) RETURNING passage)"
    " SELECT c.passage, coalesce(w.text, '') FROM claimed c LEFT JOIN words w ON w.rowid = c.passage"
)


def find_waiting_team(db: Database, model: str) -> str | None:
    """Return a team whose passages wait for vectors of a model, if there is one."""
    team = db.value("SELECT waiting_team(?)", model)
    return None if team is None else str(team)


def claim(db: Database, model: str, limit: int) -> list[tuple[int, str]]:
    """Claim the newest passages that wait for a vector, and return them with their texts."""
    with db.reading():
        db.execute("UPDATE teams SET model = ? WHERE model = ''", model)
        # Another worker may have chosen another model for the team just before.
        if db.value("SELECT model FROM teams") != model:
            return []
        return [(row[0], row[1]) for row in db.execute(CLAIM, CLAIM_SECONDS, limit)]


def release(db: Database, passages: list[int]) -> None:
    """Give claimed passages back to the queue."""
    db.execute("UPDATE vectors_wanted SET claimed_until = '-infinity' WHERE passage = ANY(?::bigint[])", passages)


def change_model(db: Database, model: str) -> int:
    """Queue the passages with vectors of another model and return how many; until then they are found by words."""
    with db.transaction():
        # The old vectors stay until new ones replace them: programs of the version before still compare them.
        rows = db.execute(
            "INSERT INTO vectors_wanted SELECT passage FROM vectors WHERE model <> ? ON CONFLICT DO NOTHING"
            " RETURNING passage",
            model,
        )
        db.execute("UPDATE teams SET model = ?", model)
    return len(rows)
