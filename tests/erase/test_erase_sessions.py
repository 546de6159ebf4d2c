"""Erasing and deleting reach what sessions said: its words, its vectors and questions about it, and nothing else."""

from pathlib import Path

import pytest

from hivemind import Hivemind, Scope
from hivemind.erase.plan import Targets
from hivemind.erase.sweep import erase as erase_targets
from hivemind.model.events import ObservationMade
from hivemind.model.ids import EventId
from hivemind.model.memory import Channel
from hivemind.model.session import ObservationFields, ObservationKind
from hivemind.settings import Settings
from tests.command_line import residue
from tests.conftest import PERSON, Clock

SECRET_PLACE = "The spare key of the quagga stable lies beneath the seventh flowerpot"
OTHER = "The walrus pool is cleaned on Mondays"
STEM = b"quagga"


def observe(mind: Hivemind, **fields: str) -> EventId:
    fact = ObservationMade(agent="claude-code", session_id="s1", seen=ObservationKind.PROMPT)
    fact = ObservationMade(**{name: getattr(fact, name) for name in ObservationFields.__dataclass_fields__} | fields)
    event = mind._context.factory.event(fact, Scope.PROJECT, mind.repository.id, channel=Channel.TOOL)
    mind._context.store.record([event])
    return event.id


def search(mind: Hivemind, question: str) -> list[str]:
    return [hit.text for hit in mind.sessions.search(question).session_hits]


def count_vectors(mind: Hivemind) -> int:
    return int(mind._context.store.db.value("SELECT count(*) FROM vectors WHERE passage < 0"))


@pytest.mark.parametrize("has_vectors", [True, False])
def test_an_erased_text_leaves_the_index_of_sessions_and_what_others_said_stays(
    mind: Hivemind, home: Path, has_vectors: bool
) -> None:
    observe(mind, text=f"{SECRET_PLACE}, remember that")
    observe(mind, text=OTHER)
    memory = mind.remember(SECRET_PLACE)
    if has_vectors:
        mind.maintenance.catch_up(include_sessions=True)
    before = search(mind, f"{SECRET_PLACE.upper()}?")

    receipt = mind.erase(memory.id)

    assert before == [f"{SECRET_PLACE}, remember that"]
    assert search(mind, '"flowerpot"') == []
    assert search(mind, "walrus pool") == [OTHER]
    assert count_vectors(mind) == has_vectors
    assert {place.name: place.state for place in receipt.places}["files"] == "done"
    mind.close()
    # The question on the receipt of the first search repeated the text, too.
    assert residue(home, STEM) == residue(home, STEM.upper()) == []
    assert residue(home, b"walrus") != []


def test_an_erased_entry_leaves_a_packed_block_of_vectors(mind: Hivemind) -> None:
    entries = [observe(mind, text=f"Question {number} about the billing service") for number in range(256)]
    mind.maintenance.catch_up(include_sessions=True)
    store = mind._context.store

    erase_targets(store, mind._context.factory, Targets(entries=(entries[7],)))

    assert count_vectors(mind) == 255
    (passages,) = store.db.execute("SELECT passages FROM vector_blocks")[0]
    keys = [passages[start : start + 8] for start in range(0, len(passages), 8)]
    assert keys.count(bytes(8)) == 1
    assert search(mind, '"Question 7 about"') == []
    assert search(mind, '"Question 8 about"') == ["Question 8 about the billing service"]


def test_an_erased_text_is_not_searchable_when_a_hook_reports_it_again(mind: Hivemind) -> None:
    memory = mind.remember(SECRET_PLACE)
    mind.erase(memory.id)

    mind.remember(OTHER)
    observe(mind, text="Where does the walrus sleep?")

    assert search(mind, "walrus") == ["Where does the walrus sleep?"]
    assert search(mind, "quagga") == []


def test_what_is_pruned_leaves_the_index_with_its_vectors(home: Path, tmp_path: Path, clock: Clock) -> None:
    settings = Settings(home=home, person="ada", keep_days=30)
    with Hivemind.open(directory=tmp_path, settings=settings, writer=PERSON, clock=clock) as mind:
        observe(mind, text=SECRET_PLACE)
        clock.advance(days=60)
        observe(mind, text=OTHER)
        mind.maintenance.catch_up(include_sessions=True)

        report = mind.sessions.prune()

        assert report.observations == 1
        assert search(mind, '"quagga"') == []
        assert search(mind, '"walrus"') == [OTHER]
        assert count_vectors(mind) == 1
        assert [finding.what for finding in mind.maintenance.doctor() if not finding.is_well] == []
    assert residue(home, STEM) == []


def test_a_backup_loses_what_sessions_said_too(mind: Hivemind, home: Path) -> None:
    observe(mind, text=f"{SECRET_PLACE}, remember that")
    memory = mind.remember(SECRET_PLACE)
    mind.maintenance.backup()

    mind.erase(memory.id)

    assert residue(home / "backups", STEM) == []
