"""What a prompt brings: the memories that govern a task, although the task does not quote them."""

from dataclasses import replace

import pytest

from hivemind import Hivemind
from hivemind.recall.rendering import count_tokens
from tests.conftest import AGENT, Open

RULES = (
    "Money is Decimal with two places and goes through pricing.round_half_up; float arithmetic cost us real refunds.",
    "Anything that sends mail to customers must go through the outbox table, otherwise a rollback sends twice.",
    "Never drop or rename a column in the release that stops using it; leave it for one release.",
    "Third-party calls get a timeout of 5 s and a circuit breaker from lib/resilience.",
    "Reports for accounting are generated in Europe/Vienna time because the tax office wants local days.",
    "Product images are addressed by content hash, do not overwrite a file in the bucket.",
)
TASK = (
    "The field customer.fax is not used by anybody since last year, I removed it from the forms and serializers on this"
    " branch. Now remove the old column from the table as well, in the same release, and write the migration for it."
    " Tests are green apart from two factories that still set it."
)
OTHER_TASK = (
    "The type checker complains that the return type of the generator in the tree walker is wrong. I think it is only"
    " an annotation problem. Fix it, run mypy on the package, and leave the behaviour as it is. If you need a"
    " cast, put a comment beside it."
)


@pytest.fixture
def agent(open_mind: Open) -> Hivemind:
    open_mind().remember_all({"text": rule} for rule in RULES)
    return open_mind(writer=replace(AGENT, session_id="s1"))


def test_a_task_brings_the_rule_that_governs_it_without_quoting_it(agent: Hivemind) -> None:
    agent.maintenance.catch_up()

    recall = agent.on_prompt(TASK)

    assert "Never drop or rename a column" in recall.text
    assert recall.receipt
    assert count_tokens(recall.text) <= 300


def test_a_task_that_no_rule_governs_brings_nothing(agent: Hivemind) -> None:
    agent.maintenance.catch_up()

    assert agent.on_prompt(OTHER_TASK).text == ""


def test_a_rule_that_the_session_was_given_is_not_given_again(agent: Hivemind) -> None:
    agent.maintenance.catch_up()
    first = agent.on_prompt(TASK)

    again = agent.on_prompt(TASK)

    assert "Never drop or rename a column" in first.text
    assert "Never drop or rename a column" not in again.text


def test_the_model_is_not_loaded_if_the_session_was_given_everything(agent: Hivemind) -> None:
    agent.brief()

    silent = agent.on_prompt(TASK)

    assert silent.text == ""
    assert "meaning" not in vars(agent._context.embedder)


def test_a_rule_is_found_by_a_task_although_its_vector_was_still_missing(agent: Hivemind) -> None:
    assert "Never drop or rename a column" in agent.on_prompt(TASK).text


def test_a_short_prompt_needs_words_in_common(agent: Hivemind) -> None:
    agent.maintenance.catch_up()

    assert agent.on_prompt("remove the fax field").text == ""
    assert "Never drop" in agent.on_prompt("may I drop or rename a column in this release?").text
