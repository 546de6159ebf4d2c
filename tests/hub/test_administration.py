"""What admins do to a team: it takes effect at once, it is on record, and nobody else can do it."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from hivemind import Hivemind, Scope
from hivemind.errors import AccessRevoked, InvalidInput, NotFound, Unauthenticated
from hivemind.hub.store import CONTENT_TABLES, HubDatabase
from hivemind.model.team import Role
from hivemind.sync.hub_client import HubClient
from tests.hub.people import Opened, Person, remember
from tests.hub.serving import Served


@pytest.fixture
def admin(served: Served, team: str) -> str:
    return served.token(team, Role.ADMIN, "root")


def list_texts(mind: Hivemind) -> list[str]:
    return sorted(memory.text for memory in mind.list())


def test_a_removed_device_loses_its_access_and_its_copy_and_erasures_do_not_wait_for_it(
    served: Served, team: str, admin: str, device: Opened
) -> None:
    tokens = {name: served.token(team, name=name) for name in ("alice", "bob")}
    clients = {name: HubClient(url=served.url, token=token) for name, token in tokens.items()}
    lost, other = device("alice"), device("bob")
    memory = remember(served, admin, "The vault code is xylophone42")
    lost.team.sync(clients["alice"])
    other.team.sync(clients["bob"])
    unsent = lost.remember("Alice was offline", scope=Scope.TEAM)
    private = lost.remember("Alice's own")

    removal = served.ask("DELETE", f"/v1/devices/{lost._context.store.chain[:8]}", admin).body

    assert removal["devices"] == [lost._context.store.chain]
    assert len(removal["tokens"]) == 1
    assert [entry["person"] for entry in served.ask("GET", "/v1/devices", admin).body] == ["bob"]
    receipt = served.ask("DELETE", f"/v1/memories/{memory}", admin).body
    states = {place["name"]: place["state"] for place in receipt["places"]}
    assert (states["devices of the team"], states["removed device of alice"]) == ("pending", "outside")
    assert "device of alice" not in states
    with pytest.raises(AccessRevoked, match="deleted here"):
        lost.team.sync(clients["alice"])
    assert list_texts(lost) == sorted([unsent.text, private.text])
    other.team.sync(clients["bob"])
    assert list_texts(other) == []


def test_a_removed_device_stays_out_with_another_token(served: Served, team: str, admin: str, device: Opened) -> None:
    mind = device("alice")
    mind.team.sync(HubClient(url=served.url, token=served.token(team, name="alice")))
    served.ask("DELETE", f"/v1/devices/{mind._context.store.chain}", admin)
    client = HubClient(url=served.url, token=served.token(team, name="alice"))

    with pytest.raises(AccessRevoked, match="removed this device"):
        mind.team.sync(client)
    device("alice's new laptop").team.sync(client)


def test_a_member_is_removed_in_one_step(served: Served, team: str, admin: str, device: Opened) -> None:
    tokens = [served.token(team, name="alice") for _ in range(2)]
    bystander = served.token(team, name="bob")
    device("alice").team.sync(HubClient(url=served.url, token=tokens[0]))

    removal = served.ask("DELETE", "/v1/members/alice", admin).body

    assert (len(removal["tokens"]), len(removal["devices"])) == (2, 1)
    assert [served.ask("GET", "/v1/devices", token).status for token in (*tokens, bystander)] == [401, 401, 200]
    assert served.ask("DELETE", "/v1/members/nobody", admin).status == 404


def test_an_expired_token_does_not_delete_the_copy(
    served: Served, team: str, admin: str, device: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    mind, client = device("alice"), HubClient(url=served.url, token=served.token(team, name="alice"))
    remember(served, admin, "Standup is at ten")
    mind.team.sync(client)
    now = served.host._clock
    monkeypatch.setattr(served.host, "_clock", lambda: now() + timedelta(days=2))

    with pytest.raises(Unauthenticated):
        mind.team.sync(client)

    assert list_texts(mind) == ["Standup is at ten"]


def test_a_pull_creates_no_device_and_a_member_has_so_many(served: Served, team: str, admin: str) -> None:
    reader = served.token(team, Role.READER, "rita")
    served.ask("PATCH", "/v1/team", admin, {"max_devices": 2})

    pulled = served.ask("GET", "/v1/pull?device=ghost", reader)
    devices = ("laptop 1", "laptop 2", "laptop 3", "laptop 1")
    greeted = [served.ask("POST", "/v1/hello", reader, {"device": device}).status for device in devices]

    assert pulled.status == 403
    assert greeted == [200, 200, 403, 200]
    assert [entry["id"] for entry in served.ask("GET", "/v1/devices", admin).body] == ["laptop 1", "laptop 2"]


def test_limits_take_effect_and_only_an_admin_sets_them(served: Served, team: str, admin: str) -> None:
    writer = served.token(team, name="walter")
    limits = served.ask("PATCH", "/v1/team", admin, {"lease_days": 14}).body
    memory = remember(served, writer, "Standup is at ten")

    welcome = served.ask("POST", "/v1/hello", writer, {"device": "laptop"}).body
    refused = served.ask("PATCH", "/v1/team", writer, {"lease_days": 365}).status
    served.ask("PATCH", "/v1/team", admin, {"max_entries": 1})
    full = served.ask("POST", "/v1/memories", writer, {"text": "One too many"})

    assert (limits["lease_days"], welcome["lease_days"], refused) == (14, 14, 403)
    assert full.status == 403
    assert "used up" in full.body["error"]
    # What makes the log smaller in content is never refused.
    assert served.ask("DELETE", f"/v1/memories/{memory}", writer).status == 200
    served.ask("PATCH", "/v1/team", admin, {"max_entries": 0})
    assert served.ask("POST", "/v1/memories", writer, {"text": "No limit again"}).status == 200


def test_what_admins_do_is_on_record_in_the_log(served: Served, team: str, admin: str) -> None:
    served.token(team, name="alice")
    served.ask("PATCH", "/v1/team", admin, {"lease_days": 14})
    served.ask("DELETE", "/v1/members/alice", admin)

    acts = served.ask("GET", "/v1/administration", admin).body

    recorded = [(act["actor"], act["event"]["fact"]["action"], act["event"]["fact"]["detail"]) for act in acts[:3]]
    assert [act[:2] for act in recorded] == [
        ("root", "token revoked"),
        ("root", "limit changed"),
        ("operator", "token created"),
    ]
    assert recorded[1][2] == "60 to 14"
    assert acts[-1]["event"]["fact"]["action"] == "team created"
    assert served.ask("GET", "/v1/administration", served.token(team, name="bob")).status == 403
    assert served.ask("GET", "/v1/audit", admin).body == []


def test_the_name_of_a_team_is_given_once(served: Served, team: str) -> None:
    with pytest.raises(InvalidInput, match=f"there is a team '{team}' on this hub already; choose another name"):
        served.host.create_team(team)

    assert served.host.create_team(f"{team} 2").startswith("hm_")


def test_a_team_is_exported_and_deleted_and_another_stays(
    served: Served, team: str, strangers: str, hub: HubDatabase, person: Person, hub_address: str, tmp_path: Path
) -> None:
    ours, theirs = (served.token(name, Role.ADMIN, "root") for name in (team, strangers))
    remember(served, ours, "Standup is at ten")
    remember(served, theirs, "Somebody else's")
    served.ask("POST", "/v1/hello", ours, {"device": "laptop"})
    team_id = served.host.find_owner(team).team
    run, file = person("operator"), tmp_path / "team.jsonl"

    names = run("hub", "team", "list", "--database", hub_address)
    run("hub", "team", "export", "--team", team, "--output", str(file), "--database", hub_address)
    run("hub", "team", "delete", team, "--yes", "--database", hub_address)

    assert {team, strangers} <= set(names)
    assert [json.loads(line)["text"] for line in file.read_text().splitlines()] == ["Standup is at ten"]
    assert "Standup is at ten" in str(run("import", str(file), "--approve") and run("list", "--everywhere"))
    assert served.ask("GET", "/v1/memories", ours).status == 401
    assert len(served.ask("GET", "/v1/memories", theirs).body) == 1
    with pytest.raises(NotFound):
        served.host.find_owner(team)
    with hub.pool.connection() as connection, connection.transaction():
        connection.execute("SELECT set_config('hivemind.team', $1, true)", [team_id])
        for table in ("events", "bodies", "memories", "tokens", "devices", "epochs"):
            assert connection.execute(f"SELECT count(*) FROM hivemind.{table}").fetchone() == (0,)


def test_compacting_ends_the_last_traces_and_keeps_the_rest(
    served: Served, team: str, hub: HubDatabase, person: Person, hub_address: str
) -> None:
    token = served.token(team, name="alice")
    remember(served, token, "Standup is at ten")
    receipt = served.ask("DELETE", f"/v1/memories/{remember(served, token, 'The vault code is 42')}", token).body
    assert "hivemind hub compact" in next(place["detail"] for place in receipt["places"] if place["name"] == "hub")
    with hub.pool.connection() as connection:
        find_file = f"SELECT pg_relation_filenode('hivemind.{CONTENT_TABLES[0]}')"
        before = connection.execute(find_file).fetchone()

        person("operator")("hub", "compact", "--yes", "--database", hub_address)

        assert connection.execute(find_file).fetchone() != before
    assert len(served.ask("GET", "/v1/memories", token).body) == 1
