"""What a person rejected, took back or erased stays out on every path, in every scope and spelling."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hivemind import Hivemind, Scope
from hivemind.errors import Refused
from hivemind.hivemind import make_context
from hivemind.hub.store import HubDatabase
from hivemind.model.claim import Claim
from hivemind.model.memory import Channel, Status, Writer
from hivemind.model.recall import Recall
from hivemind.model.scope import Repository
from hivemind.sessions import spool
from hivemind.settings import Settings
from hivemind.store.store import Store
from hivemind.text.excluded_text import MARK, ErasedTextFilter, make_imprint
from tests.command_line import residue, run, run_json
from tests.conftest import AGENT, Clock, Open, Tally, git
from tests.hub.hubs import Line, reviewer, writer
from tests.sessions.sessions import Told

Make = Callable[..., Path]

VALUE = "Invoices of customer Zabrowski are paid by Nordbank every second Friday"
OTHER = "Invoices of customer Quillfeather are paid by Westbank every first Monday"
"""The positive control: it takes the same way and arrives."""

SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it was": str,
    "in capitals": str.upper,
    "with other white space": lambda text: text.replace(" ", " \t\n ", 3).replace(" ", "  "),
    "with other punctuation": lambda text: f"«{text.replace(' of ', ' – of – ')}»!".replace("«", '"').replace("»", '"'),
    "in look-alike letters": lambda text: text.replace("o", "о").replace("a", "а").replace("e", "е"),
    "with invisible characters": lambda text: text.replace("i", "i\u200b"),
    "with accents": lambda text: text.replace("a", "a\u0301"),
}


def texts(found: Recall) -> list[str]:
    return [hit.memory.text for hit in found.hits]


def give_verdict(mind: Hivemind, verdict: str, memory_id: str) -> None:
    match verdict:
        case "rejected":
            mind.reject(memory_id)
        case "retracted":
            mind.forget(memory_id)
        case _:
            mind.erase(memory_id)


def decide(mind: Hivemind, verdict: str, text: str = VALUE, **more: object) -> str:
    """Let a person decide against a text."""
    memory = mind.remember(text, **more)  # type: ignore[arg-type]
    give_verdict(mind, verdict, memory.id)
    return memory.id


def standing(mind: Hivemind) -> list[str]:
    kept = (Status.ACTIVE, Status.DISPUTED, Status.PROPOSED)
    return [one.text for one in mind.list(everywhere=True, limit=1000) if one.status in kept]


def hook(home: Path, directory: Path, text: str, number: int = 1, session: str = "s1") -> None:
    """What an agent's hook leaves of one tool call."""
    told = {
        "session_id": session, "cwd": str(directory), "tool_use_id": f"t{number}", "tool_name": "Bash",
        "tool_input": {"command": "cat notes.md"}, "tool_response": {"stdout": text, "stderr": ""},
    }  # fmt: skip
    spool.append(str(home), "claude-code", "PostToolUse", "2026-03-01T12:00:00.000000Z", json.dumps(told))


def observed(mind: Hivemind) -> str:
    _, steps = mind.sessions.show(everywhere=True)
    return "\n".join(step.output + step.text + step.input for step in steps)


# -- ways in that somebody walks on purpose -----------------------------------------------------------


WAYS: dict[str, Callable[[Hivemind, str], object]] = {
    "remember for the project": lambda mind, text: mind.remember(text),
    "remember for the user": lambda mind, text: mind.remember(text, scope=Scope.USER),
    "remember for the team": lambda mind, text: mind.remember(text, scope=Scope.TEAM),
    "revise": lambda mind, text: mind.edit(mind.remember(f"A note of {mind.speaker}").id, text),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("verdict", ["rejected", "erased"])
def test_what_was_rejected_or_erased_is_refused_in_every_scope_and_spelling(
    open_mind: Open, tally: Tally, verdict: str, way: str
) -> None:
    person, agent = open_mind(), open_mind(writer=AGENT)
    decide(person, verdict)
    refused = 0
    for spell in SPELLINGS.values():
        for mind in (person, agent):
            with pytest.raises(Refused, match=f"its value was {verdict} before"):
                WAYS[way](mind, spell(VALUE))
            refused += 1

    WAYS[way](person, OTHER)

    assert OTHER in standing(person)
    assert VALUE not in standing(person)
    tally(f"{verdict} values said again: {way}", refused, refused)


@pytest.mark.parametrize("way", WAYS)
def test_what_a_person_took_back_is_refused_from_an_agent_and_a_person_may_say_it_again(
    open_mind: Open, way: str
) -> None:
    person, agent = open_mind(), open_mind(writer=AGENT)
    decide(person, "retracted")
    for spell in SPELLINGS.values():
        with pytest.raises(Refused, match="its value was retracted before"):
            WAYS[way](agent, spell(VALUE))

    WAYS[way](agent, OTHER)
    WAYS[way](person, VALUE)

    assert {VALUE, OTHER} <= set(standing(person))


def test_what_an_agent_took_back_may_be_said_again(open_mind: Open) -> None:
    agent = open_mind(writer=AGENT)
    agent.forget(agent.remember(VALUE).id)

    assert agent.remember(VALUE).status is Status.ACTIVE


def test_a_value_rejected_in_one_repository_may_hold_in_another_but_not_everywhere(
    open_mind: Open, make_repository: Make
) -> None:
    here, there = open_mind(make_repository("here")), open_mind(make_repository("there"))
    decide(here, "rejected")

    assert there.remember(VALUE).status is Status.ACTIVE
    with pytest.raises(Refused):
        there.remember(VALUE, scope=Scope.USER)


def test_a_value_rejected_for_the_user_is_refused_in_every_repository(open_mind: Open, make_repository: Make) -> None:
    here, there = open_mind(make_repository("here")), open_mind(make_repository("there"))
    decide(here, "rejected", scope=Scope.USER)

    for mind in (here, there):
        with pytest.raises(Refused):
            mind.remember(VALUE)
        assert mind.remember(OTHER)


def test_a_rejection_outlives_a_repository_getting_a_remote(open_mind: Open, make_repository: Make) -> None:
    root = make_repository("api")
    decide(open_mind(root), "rejected")
    git(root, "remote", "add", "origin", "https://github.com/acme/api.git")
    renamed = open_mind(root)
    renamed.remember(OTHER)

    with pytest.raises(Refused):
        renamed.remember(VALUE)


@pytest.mark.parametrize("verdict", ["rejected", "retracted"])
def test_restoring_lifts_a_verdict(open_mind: Open, verdict: str) -> None:
    person, agent = open_mind(), open_mind(writer=AGENT)
    person.restore(decide(person, verdict))

    assert agent.remember(VALUE, scope=Scope.USER).status is Status.ACTIVE


def test_a_longer_memory_that_contains_an_erased_text_is_refused(open_mind: Open) -> None:
    person, agent = open_mind(), open_mind(writer=AGENT)
    decide(person, "erased")
    decide(person, "erased", "Use pnpm")

    for mind in (person, agent):
        with pytest.raises(Refused, match="erased"):
            mind.remember(f"For the record: {VALUE.lower()}, as ever.")
        # Two words are no secret: what merely has them in it is something else.
        assert mind.remember(f"Use pnpm to install, says {mind.speaker}")


# -- import --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", Scope)
@pytest.mark.parametrize("verdict", ["rejected", "retracted", "erased"])
@pytest.mark.parametrize("approve", [False, True])
def test_an_import_brings_nothing_back(
    open_mind: Open, tmp_path: Path, tally: Tally, verdict: str, scope: Scope, approve: bool
) -> None:
    elsewhere = open_mind(home=tmp_path / "elsewhere")
    for spell in SPELLINGS.values():
        elsewhere.remember(spell(VALUE) + "\n", scope=scope)
        elsewhere.forget(elsewhere.list(limit=1)[0].id)
        elsewhere.restore(elsewhere.list(limit=1, statuses=(Status.RETRACTED,))[0].id)
    elsewhere.remember(OTHER, scope=scope)
    lines = list(elsewhere.files.export_lines())
    mind = open_mind()
    decide(mind, verdict)

    done = mind.files.import_lines(lines, approve=approve)

    assert (done.new, done.refused) == (1, len(lines) - 1)
    assert standing(mind) == [OTHER]
    tally(f"{verdict} values imported", done.refused, done.refused)


def test_a_quotation_that_an_import_brings_loses_what_was_erased(open_mind: Open, home: Path) -> None:
    mind = open_mind()
    line = {
        "hivemind": 1, "id": "a" * 32, "kind": "fact", "text": OTHER, "owner": "bob", "scope": "project", "repo": "",
        "sources": [{"channel": "agent", "quote": f"He said: {VALUE}. And left."}],
    }  # fmt: skip
    decide(mind, "erased")

    mind.files.import_lines([json.dumps(line)])

    assert mind.show("a" * 32).sources[0].quote == f"He said: {MARK}. And left."
    assert not residue(home, b"Zabrowski")


# -- instruction files ---------------------------------------------------------------------------------


@pytest.mark.parametrize("heading", ["", "# Money\n\n"])
@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("verdict", ["rejected", "retracted", "erased"])
def test_instruction_files_bring_nothing_back_and_the_line_is_reported(
    open_mind: Open, make_repository: Make, tally: Tally, verdict: str, spelling: str, heading: str
) -> None:
    root = make_repository("api")
    mind = open_mind(root)
    decide(mind, verdict)
    said = " ".join(SPELLINGS[spelling](VALUE).split())
    (root / "AGENTS.md").write_text(f"{heading}- {said}\n- {OTHER}\n")

    synced = mind.files.sync_instructions()

    assert [(one.file, one.why) for one in synced.kept_out] == [("AGENTS.md", verdict)]
    assert (synced.said, synced.new) == (2, 1)
    assert [text.removeprefix("Money: ") for text in standing(mind)] == [OTHER]
    assert verdict != "erased" or synced.kept_out[0].text == ""
    tally(f"{verdict} lines of instruction files", 1, 1)


@pytest.mark.parametrize("verdict", ["rejected", "retracted", "erased"])
def test_a_line_of_a_file_that_a_person_decided_against_stays_out_however_often_files_are_read(
    open_mind: Open, make_repository: Make, verdict: str
) -> None:
    root = make_repository("api")
    mind = open_mind(root)
    file = root / "AGENTS.md"
    file.write_text(f"# Money\n\n- {VALUE}\n- {OTHER}\n")
    mind.files.sync_instructions()
    wrong = next(one for one in mind.list() if "Zabrowski" in one.text)
    give_verdict(mind, verdict, wrong.id)

    file.write_text(f"# Accounting\n\n- {VALUE}\n- {OTHER}\n")
    (root / "CLAUDE.md").write_text(f"{VALUE}\n")
    under_another_heading = mind.files.sync_instructions()
    file.write_text("")
    mind.files.sync_instructions()
    file.write_text(f"# Money\n\n- {VALUE}\n- {OTHER}\n")
    as_before = mind.files.sync_instructions()

    assert [(one.file, one.why) for one in under_another_heading.kept_out] == [
        ("AGENTS.md", verdict), ("CLAUDE.md", verdict),
    ]  # fmt: skip
    assert ("AGENTS.md", verdict) in [(one.file, one.why) for one in as_before.kept_out]
    assert not [text for text in standing(mind) if "Zabrowski" in text]
    assert f"Money: {OTHER}" in standing(mind)


def test_a_line_that_only_left_its_file_comes_back_with_it(open_mind: Open, make_repository: Make) -> None:
    root = make_repository("api")
    mind = open_mind(root)
    (root / "AGENTS.md").write_text(f"- {VALUE}\n")
    mind.files.sync_instructions()
    (root / "AGENTS.md").write_text("")
    assert mind.files.sync_instructions().gone == 1
    (root / "AGENTS.md").write_text(f"- {VALUE}\n")

    synced = mind.files.sync_instructions()

    assert (synced.new, synced.kept_out) == (1, ())
    assert standing(mind) == [VALUE]


def test_the_command_line_says_which_lines_stay_out(make_repository: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_repository("api")
    monkeypatch.chdir(root)
    (root / "AGENTS.md").write_text(f"- {VALUE}\n")
    run("import", "rules")
    run("reject", run_json("list")[0]["id"])

    done = run("import", "rules")

    assert "0 new" in done.stdout
    assert "AGENTS.md:1 was rejected earlier and stays out: Invoices of customer Zabrowski" in done.stderr


# -- what agents do ------------------------------------------------------------------------------------


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_an_observation_is_stored_without_the_erased_text_in_it(
    open_mind: Open, home: Path, tmp_path: Path, tally: Tally, spelling: str
) -> None:
    mind = open_mind()
    decide(mind, "erased")
    said = SPELLINGS[spelling](VALUE)

    hook(home, tmp_path, f"$ cat notes\nFirst {OTHER}.\nThen {said}, and so on.")
    mind.sessions.take_in_spool()

    assert OTHER in observed(mind)
    assert MARK in observed(mind).partition("Then")[2]
    assert "and so on." in observed(mind)
    assert not residue(home, b"Zabrowski")
    assert not residue(home, said.encode())
    tally("erased texts in what a hook told", 1, 1)


def test_an_erased_text_is_found_as_agents_print_and_quote_files(open_mind: Open, home: Path, tmp_path: Path) -> None:
    mind = open_mind()
    decide(mind, "erased")
    first, second = VALUE[:34], VALUE[34:]
    shapes = [
        f"     1→# Money\n     2→- {first}\n     3→  {second}\n     4→- {OTHER}",
        f"1\t- {first}\n2\t{second}\n3\t- {OTHER}",
        json.dumps({"content": f"- {first}\n  {second}\n- {OTHER}"}),
        f"diff\n+- {first}\n+  {second}\n+- {OTHER}",
        f"# {first}\n# {second}\n# {OTHER}",
        f"{' '.join(VALUE.split()[:8])} … {OTHER}",
    ]
    for number, shape in enumerate(shapes):
        hook(home, tmp_path, shape, number)

    mind.sessions.take_in_spool()

    _, steps = mind.sessions.show(everywhere=True)
    assert len(steps) == len(shapes)
    assert all(MARK in step.output and "Quillfeather" in step.output for step in steps)
    assert not residue(home, b"Zabrowski")


def test_a_short_erased_text_goes_only_as_a_whole(open_mind: Open, home: Path, tmp_path: Path) -> None:
    mind = open_mind()
    decide(mind, "erased", "Call Ms Zabrowski")
    decide(mind, "erased", "ok")

    hook(home, tmp_path, "ok: you should call Ms. Zabrowski or call Ms. Smith, not Zabrowski & sons")
    mind.sessions.take_in_spool()

    assert f"ok: you should {MARK} or call Ms. Smith, not Zabrowski & sons" in observed(mind)


def test_rejected_values_are_still_observed(open_mind: Open, home: Path, tmp_path: Path) -> None:
    mind = open_mind()
    decide(mind, "rejected")
    hook(home, tmp_path, VALUE)
    mind.sessions.take_in_spool()

    assert VALUE in observed(mind)


def test_a_first_backfill_brings_no_erased_text(open_mind: Open, home: Path, make_repository: Make) -> None:
    root = make_repository("api")
    mind = open_mind(root)
    decide(mind, "erased")
    told = Told(root, Path.home())
    told.asked(f"No, {VALUE}. Please use the {OTHER} rule.").said(f"You say: {VALUE}").ran("cat x", VALUE).keep()

    done = mind.sessions.import_transcripts()

    assert done.new >= 3
    assert "Quillfeather" in observed(mind)
    assert MARK in observed(mind)
    assert not residue(home, b"Zabrowski")


def test_a_question_that_quotes_an_erased_text_leaves_a_receipt_without_it(open_mind: Open, home: Path) -> None:
    mind = open_mind()
    decide(mind, "erased")
    mind.remember(OTHER)

    assert texts(mind.recall(f"invoices Quillfeather Westbank? I heard that {VALUE}"))

    assert mind.history.receipts()[0].query == f"invoices Quillfeather Westbank? I heard that {MARK}"
    assert not residue(home, b"Zabrowski")


# -- a team --------------------------------------------------------------------------------------------


@pytest.fixture(params=["sqlite", "postgres"])
def team(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """Where a team's log is kept, on either engine."""
    from tests.postgres import new_team

    if request.param == "sqlite":
        return Store.open(tmp_path / "hub")
    hub: HubDatabase = request.getfixturevalue("hub")
    return hub.open_team(new_team(hub))


@pytest.fixture
def member(tmp_path: Path, clock: Clock) -> Callable[[str], Hivemind]:
    def open_for(person: str) -> Hivemind:
        where = Repository(id="remote:example.org/acme/api", root="/nowhere/api")
        settings = Settings(home=tmp_path / person, person=person)
        who = Writer(actor=person, channel=Channel.PERSON)
        return Hivemind(make_context(Store.open(tmp_path / person), settings, where, who, clock))

    return open_for


@pytest.mark.parametrize("verdict", ["rejected", "erased"])
def test_a_hub_refuses_what_the_team_decided_against(
    team: Store, member: Callable[[str], Hivemind], tally: Tally, verdict: str
) -> None:
    alice, bob = member("alice"), member("bob")
    alice.team.sync(Line(team, reviewer("alice")))
    bob.team.sync(Line(team, writer("bob")))
    decide(alice, verdict, scope=Scope.TEAM)
    alice.team.sync(Line(team, reviewer("alice")))
    # Bob has not heard of it yet, so his own machine takes it.
    for spell in SPELLINGS.values():
        bob.remember(f"{spell(VALUE)}{' ' if verdict == 'rejected' else ', he said'}", scope=Scope.TEAM)
    bob.remember(OTHER, scope=Scope.TEAM)

    done = bob.team.sync(Line(team, writer("bob")))
    alice.team.sync(Line(team, reviewer("alice")))

    assert done.refused
    assert all(verdict in reason for _, reason in done.refused)
    assert standing(alice) == standing(bob) == [OTHER]
    tally(f"{verdict} values brought to a hub", len(done.refused), len(done.refused))


@pytest.mark.parametrize("verdict", ["rejected", "erased"])
def test_what_a_person_decided_against_for_themselves_does_not_come_from_the_team(
    team: Store, member: Callable[[str], Hivemind], verdict: str
) -> None:
    alice, bob = member("alice"), member("bob")
    mine = decide(bob, verdict)
    alice.remember(VALUE.upper(), scope=Scope.TEAM)
    alice.remember(OTHER, scope=Scope.TEAM)
    alice.team.sync(Line(team, writer("alice")))

    bob.team.sync(Line(team, writer("bob")))
    assert standing(bob) == [OTHER]
    assert bob.maintenance.audit() == ()

    if verdict == "rejected":
        bob.restore(mine)
        bob.team.sync(Line(team, writer("bob")))
        assert VALUE.upper() in standing(bob)
    assert sorted(standing(alice)) == sorted([VALUE.upper(), OTHER])


def test_a_hub_refuses_what_the_team_erased_in_every_field_and_passes_it_to_nobody(
    team: Store, member: Callable[[str], Hivemind]
) -> None:
    alice, bob = member("alice"), member("bob")
    alice.team.sync(Line(team, reviewer("alice")))
    bob.team.sync(Line(team, writer("bob")))
    decide(alice, "erased", scope=Scope.TEAM)
    alice.team.sync(Line(team, reviewer("alice")))
    # Bob has not heard of it yet.
    bob.remember("The till is red", scope=Scope.TEAM, metadata={"customer": VALUE})
    bob.remember("The till is blue", scope=Scope.TEAM, subject=VALUE.upper())
    kept = bob.remember(OTHER, scope=Scope.TEAM)
    bob.tag(kept.id, add=[VALUE])
    bob.review.verify(kept.id, reason=f"he wrote: {VALUE}")

    done = bob.team.sync(Line(team, writer("bob")))
    alice.team.sync(Line(team, reviewer("alice")))

    assert len(done.refused) == 4
    assert standing(alice) == [OTHER]
    assert "zabrowski" not in " ".join(str(row) for row in team.db.execute("SELECT content FROM bodies")).lower()
    assert (
        "zabrowski"
        not in " ".join(str(row) for row in alice._context.store.db.execute("SELECT content FROM bodies")).lower()
    )


def test_a_field_that_a_person_erased_for_themselves_does_not_come_from_the_team(
    team: Store, member: Callable[[str], Hivemind]
) -> None:
    alice, bob = member("alice"), member("bob")
    decide(bob, "erased")
    alice.remember("The till is red", scope=Scope.TEAM, metadata={"customer": VALUE})
    alice.remember(OTHER, scope=Scope.TEAM)
    alice.team.sync(Line(team, writer("alice")))

    bob.team.sync(Line(team, writer("bob")))

    assert standing(bob) == [OTHER]
    assert len(standing(alice)) == 2


def test_a_rejected_memory_of_the_team_keeps_its_history_when_it_is_read_again(
    team: Store, member: Callable[[str], Hivemind]
) -> None:
    alice, carol = member("alice"), member("carol")
    rejected = decide(alice, "rejected", scope=Scope.TEAM)
    alice.team.sync(Line(team, reviewer("alice")))
    carol.team.sync(Line(team, writer("carol")))
    carol.team.logout()
    carol.team.sync(Line(team, writer("carol")))

    assert carol.show(rejected).status is Status.RETRACTED
    assert [step.what for step in carol.history.steps(rejected)] == ["remembered", "rejected"]


# -- imprints ------------------------------------------------------------------------------------------


def test_an_imprint_holds_no_word_and_differs_from_store_to_store() -> None:
    kept = make_imprint(VALUE, b"one key")

    assert kept != make_imprint(VALUE, b"another key")
    assert not any(word.lower() in kept for word in VALUE.split())
    assert ErasedTextFilter({b"one key": [kept]}).replace_erased_texts(f"so {VALUE}.") == f"so {MARK}."
    assert ErasedTextFilter({b"another key": [kept]}).replace_erased_texts(VALUE) == VALUE


@pytest.mark.parametrize("bent", ["", ":", "0:", "x", "6:zz", "7:" + "0" * 21, "-1:" + "0" * 21, "999999:" + "0" * 21])
def test_an_imprint_that_is_not_well_formed_finds_nothing_and_harms_nothing(bent: str) -> None:
    text_filter = ErasedTextFilter({b"key": [bent, make_imprint(VALUE, b"key")]})

    assert text_filter.replace_erased_texts(f"so {VALUE}.") == f"so {MARK}."
    assert text_filter.replace_erased_texts(OTHER) == OTHER


def test_stores_erased_before_there_were_imprints_still_refuse_the_value(open_mind: Open) -> None:
    mind = open_mind()
    decide(mind, "erased")
    mind._context.store.db.execute("DELETE FROM erased_texts")

    with pytest.raises(Refused):
        mind.remember(VALUE)
    assert mind.remember(OTHER)


def test_a_refused_claim_is_on_record_alone_and_among_others(mind: Hivemind) -> None:
    decide(mind, "rejected")

    for claims in ([Claim(text=VALUE)], [Claim(text="Something else altogether"), Claim(text=VALUE)]):
        with pytest.raises(Refused):
            mind.remember_all(claims)

    refusals = [entry for entry in mind.history.log() if entry.fact == "write.refused"]
    assert len(refusals) == 2
    assert "Something else altogether" not in [memory.text for memory in mind.list()]
