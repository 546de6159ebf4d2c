"""Erasing everything that names a person, customer, ticket or value."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hivemind import Hivemind, Scope
from hivemind.erase.by_name import NamePattern
from hivemind.errors import InvalidInput, Refused
from hivemind.hivemind import make_context
from hivemind.model.erasure import Mentions, MentionSort
from hivemind.model.memory import Channel, Writer
from hivemind.model.review import Selection
from hivemind.model.scope import Repository
from hivemind.sessions import spool
from hivemind.settings import Settings
from hivemind.store.store import Store
from tests.command_line import residue, run, run_json
from tests.conftest import AGENT, Clock, Open, Tally
from tests.hub.hubs import Line, reviewer, writer

Make = Callable[..., Path]

NAMED: dict[str, tuple[list[str], list[str]]] = {
    "ACME Corp": (
        ["ACME Corp", "acme-corp", "ACME_Corp", "AcmeCorp", "Acme Corp's deal", "the acme corps", "acme.corp.example",
         "AcmeCorpClient", "ACME\n   Corp", "ACMECORP", "Äcmé Corp", "аcme соrp", "get_acme_corp_invoice",
         "jane@acmecorp.de", '{"who":"ACME\\nCorp"}', "ACME\u200b Corp", "11→for ACME\n12→Corp"],
        ["acme corporation", "corp acme", "acme and corp", "macmecorp", "acme is a corp"],
    ),
    "REQ-12": (
        ["REQ-12", "req_12", "REQ12", "fix req 12.", "(REQ-12)"],
        ["REQ-123", "REQ-1-2", "FREQ-12", "REQ-112", "req 1 2"],
    ),
    "Anna": (["anna", "Anna's", "ANNAS", "anna_klein", "AnnaClient", "Ánna"], ["Annapolis", "Savannah", "an na"]),
    "Jürgen Müller": (["jurgen muller", "Jürgen  Müllers", "JURGEN-MÜLLER"], ["Jürgen Möller", "Müller, Jürgen"]),
    "company": (["companies", "Company's"], ["companion", "accompany"]),
    "+49 170 1234567": (["+491701234567", "49-170-1234567"], ["+49 170 12345678"]),
    "Иванов": (["ИВАНОВ", "у Иванов."], ["Ивановский"]),
    "北京": (["我在北京工作"], ["北方"]),
    "Søren Łukasz Đorđević": (["Soren Lukasz Dordevic", "SØREN ŁUKASZ ĐORĐEVIĆ", "soren-lukasz_dordevic"], ["Søren"]),
    "Aesir Thorn": (["Æsir Þorn", "ÆSIR-ÞORN", "æsir þorn"], ["Asir Porn"]),
    "Strauß Œuvre": (["strauss oeuvre", "STRAUSS ŒUVRE"], ["straus oeuvre"]),
    "Smith & Sons": (["Smith &amp; Sons", "smith%20%26%20sons", "Smith &#38; Sons", "smith-sons"], ["Smith or Sons"]),
    "Zoë Krämer": (["Zo\\u00eb Kr\\u00e4mer", "Zo%C3%AB%20Kr%C3%A4mer", "Zo&euml; Kr&#xe4;mer",
                    "Zo\\303\\253 Kr\\303\\244mer"], []),
    "x@y.example": (
        ["x@y.example", "<x@y.example>", "mailto:x@y.example?subject=a", "Ask x@y.example.", "x%40y.example",
         "x@y.example, or", "X@Y.EXAMPLE", "x@y.example/inbox"],
        ["x@y.example.org", "a.x@y.example", "max@y.example", "x@y.example-old.org", "x@y.examples", "a+x@y.example"],
    ),
    "INC-4407": (
        ["INC-4407", "Closed INC-4407.", "INC-4407, INC-4408", "see inc_4407: done", "INC-4407.\nNext",
         "INC-4407.html"],
        ["INC-4407.1", "INC-4407-2", "INC-44071", "INC-4407_3"],
    ),
    "10.0.0.1": (["10.0.0.1", "at 10.0.0.1.", "10.0.0.1:8080", "10.0.0.1/24"],
                 ["10.0.0.12", "10.0.0.1.5", "110.0.0.1"]),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_a_name_is_found_however_it_is_written_and_nothing_else_is(name: str, tally: Tally) -> None:
    same, other = NAMED[name]
    asked = NamePattern.parse(name)

    missed = [text for text in same if not asked.excerpt(text)]
    mistaken = [text for text in other if asked.excerpt(text)]

    tally("spellings of a name that are found", len(same), len(same) - len(missed))
    tally("look-alikes of a name that are left", len(other), len(other) - len(mistaken))
    assert (missed, mistaken) == ([], [])


@pytest.mark.parametrize("bad", ["", " ", "x", "-", "a\nb"])
def test_what_is_no_name_gets_a_clear_error(mind: Hivemind, bad: str) -> None:
    with pytest.raises(InvalidInput):
        mind.erasures.find_mentions(bad)


def hook(home: Path, directory: Path, event: str, **told: object) -> None:
    payload = {"session_id": "s1", "cwd": str(directory), **told}
    spool.append(str(home), "claude-code", event, "2026-03-01T12:00:00.000000Z", json.dumps(payload))


def fill(open_mind: Open, make_repository: Make, home: Path) -> tuple[Hivemind, dict[str, str]]:
    """A store that names a customer in every sort of place, and others beside each."""
    elsewhere = open_mind(make_repository("other"))
    root = make_repository("api")
    mind = open_mind(root)
    ids: dict[str, str] = {
        "memory": mind.remember("Invoices for Zabro Nordic go out on Fridays").id,
        "user": mind.remember("zabro-nordic pays late", scope=Scope.USER).id,
        "elsewhere": elsewhere.remember("ZabroNordicClient retries twice").id,
        "trace": mind.store_trace(agent="codex", action="called ZABRO_NORDIC", result="ok").id,
        "retracted": mind.remember("Zabro Nordic wants PDF").id,
        "reason": mind.remember("The till closes at six").id,
        "control": mind.remember("Invoices for Quillfeather go out on Mondays").id,
    }
    mind.forget(ids["retracted"])
    mind.review.verify(ids["reason"], reason="Zabro Nordic said so")
    version = mind.remember("Exports are sent to zabro.nordic by mail")
    ids["version"] = mind.edit(version.id, "Exports are sent by mail").id
    with mind.review.batch("viewer") as batch:
        ids["rolled back"] = mind.remember("Zabro Nordic likes green").id
    mind.review.rollback(Selection(batch=batch))
    mind.recall("what about Zabro Nordics invoices?")
    mind.recall("what about Quillfeather invoices?")
    hook(home, root, "UserPromptSubmit", prompt="fix the import for Zabro Nordic")
    hook(home, root, "PostToolUse", tool_use_id="t1", tool_name="Bash", tool_input={"command": "cat notes"},
         tool_response={"stdout": "zabro_nordic: 17\nquillfeather: 18", "stderr": ""})  # fmt: skip
    hook(home, root, "PostToolUse", tool_use_id="t2", tool_name="Bash", tool_input={"command": "ls"},
         tool_response={"stdout": "Quillfeather", "stderr": ""})  # fmt: skip
    mind.sessions.take_in_spool()
    mind.maintenance.backup()
    (home / "quarantine").mkdir()
    (home / "quarantine" / "aaa").write_text('{"bent": "Zabro Nordic')
    (home / "quarantine" / "bbb").write_text('{"bent": "Quillfeather')
    return mind, ids


def by_sort(mentions: Mentions) -> dict[MentionSort, set[str]]:
    return {sort: {one.id for one in group} for sort, group in mentions.group_by_sort()}


def test_everything_that_names_a_customer_is_found_in_every_sort_of_place(
    open_mind: Open, make_repository: Make, home: Path
) -> None:
    mind, ids = fill(open_mind, make_repository, home)

    mentions = mind.erasures.find_mentions("zabro nordic")

    found = by_sort(mentions)
    assert found[MentionSort.MEMORY] == {
        ids[one] for one in ("memory", "user", "elsewhere", "retracted", "reason", "rolled back")
    }
    assert found[MentionSort.VERSION] == {ids["version"]}
    assert found[MentionSort.TRACE] == {ids["trace"]}
    assert (len(found[MentionSort.OBSERVATION]), len(found[MentionSort.QUESTION])) == (2, 1)
    assert found[MentionSort.SESSION] == {"s1"}
    assert len(found[MentionSort.BACKUP]) == 1
    assert found[MentionSort.QUARANTINE] == {"quarantine/aaa"}
    assert ids["control"] not in {one.id for one in mentions.found}
    repositories = {one.id: one.repo for one in mentions.found}
    assert repositories[ids["elsewhere"]] != repositories[ids["memory"]]
    assert repositories[ids["user"]] == ""


def test_what_is_confirmed_is_erased_everywhere_with_one_receipt(
    open_mind: Open, make_repository: Make, home: Path, tally: Tally
) -> None:
    mind, ids = fill(open_mind, make_repository, home)
    before = mind.erasures.find_mentions("zabro nordic")

    receipt = mind.erasures.erase_mentions("Zabro Nordic", reason="they asked us to")

    assert set(ids.values()) - set(receipt.memories) == {ids["control"]}
    assert receipt.places[-1].name == "second search"
    assert receipt.places[-1].state == "done"
    assert mind.erasures.find_mentions("zabro nordic").found == ()
    left = {name for form in ("Zabro", "zabro", "ZABRO") for name in residue(home, form.encode())}
    assert not left
    assert mind.maintenance.audit() == ()
    assert mind.show(ids["control"])
    _, steps = mind.sessions.show()
    assert [step.output for step in steps if step.output] == ["Quillfeather"]
    assert mind.history.receipts()[0].query == "what about Quillfeather invoices?"
    assert (home / "quarantine" / "bbb").exists()
    tally("things that name a customer, erased by description", len(before.found), len(before.found))


def test_what_is_left_out_stays_and_the_receipt_says_so(open_mind: Open, make_repository: Make, home: Path) -> None:
    mind, ids = fill(open_mind, make_repository, home)

    receipt = mind.erasures.erase_mentions("Zabro Nordic", left_out=[ids["user"][:8], "s1"])

    assert mind.show(ids["user"]).text == "zabro-nordic pays late"
    assert by_sort(mind.erasures.find_mentions("zabro nordic")).keys() >= {
        MentionSort.MEMORY,
        MentionSort.OBSERVATION,
        MentionSort.SESSION,
    }
    assert ids["memory"] in receipt.memories
    assert "left as you chose" in receipt.places[-1].detail
    assert receipt.places[-1].state != "pending"
    with pytest.raises(InvalidInput, match="nothing in the list"):
        mind.erasures.erase_mentions("Zabro Nordic", left_out=["ffffffff"])


def test_what_only_a_backup_still_has_is_erased_there(open_mind: Open, home: Path) -> None:
    mind = open_mind()
    memory = mind.remember("Zabro Nordic pays in krona")
    mind.remember("Quillfeather pays in pounds")
    mind.maintenance.backup()
    hook(home, home, "PostToolUse", tool_use_id="t1", tool_name="Bash", tool_input={"command": "ls"},
         tool_response={"stdout": "zabro_nordic", "stderr": ""})  # fmt: skip
    mind.sessions.take_in_spool()
    (home / "backups").rename(home / "aside")
    mind.erase(memory.id)
    (home / "aside").rename(home / "backups")
    assert [one.sort for one in mind.erasures.find_mentions("Zabro Nordic").found].count(MentionSort.BACKUP) == 1

    mind.erasures.erase_mentions("Zabro Nordic")

    assert not residue(home, b"Zabro")
    assert residue(home / "backups", b"Quillfeather")


def test_only_a_person_may_look_for_or_erase_by_description(open_mind: Open) -> None:
    agent, person = open_mind(writer=AGENT), open_mind()
    person.remember("Zabro Nordic pays in krona")

    for ask in (agent.erasures.find_mentions, agent.erasures.erase_mentions):
        with pytest.raises(Refused, match="only a person"):
            ask("Zabro Nordic")
    assert len(person.erasures.find_mentions("Zabro Nordic").found) == 1


def test_what_was_erased_by_description_stays_out(open_mind: Open) -> None:
    mind = open_mind()
    mind.remember("Zabro Nordic pays in krona")
    mind.erasures.erase_mentions("zabro nordic")

    with pytest.raises(Refused):
        mind.remember("zabro nordic pays in krona!", scope=Scope.USER)
    assert mind.remember("Zabro Nordic pays in euro"), "the name itself may be said again"


def test_the_folder_an_agent_worked_in_is_not_what_it_said(open_mind: Open, make_repository: Make, home: Path) -> None:
    root = make_repository("zabro-nordic/api")
    mind = open_mind(root)
    hook(home, root, "PostToolUse", tool_use_id="t1", tool_name="Read", tool_input={"file_path": f"{root}/a.py"},
         tool_response={"stdout": "x = 1", "stderr": ""})  # fmt: skip
    mind.sessions.take_in_spool()
    mind.remember("Nothing in particular")

    found = mind.erasures.find_mentions("Zabro Nordic").found

    assert [(one.sort, "name of a repository" in one.stays) for one in found] == [(MentionSort.RECORD, True)]


def test_a_teammates_memories_are_listed_and_left(tmp_path: Path, clock: Clock) -> None:
    team = Store.open(tmp_path / "hub")
    where = Repository(id="remote:example.org/acme/api", root="/nowhere/api")

    def member(person: str) -> Hivemind:
        settings = Settings(home=tmp_path / person, person=person)
        who = Writer(actor=person, channel=Channel.PERSON)
        return Hivemind(make_context(Store.open(tmp_path / person), settings, where, who, clock))

    alice, bob, carol = member("alice"), member("bob"), member("carol")
    hers = alice.remember("Zabro Nordic is Alice's customer", scope=Scope.TEAM)
    alice.team.sync(Line(team, writer("alice")))
    bob.team.sync(Line(team, writer("bob")))
    carol.team.sync(Line(team, reviewer("carol")))
    his = bob.remember("Zabro Nordic calls Bob", scope=Scope.TEAM)

    receipt = bob.erasures.erase_mentions("Zabro Nordic")

    assert receipt.memories == (his.id,)
    assert [one.stays for one in bob.erasures.find_mentions("Zabro Nordic").found] == [
        "not yours: ask alice or a reviewer"
    ]
    assert bob.show(hers.id)
    assert carol.erasures.erase_mentions("Zabro Nordic").memories == (hers.id,)


# -- the command line ----------------------------------------------------------------------------------


@pytest.fixture
def store(open_mind: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.chdir(tmp_path)
    mind = open_mind()
    made: dict[str, str] = {
        "gone": mind.remember("Zabro Nordic pays \u202ein krona").id,
        "kept": mind.remember("Nothing else").id,
    }
    mind.close()
    return made


def test_the_command_line_shows_a_list_first_and_erases_when_told(store: dict[str, str]) -> None:
    looked = run("erase", "--about", "zabro_nordic", "--dry-run")
    declined = run("erase", "--about", "zabro_nordic", stdin="n\n")
    assert "1 memory" in looked.stdout
    assert "Zabro Nordic pays in krona" in looked.stdout
    assert "All repositories of this store were searched" in looked.stderr
    assert declined.exit_code == 1
    assert len(run_json("list")) == 2

    done = run("erase", "--about", "zabro_nordic", stdin="y\n")

    assert "nothing mentions it any more" in done.stdout
    assert [one["id"] for one in run_json("list")] == [store["kept"]]
    assert "Nothing in this store contains 'zabro_nordic'" in run("erase", "--about", "zabro_nordic").stderr


def test_a_script_says_whether_it_looks_or_erases(store: dict[str, str]) -> None:
    assert run("erase", "--about", "zabro nordic", "--json").exit_code == 2

    listed = run_json("erase", "--about", "zabro nordic", "--dry-run")
    assert [(one["sort"], one["id"]) for one in listed["found"]] == [("memory", store["gone"])]
    receipt = run_json("erase", "--about", "zabro nordic", "--yes")
    assert receipt["memories"] == [store["gone"]]


@pytest.mark.parametrize(
    "wrong",
    [("erase",), ("erase", "abcd", "--about", "x y"), ("erase", "abcd", "--except", "y"), ("erase", "--about", "x")],
)
def test_a_mistaken_command_gets_one_line_and_changes_nothing(store: dict[str, str], wrong: tuple[str, ...]) -> None:
    done = run(*wrong)

    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert len(run_json("list")) == 2


def test_a_memory_that_only_contradicts_what_is_named_stays(open_mind: Open) -> None:
    mind = open_mind()
    older = mind.remember("deploys use Vercel")
    newer = mind.remember("deploys moved to Coolify")
    assert newer.contradicts == (older.id,)

    receipt = mind.erasures.erase_mentions("Coolify")

    assert receipt.memories == (newer.id,)
    assert mind.show(older.id).text == "deploys use Vercel"
