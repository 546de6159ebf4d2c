"""Metadata through every door: kept, shown, filtered by, changed, moved, redacted and erased."""

import json
from pathlib import Path

import pytest

from hivemind import Hivemind, Scope
from hivemind.errors import InvalidInput, Refused
from hivemind.mcp import calls
from hivemind.model.claim import Claim
from hivemind.model.memory import Status, Writer
from hivemind.model.metadata import MetadataValue
from tests.command_line import residue, run, run_json
from tests.conftest import AGENT, Clock, Open

AUTH = "Class for managing user authentication."


def test_the_command_line_keeps_shows_and_filters_by_metadata() -> None:
    memory = run_json("remember", AUTH, "--meta", "language=Python", "--meta", "lines=120", "--meta", "tested=true")
    run("remember", "Class for managing user sessions.", "--meta", "language=Go", "--meta", "lines='120'")

    assert memory["metadata"] == {"language": "Python", "lines": 120, "tested": True}
    assert 'metadata     language="Python", lines=120, tested=true' in run("show", memory["id"]).stdout
    assert 'language="Python"' in run("explain", memory["id"]).stdout
    for where in ("language=Python", "lines=120", "tested=true"):
        assert [one["id"] for one in run_json("list", "--where", where)] == [memory["id"]]
    both = run_json("recall", "managing users", "--where", "language=Python", "--where", "tested=true")
    assert [hit["memory"]["id"] for hit in both["hits"]] == [memory["id"]]
    assert run_json("list", "--where", "language=Python", "--where", "lines='120'") == []
    assert run_json("list", "--where", "Language=Python") == []
    assert len(run_json("list")) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("remember", "a", "--meta", "language"), "'language' has no value; write it like language=Python"),
        (("remember", "a", "--meta", "a b=c"), "'a b' is not a short identifier"),
        (("remember", "a", "--meta", "a="), "metadata 'a' is empty"),
        (("recall", "a", "--where", "language"), "has no value"),
        (("list", "--where", "=x"), "metadata key '' is not"),
    ],
)
def test_wrong_metadata_is_explained_and_nothing_is_kept(arguments: tuple[str, ...], said: str) -> None:
    done = run(*arguments)

    assert (done.exit_code, said in done.stderr) == (2, True), done.stderr
    assert run_json("list") == []


def test_revising_sets_and_removes_keys_and_history_says_so() -> None:
    memory = run_json("remember", AUTH, "--meta", "language=Python", "--meta", "purpose=security")["id"]

    revised = run_json("edit", memory, "--meta", "language=Go", "--meta", "lines=7", "--unset-meta", "purpose")

    assert (revised["metadata"], revised["text"]) == ({"language": "Go", "lines": 7}, AUTH)
    assert run_json("log", memory)[-1]["what"] == 'metadata language="Go", lines=7, -purpose'
    assert run("edit", memory, "--unset-meta", "purpose").exit_code == 2
    assert "nothing to change" in run("edit", memory, "--meta", "language=Go").stderr
    assert run_json("list", "--where", "language=Go")[0]["id"] == memory


def test_what_is_said_again_with_metadata_gets_it(mind: Hivemind, open_mind: Open) -> None:
    first = mind.remember(AUTH, metadata={"language": "Python"})

    again = mind.remember(AUTH, metadata={"purpose": "security"})
    by_an_agent = open_mind(writer=AGENT).remember(AUTH, metadata={"purpose": "none"})

    assert first.id == again.id == by_an_agent.id
    assert dict(by_an_agent.metadata) == {"language": "Python", "purpose": "security"}


def test_an_agent_cannot_change_the_metadata_of_what_a_person_said(mind: Hivemind, open_mind: Open) -> None:
    memory = mind.remember(AUTH, metadata={"language": "Python"})

    with pytest.raises(Refused):
        open_mind(writer=AGENT).edit(memory.id, metadata={"language": "Go"})

    assert dict(mind.show(memory.id).metadata) == {"language": "Python"}


def test_metadata_survives_export_and_import_and_a_rebuild(open_mind: Open, tmp_path: Path) -> None:
    here, there = open_mind(), open_mind(home=tmp_path / "other")
    metadata: dict[str, MetadataValue] = {
        "language": "Python",
        "lines": 120,
        "ratio": 0.5,
        "tested": True,
        "note": 'ü "quoted" \\ text',
    }
    memory = here.remember(AUTH, metadata=metadata)

    there.files.import_lines(here.files.export_lines(), approve=True)
    before = there.show(memory.id)
    there.maintenance.rebuild()

    assert dict(before.metadata) == metadata
    assert there.show(memory.id) == before
    assert [one.id for one in there.list(where={"note": 'ü "quoted" \\ text', "lines": 120})] == [memory.id]
    ((_, page),) = here.files.export_pages()
    assert 'metadata: {"language": "Python"' in page


def test_an_import_with_wrong_metadata_names_the_line(mind: Hivemind) -> None:
    mind.remember(AUTH, metadata={"language": "Python"})
    line = json.loads(next(mind.files.export_lines())) | {"id": "f" * 32, "text": "other", "metadata": {"a": [1]}}

    with pytest.raises(InvalidInput, match="line 1 is not an exported memory: metadata 'a'"):
        mind.files.import_lines([json.dumps(line)])


def test_secrets_in_metadata_never_reach_the_store(mind: Hivemind, home: Path) -> None:
    memory = mind.remember(AUTH, metadata={"password": "Xk29-hunter-qq", "language": "Python"})

    assert "[redacted:" in str(memory.metadata["password"])
    assert residue(home, b"Xk29-hunter-qq") == []
    assert residue(home, b"Python") != []


def test_erasing_takes_every_value_metadata_ever_had(mind: Hivemind, home: Path) -> None:
    memory = mind.remember(AUTH, metadata={"customer": "Zweiundvierzig-GmbH", "language": "Python"})
    mind.edit(memory.id, metadata={"customer": "Dreiundvierzig-AG"})
    other = mind.remember("Another memory.", metadata={"language": "Python"})
    assert residue(home, b"Zweiundvierzig") != []

    receipt = mind.erase(memory.id)

    assert residue(home, b"Zweiundvierzig") == residue(home, b"Dreiundvierzig") == []
    assert {place.state for place in receipt.places} <= {"done", "outside"}
    assert dict(mind.show(other.id).metadata) == {"language": "Python"}


def test_a_question_that_quotes_metadata_goes_with_the_memory(mind: Hivemind, home: Path) -> None:
    memory = mind.remember(AUTH, metadata={"customer": "Zweiundvierzig-GmbH"})
    assert len(mind.recall("user class for Zweiundvierzig-GmbH").hits) == 1

    mind.erase(memory.id)

    assert residue(home, b"Zweiundvierzig") == []


def test_a_filter_is_no_way_out_of_the_scope(open_mind: Open, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    a, b = open_mind(tmp_path / "a"), open_mind(tmp_path / "b")
    a.remember(AUTH, metadata={"language": "Python"})

    assert b.recall(AUTH, where={"language": "Python"}).hits == ()
    assert len(b.recall(AUTH, where={"language": "Python"}, everywhere=True).hits) == 1
    assert len(a.recall(AUTH, where={"language": "Python"}).hits) == 1


def test_many_at_once_are_all_kept_or_none_and_the_error_names_item_and_key(mind: Hivemind) -> None:
    good = {"content": "Handlers return early", "type": "convention", "scope": "user", "tags": "style, errors"}
    for wrong, said in (
        ({"content": "a", "timestamp": "yesterday"}, r"items\[1\]\['timestamp'\]: 'yesterday' is not a date"),
        ({"content": ""}, r"items\[1\]\['content'\]: the value is empty"),
        ({"content": "a", "colour": "red"}, r"items\[1\]\['colour'\] is not a key; use content"),
        ({"content": "a", "text": "b"}, r"items\[1\]\['text'\] is given twice"),
        ({"content": "a", "scope": "mine"}, r"items\[1\]\['scope'\]: 'mine' is not a scope"),
        ({"content": "a", "tags": [1]}, r"items\[1\]\['tags'\]: each tag must be text, not int"),
        ({"content": "a", "metadata": {"b": []}}, r"items\[1\]\['metadata'\]: metadata 'b'"),
        ({"type": "fix"}, r"items\[1\] has no 'content'"),
        (7, r"items\[1\] is 7; give a text, a dictionary or a Claim"),
    ):
        with pytest.raises(InvalidInput, match=said):
            mind.remember_all([good, wrong])  # type: ignore[list-item]
    assert mind.list() == ()

    kept, claimed = mind.remember_all([good, Claim(text="Claims still work")])

    assert (kept.scope, kept.tags, kept.kind) == (Scope.USER, ("style", "errors"), "convention")
    assert dict(kept.metadata) == {"memory_type": "convention"}
    assert claimed.text == "Claims still work"


def test_a_refused_item_is_named_and_leaves_the_others_out(mind: Hivemind) -> None:
    mind.reject(mind.remember("Deploys run from main").id)

    with pytest.raises(Refused, match=r"items\[1\]: a memory was refused"):
        mind.remember_all([{"content": "Handlers return early"}, {"content": "deploys run from MAIN"}])

    with pytest.raises(InvalidInput, match=r"items\[1\]: 7.0 is not a confidence"):
        mind.remember_all([Claim(text="Handlers return early"), Claim(text="other", confidence=7.0)])
    assert [one.text for one in mind.list(statuses=(Status.ACTIVE,))] == []


def test_a_given_time_is_when_it_was_true_and_not_when_it_was_recorded(mind: Hivemind, clock: Clock) -> None:
    (memory,) = mind.remember_all([{"content": "Services talk over NATS", "timestamp": 1_700_000_000}])

    assert memory.valid_from == "2023-11-14T22:13:20.000000Z"
    assert memory.recorded_at.startswith("2026-03-01")


def test_only_a_person_writes_about_another_repository(open_mind: Open) -> None:
    elsewhere = {"content": "Services talk over NATS", "repo": "https://github.com/acme/api.git"}

    with pytest.raises(Refused, match="only a person"):
        open_mind(writer=AGENT).remember_all([elsewhere])
    (memory,) = open_mind().remember_all([elsewhere])

    assert memory.repo == "remote:github.com/acme/api"
    assert open_mind().list() == ()


def test_a_file_path_is_a_source_and_a_link(open_mind: Open, tmp_path: Path) -> None:
    mind = open_mind(tmp_path)
    inside, outside = mind.remember_all(
        [
            {"content": "Tokens are signed here", "file_path": tmp_path / "auth" / "tokens.py"},
            {"content": "Hosts are listed there", "file_path": "/etc/hosts"},
        ]
    )

    assert (inside.sources[1].file, inside.links) == ("auth/tokens.py", ("auth/tokens.py",))
    assert (outside.sources[1].file, outside.links) == ("/etc/hosts", ())


def test_the_agents_tools_keep_and_filter_by_metadata(open_mind: Open) -> None:
    mind = open_mind(writer=Writer(actor="codex", channel=AGENT.channel))
    calls.remember(mind, {"text": AUTH, "metadata": {"language": "Python"}})
    calls.remember(mind, {"text": "Class for managing user sessions.", "metadata": {"language": "Go"}})

    said = calls.recall(mind, {"query": "class for managing users", "where": {"language": "Python"}}).text

    assert (AUTH in said, "sessions" in said) == (True, False)
    assert (
        'metadata: language="Python"' in calls.explain(mind, {"id": mind.list(where={"language": "Python"})[0].id}).text
    )
