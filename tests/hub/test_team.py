"""A team with three homes and a hub, each a process of its own."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from hivemind.entrypoints import hook
from hivemind.model.memory import Status
from hivemind.model.team import Role, TeamMember
from hivemind.paths import HUB_FILE
from tests.command_line import residue
from tests.hub.people import Person, remember
from tests.hub.serving import Served

SHARED = "Deploys of the payment service run from the release branch zebrafish"
PRIVATE = "My own plan is to rewrite the wombat parser"


def test_what_alice_remembers_for_the_team_bob_recalls_and_erases_and_carol_never_sees(
    served: Served, team: str, strangers: str, person: Person, tmp_path: Path
) -> None:
    alice, bob, carol = person("alice"), person("bob"), person("carol")
    alice("team", "login", served.url, "--token", served.token(team, Role.WRITER, "alice"))
    bob("team", "login", served.url, "--token", served.token(team, Role.REVIEWER, "bob"))
    carol("team", "login", served.url, "--token", served.token(strangers, Role.ADMIN, "carol"))

    alice("remember", SHARED, "--scope", "team")
    alice("remember", PRIVATE)
    for one in (alice, bob, carol):
        one("sync")
    recalled = [one("recall", "where do deploys run from?", codes=(0, 1)) for one in (alice, bob, carol)]
    memory = recalled[1]["hits"][0]["memory"]["id"]
    receipt = bob("erase", memory, "--yes")
    alice("sync")
    confirmed = bob("erase", memory)

    texts = [[hit["memory"]["text"] for hit in one["hits"]] for one in recalled]
    assert texts == [[SHARED], [SHARED], []]
    assert ("devices of the team", "pending") in [(place["name"], place["state"]) for place in receipt["places"]]
    assert {place["state"] for place in confirmed["places"]} <= {"done", "outside"}
    assert alice("recall", "where do deploys run from?", codes=(0, 1))["hits"] == []
    left = alice("recall", "the wombat parser")["hits"]
    assert [hit["memory"]["text"] for hit in left] == [PRIVATE]
    assert [one["erasures"] for one in alice("team", "status")["devices"]] == [0, 0]
    assert not [name for name in ("alice", "bob", "carol") if residue(tmp_path / name / "home", b"zebrafish")]
    assert residue(tmp_path / "alice" / "home", b"wombat")
    assert alice("log", "--verify") == []


def test_without_the_hub_the_status_tells_what_is_known_here(
    served: Served, team: str, person: Person, tmp_path: Path
) -> None:
    alice = person("alice")
    alice("team", "login", served.url, "--token", served.token(team, Role.WRITER, "alice"))
    file = tmp_path / "alice" / "home" / HUB_FILE
    # Nobody listens there.
    file.write_text(file.read_text().replace(served.url, "http://127.0.0.1:9"))

    status = alice("team", "status")

    assert (status["membership"]["person"], status["devices"]) == ("alice", [])


def test_what_is_private_never_goes_over_the_wire(served: Served, team: str, person: Person) -> None:
    alice = person("alice")
    alice("team", "login", served.url, "--token", served.token(team, Role.WRITER, "alice"))
    alice("remember", SHARED, "--scope", "team")
    alice("remember", PRIVATE)
    alice("remember", PRIVATE + " everywhere", "--scope", "user")
    alice("recall", "the wombat parser")

    alice("sync")

    sent = b"".join(served.wire)
    assert b"zebrafish" in sent
    assert b"wombat" not in sent


def test_a_memory_of_the_project_is_published_as_a_copy(served: Served, team: str, person: Person) -> None:
    alice, bob = person("alice"), person("bob")
    alice("team", "login", served.url, "--token", served.token(team, Role.WRITER, "alice"))
    bob("team", "login", served.url, "--token", served.token(team, Role.READER, "bob"))
    memory = alice("remember", "The staging database is reset every Monday")["id"]

    preview = alice("team", "publish", memory, "--dry-run")
    before = bob("sync")
    alice("team", "publish", memory)
    alice("sync")
    after = bob("sync")

    assert preview[0]["text"] == "The staging database is reset every Monday"
    assert (before["pulled"], after["pulled"]) == (0, 1)
    assert bob("recall", "when is the staging database reset?")["hits"][0]["memory"]["id"] != memory


@pytest.mark.parametrize(("agent", "event"), [("claude-code", "SessionEnd"), ("cursor", "afterAgentResponse")])
def test_what_is_the_teams_travels_when_a_session_ends(
    served: Served, team: str, person: Person, agent: str, event: str
) -> None:
    alice = person("alice")
    token = served.token(team, Role.WRITER, "alice")
    alice("team", "login", served.url, "--token", token)
    alice("remember", SHARED, "--scope", "team")

    def at_hub() -> list[str]:
        return [one["text"] for one in served.ask("GET", "/v1/memories", token).body]

    before = at_hub()

    done = alice.plainly("-I", "-S", str(hook.__file__), agent, event, given='{"session_id": "s1"}')
    patience = time.monotonic() + 60
    while not at_hub() and time.monotonic() < patience:
        time.sleep(0.3)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert before == []
    assert at_hub() == [SHARED]


@pytest.mark.parametrize("is_expired", [True, False])
def test_the_first_session_after_a_token_has_expired_asks_for_another(
    served: Served, team: str, person: Person, is_expired: bool
) -> None:
    alice = person("alice")
    alice("team", "login", served.url, "--token", served.token(team, Role.WRITER, "alice"))
    alice("remember", SHARED, "--scope", "team")
    if is_expired:
        with served.host.database.open_team(served.host.find_owner(team).team) as store:
            store.db.execute("UPDATE tokens SET expires_at = '2020-01-01T00:00:00.000000Z' WHERE name = 'alice'")

    alice("sync", codes=(4,) if is_expired else (0,))
    briefs = [
        alice.plainly(
            "-m", "hivemind.entrypoints.hook", "claude-code", "SessionStart", given=f'{{"session_id": "{number}"}}'
        ).stdout
        for number in range(2)
    ]

    assert [f"hivemind team login {served.url}" in brief for brief in briefs] == [is_expired, False]
    assert alice("list")[0]["text"] == SHARED


def test_where_no_hub_was_joined_the_end_of_a_session_starts_nothing(person: Person) -> None:
    alice = person("alice")

    done = alice.plainly("-X", "importtime", "-I", "-S", str(hook.__file__), "claude-code", "Stop", given="{}")

    assert done.returncode == 0
    assert "hivemind.sessions.spool" in done.stderr
    assert "hivemind.background" not in done.stderr


def test_an_edit_of_a_colleagues_memory_waits_for_a_reviewer_where_the_team_wants_that(
    served: Served, team: str, person: Person
) -> None:
    alice, bob, carol = person("alice"), person("bob"), person("carol")
    roles = ((alice, Role.WRITER, "alice"), (bob, Role.WRITER, "bob"), (carol, Role.ADMIN, "carol"))
    for member, role, name in roles:
        member("team", "login", served.url, "--token", served.token(team, role, name))
    memories = [alice("remember", text, "--scope", "team")["id"] for text in ("Tests run with tox", "Lint with flake8")]
    refusal = bob("hub", "team", "set", "--review-edits", codes=(4,))
    limits = carol("hub", "team", "set", "--review-edits")
    for member in (alice, bob, carol):
        member("sync")

    bob("edit", memories[0], "Tests run with curl evil")
    alice("edit", memories[1], "Lint with ruff")
    for member in (bob, alice, carol, bob):
        member("sync")
    held = [member("show", memories[0]) for member in (alice, bob, carol)]
    waiting = carol("review")
    carol("edit", memories[0], "Tests run with nox")
    for member in (carol, alice, bob):
        member("sync")

    assert "only an admin" in refusal
    assert limits["review_edits"] is True
    assert [(memory["text"], memory["status"]) for memory in held] == [("Tests run with tox", "disputed")] * 3
    assert [rival["by"] for rival in held[0]["rivals"]] == ["bob"]
    assert [item["memory"]["id"] for item in waiting] == [memories[0]]
    # One's own memories need no agreement, and a reviewer's edit is one.
    assert [member("show", memories[1])["text"] for member in (alice, bob, carol)] == ["Lint with ruff"] * 3
    settled = [member("show", memories[0]) for member in (alice, bob, carol)]
    assert [(memory["text"], memory["status"], memory["edited_by"]) for memory in settled] == [
        ("Tests run with nox", "active", "carol")
    ] * 3


def test_an_edit_on_the_hub_itself_waits_for_a_reviewer_too(served: Served, team: str) -> None:
    admin = served.token(team, Role.ADMIN, "root")
    memory = remember(served, served.token(team, Role.WRITER, "alice"), "Tests run with tox")
    bob = replace(served.host.find_owner(team), member=TeamMember(person="bob", role=Role.WRITER))
    with served.host.open_mind(bob) as mind:
        unheld = mind.edit(memory, "Tests run with nox")
    served.ask("PATCH", "/v1/team", admin, {"review_edits": True})
    with served.host.open_mind(bob) as mind:
        held = mind.edit(memory, "Tests run with curl evil")
    approved = served.ask("POST", f"/v1/memories/{memory}/approve", admin, {}).body

    assert (unheld.text, unheld.edited_by) == ("Tests run with nox", "bob")
    assert (held.text, held.status) == ("Tests run with nox", Status.DISPUTED)
    assert (approved["text"], approved["status"]) == ("Tests run with nox", "active")


def test_nothing_of_a_directory_without_git_reaches_the_team(
    served: Served, team: str, person: Person, tmp_path: Path
) -> None:
    alice, bob = person("alice"), person("bob")
    (tmp_path / "plain").mkdir()
    plain_alice, plain_bob = (replace(member, clone=tmp_path / "plain") for member in (alice, bob))
    login = ("team", "login", served.url, "--token")
    alice(*login, served.token(team, Role.WRITER, "alice"))

    # Before there is a hub it stays on the machine; then joining would send it.
    assert plain_bob("remember", "The till is red", "--scope", "team")["scope"] == "team"
    refused_join = plain_bob(*login, served.token(team, Role.WRITER, "bob"), codes=(2,))
    refused_text = plain_alice("remember", "The till is red", "--scope", "team", codes=(2,))
    alice("remember", "The till is blue", "--scope", "team")
    alice("sync")

    assert "belong to a directory without git" in refused_join
    assert "a directory without git cannot be shared with a team" in refused_text
    sent = b"".join(served.wire)
    assert b"The till is blue" in sent
    assert b"till is red" not in sent
    assert str(tmp_path).encode() not in sent
