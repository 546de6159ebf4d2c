"""Counts for an agent's status line, on a read-only connection of its own.

Imports apsw and a condition alone, because opening a whole store takes four times the budget of a status line; SQLite
parses the agent's JSON.
"""

import os

import apsw

from hivemind.store.review_queue import DAYS_IN_QUEUE, IN_QUEUE, IS_SAID

# Without fractions of a second, which SQLite writes differently.
QUEUE_START = f"strftime('%Y-%m-%dT%H:%M:%S', 'now', '-{DAYS_IN_QUEUE} days')"

READ_PAYLOAD = """
SELECT coalesce(json_extract(:payload, '$.session_id'), ''),
    coalesce(json_extract(:payload, '$.workspace.current_dir'), json_extract(:payload, '$.cwd'), '')
WHERE json_valid(:payload)
"""
COUNT_MEMORIES = f"""
WITH names AS (
    SELECT repo FROM repositories WHERE root = :root UNION SELECT repo FROM sessions WHERE id = :session UNION SELECT ''
)
SELECT count(*) FILTER (WHERE status IN ('active', 'disputed')),
    count(*) FILTER (WHERE {IN_QUEUE.replace(":queue_start", QUEUE_START)})
FROM memories m WHERE repo IN names
"""
# Distinct, because a memory can be shown again, for example after a compaction.
COUNT_TOLD = """
SELECT count(DISTINCT memory_id), count(DISTINCT CASE WHEN is_in_doubt = 1 THEN memory_id END),
    count(DISTINCT CASE WHEN occasion IN ('guard-ask', 'guard-deny') THEN id END)
FROM receipts WHERE session_id = :session AND session_id <> ''
"""
COUNT_HEARD = f"""
SELECT count(*) FROM memories m WHERE session_id = :session AND session_id <> ''
    AND status IN ('active', 'disputed') AND {IS_SAID}
"""


def read_counts(path: str, payload: str, directory: str) -> tuple[int, int, int, int, int, int] | None:
    """Count memories of this repository and those to review; and of this session those told and those of them in doubt,
    acts of guards, and memories that it stored with the person's verified words. None if the store cannot be read.
    """
    try:
        # Never created here: a status line must not be the first to make a store.
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    except apsw.Error:
        return None
    try:
        session, agent_directory = next(iter(connection.execute(READ_PAYLOAD, {"payload": payload})), ("", ""))
        root = _find_root(connection, os.path.realpath(agent_directory or directory))
        # The names of a tree are those it ever had: memories keep the name under which they were stored.
        values = {"session": str(session), "root": root}
        memory_count, waiting_count = next(iter(connection.execute(COUNT_MEMORIES, values)))
        told_count, doubtful_count, guard_count = next(iter(connection.execute(COUNT_TOLD, values)))
        heard_count = next(iter(connection.execute(COUNT_HEARD, values)))[0]
    except apsw.Error:
        return None
    finally:
        connection.close()
    return memory_count, waiting_count, told_count, doubtful_count, guard_count, heard_count


def _find_root(connection: apsw.Connection, directory: str) -> str:
    """Return the nearest working tree above a directory that the store knows; asking git would take longer."""
    while True:
        if list(connection.execute("SELECT 1 FROM repositories WHERE root = ? LIMIT 1", (directory,))):
            return directory
        parent = os.path.dirname(directory)
        if parent == directory:
            return ""
        directory = parent
