"""The rules of governance hold whichever door one comes in by: Python, the command line, a client of the server."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hivemind import Hivemind
from hivemind.errors import HivemindError
from tests.command_line import run
from tests.conftest import Open
from tests.mcp.client import connected


@dataclass(frozen=True)
class Door:
    """How to say and ask something there; what comes back is what was printed, refusals included."""

    remember: Callable[[str, str], str]
    recall: Callable[[str], str]


def by_python(mind: Hivemind) -> Door:
    def remember(text: str, replaces: str) -> str:
        try:
            memory = mind.remember(text, replaces=[replaces] if replaces else [])
        except HivemindError as error:
            return str(error)
        return f"kept, contradicts {len(memory.contradicts)}" if memory.contradicts else "kept"

    return Door(remember, lambda text: mind.recall(text).text)


def by_command() -> Door:
    def remember(text: str, replaces: str) -> str:
        return run("remember", text, *(["--replaces", replaces] if replaces else [])).output

    return Door(remember, lambda text: run("recall", text).output)


@pytest.fixture(params=["python", "command line", "server"])
def door(
    request: pytest.FixtureRequest, mind: Hivemind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Door]:
    monkeypatch.chdir(tmp_path)
    if request.param == "python":
        yield by_python(mind)
    elif request.param == "command line":
        yield by_command()
    else:
        with connected(tmp_path) as client:
            client.shake_hands(name="codex")
            yield Door(
                lambda text, replaces: client.call("remember", text=text, replaces=[replaces] if replaces else [])[0],
                lambda text: client.call("recall", query=text)[0],
            )


def test_what_a_person_rejected_is_refused_at_every_door(door: Door, open_mind: Open) -> None:
    person = open_mind()
    person.reject(person.remember("Deploys run on Fridays").id, reason="never true")

    again = door.remember("deploys  RUN on fridays!", "")
    other = door.remember("Backups run at night", "")

    assert "rejected" in again
    assert "rejected" not in other
    assert "Fridays" not in door.recall("when do deploys run")
    assert "night" in door.recall("when do backups run")


def test_what_was_erased_stays_out_at_every_door(door: Door, open_mind: Open) -> None:
    person = open_mind()
    person.erase(person.remember("The launch word is zirconium").id, reason="secret")

    again = door.remember("The launch word is zirconium", "")
    door.remember("The landing word is basalt", "")

    assert "erased" in again
    assert "zirconium" not in door.recall("what is the launch word")
    assert "basalt" in door.recall("what is the landing word")


def test_what_is_replaced_is_nowhere_shown_unqualified(door: Door, open_mind: Open) -> None:
    old = open_mind().remember("The build tool is Bazel")
    before = door.recall("which build tool")

    door.remember("The build tool is Ninja", old.id)

    after = door.recall("which build tool")
    assert "Bazel" in before
    assert "Ninja" in after
    # An agent's word does not replace a person's: there the older one is shown as disputed.
    assert all("disputed by " in line for line in after.splitlines() if "Bazel" in line)


def test_a_contradiction_is_told_at_every_door(door: Door, open_mind: Open) -> None:
    open_mind().remember("API port is 8080")

    said = door.remember("API port is 9090", "")
    calm = door.remember("Admin panel is blue", "")

    assert "contradicts" in said.lower()
    assert "contradicts" not in calm.lower()
