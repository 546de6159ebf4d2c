"""Who may come in, and what each may do there."""

from datetime import timedelta

import pytest

from hivemind.hub.access import Limits
from hivemind.hub.store import HubDatabase
from hivemind.model.team import TOKEN_PREFIX, Role
from tests.hub.serving import Served

MEMORY = {"text": "Deploys run from the release branch", "repo": "github.com/acme/api"}


def kept(served: Served, token: str, text: str = MEMORY["text"]) -> str:
    answer = served.ask("POST", "/v1/memories", token, MEMORY | {"text": text})
    assert answer.status == 200, answer
    return str(answer.body["id"])


def test_a_member_remembers_and_another_recalls(served: Served, team: str) -> None:
    memory = kept(served, served.token(team))

    found = served.ask("POST", "/v1/recall", served.token(team, Role.READER), {"query": "how do we deploy?"})

    assert [hit["memory"]["id"] for hit in found.body["hits"]] == [memory]
    assert found.body["hits"][0]["memory"]["scope"] == "team"


@pytest.mark.parametrize("token", ["", "hm_wrong", "Bearer", "\udcff".encode("utf-8", "replace").decode()])
def test_without_a_valid_token_nobody_comes_in(served: Served, team: str, token: str) -> None:
    refused = served.ask("GET", "/v1/memories", token)
    welcome = served.ask("GET", "/v1/memories", served.token(team))

    assert (refused.status, welcome.status) == (401, 200)


def test_a_revoked_token_is_worthless_at_the_next_request(served: Served, team: str) -> None:
    token = served.token(team, name="mallory")
    before = served.ask("GET", "/v1/memories", token)

    with served.host.open_mind(served.host.find_owner(team)) as mind:
        mind.admin.tokens.revoke("mallory")

    assert before.status == 200
    assert served.ask("GET", "/v1/memories", token).status == 401


def test_a_token_expires(served: Served, team: str, monkeypatch: pytest.MonkeyPatch) -> None:
    token = served.token(team)
    now = served.host._clock
    assert served.ask("GET", "/v1/memories", token).status == 200

    monkeypatch.setattr(served.host, "_clock", lambda: now() + timedelta(days=2))

    assert served.ask("GET", "/v1/memories", token).status == 401


def test_a_rotated_token_takes_the_place_of_the_old_one(served: Served, team: str) -> None:
    admin = served.token(team, Role.ADMIN, "root")
    old = served.token(team, name="alice")

    new = served.ask("POST", "/v1/tokens/alice/rotate", admin, {}).body["token"]

    assert served.ask("GET", "/v1/memories", old).status == 401
    assert served.ask("GET", "/v1/memories", new).status == 200


def test_tokens_are_kept_as_hashes_alone(served: Served, team: str, hub: HubDatabase) -> None:
    token = served.token(team, name="alice")

    with hub.open_team(served.host.find_owner(team).team) as store:
        rows = str(store.db.execute("SELECT t.* FROM tokens t"))

    assert "alice" in rows
    assert token not in rows
    assert token.removeprefix(TOKEN_PREFIX) not in rows


def test_each_role_may_do_what_it_says_and_no_more(served: Served, team: str) -> None:
    writer = served.token(team, Role.WRITER)
    tokens = {role: served.token(team, role) for role in Role}

    def status_of(role: Role, method: str, path: str, body: object) -> int:
        memory = kept(served, writer, f"Fact number {len(served.wire)} for {role}")
        return served.ask(method, path.format(memory), tokens[role], body).status

    may = {
        role: [
            status_of(role, "GET", "/v1/memories/{}", None),
            status_of(role, "POST", "/v1/memories", MEMORY | {"text": f"Said by a {role}"}),
            status_of(role, "POST", "/v1/memories/{}/approve", {}),
            status_of(role, "DELETE", "/v1/memories/{}", None),
            status_of(role, "GET", "/v1/tokens", None),
        ]
        for role in Role
    }

    assert may == {
        Role.READER: [200, 403, 403, 403, 403],
        # A writer erases what they wrote themselves; this was written by another.
        Role.WRITER: [200, 200, 403, 200, 403],
        Role.REVIEWER: [200, 200, 200, 200, 403],
        Role.ADMIN: [200, 200, 200, 200, 200],
    }


def test_an_agents_token_neither_approves_nor_erases_whatever_its_role(served: Served, team: str) -> None:
    memory = kept(served, served.token(team, name="alice"))
    agent = served.token(team, Role.ADMIN, "robot", is_agent=True)

    answers = [
        served.ask("POST", f"/v1/memories/{memory}/approve", agent, {}),
        served.ask("POST", f"/v1/memories/{memory}/reject", agent, {}),
        served.ask("DELETE", f"/v1/memories/{memory}", agent),
        served.ask("GET", "/v1/tokens", agent),
    ]

    assert [one.status for one in answers] == [403] * 4
    assert served.ask("GET", f"/v1/memories/{memory}", agent).body["memory"]["status"] == "active"
    assert served.ask("POST", "/v1/memories", agent, MEMORY | {"text": "Seen in CI"}).body["channel"] == "agent"


def test_another_team_sees_nothing_whatever_it_asks(served: Served, team: str, strangers: str) -> None:
    memory = kept(served, served.token(team))
    carol = served.token(strangers, Role.ADMIN, "carol")
    asked: list[tuple[str, str, object]] = [
        ("GET", f"/v1/memories/{memory}", None),
        ("GET", "/v1/memories", None),
        ("GET", "/v1/memories?repo=github.com/acme/api", None),
        ("POST", "/v1/recall", {"query": "how do we deploy?", "everywhere": True}),
        ("GET", "/v1/pull?device=hers", None),
        ("GET", "/v1/review", None),
        ("GET", "/v1/devices", None),
        ("GET", "/v1/audit", None),
        ("GET", "/v1/refusals", None),
        ("DELETE", f"/v1/memories/{memory}", None),
        ("POST", f"/v1/memories/{memory}/retract", {}),
    ]

    answers = [served.ask(method, path, carol, body) for method, path, body in asked]

    assert not [one for one in answers if "release branch" in str(one.body) or one.status >= 500]
    assert served.ask("GET", f"/v1/memories/{memory}", served.token(team)).body["memory"]["status"] == "active"


def test_every_refusal_is_on_record(served: Served, team: str) -> None:
    memory = kept(served, served.token(team, name="alice"))
    served.ask("POST", f"/v1/memories/{memory}/approve", served.token(team, name="bob"), {})

    noted = served.ask("GET", "/v1/refusals", served.token(team, Role.ADMIN, "root")).body

    assert [(one["who"], one["what"]) for one in noted] == [("bob", f"POST /v1/memories/{memory}/approve")]


@pytest.mark.usefixtures("long_minute")
def test_who_asks_too_often_has_to_wait(served: Served, team: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served.host, "limits", Limits(per_token=3))
    greedy, patient = served.token(team, name="greedy"), served.token(team, name="patient")

    answers = [served.ask("GET", "/v1/devices", greedy).status for _ in range(5)]

    assert answers == [200, 200, 200, 429, 429]
    assert served.ask("GET", "/v1/devices", patient).status == 200


def test_requests_for_another_name_or_from_another_site_are_turned_away(served: Served, team: str) -> None:
    token = served.token(team)

    for_another = served.ask("GET", "/v1/devices", token, Host="evil.example")
    assert (for_another.status, served.url in for_another.body["error"]) == (421, True)
    assert served.ask("GET", "/v1/devices", token, Origin="https://evil.example").status == 403
    assert served.ask("POST", "/mcp", token, {}, Origin="https://evil.example").status == 403
    assert served.ask("GET", "/v1/devices", token, Origin=served.url).status == 200


def test_a_body_that_is_too_long_is_refused(served: Served, team: str) -> None:
    token = served.token(team)

    announced = served.ask("POST", "/v1/memories", token, {"text": "short"}, **{"Content-Length": str(9 << 20)})

    assert announced.status == 413
    assert served.ask("POST", "/v1/memories", token, {"text": "short enough"}).status == 200
