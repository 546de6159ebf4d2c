"""Whether a hub can be distributed over several servers by team, by what a run on Citus taught.

* Every row of a distributed table has its team, which leads every key; foreign keys stay within the distributed tables.
* Distributed tables have no triggers: these would read other tables on a server that has only some of their rows.
* Functions have distinct names, because Citus alters them by name.
* Every statement carries its team as a value, and reads tables of one place: those of a team's server, or those of the
  coordinator.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hivemind import Hivemind, Scope
from hivemind.hivemind import make_context
from hivemind.hub import postgres as engine
from hivemind.hub.exchange import Exchange
from hivemind.hub.store import HubDatabase
from hivemind.hub.team_sql import COORDINATOR_TABLES, DISTRIBUTED_TABLES, TEAM, bind_team
from hivemind.hub.worker import HubWorker
from hivemind.model.scope import Repository
from hivemind.model.team import Role, TeamMember
from hivemind.settings import Settings
from hivemind.store import sync_state
from tests.conftest import PERSON, Clock
from tests.contract.conftest import HERE
from tests.postgres import new_team

HUB_TABLES = {"migrations", "people", "used_proofs", "refusals"}
"""Of no team, or of none in some rows; only functions reach them, and they stay on the coordinator."""
UNIQUE_INDEXES = """
SELECT c.relname, x.relname, ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = x.oid ORDER BY attnum)
FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_class x ON x.oid = i.indexrelid
WHERE i.indisunique AND c.relnamespace = 'hivemind'::regnamespace AND c.relkind = 'r'
"""
FOREIGN_KEYS = """
SELECT c.relname, r.relname, f.conname,
    ARRAY(SELECT attname::text FROM unnest(f.conkey) WITH ORDINALITY AS k (n, i)
          JOIN pg_attribute ON attrelid = f.conrelid AND attnum = n ORDER BY i)
FROM pg_constraint f JOIN pg_class c ON c.oid = f.conrelid JOIN pg_class r ON r.oid = f.confrelid
WHERE f.contype = 'f' AND c.relnamespace = 'hivemind'::regnamespace
"""
COLUMNS = """
SELECT c.relname, EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'team_id'
    AND a.atttypid = 'uuid'::regtype AND a.attnotnull)
FROM pg_class c WHERE c.relnamespace = 'hivemind'::regnamespace AND c.relkind = 'r'
"""
TRIGGERS = "SELECT tgrelid::regclass::text FROM pg_trigger WHERE NOT tgisinternal"
FUNCTIONS = "SELECT proname FROM pg_proc WHERE pronamespace = 'hivemind'::regnamespace"


@pytest.fixture
def ask(hub: HubDatabase) -> Iterator[Callable[[str], list[Any]]]:
    with hub.pool.connection() as connection:
        yield lambda sql: connection.execute(sql.encode()).fetchall()


def test_every_table_has_a_place_and_the_team_of_its_rows(ask: Callable[[str], list[Any]]) -> None:
    tables = dict(ask(COLUMNS))

    assert set(tables) == {*DISTRIBUTED_TABLES, *COORDINATOR_TABLES} | HUB_TABLES
    assert [table for table in (*DISTRIBUTED_TABLES, *COORDINATOR_TABLES) if not tables[table]] == []


def test_every_key_of_a_distributed_table_leads_with_the_team(ask: Callable[[str], list[Any]]) -> None:
    keys = [(index, columns) for table, index, columns in ask(UNIQUE_INDEXES) if table in DISTRIBUTED_TABLES]

    assert len(keys) > 15
    assert [index for index, columns in keys if columns[0] != "team_id"] == []


def test_foreign_keys_stay_within_a_team_and_lead_to_no_other_place(ask: Callable[[str], list[Any]]) -> None:
    keys = ask(FOREIGN_KEYS)
    forbidden = [
        name
        for table, other, name, columns in keys
        if (table in DISTRIBUTED_TABLES) != (other in DISTRIBUTED_TABLES) or "team_id" not in columns
    ]

    assert len(keys) > 5
    assert forbidden == []


def test_no_table_has_a_trigger_and_no_two_functions_have_one_name(ask: Callable[[str], list[Any]]) -> None:
    functions = [name for (name,) in ask(FUNCTIONS)]

    assert ask(TRIGGERS) == []
    assert len(functions) > 15
    assert len(set(functions)) == len(functions)


STATEMENTS = {
    "SELECT id FROM memories m WHERE m.key = ?": [f"FROM memories WHERE team_id = {TEAM}) SELECT id FROM memories m"],
    "SELECT 1 FROM events JOIN bodies USING (position)": [
        f"events AS NOT MATERIALIZED (SELECT * FROM events WHERE team_id = {TEAM})",
        f"bodies AS NOT MATERIALIZED (SELECT * FROM bodies WHERE team_id = {TEAM})",
    ],
    "DELETE FROM words WHERE rowid = ? OR text = ''": [f"WHERE words.team_id = {TEAM} AND (rowid = ? OR text = '')"],
    "DELETE FROM vectors": [f"DELETE FROM vectors WHERE vectors.team_id = {TEAM}"],
    "UPDATE passages p SET until = ? WHERE key = ? RETURNING key": [
        f"SET until = ? WHERE p.team_id = {TEAM} AND (key = ?) RETURNING key"
    ],
    "UPDATE teams SET model = ? WHERE model = 'WHERE ('": [f"WHERE teams.team_id = {TEAM} AND (model = 'WHERE (')"],
    "DELETE FROM bodies WHERE position IN (SELECT position FROM events WHERE id = ?)": [
        f"WITH events AS NOT MATERIALIZED (SELECT * FROM events WHERE team_id = {TEAM})",
        f"bodies.team_id = {TEAM} AND (position IN (SELECT position FROM events WHERE id = ?))",
    ],
    "INSERT INTO erased (name) VALUES (?) ON CONFLICT DO NOTHING": [
        f"INSERT INTO erased (team_id, name) VALUES ({TEAM}, ?) ON CONFLICT DO NOTHING"
    ],
    "INSERT INTO absent (position) SELECT e.position FROM events e": [
        "INSERT INTO absent (team_id, position) SELECT e.team_id, e.position FROM events e"
    ],
    "WITH best AS (SELECT 1) SELECT * FROM best JOIN words w ON TRUE": [
        f"words AS NOT MATERIALIZED (SELECT * FROM words WHERE team_id = {TEAM}), best AS (SELECT 1)"
    ],
}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_gets_the_team_wherever_it_reads_or_writes(statement: str) -> None:
    assert [piece for piece in STATEMENTS[statement] if piece not in bind_team(statement)] == []


def test_a_name_with_a_schema_is_left_to_whoever_writes_it() -> None:
    statement = "DELETE FROM hivemind.words WHERE team_id = ?"

    assert bind_team(statement) == statement


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is executed for a team from now on."""
    seen: list[str] = []

    def note(sql: str) -> str:
        seen.append(sql)
        return bind_team(sql)

    monkeypatch.setattr(engine, "bind_team", note)
    return seen


def test_what_a_hub_does_for_a_team_reads_one_place_at_a_time(
    hub: HubDatabase, statements: list[str], tmp_path: Path, clock: Clock
) -> None:
    settings = Settings(home=tmp_path, person="ada", model="none")
    member = TeamMember(person="ada", role=Role.ADMIN)
    with hub.open_team(new_team(hub), member) as store:
        mind = Hivemind(make_context(store, settings, Repository(id=HERE, root=""), PERSON, clock))
        memory = mind.remember("The launch word is opal", scope=Scope.TEAM, subject="launch-word")
        mind.edit(memory.id, text="The launch word is jade")
        mind.recall("what is the launch word?")
        entries = sync_state.read_chain(store.db, store.chain, 0, 10)
        exchange = Exchange(store=store, member=member, now=clock().isoformat(), history=store.history)
        exchange.say_hello("laptop")
        exchange.pull("laptop", 0, epoch=store.history.state.epoch)
        exchange.compare("laptop", {store.chain: 1})
        mind.erase(memory.id)
        mind.maintenance.audit()
        store.rebuild()
    HubWorker(hub, settings, report=lambda _: None).maintain()

    names = "|".join((*DISTRIBUTED_TABLES, *COORDINATOR_TABLES))
    reads = [(sql, set(re.findall(rf"(?:FROM|JOIN|INTO|UPDATE)\s+({names})\b", sql))) for sql in statements]
    assert len(entries) >= 2
    assert len({sql for sql, tables in reads if tables}) > 60
    assert [sql for sql, tables in reads if tables & {*DISTRIBUTED_TABLES} and tables & {*COORDINATOR_TABLES}] == []
    assert [sql for sql, tables in reads if tables and TEAM not in bind_team(sql)] == []
