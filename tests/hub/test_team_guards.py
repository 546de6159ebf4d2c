"""A teammate's guard only reminds until the person accepts it."""

from hivemind.model.team import Role
from tests.hub.people import Person
from tests.hub.serving import Served

RULE = "We deploy with make ship, never with make deploy"


def test_a_guard_on_a_team_memory_is_an_offer_to_the_others(served: Served, team: str, person: Person) -> None:
    alice, bob = person("alice"), person("bob")
    for name, one in (("alice", alice), ("bob", bob)):
        one("team", "login", served.url, "--token", served.token(team, Role.WRITER, name))
    memory = alice("remember", RULE, "--scope", "team")["id"]
    alice("guard", memory, "--command", "make deploy", "--answer", "deny", "--yes")
    for one in (alice, bob):
        one("sync")

    assert alice("guard", "--check", "make deploy")["answer"] == "deny"
    offer = bob("guard", "--check", "make deploy")
    assert (offer["acts"], offer["answer"], offer["state"]) == (False, "remind", "offered")

    bob("guard", memory, "--accept")

    assert bob("guard", "--check", "make deploy")["answer"] == "deny"

    # What she changes later changes hers and the offer, not what he accepted.
    alice("guard", memory, "--off")
    for one in (alice, bob):
        one("sync")
    assert alice("guard", "--check", "make deploy")["acts"] is False
    assert bob("guard", "--check", "make deploy")["answer"] == "deny"


def test_nobody_elses_guard_touches_the_own_one(served: Served, team: str, person: Person) -> None:
    alice, bob = person("alice"), person("bob")
    for name, one in (("alice", alice), ("bob", bob)):
        one("team", "login", served.url, "--token", served.token(team, Role.WRITER, name))
    memory = alice("remember", RULE, "--scope", "team")["id"]
    for one in (alice, bob):
        one("sync")
    alice("guard", memory, "--command", "make deploy", "--answer", "deny", "--yes")
    bob("guard", memory, "--command", "make something", "--answer", "remind", "--yes")

    for one in (bob, alice, bob):
        one("sync")

    assert alice("guard", "--check", "make deploy")["answer"] == "deny"
    assert bob("guard", "--check", "make deploy")["acts"] is False
