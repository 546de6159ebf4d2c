"""Every place in the shapes agents use, bent in every way: an agent's next version must not stop what we know of it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from hivemind.agents.agent import get_agent
from hivemind.model.session import Observation, SkippedInput
from hivemind.sessions import intake
from tests.agents.test_decoder import AT, EDITS, FAILURES, PROMPTS
from tests.agents.test_transcripts import KEEPERS
from tests.conftest import Tally

GONE = object()
ODD: tuple[Any, ...] = (
    *(GONE, None, True, 0, -1, 1e300, 10**30, float("nan"), "", "x", "\ud800", "\0", '{"a":', "9" * 30),
    *([], {}, [None], [[]], [1, 2], ["a", "b"], {"a": 1}, {"text": 1}, {"type": "text"}, [{"type": None}]),
)
Place = tuple[str | int, ...]


def places(held: Any, above: Place = ()) -> Iterator[Place]:
    """Where something stands in a JSON value, itself included."""
    yield above
    for name, inner in held.items() if isinstance(held, dict) else enumerate(held) if isinstance(held, list) else ():
        yield from places(inner, (*above, name))


def bent(held: Any, place: Place, odd: Any) -> Any:
    """The value with something odd at one place, or with nothing there."""
    changed = held.copy()
    name, *below = place
    if below:
        changed[name] = bent(held[name], tuple(below), odd)
    elif odd is GONE:
        del changed[name]
    else:
        changed[name] = odd
    return changed


def every_way(held: Any) -> Iterator[Any]:
    return (bent(held, place, odd) for place in places(held) if place for odd in ODD)


def is_told(found: list[Any]) -> bool:
    return all(isinstance(one, Observation | SkippedInput) for one in found)


@pytest.mark.parametrize("name", sorted(set(KEEPERS) - {"opencode"}))
def test_of_transcripts(name: str, tmp_path: Path, tally: Tally) -> None:
    path = KEEPERS[name](tmp_path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    whole = len(list(get_agent(name).read_transcript(path)))
    tried = other = 0
    for changed in every_way(lines):
        path.write_text("\n".join(json.dumps(line) for line in changed))

        found = list(get_agent(name).read_transcript(path))

        assert is_told(found)
        tried += 1
        other += len(found) != whole
    tally("bent transcripts and payloads", tried, tried)

    assert 0 < other < tried


def test_of_an_exported_session(tmp_path: Path, tally: Tally) -> None:
    database = apsw.Connection(str(KEEPERS["opencode"](tmp_path)))
    messages = [
        {
            "info": {"id": message, **json.loads(told)},
            "parts": [
                {"id": part, **json.loads(held)}
                for part, held in database.execute("SELECT id, data FROM part WHERE message_id = ?", (message,))
            ],
        }
        for message, told in database.execute("SELECT id, data FROM message ORDER BY id")
    ]
    path = tmp_path / "session.json"
    session = {"info": {"id": "s1", "directory": "/repo", "time": {"created": 1}}, "messages": messages}
    ways = list(every_way(session))
    for changed in ways:
        path.write_text(json.dumps(changed))

        assert is_told(list(get_agent("opencode").read_transcript(path)))
    tally("bent transcripts and payloads", len(ways), len(ways))


@pytest.mark.parametrize("column", ["message", "part"])
def test_of_rows_in_a_database(column: str, tmp_path: Path, tally: Tally) -> None:
    path = KEEPERS["opencode"](tmp_path)
    database = apsw.Connection(str(path))
    rows = list(database.execute(f"SELECT id, data FROM {column}"))
    tried = 0
    for own_id, data in rows:
        for changed in [*map(json.dumps, every_way(json.loads(data))), "[]", "not JSON", None, b"\xff"]:
            database.execute(f"UPDATE {column} SET data = ? WHERE id = ?", (changed, own_id))

            assert is_told(list(get_agent("opencode").read_transcript(path)))
            tried += 1
        database.execute(f"UPDATE {column} SET data = ? WHERE id = ?", (data, own_id))
    tally("bent transcripts and payloads", tried, tried)

    assert tried > len(rows)


@pytest.mark.parametrize("table", [EDITS, FAILURES, PROMPTS])
def test_of_hook_payloads(table: dict[str, tuple[str, dict[str, Any]]], tally: Tally) -> None:
    tried = 0
    for name, (event, payload) in table.items():
        for changed in every_way(payload):
            found = list(get_agent(name).decode(event, changed, AT))
            arrived = list(intake.parse_spool_lines([(name, event, AT, json.dumps(changed))]))
            get_agent(name).parse_request(event, changed)

            assert is_told(found)
            assert len(arrived) == len(found)
            tried += 1
    tally("bent transcripts and payloads", tried, tried)

    assert tried > len(table)
