"""What contradicts is noticed and what looks alike is left alone, measured on notes that no rule was tuned on.

``lab/yardstick/cases/contradiction/pairs.jsonl`` has pairs of notes, all written and labelled by one person. The
held-out pairs are careless notes from fields of work that the tuning pairs do not have; do not look at their misses.
The ``earlier`` pairs were held out for the rules before, and are now part of what the weights are fitted on.
"""

import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from hivemind import Hivemind
from hivemind.memory.contradiction import find_statement_conflict
from hivemind.memory.statements import parse_statements
from lab.yardstick.parts.cost import make_note
from tests.conflicts import find_conflict
from tests.conftest import Open, Tally

PAIRS_FILE = Path(__file__).parents[2] / "lab" / "yardstick" / "cases" / "contradiction" / "pairs.jsonl"
PAIRS = [json.loads(line) for line in PAIRS_FILE.read_text().splitlines()]
LEAST_NOTICED = {"held-out": 0.66, "earlier": 0.91}
MOST_FALSE_ALARMS = 0.03


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of one pair."""

    kind: str
    contradicts: bool
    is_disputed: bool
    is_noticed: bool


def try_pairs(mind: Hivemind, pairs: list[dict[str, Any]]) -> Iterator[Outcome]:
    """Remember each pair as a person would, and take it back again."""
    for pair in pairs:
        older, newer = (
            mind.remember(
                pair[side], valid_from=pair.get(f"{side}_valid_from", ""), valid_to=pair.get(f"{side}_valid_to", "")
            )
            for side in ("older", "newer")
        )
        possible = [other.id for other in mind.browse.possible_conflicts(newer)]
        assert {*newer.contradicts, *possible} <= {older.id}
        yield Outcome(
            kind=pair["kind"],
            contradicts=pair["contradicts"],
            is_disputed=bool(newer.contradicts),
            is_noticed=bool(newer.contradicts or possible),
        )
        mind.forget(newer.id)
        mind.forget(older.id)


@pytest.mark.parametrize("split", LEAST_NOTICED)
def test_contradictions_are_noticed_and_look_alikes_are_left_alone(open_mind: Open, tally: Tally, split: str) -> None:
    outcomes = list(try_pairs(open_mind(), [pair for pair in PAIRS if pair["split"] == split]))
    tried, noticed = Counter[tuple[bool, str]](), Counter[tuple[bool, str]]()
    for outcome in outcomes:
        tried[outcome.contradicts, outcome.kind] += 1
        noticed[outcome.contradicts, outcome.kind] += outcome.is_noticed
    for contradicts, kind in sorted(tried, reverse=True):
        right = noticed[contradicts, kind] if contradicts else tried[contradicts, kind] - noticed[contradicts, kind]
        name = f"{split} contradictions noticed: {kind}" if contradicts else f"{split} look-alikes left alone: {kind}"
        tally(name, tried[contradicts, kind], right)

    contradictions = [outcome for outcome in outcomes if outcome.contradicts]
    look_alikes = [outcome for outcome in outcomes if not outcome.contradicts]
    found = sum(outcome.is_noticed for outcome in contradictions)
    alarms = sum(outcome.is_noticed for outcome in look_alikes)
    tally(f"{split} contradictions noticed, all kinds", len(contradictions), found)
    tally("of these certain enough for a dispute", found, sum(outcome.is_disputed for outcome in contradictions))
    tally(f"{split} look-alikes left alone, all kinds", len(look_alikes), len(look_alikes) - alarms)
    assert found >= LEAST_NOTICED[split] * len(contradictions)
    assert alarms <= MOST_FALSE_ALARMS * len(look_alikes)


def test_notes_that_have_nothing_to_do_with_each_other_raise_no_alarm(tally: Tally) -> None:
    chance = random.Random(7)
    drawn = [chance.sample(PAIRS, 2) for _ in range(1_000)]
    unrelated = [(one["newer"], other["older"]) for one, other in drawn if one["kind"] != other["kind"]]

    alarms = [pair for pair in unrelated if find_conflict(*pair)]

    tally("pairs of unrelated notes left alone", len(unrelated), len(unrelated) - len(alarms))
    assert len(unrelated) > 900
    assert len(alarms) <= 2


def test_a_note_that_gives_its_reason_contradicts_only_notes_about_the_same(tally: Tally) -> None:
    chance = random.Random(1)
    claims = [parse_statements(make_note(chance)) for _ in range(400)]

    pairs = [*combinations(claims, 2)]
    alarms = sum(find_statement_conflict(*pair) is not None for pair in pairs)

    # A few of the pairs are about the same thing, with another number of minutes.
    tally("pairs of made-up notes with reasons left alone", len(pairs), len(pairs) - alarms)
    assert alarms <= 0.002 * len(pairs)


def test_the_labelled_pairs_are_split_by_field_of_work() -> None:
    tuning, held_out = ([pair for pair in PAIRS if pair["split"] == split] for split in ("tuning", "held-out"))

    assert min(sum(pair["contradicts"] is label for pair in held_out) for label in (True, False)) >= 120
    assert not {pair["kind"] for pair in tuning} & {pair["kind"] for pair in held_out}
    assert not {pair["older"] for pair in tuning} & {pair["older"] for pair in held_out}
