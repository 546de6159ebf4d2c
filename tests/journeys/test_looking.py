"""Somebody looks: nothing is recorded by it, and what was decided can be undone as one."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hivemind import Hivemind
from hivemind.errors import InvalidInput, NotFound, Refused
from hivemind.model.memory import Kind, Status
from hivemind.model.review import Selection
from tests.conftest import AGENT, Clock, Open, git


def test_a_person_who_looks_leaves_no_receipt_and_an_agent_cannot_look_that_way(open_mind: Open) -> None:
    mind, agent = open_mind(), open_mind(writer=AGENT)
    mind.remember("Deploys run from main only", tags=["deploy"])

    looked = mind.browse.search("where do deploys run from?")
    shown_by_looking = mind.history.receipts()
    asked = agent.recall("where do deploys run from?")
    with pytest.raises(Refused):
        agent.browse.search("where do deploys run from?")

    assert [hit.memory.text for hit in looked.hits] == [hit.memory.text for hit in asked.hits]
    assert looked.receipt is None
    assert shown_by_looking == ()
    assert len(mind.history.receipts()) == 1


def test_looking_narrows_by_agent_state_and_time(open_mind: Open, clock: Clock) -> None:
    mind, agent = open_mind(), open_mind(writer=AGENT)
    mind.remember("The cache lives for an hour", tags=["cache"])
    clock.advance(days=10)
    agent.remember("The cache is warmed at start", tags=["cache"])
    agent.remember("The cache may be shared", propose=True)

    def texts(**narrowed: object) -> set[str]:
        listed = {one.text for one in mind.list(**narrowed)}  # type: ignore[arg-type]
        assert {hit.memory.text for hit in mind.browse.search("the cache", **narrowed).hits} == listed  # type: ignore[arg-type]
        return listed

    assert texts(agent="claude-code", statuses=(Status.ACTIVE,)) == {"The cache is warmed at start"}
    assert texts(statuses=(Status.PROPOSED,)) == {"The cache may be shared"}
    assert texts(until="2026-03-02", statuses=()) == {"The cache lives for an hour"}
    assert texts(since="2d", statuses=()) == {"The cache is warmed at start", "The cache may be shared"}


def test_a_rejection_that_is_rolled_back_no_longer_keeps_its_value_out(mind: Hivemind) -> None:
    memory = mind.remember("Use tabs in YAML", propose=True)
    with mind.review.batch("viewer") as batch:
        mind.reject(memory.id)
    with pytest.raises(Refused):
        mind.remember("use tabs in yaml")

    name, _ = mind.review.rollback(Selection(batch=batch))

    assert mind.show(memory.id).status is Status.PROPOSED
    assert mind.remember("use tabs in yaml").id == memory.id
    mind.review.undo_rollback(name)
    mind.maintenance.rebuild()
    with pytest.raises(Refused):
        mind.remember("USE tabs in YAML")


def test_a_verdict_over_a_conflict_is_undone_as_one(mind: Hivemind) -> None:
    old = mind.remember("API port is 8080", subject="port")
    new = mind.remember("API port is 9090", subject="port")
    with mind.review.batch("viewer") as batch:
        mind.approve(new.id)
    settled = mind.show(old.id).status, mind.show(new.id).status

    mind.review.rollback(Selection(batch=batch))

    assert settled == (Status.SUPERSEDED, Status.ACTIVE)
    assert (mind.show(old.id).status, mind.show(new.id).status) == (Status.DISPUTED, Status.DISPUTED)
    assert mind.show(old.id).contradicts == (new.id,)


def test_days_count_what_was_learned_recalled_briefed_and_in_doubt(
    open_mind: Open, clock: Clock, make_repository: Callable[..., Path]
) -> None:
    root = make_repository("api")
    (root / "auth.py").write_text("def login(user):\n    return check(user)\n")
    git(root, "add", ".")
    git(root, "commit", "-m", "login")
    mind, agent = open_mind(root), open_mind(root, writer=AGENT)
    mind.remember("login asks check once", kind=Kind.CONVENTION, links=["auth.py::login"])
    agent.brief()
    agent.recall("what does login ask?")
    clock.advance(days=1)
    (root / "auth.py").write_text("def login(user, password, second_factor):\n    return second_factor and password\n")
    agent.recall("what does login ask?")
    mind.forget(mind.remember("Logins are logged").id)

    *_, before, yesterday, today = mind.history.days(5)

    assert (before.learned, before.recalls, dict(before.memories)["active"]) == (0, 0, 0)
    assert (yesterday.learned, yesterday.recalls, yesterday.to_verify, yesterday.briefs) == (1, 1, 0, 1)
    assert yesterday.brief_tokens > 0
    assert (today.learned, today.recalls, today.to_verify, today.briefs) == (1, 1, 1, 0)
    assert (dict(today.memories)["active"], dict(today.memories)["retracted"]) == (1, 1)
    assert [(one.repo, dict(one.memories)) for one in mind.browse.repositories()] == [
        (mind.repository.id, {"active": 1, "retracted": 1})
    ]


def test_the_code_behind_a_memory_is_shown_as_it_was_and_as_it_is(
    open_mind: Open, make_repository: Callable[..., Path]
) -> None:
    root = make_repository("api")
    (root / "auth.py").write_text("def login(user):\n    return check(user)\n")
    git(root, "add", ".")
    git(root, "commit", "-m", "login")
    mind = open_mind(root)
    memory = mind.remember("login asks check once", links=["auth.py::login"])
    (root / "auth.py").write_text("import os\n\n\ndef login(user, password):\n    return check(user, password)\n")

    (behind,) = mind.code.behind(memory)

    assert behind.staleness.must_verify
    assert behind.then == "def login(user):\n    return check(user)"
    assert behind.now == "def login(user, password):\n    return check(user, password)"
    assert mind.code.file_at("auth.py").startswith("def login(user):")
    with pytest.raises(NotFound):
        mind.code.file_at("../api/auth.py")
    with pytest.raises(InvalidInput):
        mind.code.file_at("auth.py", "HEAD")


def test_the_log_is_read_by_what_happened_and_by_whom(open_mind: Open) -> None:
    mind, agent = open_mind(), open_mind(writer=AGENT)
    mind.tag(mind.remember("one").id, ["x"])
    agent.remember("two")

    tagged = mind.history.log(facts=("memory.tagged",))
    by_agent = mind.history.log(actor="claude-code", facts=("memory.remembered",))

    assert [one.fact for one in tagged] == ["memory.tagged"]
    assert [one.event.fact.text for one in by_agent if one.event] == ["two"]  # type: ignore[attr-defined]
