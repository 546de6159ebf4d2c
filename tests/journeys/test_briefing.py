"""What is said unasked: within its budget, in a steady order, never what is not sure or not from here."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from hivemind import Hivemind
from hivemind.model.memory import Channel, Kind, Writer
from hivemind.model.scope import Scope
from hivemind.recall.rendering import count_tokens
from tests.command_line import run, run_json
from tests.conftest import AGENT, Open, git


def without_receipt(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if "Receipt" not in line)


def test_the_brief_says_what_holds_here_and_nothing_else(open_mind: Open, make_repository: Callable[..., Path]) -> None:
    here, elsewhere = make_repository("here"), make_repository("elsewhere")
    open_mind(elsewhere).remember("Elsewhere we use tabs", kind=Kind.CONVENTION)
    mind = open_mind(here)
    mind.remember("Deploys run from main", kind=Kind.DECISION)
    mind.remember("Four spaces", kind=Kind.CONVENTION)
    mind.remember("Answer in English", kind=Kind.PREFERENCE, scope=Scope.USER)
    mind.remember("Maybe use yarn", kind=Kind.CONVENTION, propose=True)
    mind.remember("The database is called heron")
    open_mind(here, writer=AGENT).remember("The sky was grey", kind=Kind.FACT)
    mind.forget(mind.remember("Six spaces", kind=Kind.CONVENTION).id)

    said = mind.brief().text

    texts = ("The database is called heron", "Four spaces", "Deploys run from main", "Answer in English")
    assert [line.partition(" [")[0] for line in said.splitlines() if line[0] == "-"] == [f"- {text}" for text in texts]
    assert not any(text in said for text in ("tabs", "yarn", "grey", "Six"))


def test_what_is_in_doubt_is_said_to_be(mind: Hivemind) -> None:
    one = mind.remember("Builds run with make", kind=Kind.PROCEDURE)
    other = mind.remember("Never call make, use ninja", kind=Kind.PROCEDURE)
    mind.review.dispute(one.id, other.id)
    mind.remember("Four spaces", kind=Kind.CONVENTION)

    first, *doubts = [line for line in mind.brief().text.splitlines() if line[0] == "-"]

    assert "Four spaces" in first
    assert "disputed" not in first
    assert len(doubts) == 2
    assert any("Builds" in line and f"disputed by {other.id[:8]}" in line for line in doubts)


def test_a_label_stands_behind_the_text_and_says_the_kind_only_to_those_who_ask(mind: Hivemind) -> None:
    memory = mind.remember("Four spaces", kind=Kind.CONVENTION)

    label = f"[{memory.id[:8]} · person · {memory.stated_at[:10]}]"
    assert f"\n- Four spaces {label}\n" in mind.brief().text
    assert f"\n- Four spaces [{memory.id[:8]} · convention · person · " in mind.recall("how many spaces").text


def test_what_others_merged_overnight_is_judged_before_the_first_brief(
    open_mind: Open, make_repository: Callable[..., Path]
) -> None:
    here = make_repository("here")
    (here / "pay.py").write_text("def charge(card):\n    return card.bank.take(card.amount)\n")
    (here / "ship.py").write_text("def ship(parcel):\n    return parcel.send()\n")
    git(here, "add", ".")
    git(here, "commit", "-m", "pay and ship")
    mind = open_mind(here)
    mind.remember("Cards are charged once", kind=Kind.CONVENTION, links=["pay.py::charge"])
    mind.remember("The bank answers within a second", kind=Kind.FACT, links=["pay.py::charge"])
    agent = open_mind(here, writer=AGENT)
    agent.remember("Parcels go out at noon", kind=Kind.FACT, links=["ship.py::ship"])
    evening = mind.brief().text
    git(here, "checkout", "-qb", "theirs")
    (here / "pay.py").write_text("def charge(card, retries):\n    return queue.put(Charge(card, retries))\n")
    git(here, "commit", "-am", "charge by queue")
    git(here, "checkout", "-q", "-")
    git(here, "merge", "-q", "theirs")

    morning, again = mind.brief().text, mind.brief().text
    git(here, "revert", "--no-edit", "HEAD")
    healed = mind.brief().text

    doubts = [line for line in morning.splitlines() if "verify before acting" in line]
    assert "verify" not in evening
    assert "Cards are charged once" in evening
    assert sorted(line.partition(" [")[0] for line in doubts) == [
        "- Cards are charged once", "- The bank answers within a second",
    ]  # fmt: skip
    assert all("`card` → `card, retries`" in line for line in doubts)
    assert "Parcels" not in morning
    assert without_receipt(again) == without_receipt(morning)
    assert without_receipt(healed) == without_receipt(evening)


def test_doubts_stay_within_the_budget_of_the_brief(open_mind: Open, make_repository: Callable[..., Path]) -> None:
    here = make_repository("here")
    (here / "pay.py").write_text("def charge(card):\n    return card.bank.take(card.amount)\n")
    mind = open_mind(here)
    for number in range(40):
        kind = Kind.CONVENTION if number % 2 else Kind.FACT
        said = f"Rule {number} of charging {chr(97 + number % 26) * 7}: {'ask the bank first ' * 6}{number}"
        mind.remember(said, kind=kind, links=["pay.py::charge"])
    (here / "pay.py").write_text("def charge(card, retries):\n    return queue.put(Charge(card, retries))\n")

    said = mind.brief().text

    assert "verify before acting" in said
    assert count_tokens(said) <= mind._context.settings.brief_tokens


def test_the_brief_is_the_same_each_time_but_for_its_receipt(mind: Hivemind) -> None:
    for number in range(5):
        mind.remember(f"Rule {number} about {'abcde'[number] * 5}", kind=Kind.CONVENTION)

    first, second = mind.brief(), mind.brief()

    assert without_receipt(first.text) == without_receipt(second.text)
    assert first.receipt != second.receipt
    assert str(first.receipt) in first.text


def test_the_brief_keeps_its_budget_and_what_is_trusted_most(open_mind: Open) -> None:
    agent = open_mind(writer=AGENT)
    for number in range(80):
        agent.remember(
            f"Agents noted detail {number:03d} of module {number * 7919}: " + "word " * 20, kind=Kind.CONVENTION
        )
    person = open_mind()
    person.remember("The person's own rule: never push to main", kind=Kind.DECISION)

    said = person.brief().text

    assert "never push to main" in said
    assert 800 < count_tokens(said) <= 1200


def test_no_kind_keeps_the_others_out_of_the_brief_and_what_did_not_fit_is_counted(mind: Hivemind) -> None:
    for number in range(60):
        name = "".join("abcdefghij"[int(digit)] for digit in str(number * 7919))
        mind.remember(f"Decision about the {name} service and its {name} tables", kind=Kind.DECISION)
    mind.remember("Four spaces", kind=Kind.CONVENTION)
    mind.remember("Answer in English", kind=Kind.PREFERENCE)
    mind.remember("The database is called heron")

    told = mind.brief()

    assert all(text in told.text for text in ("Four spaces", "Answer in English", "heron", "Decision"))
    assert f"{63 - len(told.hits)} more that did not fit: the `recall` tool" in told.text


def test_a_session_is_not_told_twice_and_receipts_say_what_it_was_told(open_mind: Open) -> None:
    person = open_mind()
    decision = person.remember("Deploys run on Fridays from main", kind=Kind.DECISION)
    fact = open_mind(writer=AGENT).remember("The staging database is called heron")
    agent = open_mind(writer=replace(AGENT, session_id="s9"))

    agent.brief()
    agent.on_prompt("connect to the staging database")
    silent = [agent.brief().text, agent.on_prompt("is the staging database heron?").text]
    agent.recall("staging database", limit=1)

    shown = [line.memory_id for line in agent.history.receipts("s9")]
    assert silent == ["", ""]
    assert sorted(shown) == sorted([decision.id, fact.id, fact.id])


def test_nothing_is_said_where_the_settings_say_so(open_mind: Open, home: Path) -> None:
    open_mind(Path.cwd()).remember("Deploys run on Fridays from main", kind=Kind.DECISION)
    loud = run("brief").stdout

    (home / "config.toml").write_text("brief_tokens = 0\nprompt_tokens = 0\n")

    assert "Fridays" in loud
    assert run("brief").stdout == ""
    assert run("brief", "--prompt", "deploys on Fridays from main").stdout == ""


def test_tokens_are_counted_for_each_session(open_mind: Open) -> None:
    open_mind().remember("Deploys run on Fridays from main", kind=Kind.DECISION)
    for session in ("a1", "b2"):
        agent = open_mind(writer=Writer(actor="codex", channel=Channel.AGENT, session_id=session))
        agent.brief()
        agent.recall("when do deploys run")
    open_mind(writer=Writer(actor="codex", channel=Channel.AGENT, session_id="c3")).brief()

    spent = {one["session_id"]: one for one in run_json("status", "--tokens")}

    assert (spent["a1"]["briefs"], spent["a1"]["prompts"], spent["a1"]["recalls"]) == (1, 0, 1)
    assert [spent[name]["told_before"] for name in ("a1", "b2", "c3")] == [0, 2, 1]
    assert [spent[name]["not_looked_up"] for name in ("a1", "b2", "c3")] == [0, 0, 1]
    assert spent["b2"]["unasked_tokens"] > 0
    assert spent["b2"]["asked_tokens"] > 0
    assert "3 memories had been shown to an earlier session too" in run("status", "--tokens").stderr


def fill_with_decisions(mind: Hivemind, count: int = 20) -> None:
    for number in range(count):
        reason = f"because the {'abcdefghij'[number % 10] * 7} service failed {number * 7919} times " + "in a row " * 12
        mind.remember(f"Decision {number}: retry {number} {reason}", kind=Kind.DECISION)


def test_decisions_leave_room_for_commands_and_preferences(open_mind: Open) -> None:
    mind = open_mind()
    commands = ("`go test ./...` runs the tests here", "`golangci-lint run` checks style here", "`make build` builds")
    # Older than the decisions, and known to less trusted writers only: still in the brief.
    for text in commands:
        open_mind(writer=AGENT).remember(text, kind=Kind.PROCEDURE)
    mind.remember("Answer in English", kind=Kind.PREFERENCE)
    fill_with_decisions(mind)

    brief = mind.brief().text

    assert all(text in brief for text in (*commands, "Answer in English"))
    assert brief.count("Decision ") > 3
    assert count_tokens(brief) <= 1200


def test_a_command_is_not_missing_because_a_file_calls_it_a_convention(mind: Hivemind) -> None:
    mind.remember("Testing: run `pytest -q` before each commit", kind=Kind.CONVENTION)
    for number in range(60):
        mind.remember(
            f"Rule {number} about {'abcdefghij'[number % 10] * 8} {number * 7919} " + "and more " * 8,
            kind=Kind.CONVENTION,
        )

    assert "`pytest -q`" in mind.brief().text


def test_what_was_asked_for_often_comes_before_what_nobody_asked_for(mind: Hivemind) -> None:
    text = "Decision zero: invoices are numbered per country, " + "because the tax office of each asks for it, " * 4
    wanted = mind.remember(text, kind=Kind.DECISION)
    fill_with_decisions(mind, 40)
    before = mind.brief().text
    for _ in range(4):
        mind.recall("how are invoices numbered per country?", limit=1)

    after = mind.brief().text

    assert wanted.text not in before
    assert wanted.text in after


def test_a_prompt_that_needs_a_command_gets_it_and_another_prompt_does_not(mind: Hivemind) -> None:
    mind.remember("`go test ./...` runs the tests here", kind=Kind.PROCEDURE)
    mind.remember("`golangci-lint run` checks style here", kind=Kind.PROCEDURE)
    mind.remember("`make build` builds", kind=Kind.PROCEDURE)

    both = mind.on_prompt("fix the failing lint in internal/gitproto and run the tests").text
    neither = mind.on_prompt("explain how gitproto parses packets").text

    assert "`go test ./...`" in both
    assert "`golangci-lint run`" in both
    assert "make build" not in both
    assert neither == ""


def test_what_fits_the_task_comes_before_the_rest_of_the_brief(mind: Hivemind) -> None:
    fill_with_decisions(mind)
    mind.remember("Parcels are weighed in grams", kind=Kind.FACT)

    text = mind.context("change how parcels are weighed").text

    assert text.index("Parcels are weighed in grams") < text.index("Decision ")
