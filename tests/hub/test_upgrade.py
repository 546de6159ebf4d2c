"""The first start moves the database of a hub of 0.2 into the tables of this version.

The fixture is a dump of a hub of 0.2.0. Its two members shared two memories and erased a third.
"""

import gzip
import secrets
import subprocess
from pathlib import Path

import psycopg
import pytest

from hivemind.hub.host import Host
from hivemind.hub.store import HubDatabase
from hivemind.hub.worker import migrate_hub
from hivemind.settings import Settings
from hivemind.sync.hub_client import HubClient
from tests import postgres
from tests.hub.people import Opened, remember
from tests.hub.serving import serving

FIXTURE = Path(__file__).parents[1] / "fixtures" / "hub-0.2.0.sql.gz"
ADMIN, BEN = "hm_nxExI5PQgvjGgB4kutEB3VX5E5qEvENQu9xf9bnB2Nw", "hm_Avxzm5e3kSaeuVtCtjbf1tUoKKFR8yXufmisjZ-BuJA"
ROLES = f"""
SET ROLE {postgres.OWNER};
DO $$ DECLARE name text; BEGIN
    FOREACH name IN ARRAY ARRAY['hivemind_hub', 'hivemind_index', 'hivemind_door'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', name);
        END IF;
    END LOOP;
END $$;
RESET ROLE;
"""
OWN_PLACE = "UPDATE hivemind.teams SET place = hivemind.database_place();"
"""Makes the dump's new database the one in which the hub has always run."""


@pytest.fixture
def old_hub(postgres_folder: str) -> str:
    """Return the address of a database as 0.2 left it."""
    address = postgres.database(postgres_folder, f"old_{secrets.token_hex(4)}")
    script = f"{ROLES}{gzip.decompress(FIXTURE.read_bytes()).decode()}{OWN_PLACE}"
    # As a superuser, because row-level security hides every team from the owner.
    superuser = address.replace(postgres.OWNER, "postgres")
    psql = [postgres.find_program("psql"), "-q", "-v", "ON_ERROR_STOP=1", "-d", superuser]
    subprocess.run(psql, input=script.encode(), check=True, capture_output=True)
    return address


def test_members_find_what_they_shared_and_go_on(old_hub: str, tmp_path: Path, device: Opened) -> None:
    settings = Settings(home=tmp_path / "hub", person="hub", model="none")
    assert migrate_hub(old_hub, report=lambda _: None).rebuilt == ("team",)

    hub = HubDatabase.open(old_hub)
    with serving(Host(hub, settings)) as served:
        shop = served.ask("GET", "/v1/memories?repo=remote:example.org/acme/shop", ADMIN).body
        assert {row["text"] for row in shop} == {"Deploys run from main only", "API port is 8080"}
        assert served.ask("GET", "/v1/audit", ADMIN).body == []
        globex = {"text": "The customer is called Globex", "repo": "remote:example.org/acme/shop"}
        assert served.ask("POST", "/v1/memories", ADMIN, globex).status == 403
        remember(served, ADMIN, "Written by the new version")
        laptop = device("ben")
        laptop.team.sync(HubClient(url=served.url, token=BEN))
        assert [memory.text for memory in laptop.list()] == ["Written by the new version"]
        assert len(laptop.list(everywhere=True)) == 3
    (team,) = [progress.team for progress in hub.list_teams()]
    with hub.open_team(team) as store:
        assert [epoch.why for epoch in store.history.list()] == ["first"]
    hub.close()


def test_the_old_tables_are_gone_and_each_team_is_hidden_again(old_hub: str) -> None:
    assert len(migrate_hub(old_hub, report=lambda _: None).migrations) > 1

    with psycopg.connect(old_hub) as owner:
        schemas = owner.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'hivemind%'").fetchall()
        visible = owner.execute("SELECT count(*) FROM hivemind.events").fetchall()
    assert schemas == [("hivemind",)]
    assert visible == [(0,)]
    assert migrate_hub(old_hub, report=lambda _: None).migrations == ()


def test_an_extension_in_the_old_schema_is_kept(old_hub: str) -> None:
    superuser = old_hub.replace(postgres.OWNER, "postgres")
    with psycopg.connect(superuser) as connection:
        connection.execute("ALTER EXTENSION vector SET SCHEMA hivemind")

    assert migrate_hub(superuser, report=lambda _: None).rebuilt == ("team",)

    with psycopg.connect(superuser) as connection:
        assert connection.execute("SELECT count(*) > 0 FROM hivemind.memories").fetchall() == [(True,)]
        assert connection.execute("SELECT '[1]'::halfvec::text").fetchall() == [("[1]",)]
