"""Of several decisions about one thing in different sessions, the last one stands."""

from hivemind import Hivemind, Kind
from hivemind.learning.proposals import Outcome, propose
from hivemind.model.claim import Proposal
from hivemind.model.memory import Channel, Source, Status

REDIS = "We chose Redis for the job queue, because it is fast."
SQLITE = "We chose SQLite for the job queue rather than Redis, because it runs offline."
APRIL, MAY = "2026-04-01T10:00:00Z", "2026-05-01T10:00:00Z"


def learn_decision(mind: Hivemind, text: str, said_at: str) -> None:
    proposal = Proposal(
        detector="decisions",
        kind=Kind.DECISION,
        text=text,
        confidence=0.7,
        sources=(Source(channel=Channel.DERIVED, session_id=said_at, event=f"event-{said_at}"),),
        said_at=said_at,
    )
    context = mind._context
    propose(context, context.factory, [proposal], mind.repository.id, Outcome(), trust={})


def list_statuses(mind: Hivemind) -> dict[str, Status]:
    context = mind._context
    rows = context.store.db.execute("SELECT text, status FROM memories")
    return {text: Status(status) for text, status in rows}


def test_a_later_decision_about_the_same_thing_supersedes_the_proposal(mind: Hivemind) -> None:
    learn_decision(mind, REDIS, APRIL)
    learn_decision(mind, SQLITE, MAY)

    assert list_statuses(mind) == {REDIS: Status.SUPERSEDED, SQLITE: Status.PROPOSED}


def test_an_earlier_decision_that_is_imported_later_is_not_proposed(mind: Hivemind) -> None:
    learn_decision(mind, SQLITE, MAY)
    learn_decision(mind, REDIS, APRIL)

    assert list_statuses(mind) == {SQLITE: Status.PROPOSED}


def test_a_proposal_does_not_supersede_what_a_person_approved(mind: Hivemind) -> None:
    learn_decision(mind, REDIS, APRIL)
    (memory,) = mind.list()
    mind.approve(memory.id)
    learn_decision(mind, SQLITE, MAY)

    assert list_statuses(mind)[REDIS] is not Status.SUPERSEDED
    assert SQLITE in list_statuses(mind)


def test_decisions_about_different_things_stand_beside_each_other(mind: Hivemind) -> None:
    learn_decision(mind, REDIS, APRIL)
    learn_decision(mind, "We kept the names of the tables, so that reports keep working.", MAY)

    assert set(list_statuses(mind).values()) == {Status.PROPOSED}
