"""Whoever asks gets the best there is, and is told how sure it is."""

from pathlib import Path

import pytest

from hivemind import Hivemind
from hivemind.model.claim import Claim
from hivemind.recall.confidence import SURE
from tests.command_line import run, run_json
from tests.conftest import Clock

PNPM = "We use pnpm, not npm"
FRIDAY = "Nobody deploys on a Friday"


def test_an_answer_stands_alone_where_nothing_else_is_near(mind: Hivemind) -> None:
    mind.remember(PNPM)
    mind.remember(FRIDAY)

    (answer,) = mind.recall("package manager").hits

    assert (answer.memory.text, answer.is_sure) == (PNPM, True)
    assert (answer.confidence or 0) >= SURE


def test_below_the_answers_stand_at_most_three_that_are_near_unless_a_limit_asks_for_more(mind: Hivemind) -> None:
    for number in range(10, 18):
        mind.remember(f"Service number {number} listens on port {8_000 + 7 * number}")

    by_default = mind.recall("which port does service number 13 listen on?").hits
    more = mind.recall("which port does service number 13 listen on?", limit=8).hits
    in_viewer = mind.browse.search("which port does service number 13 listen on?", limit=25).hits

    assert [hit.is_sure for hit in by_default] == [True, False, False, False]
    assert [hit.memory.id for hit in in_viewer] == [hit.memory.id for hit in by_default]
    assert [hit.is_sure for hit in more] == [True] + [False] * 7


@pytest.mark.parametrize("door", ["text", "json", "why"])
def test_a_question_about_something_else_gets_one_line_that_says_what_to_try(
    door: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for text in (PNPM, FRIDAY, "Postgres 15 runs in the cellar"):
        run("remember", text)
    question = "which colour has the neighbour's cat"

    match door:
        case "text":
            said = run("recall", question).stdout
        case "json":
            said = run_json("recall", question)["hint"]
            assert run_json("recall", question)["hits"] == []
        case _:
            answer = run("recall", question, "--why")
            said = answer.stdout + answer.stderr

    assert said.strip().count("\n") == 0
    assert "Try fewer or other words" in said
    assert PNPM in run("recall", "package manager").stdout


def test_no_number_in_an_answer_contradicts_the_order(mind: Hivemind) -> None:
    notes = ("Deploys run on Fridays", "Deploys need two approvals", "The deploy script is in ops/", "Friday is payday")
    for text in notes:
        mind.remember(text)

    for question in ("when do deploys run?", "deploy friday", "who approves deploys", "where is the deploy script"):
        numbers = [hit.confidence or 0 for hit in mind.recall(question, limit=10).hits]

        assert numbers, question
        assert numbers == sorted(numbers, reverse=True)


@pytest.mark.parametrize(("session", "expected"), [("s1", 2), ("", 1)])
def test_a_remark_beside_something_closer_in_its_session_is_near(mind: Hivemind, session: str, expected: int) -> None:
    texts = ("When is the crane inspected?", "It is inspected next Tuesday at noon")
    mind.remember_all(Claim(text=text, session_id=session) for text in texts)

    hits = mind.recall("when is the harbour crane inspected?").hits

    assert [hit.is_sure for hit in hits] == [True, False][:expected]


def test_a_quoted_phrase_is_an_answer_wherever_it_stands(mind: Hivemind) -> None:
    mind.remember(FRIDAY)
    mind.remember("The harbour crane log says ERR-GULL whenever the wind turns and the seals look up")

    (hit,) = mind.recall('what did we do about this one again, "ERR-GULL"').hits

    assert hit.is_sure


def test_exact_words_win_while_vectors_are_missing_and_other_numbers_are_not_sure(mind: Hivemind) -> None:
    mind.remember_all(
        {"text": f"Service number {number} listens on port {20_000 + 7 * number}"} for number in range(500)
    )

    for number in range(3, 500, 50):
        hits = mind.recall(f"which port does service number {number} listen on?").hits

        assert hits[0].memory.text == f"Service number {number} listens on port {20_000 + 7 * number}"
        assert [hit.is_sure for hit in hits] == [True] + [False] * (len(hits) - 1)


def test_what_is_no_longer_or_not_yet_true_never_stands_before_what_is(mind: Hivemind) -> None:
    mind.remember("The release day is Tuesday", valid_from="2026-02-01")
    mind.remember("The release day is Thursday", valid_to="2026-01-31")
    mind.remember("The release day is Monday", valid_from="2027-01-01")

    today = mind.recall("which day is the release day?").hits
    alone = mind.recall("which day is the release day?", limit=1).hits
    then = mind.recall("which day is the release day?", true_at="2026-01-15").hits

    assert (today[0].memory.text[19:], today[0].is_sure, today[0].is_valid) == ("Tuesday", True, True)
    assert {hit.memory.text[19:] for hit in today[1:] if not hit.is_sure and not hit.is_valid} == {"Thursday", "Monday"}
    assert [hit.memory.text[19:] for hit in alone] == ["Tuesday"]
    assert [(hit.memory.text[19:], hit.is_sure) for hit in then] == [("Thursday", True)]
    assert any("was true until 2026-01-31" in hit.labels for hit in today)
    assert any("will be true from 2027-01-01" in hit.labels for hit in today)


def test_what_was_true_then_comes_first_in_what_was_believed_then(mind: Hivemind, clock: Clock) -> None:
    old = mind.remember("The release day is Thursday")
    before = clock.now.date().isoformat()
    clock.advance(days=30)
    mind.edit(old.id, valid_to=clock.now.date().isoformat())
    mind.remember("The release day is Tuesday", valid_from=clock.now.date().isoformat())
    clock.advance(days=30)

    now = mind.recall("which day is the release day?").hits
    then = mind.recall("which day is the release day?", as_of=before).hits

    assert [hit.memory.text[19:] for hit in now] == ["Tuesday", "Thursday"]
    assert [(hit.memory.text[19:], hit.is_sure, hit.labels) for hit in then] == [("Thursday", True, ())]


def test_a_prompt_is_not_told_what_is_no_longer_true(mind: Hivemind) -> None:
    mind.remember("The release day of the harbour app is Thursday", valid_to="2026-01-31")

    assert not mind.on_prompt("when is the release day of the harbour app?").hits
    mind.remember("The release day of the harbour app is Tuesday")
    assert [hit.memory.text[-7:] for hit in mind.on_prompt("when is the release day of the harbour app?").hits] == [
        "Tuesday"
    ]


def test_confidence_is_in_json_in_the_block_for_agents_and_with_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run("remember", PNPM)

    (hit,) = run_json("recall", "package manager")["hits"]
    block = run("recall", "package manager").stdout

    assert SURE <= hit["confidence"] <= 1
    assert f"- {PNPM} [" in block
    assert f" · match {hit['confidence']:.2f}]" in block


def test_what_nobody_asked_for_has_no_confidence(mind: Hivemind) -> None:
    mind.remember(FRIDAY)

    assert [hit.confidence for hit in mind.brief().hits] == [None]


def test_a_title_in_quotes_that_no_memory_has_still_gets_the_closest(mind: Hivemind) -> None:
    mind.remember("Melanie read a book about courage in spring")
    mind.remember("The lean startup is on the reading list of the team")

    missing = mind.recall('When did Melanie read the book "nothing is impossible"?')
    exact = mind.recall('"lean startup"')

    assert missing.hits[0].memory.text.startswith("Melanie")
    assert [hit.memory.text[:8] for hit in exact.hits] == ["The lean"]


def test_a_question_names_a_tag_by_whole_words_only(mind: Hivemind) -> None:
    mind.remember("Vitest runs the unit tests", tags=["testing"])
    mind.remember("Grafana has the dashboards of the last hour", tags=["latest"])
    mind.remember("Coverage stays above 80 %", tags=["testing"])

    sure_texts = {hit.memory.text for hit in mind.recall("how do we run unit tests?").answers}

    assert sure_texts >= {"Vitest runs the unit tests", "Coverage stays above 80 %"}
    assert "Grafana has the dashboards of the last hour" not in sure_texts


def test_functions_that_only_look_like_a_contradiction_keep_the_order_of_their_scores(mind: Hivemind) -> None:
    clean = mind.remember(
        'def clean(text):\n    """Removes trailing whitespace from each line."""\n    return text.strip()'
    )
    mind.remember(
        'def crop(scan, box):\n    """Removes trailing whitespace from each page."""\n    return scan.resize(box, font)'
    )

    hits = mind.recall("remove trailing whitespace of a line").hits

    assert hits[0].memory.id == clean.id
    assert hits[0].may_conflict


def test_words_that_no_memory_has_do_not_keep_a_question_from_matching(mind: Hivemind) -> None:
    mind.remember("The job rotate_keys runs at noon")
    mind.remember(FRIDAY)

    # FTS5 splits the identifier, so its two parts have counts and the whole has none.
    for question in ("rotate_keys", "zzyzx rotate_keys", "zzyzx qwertz noon"):
        assert mind.recall(question).hits[0].signals[0].name == "words", question
    assert all(signal.name != "words" for hit in mind.recall("zzyzx qwertz").hits for signal in hit.signals)


def test_a_second_note_is_sure_only_if_it_ranks_close_to_the_first(mind: Hivemind) -> None:
    for text in (
        "Deploys need two approvals",
        "A deploy needs the approval of two people",
        "Deploy logs are kept a week",
    ):
        mind.remember(text)

    sure = [hit.memory.text for hit in mind.recall("how many approvals does a deploy need?").answers]

    assert "Deploy logs are kept a week" not in sure
    assert len(sure) == 2
