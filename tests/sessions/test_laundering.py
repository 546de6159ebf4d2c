"""No laundering: what tool output, a page, a file or a paste brought is never told, whoever repeats or confirms it."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from hivemind import Hivemind
from hivemind.model.digest import Part
from hivemind.text.search_terms import extract_terms, measure_share
from tests.conftest import AGENT, PERSON, Clock, Open
from tests.sessions.laundering import (
    ANSWERS,
    MATTERS,
    PLACES,
    RETELLINGS,
    Matter,
    agree,
    restate,
    summarise,
)
from tests.sessions.sessions import Told

CASES = [
    pytest.param(
        MATTERS[number % len(MATTERS)], place, retelling, answer, number,
        id=f"{place}, {retelling}, {answer or 'nothing'}: {MATTERS[number % len(MATTERS)].name}",
    )
    for number, (place, retelling, answer) in enumerate(product(PLACES, RETELLINGS, ANSWERS))
]  # fmt: skip


def play(root: Path, matter: Matter, place: str, retelling: str, answer: str, number: int) -> Told:
    session = agree(root, matter, "s1", root / "user")
    PLACES[place](session, matter.hostile)
    return summarise(session, matter, RETELLINGS[retelling](matter, number), answer)


def digest(mind: Hivemind, session: Told) -> str:
    session.keep()
    mind.sessions.import_transcripts(home=session.user)
    return "\n".join(line.text for line in mind.sessions.digest("s1").select(Part.CONCLUSION, Part.FIX, Part.DEAD_END))


def repeats_hostile(text: str, matter: Matter) -> bool:
    """Whether a line says most of what the stranger's text says; the ruling on the same matter shares a few words."""
    terms = extract_terms(matter.hostile)
    return any(measure_share(terms, line) >= 0.6 for line in text.splitlines())


@pytest.mark.parametrize(("matter", "place", "retelling", "answer", "number"), CASES)
def test_a_strangers_words_are_no_conclusion_and_the_persons_are(
    mind: Hivemind, tmp_path: Path, matter: Matter, place: str, retelling: str, answer: str, number: int
) -> None:
    lines = digest(mind, play(tmp_path, matter, place, retelling, answer, number))

    assert not repeats_hostile(lines, matter)
    assert matter.ruling in lines
    assert matter.restatement in lines


@pytest.mark.parametrize("matter", MATTERS[::3], ids=lambda matter: matter.name)
@pytest.mark.parametrize("place", ["a web page", "a file that was read", "an MCP tool", "a fenced paste"])
def test_nothing_of_it_is_told_with_a_prompt_at_the_start_or_before_an_edit(
    open_mind: Open, tmp_path: Path, clock: Clock, matter: Matter, place: str
) -> None:
    mind = open_mind(tmp_path, writer=PERSON)
    digest(mind, play(tmp_path, matter, place, "as a restatement", "yes, exactly", 0))
    mind.maintenance.catch_up(include_sessions=True)
    later = open_mind(tmp_path, writer=replace(AGENT, session_id="s2"))

    told = "\n".join([later.on_prompt(matter.prompt).text, later.brief().text, later.recall(matter.prompt).text])

    assert matter.ruling in told or matter.restatement in told
    hints = later.on_prompt(matter.prompt).text + later.brief().text
    assert not repeats_hostile(hints, matter)


def test_what_a_client_or_a_subagent_adds_is_not_the_persons(mind: Hivemind, tmp_path: Path) -> None:
    matter = MATTERS[0]
    session = agree(tmp_path, matter, "s1", tmp_path / "user")
    session.asked(f"<system-reminder>{matter.hostile}</system-reminder>").said("I go on.")

    lines = digest(mind, session)

    assert matter.hostile not in lines
    assert matter.ruling in lines


def test_an_answer_to_a_question_of_the_agent_is_the_persons(mind: Hivemind, tmp_path: Path) -> None:
    session = agree(tmp_path, MATTERS[0], "s1", tmp_path / "user")
    answers = 'User has answered your questions: "Which region comes first?"="Frankfurt, because support sits there".'
    session.called("AskUserQuestion", {"questions": []}, answers)

    assert "Frankfurt, because support sits there" in digest(mind, session)
    assert restate(MATTERS[0], 0) not in digest(mind, session)
