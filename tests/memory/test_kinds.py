"""The kind of a note by its words, at every door, and on notes that were set aside before the rules were written."""

from pathlib import Path

import pytest

from hivemind import Hivemind, Kind
from hivemind.memory.kinds import tell_kind
from hivemind.model.claim import Claim
from tests.command_line import run, run_json
from tests.mcp.client import connected

NOTES = [line.split("\t") for line in Path(__file__).with_name("kinds.tsv").read_text().splitlines()[1:]]
DECISION = "we decided to go with Postgres"
RULES = {Kind.CONVENTION, Kind.REQUIREMENT}


@pytest.mark.parametrize(("part", "least"), [("seen", 43), ("held_out", 46)])
def test_careless_notes_get_the_kind_a_reader_gives_them(part: str, least: int) -> None:
    notes = [(Kind(kind), text) for name, kind, text in NOTES if name == part]
    right = [text for kind, text in notes if tell_kind(text) is kind or {kind, tell_kind(text)} == RULES]

    assert len(right) >= least, sorted({text for _, text in notes} - {*right})


def test_a_rule_about_the_product_is_a_requirement() -> None:
    assert tell_kind("The API must respond within 200 ms") is Kind.REQUIREMENT
    assert tell_kind("REQ-12: exports contain no names") is Kind.REQUIREMENT
    assert tell_kind("The requirement is 300 ms") is Kind.REQUIREMENT
    assert tell_kind("CI installs from requirements.txt") is Kind.FACT


def test_a_long_note_or_a_question_is_a_fact() -> None:
    assert tell_kind("Should we always use tabs?") is Kind.FACT
    assert tell_kind(f"{'The report lists what was measured. ' * 20} Always run it twice.") is Kind.FACT


def test_python_tells_the_kind_unless_it_is_given(mind: Hivemind) -> None:
    told, given = mind.remember(DECISION), mind.remember("never push to main", kind=Kind.FACT)
    (text, claim, other) = mind.remember_all(
        ["I prefer tabs", Claim(text="never use tabs here", kind=Kind.FACT), {"content": "always x", "type": "fix"}]
    )

    assert (told.kind, given.kind) == ("decision", "fact")
    assert (text.kind, claim.kind, other.kind) == ("preference", "fact", "fix")


def test_the_command_line_says_what_it_took_a_note_for_and_how_to_change_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = run("remember", DECISION)
    (memory,) = run_json("list")

    assert "decision" in told.stdout
    assert f"hivemind edit {memory['id'][:8]} --kind fact" in told.stderr
    assert run_json("edit", memory["id"], "--kind", "fact")["kind"] == "fact"
    given = run("remember", "always sync the clock first", "--kind", "fact")
    assert "fact" in given.stdout
    assert "by its words" not in given.stderr
    assert "by its words" not in run("remember", "Staging lives behind the VPN").stderr


def test_an_agent_is_told_the_kind_that_the_words_gave(tmp_path: Path) -> None:
    with connected(tmp_path) as client:
        client.shake_hands(name="codex")
        told, _ = client.call("remember", text=DECISION)
        given, _ = client.call("remember", text="never push to main", kind="fact")

    assert "kind decision" in told
    assert "by its words" not in given
