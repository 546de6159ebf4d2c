"""From what agents did to what is known next time: distilled, reviewed, recalled, and undone."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hivemind import Hivemind
from hivemind.model.memory import Channel, Kind, Status, Trust
from hivemind.model.review import Selection
from hivemind.settings import Settings
from tests.command_line import run, run_json
from tests.conftest import PERSON, Clock, Open
from tests.sessions.sessions import START, Told, told

WHY = "The token check fails because the clock of the test is in another time zone."
ERROR = "tests/test_api.py:12: AssertionError: expected 200, got 401"


def mended(directory: Path, user: Path, session: str = "s1") -> Told:
    (directory / "Makefile").touch()
    session_told = told(directory, session, user).asked("Make login work again. From now on use UTC in tests.")
    session_told.ran("make test", ERROR, failed=True).said(WHY)
    return session_told.edited("src/auth.py", "now()", "now(UTC)").ran("make test", "3 passed")


def test_a_fix_made_in_one_session_is_proposed_and_once_approved_recalled_in_the_next(
    open_mind: Open, make_repository: Any, tmp_path: Path
) -> None:
    root = make_repository("api")
    mended(root, tmp_path / "user").keep()
    mind = open_mind(root)

    done = mind.sessions.import_transcripts(home=tmp_path / "user")
    fix = next(memory for memory in mind.list() if memory.kind is Kind.FIX)
    before = mind.recall("login test fails expected 200 got 401")
    mind.approve(fix.id)
    after = mind.recall("login test fails expected 200 got 401")

    assert done.learned == 3
    assert (fix.status, fix.trust, fix.channel, fix.batch) == (
        Status.PROPOSED,
        Trust.LOW,
        Channel.DERIVED,
        done.batch,
    )
    assert before.hits == ()
    assert [hit.memory.id for hit in after.hits] == [fix.id]


def test_every_proposal_points_at_observations_that_are_there(
    open_mind: Open, make_repository: Any, tmp_path: Path
) -> None:
    root = make_repository("api")
    mended(root, tmp_path / "user").keep()
    mind = open_mind(root)

    mind.sessions.import_transcripts(home=tmp_path / "user")

    there = {seen.source_id for seen in mind.sessions.show("s1")[1]}
    proposals = mind.list()
    assert {Kind.FIX, Kind.PROCEDURE} < {memory.kind for memory in proposals}
    assert all({source.event for source in memory.sources} <= there for memory in proposals)


def test_distilling_twice_changes_nothing(open_mind: Open, make_repository: Any, tmp_path: Path) -> None:
    root = make_repository("api")
    mended(root, tmp_path / "user").keep()
    mind = open_mind(root)
    mind.sessions.import_transcripts(home=tmp_path / "user")
    events = mind.maintenance.stats().events

    again = mind.learning.learn("s1")
    nothing_new = mind.learning.learn()

    assert (again.sessions, again.proposed, again.known) == (1, 0, 3)
    assert nothing_new.sessions == 0
    assert mind.maintenance.stats().events == events


def test_the_same_lesson_of_another_session_counts_for_the_first_and_is_not_kept_twice(
    open_mind: Open, make_repository: Any, tmp_path: Path
) -> None:
    root = make_repository("api")
    mended(root, tmp_path / "user").keep()
    mended(root, tmp_path / "user", "s2").keep()
    mind = open_mind(root)

    mind.sessions.import_transcripts(home=tmp_path / "user")
    events = mind.maintenance.stats().events
    mind.learning.learn("s2")

    [procedure] = [memory for memory in mind.list() if memory.kind is Kind.PROCEDURE]
    assert {source.session_id for source in procedure.sources} == {"s1", "s2"}
    assert mind.maintenance.stats().events == events


def test_a_lesson_of_many_sessions_does_not_grow_for_ever(
    open_mind: Open, make_repository: Any, tmp_path: Path
) -> None:
    root = make_repository("api")
    (root / "Makefile").touch()
    for number in range(25):
        told(root, f"s{number}", tmp_path / "user").ran("make test", "3 passed").keep()
    mind = open_mind(root)

    mind.sessions.import_transcripts(home=tmp_path / "user")

    [procedure] = mind.list()
    assert len(procedure.sources) == 20


def test_a_session_that_goes_on_is_distilled_when_it_rests(
    open_mind: Open, make_repository: Any, tmp_path: Path, clock: Clock
) -> None:
    root = make_repository("api")
    mended(root, tmp_path / "user").keep()
    clock.now = START + timedelta(minutes=1)
    mind = open_mind(root)

    going_on = mind.sessions.import_transcripts(home=tmp_path / "user")
    clock.advance(minutes=20)
    rested = mind.learning.learn()

    assert going_on.learned == 0
    assert (rested.sessions, rested.proposed) == (1, 3)
    assert rested.by_detector == (("commands", 1), ("corrections", 1), ("fixes", 1))


def test_what_a_session_taught_can_be_rolled_back_and_a_rejected_lesson_stays_out(
    open_mind: Open, make_repository: Any, tmp_path: Path
) -> None:
    root = make_repository("api")
    mended(root, tmp_path / "user").keep()
    mind = open_mind(root)
    mind.sessions.import_transcripts(home=tmp_path / "user")
    wish = next(memory for memory in mind.list() if memory.kind in (Kind.CONVENTION, Kind.DECISION))
    mind.reject(wish.id)
    mended(root, tmp_path / "user", "s2").keep()

    later = mind.sessions.import_transcripts(home=tmp_path / "user")
    mind.review.rollback(Selection(session="s1"))
    gone = mind.list(statuses=[Status.PROPOSED])
    again = mind.learning.learn("s1")
    from_the_other = mind.learning.learn("s2")

    assert (later.learned, gone, again.proposed) == (0, (), 0)
    assert (from_the_other.proposed, from_the_other.refused) == (2, 1)
    assert {memory.kind for memory in mind.list(statuses=[Status.PROPOSED])} == {Kind.FIX, Kind.PROCEDURE}


def test_the_lesson_of_one_repository_is_not_seen_in_another(
    open_mind: Open, make_repository: Any, tmp_path: Path
) -> None:
    root, other = make_repository("api"), make_repository("web")
    mended(root, tmp_path / "user").keep()

    open_mind(other).sessions.import_transcripts(home=tmp_path / "user")

    assert open_mind(other).list() == ()
    assert len(open_mind(root).list()) == 3


def test_only_the_detectors_that_are_on_learn(make_repository: Any, tmp_path: Path, home: Path, clock: Clock) -> None:
    root = make_repository("api")
    mended(root, tmp_path / "user").keep()
    settings = Settings(home=home, person="ada", detectors="commands")

    with Hivemind.open(directory=root, settings=settings, writer=PERSON, clock=clock) as mind:
        mind.sessions.import_transcripts(home=tmp_path / "user")

        assert [memory.kind for memory in mind.list()] == [Kind.PROCEDURE]


def test_a_settings_file_that_names_a_removed_detector_gets_a_message_and_loses_no_session(
    make_repository: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_repository("api")
    mended(root, tmp_path / "user").keep()
    monkeypatch.chdir(root)
    monkeypatch.setenv("HIVEMIND_DETECTORS", "commands dead_ends")

    refusal = run("import", "transcripts")
    monkeypatch.setenv("HIVEMIND_DETECTORS", "commands")
    learned = run_json("learn", "s1")

    assert refusal.exit_code == 2
    assert "names 'dead_ends', which is not a detector; run: hivemind config set detectors" in refusal.output
    assert learned["proposed"] == 1


def test_the_commands_tell_what_was_learned(
    make_repository: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_repository("api")
    mended(root, tmp_path / "user").keep()
    monkeypatch.chdir(root)

    taken = run("import", "transcripts")
    distilled = run_json("learn", "s1")
    pruned = run("session", "prune", "--dry-run")

    assert "3 new proposals" in taken.output
    assert distilled["known"] == 3
    assert "Would delete 0 observations" in pruned.output


def test_what_a_person_says_again_in_another_session_counts_for_the_first_and_is_not_proposed_twice(
    open_mind: Open, make_repository: Any, tmp_path: Path
) -> None:
    root, user = make_repository("api"), tmp_path / "user"
    told(root, "s1", user).asked("We never commit directly to the main branch here.").keep()
    told(root, "s2", user).asked("we never commit to the main branch directly here!").keep()
    told(root, "s3", user).asked("We always commit directly to the main branch here.").keep()
    mind = open_mind(root)

    mind.sessions.import_transcripts(home=user)

    never, always = sorted(mind.list(), key=lambda memory: memory.text, reverse=True)
    assert (never.text, len(never.sources)) == ("We never commit directly to the main branch here.", 2)
    assert (always.text, len(always.sources)) == ("We always commit directly to the main branch here.", 1)


def test_a_proposal_carries_when_it_was_said_not_when_it_was_imported(
    open_mind: Open, make_repository: Any, tmp_path: Path, clock: Clock
) -> None:
    root, user = make_repository("api"), tmp_path / "user"
    told(root, "s1", user).asked("We never commit directly to the main branch here.").keep()
    clock.now = START + timedelta(days=200)
    mind = open_mind(root)

    mind.sessions.import_transcripts(home=user)

    [memory] = mind.list()
    assert memory.valid_from.startswith("2026-03-01")
    assert memory.recorded_at > "2026-09"
    assert memory.stated_at == memory.valid_from
    mind.approve(memory.id)
    assert mind.show(memory.id).stated_at == memory.valid_from
    mind.edit(memory.id, "We never commit to main.")
    assert mind.show(memory.id).stated_at > "2026-09"


@pytest.mark.parametrize(("certainty", "count"), [(65, 0), (10, 1)])
def test_a_lower_certainty_proposes_more_of_what_people_say(
    make_repository: Any, tmp_path: Path, certainty: int, count: int
) -> None:
    root, user = make_repository("api"), tmp_path / "user"
    told(root, "s1", user).asked("Write the release page. Please keep everything in US English.").keep()
    settings = Settings(home=tmp_path / "home", person="ada", statement_certainty=certainty)

    with Hivemind.open(directory=root, settings=settings) as mind:
        mind.sessions.import_transcripts(home=user)

        assert len(mind.list()) == count
