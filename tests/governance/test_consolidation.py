"""Consolidation: memories that say the same are merged, unused ones retired; only if a person says so, and undone."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hivemind import Hivemind
from hivemind.errors import Refused
from hivemind.model.memory import Status
from hivemind.model.review import Selection
from hivemind.model.scope import Scope
from tests.command_line import run, run_json
from tests.conftest import AGENT, Clock, Open, git


def test_memories_that_say_the_same_are_merged_and_keep_their_sources(mind: Hivemind, open_mind: Open) -> None:
    short = open_mind(writer=AGENT).remember("The importer retries three times")
    full = mind.remember("The importer retries three times, then it gives up")

    plan = mind.review.plan_consolidation()
    batch = mind.review.consolidate(plan)

    [merge] = plan.merges
    assert (merge.keep.id, [memory.id for memory in merge.duplicates]) == (full.id, [short.id])
    merged = mind.show(short.id)
    assert (merged.status, merged.superseded_by) == (Status.SUPERSEDED, full.id)
    assert {source.actor for source in mind.show(full.id).sources} == {"ada", AGENT.actor}
    assert [hit.memory.id for hit in mind.recall("importer retries").hits] == [full.id]
    mind.review.rollback(Selection(batch=batch))
    assert mind.show(short.id).status is Status.ACTIVE
    assert len(mind.show(full.id).sources) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The staging database of the shop is called heron", "The production database of the shop is called heron"),
        ("Deploys run on Fridays from the main branch", "Deploys never run on Fridays from the main branch"),
        ("Batches have 5000 rows for the importer", "Batches have 10000 rows for the importer"),
        ("Use tabs in Go files", "Use tabs in Go files; elsewhere follow the linter of the team and ask if unsure"),
    ],
)
def test_memories_that_differ_in_what_they_say_are_not_merged(mind: Hivemind, first: str, second: str) -> None:
    mind.remember(first)
    mind.remember(second)

    assert mind.review.plan_consolidation().merges == ()


def test_memories_of_different_scopes_stay_apart(mind: Hivemind) -> None:
    mind.remember("Commit messages are written in English", scope=Scope.USER)
    mind.remember("Commit messages are written in English always", scope=Scope.PROJECT)

    assert mind.review.plan_consolidation().merges == ()


def test_what_nobody_was_shown_for_long_is_retired_and_what_was_used_is_not(mind: Hivemind, clock: Clock) -> None:
    unused = mind.remember("The coffee machine takes oat milk")
    used = mind.remember("Invoices are numbered per country")
    clock.advance(days=200)
    mind.recall("how are invoices numbered?", limit=1)
    new = mind.remember("Parcels are weighed in grams")

    plan = mind.review.plan_consolidation()
    mind.review.consolidate(plan)

    assert [item.memory.id for item in plan.retirements] == [unused.id]
    assert "never shown" in plan.retirements[0].why
    assert mind.show(unused.id).status is Status.RETRACTED
    assert [mind.show(memory.id).status for memory in (used, new)] == [Status.ACTIVE, Status.ACTIVE]
    # It was not wrong, so it may come again.
    assert mind.remember("The coffee machine takes oat milk").status is Status.ACTIVE


def test_a_memory_whose_code_is_gone_is_retired_for_that(
    open_mind: Open, make_repository: Callable[..., Path], clock: Clock
) -> None:
    here = make_repository("here")
    (here / "pay.py").write_text("def charge(card):\n    return card.bank.take(card.amount)\n")
    git(here, "add", ".")
    git(here, "commit", "-m", "pay")
    mind = open_mind(here)
    mind.remember("Cards are charged once", links=["pay.py::charge"])
    git(here, "rm", "-q", "pay.py")
    git(here, "commit", "-m", "no more cards")
    mind.recall("how often are cards charged?")
    young = mind.review.plan_consolidation()
    clock.advance(days=200)
    mind.recall("how often are cards charged?")

    plan = mind.review.plan_consolidation()

    assert young.retirements == ()
    assert [item.why for item in plan.retirements] == ["its code is gone: pay.py::charge"]


def test_an_agent_cannot_consolidate(open_mind: Open) -> None:
    agent = open_mind(writer=AGENT)
    agent.remember("The importer retries three times")
    agent.remember("The importer retries three times at most")
    plan = agent.review.plan_consolidation()

    with pytest.raises(Refused):
        agent.review.consolidate(plan)
    assert plan.count == 1
    assert all(memory.status is Status.ACTIVE for memory in agent.list())


def test_the_command_lists_asks_and_says_how_to_undo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    empty = run("review", "consolidate").output
    run("remember", "`golangci-lint run` checks style here", "--kind", "procedure")
    run("remember", "`golangci-lint run` checks the style here", "--kind", "procedure")

    listed = run("review", "consolidate", "--dry-run").output
    done = run_json("review", "consolidate", "--yes")
    undone = run("rollback", "--batch", done["batch"], "--yes")

    assert "Nothing to merge" in empty
    assert "Say the same" in listed
    assert undone.exit_code == 0
    assert len(run_json("list")) == 2
