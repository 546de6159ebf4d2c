"""What followed when a memory was told is recorded, shown and used, and goes when its session or memory goes."""

from datetime import timedelta
from pathlib import Path

import pytest

from hivemind.model.memory import Channel, Kind, Memory, Writer
from hivemind.model.outcomes import OutcomeKind
from hivemind.model.review import ReviewReason
from tests.command_line import run, run_json
from tests.conftest import Clock, Open
from tests.sessions.sessions import START, told

RULE = "Use pnpm, not npm, in this repository."
ASKED = "Which package manager do we use here, pnpm or npm?"
FACT = "The invoice totals of the billing service live in the ledger table."
ABOUT = "Where do the invoice totals of the billing service live?"


class Week:
    """Sessions that were told something and then went on."""

    def __init__(self, open_mind: Open, clock: Clock, directory: Path) -> None:
        self.open_mind, self.clock, self.directory = open_mind, clock, directory
        clock.now = START - timedelta(days=2)
        self.mind = open_mind()

    def remember(self, text: str, kind: Kind) -> Memory:
        return self.mind.remember(text, kind=kind)

    def hold(self, session: str, prompt: str, *commands: str, reply: str = "Done.") -> str:
        """Let a session be told what a prompt calls for, and run these commands; return what it was told."""
        number = int(session.removeprefix("s"))
        self.clock.now = START - timedelta(minutes=number)
        writer = Writer(actor="claude-code", channel=Channel.AGENT, session_id=session)
        text = self.open_mind(writer=writer).on_prompt(prompt).text
        talk = told(self.directory, session, user=self.directory / "user" / session).asked(prompt)
        for command in commands:
            talk.ran(command, "ok")
        talk.said(reply).keep()
        self.clock.now = START + timedelta(hours=5)
        self.mind.sessions.import_transcripts(home=talk.user)
        return text

    def list_kinds(self, memory: Memory) -> list[OutcomeKind]:
        return [outcome.kind for outcome in self.mind.explain(memory.id).record.outcomes]


@pytest.fixture
def week(open_mind: Open, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Week:
    monkeypatch.chdir(tmp_path)
    return Week(open_mind, clock, tmp_path)


def test_explain_counts_and_review_show_what_followed(week: Week) -> None:
    rule = week.remember(RULE, Kind.CONVENTION)

    assert RULE in week.hold("s1", ASKED, "npm install")
    assert [item.reason for item in week.mind.review.queue()] == [], "once is chance"
    week.hold("s2", ASKED, "npm test")

    record = week.mind.explain(rule.id).record
    assert (record.tellings, record.sessions) == (2, 2)
    assert week.list_kinds(rule) == [OutcomeKind.IGNORED] * 2
    evidence = [week.mind.sessions.observation(outcome.evidence or "") for outcome in record.outcomes]
    assert {step.command for step in evidence if step} == {"npm install", "npm test"}
    (item,) = week.mind.review.queue()
    assert (item.memory.id, item.reason) == (rule.id, ReviewReason.UNHEEDED)
    assert "in 2 sessions" in item.why
    assert week.mind.maintenance.stats().outcomes == (("ignored", 2),)
    week.mind.close()
    explanation = run("explain", rule.id).output
    assert "Told 2 times in 2 sessions." in explanation
    assert explanation.count("\tnpm ") == 2, "the commands that show it"
    assert "2 ignored" in run("status", "--counts").output
    assert run_json("explain", rule.id)["record"]["outcomes"][0]["kind"] == "ignored"


def test_who_verifies_an_unheeded_memory_has_answered_the_question(week: Week) -> None:
    rule = week.remember(RULE, Kind.CONVENTION)
    for session in ("s1", "s2"):
        week.hold(session, ASKED, "npm ci")
    assert week.mind.review.queue()

    week.mind.review.verify(rule.id)

    assert week.mind.review.queue() == ()
    assert week.list_kinds(rule) == [OutcomeKind.IGNORED] * 2, "the record stays"


def test_a_memory_that_helped_ranks_before_an_equal_one_and_without_outcomes_nothing_changes(week: Week) -> None:
    rule = week.remember(RULE, Kind.CONVENTION)
    before = week.mind.recall(ASKED).hits[0].score

    for session in ("s1", "s2"):
        week.hold(session, ASKED, "pnpm install")

    assert week.list_kinds(rule) == [OutcomeKind.OBEYED] * 2
    hit = week.mind.recall(ASKED).hits[0]
    assert before < hit.score <= before * 1.03
    assert "reputation" in [signal.name for signal in hit.signals]


def test_told_three_times_without_a_sign_of_use_a_memory_waits_to_be_asked(week: Week) -> None:
    fact = week.remember(FACT, Kind.FACT)
    texts = [week.hold(f"s{number}", ABOUT) for number in range(1, 5)]

    assert [FACT in text for text in texts] == [True, True, True, False]
    assert week.mind.explain(fact.id).record.quiet_since
    assert FACT not in week.open_mind(writer=Writer(actor="codex", channel=Channel.AGENT, session_id="s9")).brief().text
    week.mind.review.verify(fact.id)
    assert week.mind.explain(fact.id).record.quiet_since == ""
    assert FACT in week.hold("s5", ABOUT)


def test_a_question_that_recalls_it_is_a_sign_of_use(week: Week) -> None:
    fact = week.remember(FACT, Kind.FACT)
    for number in range(1, 4):
        week.hold(f"s{number}", ABOUT)
    assert week.mind.explain(fact.id).record.quiet_since

    assert week.mind.recall(ABOUT).hits[0].memory.id == fact.id

    assert week.mind.explain(fact.id).record.quiet_since == ""
    assert FACT in week.hold("s5", ABOUT)


def test_a_standing_rule_of_the_person_is_told_in_every_session(week: Week) -> None:
    rule = week.remember("We round the invoice totals of the billing service once.", Kind.CONVENTION)

    texts = [
        week.hold(f"s{number}", "How do we round the invoice totals of the billing service?") for number in range(1, 5)
    ]

    assert all(rule.text in text for text in texts)


def test_outcomes_go_with_the_memory_and_come_again_after_a_rebuild(week: Week) -> None:
    rule, fact = week.remember(RULE, Kind.CONVENTION), week.remember(FACT, Kind.FACT)
    week.hold("s1", ASKED, "npm install")
    week.hold("s2", ABOUT, reply="See it.")
    assert dict(week.mind.maintenance.stats().outcomes) == {"ignored": 1, "unknown": 1}

    week.mind.maintenance.rebuild()
    week.mind.learning.learn()
    assert dict(week.mind.maintenance.stats().outcomes) == {"ignored": 1, "unknown": 1}

    week.mind.erase(rule.id, also=[])
    assert dict(week.mind.maintenance.stats().outcomes) == {"unknown": 1}
    assert week.mind.explain(fact.id).record.tellings == 1


def test_the_week_is_told_in_sentences(week: Week, clock: Clock) -> None:
    assert week.mind.history.week().sentences == ()
    week.remember(RULE, Kind.CONVENTION)
    week.hold("s1", ASKED, "pnpm install")

    assert week.mind.history.week().sentences == (
        "Agents got 1 memory in 1 session.",
        "1 memory was learned.",
    )
    week.remember(FACT, Kind.FACT)
    week.mind.recall(ABOUT)
    assert week.mind.history.week().sentences == (
        "Agents got 1 memory in 1 session.",
        "1 question found memories.",
        "2 memories were learned.",
    )
    assert week.mind.maintenance.status().week == week.mind.history.week().sentences
    clock.advance(days=9)
    assert week.mind.history.week().sentences == ()
