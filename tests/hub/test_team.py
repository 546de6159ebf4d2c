"""A team with three homes and a hub, each a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hivemind.model.team import Role
from tests.doors import residue
from tests.hub.serving import Served

SHARED = "Deploys of the payment service run from the release branch zebrafish"
PRIVATE = "My own plan is to rewrite the wombat parser"

Run = Callable[..., Any]


@pytest.fixture
def person(tmp_path: Path, make_repository: Callable[..., Path]) -> Callable[[str], Run]:
    """Runs commands as somebody, in a home and a clone of theirs."""

    def as_(name: str) -> Run:
        clone = make_repository(f"{name}/api", remote="https://github.com/acme/api.git")
        environment = {**os.environ, "HIVEMIND_HOME": str(tmp_path / name / "home"), "HIVEMIND_PERSON": name}

        def run(*arguments: str, codes: tuple[int, ...] = (0,)) -> Any:
            line = [sys.executable, "-m", "hivemind", *arguments, "--json"]
            done = subprocess.run(line, cwd=clone, env=environment, capture_output=True, text=True, check=False)
            assert done.returncode in codes, done.stderr
            return json.loads(done.stdout) if done.stdout else done.stderr

        return run

    return as_


def test_what_alice_remembers_for_the_team_bob_recalls_and_erases_and_carol_never_sees(
    served: Served, team: str, strangers: str, person: Callable[[str], Run], tmp_path: Path
) -> None:
    alice, bob, carol = person("alice"), person("bob"), person("carol")
    alice("login", served.url, "--token", served.token(team, Role.WRITER, "alice"))
    bob("login", served.url, "--token", served.token(team, Role.REVIEWER, "bob"))
    carol("login", served.url, "--token", served.token(strangers, Role.ADMIN, "carol"))

    alice("remember", SHARED, "--scope", "team")
    alice("remember", PRIVATE)
    for one in (alice, bob, carol):
        one("sync")
    recalled = [one("recall", "where do deploys run from?", codes=(0, 1)) for one in (alice, bob, carol)]
    memory = recalled[1]["hits"][0]["memory"]["id"]
    receipt = bob("erase", memory, "--yes", codes=(1,))
    alice("sync")

    assert [len(one["hits"]) for one in recalled] == [1, 1, 0]
    assert ("device of alice", "pending") in [(place["name"], place["state"]) for place in receipt["places"]]
    assert alice("recall", "where do deploys run from?", codes=(0, 1))["hits"] == []
    assert alice("recall", "the wombat parser")["hits"]
    assert [one["erasures"] for one in alice("team", "status")["devices"]] == [0, 0]
    assert not [name for name in ("alice", "bob", "carol") if residue(tmp_path / name / "home", b"zebrafish")]
    assert residue(tmp_path / "alice" / "home", b"wombat")
    assert alice("audit", "--verify") == []


def test_what_is_private_never_goes_over_the_wire(served: Served, team: str, person: Callable[[str], Run]) -> None:
    alice = person("alice")
    alice("login", served.url, "--token", served.token(team, Role.WRITER, "alice"))
    alice("remember", SHARED, "--scope", "team")
    alice("remember", PRIVATE)
    alice("remember", PRIVATE + " everywhere", "--scope", "user")
    alice("recall", "the wombat parser")

    alice("sync")

    sent = b"".join(served.wire)
    assert b"zebrafish" in sent
    assert b"wombat" not in sent


def test_a_memory_of_the_project_is_published_as_a_copy(
    served: Served, team: str, person: Callable[[str], Run]
) -> None:
    alice, bob = person("alice"), person("bob")
    alice("login", served.url, "--token", served.token(team, Role.WRITER, "alice"))
    bob("login", served.url, "--token", served.token(team, Role.READER, "bob"))
    memory = alice("remember", "The staging database is reset every Monday")["id"]

    preview = alice("publish", memory, "--dry-run")
    before = bob("sync")
    alice("publish", memory)
    alice("sync")
    after = bob("sync")

    assert preview[0]["text"] == "The staging database is reset every Monday"
    assert (before["pulled"], after["pulled"]) == (0, 1)
    assert bob("recall", "when is the staging database reset?")["hits"][0]["memory"]["id"] != memory
