"""A team with three homes and a hub, each a process of its own."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from hivemind import hook
from hivemind.model.memory import Status
from hivemind.model.team import Role, TeamMember
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
    receipt = bob("erase", memory, "--yes", codes=(1,))
    alice("sync")

    texts = [[hit["memory"]["text"] for hit in one["hits"]] for one in recalled]
    assert texts == [[SHARED], [SHARED], []]
    assert ("device of alice", "pending") in [(place["name"], place["state"]) for place in receipt["places"]]
    assert alice("recall", "where do deploys run from?", codes=(0, 1))["hits"] == []
    left = alice("recall", "the wombat parser")["hits"]
    assert [hit["memory"]["text"] for hit in left] == [PRIVATE]
    assert [one["erasures"] for one in alice("team", "status")["devices"]] == [0, 0]
    assert not [name for name in ("alice", "bob", "carol") if residue(tmp_path / name / "home", b"zebrafish")]
    assert residue(tmp_path / "alice" / "home", b"wombat")
    assert alice("log", "--verify") == []


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
