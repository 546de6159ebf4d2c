"""Statements are compared by their words."""

import pytest

from hivemind.memory.comparison import is_same_statement, is_same_topic


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("We never commit directly to main.", "we never commit to main directly!"),
        ("Keep pull request descriptions short.", "keep the pull request description short please"),
        ("The service reads its number from port-red.txt.", "the service reads its number from port-red.txt first"),
    ],
)
def test_the_same_in_nearly_the_same_words_is_one_statement(left: str, right: str) -> None:
    assert is_same_statement(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Always use tabs in the Go files.", "Don't use tabs in the Go files."),
        ("Send batches of 5000 rows to the API.", "Send batches of 10000 rows to the API."),
        ("We use pnpm.", "We use uv."),
        (
            "`make` failed: port-red.txt is needed before anything can start. The service reads its own number there.",
            "`make` failed: port-blue.txt is needed before anything can start. The service reads its own number there.",
        ),
    ],
)
def test_a_negation_a_number_or_another_subject_makes_another_statement(left: str, right: str) -> None:
    assert not is_same_statement(left, right)


def test_two_statements_about_one_thing_have_one_topic_and_others_do_not() -> None:
    assert is_same_topic("I chose Redis for the job queue.", "I chose SQLite for the job queue instead.")
    assert not is_same_topic("I chose Redis for the job queue.", "The tables keep their names.")
