"""A dispute is one item with several sides: whoever decides for one settles it, by every door and for good."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hivemind import Hivemind, Kind, Scope
from hivemind.cli.review_prompt import ReviewPrompt
from hivemind.errors import InvalidInput
from hivemind.model.memory import Memory, Status, Trust
from hivemind.model.review import ReviewReason, Selection
from hivemind.settings import Settings
from tests.command_line import run, run_json
from tests.conftest import AGENT, Clock, Open
from tests.mcp.client import connected
from tests.sync.machines import set_up, sync_all


def dispute(mind: Hivemind) -> tuple[Memory, Memory]:
    """Remember two memories that contradict each other, the older first."""
    return mind.remember("API port is 8080"), mind.remember("API port is 9090")


def statuses(mind: Hivemind, *memories: Memory) -> list[str]:
    return [mind.show(memory.id).status.value for memory in memories]


def press(mind: Hivemind, keys: str) -> None:
    """Review the queue with these keys."""
    left: Iterator[str] = iter(keys)
    ReviewPrompt(mind, mind.review.queue(), read_key=lambda: next(left, "q")).run()


def test_a_dispute_is_one_item_under_its_newest_side(mind: Hivemind) -> None:
    older, newer = dispute(mind)

    (item,) = mind.review.queue()

    assert (item.memory.id, [side.id for side in item.against]) == (newer.id, [older.id])
    assert [side.text for side in item.sides] == ["API port is 9090", "API port is 8080"]


def test_a_side_that_is_overdue_too_waits_once(mind: Hivemind, clock: Clock) -> None:
    mind.remember("API port is 8080", verify_by="1d")
    mind.remember("API port is 9090")
    clock.advance(days=2)

    disputed = mind.review.queue()
    mind.approve(disputed[0].against[0].id)

    assert [item.reason for item in disputed] == [ReviewReason.DISPUTED]
    assert [item.reason for item in mind.review.queue()] == [ReviewReason.OVERDUE]


@pytest.mark.usefixtures("mind")
def test_to_approve_either_side_settles_the_dispute_and_the_log_says_so() -> None:
    older, newer = (run_json("remember", f"API port is {port}")["id"] for port in (8080, 9090))

    approved = run("approve", older)

    assert "API port is 9090" in approved.stderr
    assert f"hivemind restore {newer[:8]}" in approved.stderr
    assert run_json("review") == []
    assert f"approved over {newer[:8]}" in run("log", older).stdout
    assert f"superseded by {older[:8]}" in run("log", newer).stdout
    assert [hit["memory"]["id"] for hit in run_json("recall", "API port")["hits"]] == [older]


@pytest.mark.usefixtures("mind")
def test_both_sides_cannot_be_approved_neither_together_nor_one_after_the_other() -> None:
    older, newer = (run_json("remember", f"API port is {port}")["id"] for port in (8080, 9090))

    together = run("approve", older, newer)
    disputed = [run_json("show", memory)["status"] for memory in (older, newer)]
    run("approve", newer)
    afterwards = run("approve", older)
    settled = [run_json("show", memory)["status"] for memory in (older, newer)]
    run("restore", older)

    assert (together.exit_code, disputed) == (2, ["disputed", "disputed"])
    assert (afterwards.exit_code, settled) == (2, ["superseded", "active"])
    assert f"hivemind restore {older[:8]}" in afterwards.stderr
    assert [run_json("show", memory)["status"] for memory in (older, newer)] == ["disputed", "disputed"]


@pytest.mark.parametrize(("key", "expected"), [("1", ["superseded", "active"]), ("2", ["active", "superseded"])])
def test_one_key_keeps_one_side_and_undo_brings_the_dispute_back(
    key: str, expected: list[str], mind: Hivemind, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = dispute(mind)

    press(mind, key)
    screen = capsys.readouterr().out
    settled = statuses(mind, *sides)
    mind.restore(sides[settled.index("superseded")].id)
    press(mind, key + "u")

    assert screen.index("API port is 9090") < screen.index("API port is 8080")
    assert settled == expected
    assert statuses(mind, *sides) == ["disputed", "disputed"]


@pytest.mark.parametrize(("key", "expected"), [("b", ["active", "active"]), ("n", ["retracted", "retracted"])])
def test_both_sides_may_be_true_or_neither(key: str, expected: list[str], mind: Hivemind) -> None:
    sides = dispute(mind)

    press(mind, key)

    assert statuses(mind, *sides) == expected
    assert mind.review.queue() == ()


def test_a_memory_cannot_contradict_itself(mind: Hivemind) -> None:
    memory = mind.remember("API port is 8080")

    with pytest.raises(InvalidInput):
        mind.review.dispute(memory.id, memory.id[:8])

    assert mind.show(memory.id).status is Status.ACTIVE


def test_what_is_in_no_dispute_cannot_be_settled(mind: Hivemind) -> None:
    memories = mind.remember("API port is 8080"), mind.remember("Deploys run on Fridays")

    with pytest.raises(InvalidInput):
        mind.review.settle(*(memory.id for memory in memories))


def test_a_question_mark_shows_the_keys_and_decides_nothing(mind: Hivemind, capsys: pytest.CaptureFixture[str]) -> None:
    memory = mind.remember("Deploys run on Fridays", propose=True)

    press(mind, "?")

    assert "undo the last decision" in capsys.readouterr().out
    assert statuses(mind, memory) == ["proposed"]


def test_further_sides_and_twins_leave_the_queue_with_the_loser(mind: Hivemind) -> None:
    standing = mind.remember("The API listens on port 8080")
    proposals = [
        mind.remember(text, propose=True)
        for text in ("The API listens on port 9090", "The API listens on the port 9090", "The API listens on port 7070")
    ]

    (item,) = mind.review.queue()
    mind.approve(proposals[0].id)

    assert len(item.sides) == 4
    assert statuses(mind, standing, *proposals) == ["superseded", "active", "superseded", "superseded"]
    assert mind.review.queue() == ()


def test_to_keep_what_stands_supersedes_every_proposal_against_it(mind: Hivemind) -> None:
    standing = mind.remember("The API listens on port 8080")
    proposals = [mind.remember(f"The API listens on port {port}", propose=True) for port in (9090, 7070)]

    press(mind, "3")

    assert statuses(mind, standing, *proposals) == ["active", "superseded", "superseded"]
    assert mind.review.queue() == ()


def test_replacing_one_side_ends_its_disputes_with_others(mind: Hivemind) -> None:
    older, newer = dispute(mind)

    mind.remember("The API port is chosen at start", replaces=[newer.id])

    assert statuses(mind, older, newer) == ["active", "superseded"]


def test_a_settled_dispute_survives_a_rebuild_and_its_rollback_brings_it_back(mind: Hivemind) -> None:
    older, newer = dispute(mind)
    with mind.review.batch("verdict") as batch:
        mind.approve(older.id)

    mind.maintenance.rebuild()
    settled = statuses(mind, older, newer)
    mind.review.rollback(Selection(batch=batch))
    mind.maintenance.rebuild()

    assert settled == ["active", "superseded"]
    assert statuses(mind, older, newer) == ["disputed", "disputed"]


def test_of_two_decisions_on_two_machines_the_later_one_counts_on_both(
    open_mind: Open, tmp_path: Path, clock: Clock
) -> None:
    laptop, desktop = open_mind(), open_mind(home=tmp_path / "desktop")
    phrase = set_up(laptop, tmp_path / "folder", "laptop")
    set_up(desktop, tmp_path / "folder", "desktop", phrase)
    older, newer = dispute(laptop)
    sync_all(laptop, desktop)

    laptop.approve(older.id)
    clock.advance(minutes=1)
    desktop.approve(newer.id)
    sync_all(laptop, desktop)

    assert statuses(laptop, older, newer) == ["superseded", "active"]
    assert statuses(desktop, older, newer) == ["superseded", "active"]


def test_a_private_side_is_kept_for_its_person_and_changes_nothing_for_the_team(mind: Hivemind) -> None:
    shared = mind.remember("API port is 8080", scope=Scope.TEAM)
    private = mind.remember("API port is 9090")

    mind.approve(private.id)
    kept_private = statuses(mind, shared, private)
    mind.maintenance.rebuild()
    mind.approve(mind.remember("API port is 7070").id)
    mind.approve(shared.id)

    assert kept_private == ["active", "active"]
    assert statuses(mind, shared) == ["active"]


def test_an_agent_that_may_review_settles_a_dispute_over_mcp(open_mind: Open, tmp_path: Path, home: Path) -> None:
    older, newer = dispute(open_mind())
    run("config", "set", "agents_may_review", "true")

    with connected(tmp_path) as client:
        client.shake_hands(name="claude-code")
        queue, _ = client.call("review")
        answer, failed = client.call("review", decide="approve", id=older.id)
        again, failed_again = client.call("review", decide="approve", id=newer.id)

    mind = open_mind()
    assert [(older.id[:8] in queue), (newer.id[:8] in queue), queue.count("the other side")] == [True, True, 1]
    assert (failed, failed_again) == (False, True)
    assert "active" in answer
    assert "restore" in again
    assert statuses(mind, older, newer) == ["active", "superseded"]
    assert mind.show(older.id).trust is Trust.HIGH


def test_an_agent_that_may_not_review_settles_nothing(open_mind: Open, home: Path, tmp_path: Path) -> None:
    person = open_mind()
    sides = dispute(person)
    agent = Hivemind.open(directory=tmp_path, settings=Settings(home=home, person="ada"), writer=AGENT)

    replacement = agent.remember("API port is 8080 or 9090", replaces=[side.id for side in sides])

    assert [person.show(side.id).status for side in sides] == [Status.DISPUTED] * 2
    assert replacement.id in person.show(sides[0].id).contradicts
    agent.close()


def entries(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("- ")]


def test_the_brief_tells_both_sides_the_newer_first_with_the_date_of_the_dispute(mind: Hivemind, clock: Clock) -> None:
    older = mind.remember("Deploys run on Fridays", kind=Kind.CONVENTION)
    clock.advance(days=9)
    newer = mind.remember("Deploys never run on Fridays", kind=Kind.CONVENTION)

    first, second = entries(mind.brief().text)

    assert "never" in first
    assert f"disputed by {older.id[:8]} since 2026-03-10" in first
    assert f"disputed by {newer.id[:8]} since 2026-03-10" in second


@pytest.mark.parametrize("tokens", range(100, 500, 20))
def test_brief_and_recall_tell_both_sides_or_neither_whatever_fits(tokens: int, open_mind: Open, home: Path) -> None:
    mind = open_mind()
    mind.remember("Deploys go to the port 8080 of the machine behind the proxy " + "far away " * 12, subject="port")
    mind.remember("Deploys go to the port 9090 of the machine behind the proxy", subject="port")
    mind.remember("Deploys are watched by two people", kind=Kind.CONVENTION)
    settings = Settings(home=home, person="ada", brief_tokens=tokens)
    with Hivemind.open(directory=home.parent, settings=settings, writer=AGENT) as agent:
        texts = agent.brief().text, agent.recall("where do deploys go", max_tokens=tokens).text

    for text in texts:
        assert ("port 8080" in text) == ("port 9090" in text)
    assert tokens < 300 or "port 9090" in texts[1]


def test_a_side_that_the_brief_would_not_tell_by_itself_comes_with_the_other(open_mind: Open) -> None:
    person, agent = open_mind(), open_mind(writer=AGENT)
    person.remember("API port is 8080")
    # What agents note as facts is not in a brief unless a person approved it.
    agent.remember("API port is 9090")
    agent.remember("The sky was grey")

    told = entries(person.brief().text)

    assert ["9090" in told[0], "8080" in told[1], len(told)] == [True, True, 2]


def test_a_question_gets_both_sides_although_only_one_has_its_words(mind: Hivemind) -> None:
    older = mind.remember("Kubernetes listens on 8080", subject="api port")
    newer = mind.remember("Everything moved to 9090", subject="api port")

    hits = mind.recall("Kubernetes").hits

    assert [hit.memory.id for hit in hits[:2]] == [newer.id, older.id]
    assert [len(mind.recall("Kubernetes", limit=limit).hits) for limit in (1, 2)] == [1, 2]


def test_of_a_dispute_with_many_sides_the_hit_is_told_with_the_newest_and_the_brief_leaves_it_out(
    mind: Hivemind, clock: Clock
) -> None:
    sides = []
    for port in range(8080, 8100):
        sides.append(mind.remember(f"API port is {port}"))
        clock.advance(minutes=1)

    hits = mind.recall("API port 8080").hits
    both = mind.recall("API port 8080", limit=2).hits
    mind.remember("Deploys are watched by two people", kind=Kind.CONVENTION)

    assert {hit.memory.id for hit in hits} == {side.id for side in (sides[0], *sides[-4:])}
    assert [hit.memory.id for hit in both] == [sides[-1].id, sides[0].id]
    assert [len(hit.sides) for hit in (*hits, *both)] == [4] * 5 + [1] * 2
    assert "14 more since" in mind.recall("API port 8080").text
    assert [line for line in entries(mind.brief().text) if "API port" in line] == []
