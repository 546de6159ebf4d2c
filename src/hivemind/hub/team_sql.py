"""Adds the team, as a value, to every statement for a team.

The statements of ``store/`` know no teams, because a laptop has none. Row-level security would be enough to keep teams
apart. But a database that is distributed over several servers by team has to see in the statement which server it is
for, and Postgres plans better with a value than with a setting. So each statement carries its team, and row-level
security stays as the second wall.

A table that is read is replaced by a common table expression of the same name, which holds the team's rows alone;
Postgres plans it as if it were written in place. What is written gets the team as a column or as a condition. Names
with a schema are left as they are: whoever writes them names the team too.
"""

import re
from functools import lru_cache

COORDINATOR_TABLES = (
    "teams", "epochs", "tokens", "visits", "removed_people", "removed_devices", "device_logins", "vectors_wanted",
)  # fmt: skip
"""Tables that are asked before a team is known or for all teams, and small; Citus keeps them on the coordinator."""
DISTRIBUTED_TABLES = (
    "devices", "events", "bodies", "absent", "erased", "bookmarks", "memories", "tombstones", "erased_texts",
    "receipts", "sessions", "observations", "repositories", "passages", "words", "word_counts", "vectors",
)  # fmt: skip
"""Tables with the rows of a team on one server; those that others refer to come first."""
_NAMES = "|".join(COORDINATOR_TABLES + DISTRIBUTED_TABLES)
READ = re.compile(rf"(?:\bFROM|\bJOIN|,)\s+({_NAMES})\b(?!\()")
INSERT = re.compile(rf"INSERT INTO ({_NAMES}) \(")
FIRST_VALUE = re.compile(r"\)\s*(VALUES \(|SELECT (?:DISTINCT )?)")
CHANGE = re.compile(rf"(?:UPDATE|DELETE FROM) ({_NAMES})\b(?: (?:AS )?(?!SET\b|WHERE\b|USING\b|RETURNING\b)(\w+))?")
SOURCE = re.compile(rf"FROM ({_NAMES})\b(?: (?!(?:WHERE|JOIN|LEFT|CROSS|ORDER|GROUP|LIMIT|ON)\b)(\w+))?")
CLAUSE = re.compile(r"'[^']*'|[()]| (WHERE|RETURNING)\b")
TEAM = "'<team>'::uuid"


@lru_cache(1024)
def bind_team(sql: str) -> str:
    """Return a statement with ``TEAM`` for each table that it reads or writes."""
    change, insert = CHANGE.search(sql), INSERT.search(sql)
    # The table that is changed is no expression, unless the statement reads it elsewhere too.
    readable = sql[: change.start()] + sql[change.end() :] if change else sql
    tables = dict.fromkeys(READ.findall(readable))
    if change:
        sql = _add_condition(sql, change)
    elif insert:
        sql = _add_column(sql, insert)
    if not tables:
        return sql
    expressions = [f"{table} AS NOT MATERIALIZED (SELECT * FROM {table} WHERE team_id = {TEAM})" for table in tables]
    others = sql.removeprefix("WITH ")
    return f"WITH {', '.join(expressions)}{', ' if others != sql else ' '}{others}"


def _add_condition(sql: str, change: re.Match[str]) -> str:
    """Limit an update or deletion to rows of the team."""
    condition = f"{change[2] or change[1]}.team_id = {TEAM}"
    depth, places = 0, dict[str, int]()
    for match in CLAUSE.finditer(sql, change.end()):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if depth < 0:
            # The statement stands in an expression of a longer one.
            places.setdefault("RETURNING", match.start())
            break
        if match[1] and depth == 0:
            places.setdefault(match[1], match.start())
    end = places.get("RETURNING", len(sql))
    if "WHERE" not in places:
        return f"{sql[:end]} WHERE {condition}{sql[end:]}"
    start = places["WHERE"] + len(" WHERE ")
    return f"{sql[:start]}{condition} AND ({sql[start:end]}){sql[end:]}"


def _add_column(sql: str, insert: re.Match[str]) -> str:
    """Give new rows the team as their first column."""
    if sql.startswith("team_id,", insert.end()):
        return sql
    row = FIRST_VALUE.search(sql, insert.end())
    assert row is not None, f"name the columns and give values or a query: {sql}"
    # Of a query's table, if it has one: only then does Citus see that the rows stay on one server.
    source = SOURCE.search(sql, row.end())
    value = f"{source[2] or source[1]}.team_id" if source and row[1].startswith("SELECT") else TEAM
    return f"{sql[: insert.end()]}team_id, {sql[insert.end() : row.end()]}{value}, {sql[row.end() :]}"
