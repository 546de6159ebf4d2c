"""Brings the hub's database into the shape this program expects, as its owner."""

from importlib.resources import files

import psycopg

from hivemind.errors import StoreError, StoreTooNew
from hivemind.hub.postgres import SCHEMA, Connection, connected

TURN = 0x68697665
"""The lock that lets two hubs start at once."""


def migrate(address: str) -> None:
    """Apply what is missing, each migration whole or not at all."""
    steps = {one.name: one.read_text() for one in (files("hivemind.hub") / "migrations").iterdir()}
    with connected(address) as owner:
        owner.execute("SELECT pg_advisory_lock($1)", [TURN])
        owner.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        owner.execute(f"SET search_path = {SCHEMA}, public")
        owner.execute("CREATE TABLE IF NOT EXISTS migrations (name text PRIMARY KEY)")
        done = {row[0] for row in owner.execute("SELECT name FROM migrations")}
        if unknown := done - set(steps):
            raise StoreTooNew(f"a newer hivemind migrated this database ({max(unknown)}); upgrade this hub")
        for name in sorted(set(steps) - done):
            _apply(owner, name, steps[name])


def _apply(owner: Connection, name: str, sql: str) -> None:
    try:
        with owner.transaction():
            owner.execute(sql)  # type: ignore[arg-type, unused-ignore]
            owner.execute("INSERT INTO migrations VALUES ($1)", [name])
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreError(
            f"{name}: {error.diag.message_primary}; let somebody who may run 'CREATE EXTENSION vector' in this database"
            " and give its owner CREATEROLE"
        ) from error
    except (psycopg.errors.UndefinedFile, psycopg.errors.FeatureNotSupported) as error:
        raise StoreError(f"{name}: {error.diag.message_primary}; install pgvector on the server") from error
