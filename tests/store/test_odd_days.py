"""Torn spools, clocks that jump, two versions of the program at once."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hivemind import Hivemind
from hivemind.errors import StoreTooNew
from hivemind.model.memory import Status
from hivemind.sessions import spool
from hivemind.store import integrity
from hivemind.store.store import Store
from tests.command_line import run
from tests.conftest import Clock, Open, Tally

NEWER = """
from hivemind.store import projector
projector.VERSION += 1
from hivemind import Hivemind
with Hivemind.open() as mind:
    mind.remember("Said by the newer program")
    print(len(mind.list()))
"""


def payload(number: int) -> str:
    return json.dumps({
        "session_id": "s1", "cwd": "/", "tool_name": "Bash", "tool_use_id": f"t{number}",
        "tool_input": {"command": f"make target-{number}"}, "tool_response": {"stdout": "x" * 200, "stderr": ""},
    })  # fmt: skip


def leave(home: Path, number: int) -> None:
    spool.append(str(home), "claude-code", "PostToolUse", f"2026-01-01T10:00:{number:02d}.000000Z", payload(number))


def is_well(home: Path) -> bool:
    store = Store.open(home)
    try:
        return all(finding.is_well for finding in integrity.examine(store))
    finally:
        store.close()


def test_a_torn_line_of_the_spool_costs_that_line_alone(open_mind: Open, home: Path, tally: Tally) -> None:
    survived = 0
    leave(home, 1)
    whole = (home / spool.SPOOL_FILE).read_bytes()
    cuts = range(1, len(whole), 23)
    for number, cut in enumerate(cuts, start=10):
        (home / spool.SPOOL_FILE).write_bytes(whole[:cut])
        leave(home, number)
        with open_mind(home=home) as mind:
            commands = {one["command"] for one in mind_commands(mind)}
        survived += f"make target-{number}" in commands

    tally("spool lines torn, the next one survives", len(cuts), survived)
    assert survived == len(cuts)
    assert is_well(home)


def mind_commands(mind: Hivemind) -> list[dict[str, str]]:
    _, trace = mind.sessions.show("s1", everywhere=True)
    return [{"command": one.command} for one in trace]


def test_garbage_in_the_spool_is_noted_and_passed_over(home: Path) -> None:
    home.mkdir()
    (home / spool.SPOOL_FILE).write_bytes(bytes(range(256)) * 20 + b"\n\0\0\0\n{}\n\t\t\t\n")
    leave(home, 1)

    with Hivemind.open() as mind:
        commands = mind_commands(mind)

    assert [one["command"] for one in commands] == ["make target-1"]
    assert [one["is_well"] for one in run_json_unwell() if one["what"] == "quarantine"] == [False]


def run_json_unwell() -> list[dict[str, object]]:
    return list(json.loads(run("doctor", "--quick", "--json").stdout))


@pytest.mark.parametrize("days", [-4000, -1, 1, 4000])
def test_a_clock_that_jumps_changes_no_answer(
    mind: Hivemind, clock: Clock, home: Path, tally: Tally, days: int
) -> None:
    memory = mind.remember("The port is 8080")

    clock.advance(days=days)
    mind.edit(memory.id, "The port is 9090")
    clock.advance(days=-days, hours=-1)
    last = mind.edit(memory.id, "The port is 7070")

    assert last.text == "The port is 7070"
    assert mind.show(memory.id).text == "The port is 7070"
    assert [step.after.text for step in mind.history.steps(memory.id)][-1] == "The port is 7070"
    mind.forget(memory.id)
    taken_back = mind.show(memory.id)
    mind.maintenance.rebuild()
    assert taken_back.status is Status.RETRACTED
    assert mind.show(memory.id) == taken_back
    assert is_well(home)
    tally("clock jumps", 2, 2)


def test_an_older_program_stands_back_when_a_newer_one_takes_over(
    mind: Hivemind, home: Path, tmp_path: Path, tally: Tally
) -> None:
    mind.remember("Said by the older program")

    newer = subprocess.run([sys.executable, "-c", NEWER], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert newer.stdout.strip() == "2"
    with pytest.raises(StoreTooNew, match="restart this program"):
        mind.remember("Said too late")
    with pytest.raises(StoreTooNew, match="upgrade"):
        Store.open(home)
    assert "upgrade" in str(run_json_unwell()[0]["remedy"])
    again = subprocess.run([sys.executable, "-c", NEWER], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert again.stdout.strip() == "2"
    tally("two versions at once", 1, 1)
