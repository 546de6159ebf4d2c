"""One command for what happened, and one for what comes in from elsewhere."""

from pathlib import Path

import pytest

from hivemind.model.events import FACTS
from tests.command_line import run, run_json
from tests.conftest import git


@pytest.fixture(autouse=True)
def in_a_plain_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_log_of_a_memory_shows_its_versions_and_with_diff_each_change_of_its_text() -> None:
    memory = run_json("remember", "The port is 8080")["id"]
    for text in ("The port is 9090", "The port is 8080"):
        run("edit", memory, text)

    versions = run_json("log", memory)
    changes = run_json("log", memory, "--diff")
    shown = run("log", memory, "--diff").stdout.splitlines()

    assert [step["after"]["text"] for step in versions] == ["The port is 8080", "The port is 9090", "The port is 8080"]
    assert [(change["from"], change["to"]) for change in changes] == [
        ("version 1", "version 2"),
        ("version 2", "version 3"),
    ]
    assert shown[-2:] == ["-The port is 9090", "+The port is 8080"]


def test_two_memories_are_compared_and_equal_ones_have_no_difference() -> None:
    one = run_json("remember", "Deploys run from main")["id"]
    other = run_json("remember", "Tests need Redis")["id"]

    assert run("log", one, other, "--diff").stdout.splitlines()[-2:] == ["-Deploys run from main", "+Tests need Redis"]
    assert "No difference." in run("log", one, "--diff").stderr
    assert run_json("log", one, one, "--diff") == []


def test_audit_and_receipts_narrow_the_log_to_changes_and_to_what_was_shown_of_one_memory_or_all() -> None:
    memory = run_json("remember", "Deploys run from main only")["id"]
    other = run_json("remember", "Tests need a running Redis")["id"]
    run("recall", "where do deploys run from?")

    everything = {entry["fact"] for entry in run_json("log")}
    changes = run_json("log", "--audit")
    shown = {receipt["memory_id"] for receipt in run_json("log", memory, "--receipts")}

    assert "memories.recalled" in everything & FACTS.keys()
    assert {entry["fact"] for entry in changes} == {"memory.remembered"}
    assert [entry["about"] for entry in run_json("log", other, "--audit")] == [other]
    assert shown == {memory}
    assert memory in {receipt["memory_id"] for receipt in run_json("log", "--receipts")}


@pytest.mark.parametrize(
    "arguments",
    [["--audit", "--receipts"], ["--diff"], ["a", "b", "c", "--diff"], ["--session", "s1"], ["a", "--verify"],
     ["a", "b", "--audit"], ["a", "--subject", "REQ-1"]],
)  # fmt: skip
def test_options_of_the_log_that_do_not_go_together_are_refused_with_what_to_do(arguments: list[str]) -> None:
    done = run("log", *arguments)

    assert done.exit_code == 2
    assert any(word in done.stderr for word in ("choose", "name", "goes with", "leave"))


def test_import_alone_lists_what_could_be_imported_and_imports_nothing(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "AGENTS.md").write_text("- Tests need a running Redis\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "Fix the login loop\n\nThe cookie was cleared twice.")

    listed = run("import")

    assert listed.exit_code == 0
    assert "hivemind import transcripts\tnothing" in listed.stdout
    assert listed.stderr == "This only lists; each command imports what is new.\n"
    assert "hivemind import rules\t1 point in rules files: 1 new, 0 gone" in listed.stdout
    assert "hivemind import git\t1 commit, 0 with a reason" in listed.stdout
    assert run_json("list") == []

    run("import", "rules")

    assert [memory["text"] for memory in run_json("list")] == ["Tests need a running Redis"]


def test_a_file_may_stand_in_the_place_of_a_source_and_a_missing_one_is_no_command() -> None:
    run("remember", "Deploys run from main")
    run("export", "memories.jsonl")

    taken = run("import", "memories.jsonl", "--approve")
    named = run("import", "memories", "memories.jsonl", "--approve")
    missing = run("import", "nowhere.jsonl")

    assert (taken.exit_code, taken.stdout) == (0, "Imported 0 memories; 1 already known.\n")
    assert named.stdout == taken.stdout
    assert missing.exit_code == 2
    assert "There is no command or file 'nowhere.jsonl'" in missing.stderr


def test_edit_changes_text_and_tags_together_or_either_alone() -> None:
    memory = run_json("remember", "Deploys run from main", "--tags", "draft")["id"]

    both = run_json("edit", memory, "Deploys run from release", "--tags", "deploy", "--remove-tags", "draft")
    only_tags = run_json("edit", memory, "--tags", "ci")
    nothing = run("edit", memory)

    assert (both["text"], both["tags"]) == ("Deploys run from release", ["deploy"])
    assert (only_tags["text"], only_tags["tags"]) == ("Deploys run from release", ["deploy", "ci"])
    assert nothing.exit_code == 2
