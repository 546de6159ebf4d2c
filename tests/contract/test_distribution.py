"""Whether the hub's tables can be distributed by team, by the rules of Citus, table by table.

The rules: the distribution column is in every primary key and unique index; foreign keys of distributed tables lead to
tables distributed by the same column and include it, or to reference tables; reference tables refer only to each other.
https://docs.citusdata.com/en/stable/develop/reference_ddl.html
"""

from typing import Any

import pytest

from hivemind.hub.store import HubDatabase

DISTRIBUTION_COLUMN = "team_id"
REFERENCE_TABLES = {"teams", "tokens", "visits", "people"}
"""Small, and asked before a team is known; Citus keeps a copy on each server."""
LOCAL_TABLES = {"migrations", "refusals", "used_proofs"}
"""Of no team, or of none in some rows; they stay on the coordinator."""
UNIQUE_INDEXES = """
SELECT c.relname, x.relname, ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = x.oid ORDER BY attnum)
FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_class x ON x.oid = i.indexrelid
WHERE i.indisunique AND c.relnamespace = 'hivemind'::regnamespace AND c.relkind = 'r'
"""
FOREIGN_KEYS = """
SELECT c.relname, r.relname, f.conname,
    ARRAY(SELECT attname::text FROM unnest(f.conkey) WITH ORDINALITY AS k (n, i)
          JOIN pg_attribute ON attrelid = f.conrelid AND attnum = n ORDER BY i),
    ARRAY(SELECT attname::text FROM unnest(f.confkey) WITH ORDINALITY AS k (n, i)
          JOIN pg_attribute ON attrelid = f.confrelid AND attnum = n ORDER BY i)
FROM pg_constraint f JOIN pg_class c ON c.oid = f.conrelid JOIN pg_class r ON r.oid = f.confrelid
WHERE f.contype = 'f' AND c.relnamespace = 'hivemind'::regnamespace
"""
COLUMNS = """
SELECT c.relname, EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'team_id'
    AND a.atttypid = 'uuid'::regtype AND a.attnotnull)
FROM pg_class c WHERE c.relnamespace = 'hivemind'::regnamespace AND c.relkind = 'r'
"""


@pytest.fixture
def catalogue(hub: HubDatabase) -> dict[str, list[Any]]:
    with hub.pool.connection() as connection:
        return {
            "columns": connection.execute(COLUMNS).fetchall(),
            "unique": connection.execute(UNIQUE_INDEXES).fetchall(),
            "foreign": connection.execute(FOREIGN_KEYS).fetchall(),
        }


def find_distributed(catalogue: dict[str, list[Any]]) -> set[str]:
    return {table for table, _ in catalogue["columns"]} - REFERENCE_TABLES - LOCAL_TABLES


def test_every_other_table_has_the_team_of_its_rows(catalogue: dict[str, list[Any]]) -> None:
    has_team = dict(catalogue["columns"])
    distributed = find_distributed(catalogue)

    assert len(distributed) > 15
    assert [table for table in distributed if not has_team[table]] == []


def test_every_key_of_a_distributed_table_leads_with_the_team(catalogue: dict[str, list[Any]]) -> None:
    distributed = find_distributed(catalogue)
    keys = [(index, columns) for table, index, columns in catalogue["unique"] if table in distributed]

    assert len(keys) > 15
    assert [index for index, columns in keys if columns[0] != DISTRIBUTION_COLUMN] == []


def test_foreign_keys_stay_within_a_team_or_lead_to_a_table_that_every_server_has(
    catalogue: dict[str, list[Any]],
) -> None:
    distributed = find_distributed(catalogue)
    forbidden = []
    for table, other, name, columns, other_columns in catalogue["foreign"]:
        if table in distributed and other in distributed:
            position = columns.index(DISTRIBUTION_COLUMN) if DISTRIBUTION_COLUMN in columns else -1
            is_allowed = position >= 0 and other_columns[position] == DISTRIBUTION_COLUMN
        else:
            is_allowed = other in REFERENCE_TABLES and table not in LOCAL_TABLES
        if not is_allowed:
            forbidden.append(name)

    assert len(catalogue["foreign"]) > 5
    assert forbidden == []
