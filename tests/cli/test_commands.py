"""What single commands answer."""

import re
from pathlib import Path

import pytest

from tests.command_line import run, run_json
from tests.terminal import on_a_terminal


def test_hivemind_alone_says_where_you_stand_and_what_to_do_next(tmp_path: Path) -> None:
    (tmp_path / "user" / ".claude").mkdir(parents=True)
    before = run()
    run("remember", "API port is 8080")
    run("remember", "API port is 9090", "--verify-by", "2020-01-01")
    run("remember", "Only elsewhere", "--scope", "user", "--verify-by", "2020-01-01")

    after = run()
    told = run_json()

    assert before.exit_code == 0
    assert "none here yet" in before.stdout
    assert "hivemind install" in before.stdout
    assert "2 disputed" in after.stdout
    assert "hivemind review" in after.stdout
    assert dict(told["memories"]) == {"disputed": 2, "active": 1}
    # A dispute is one decision.
    assert told["waiting"] == len(run_json("review")) == 2
    assert told["next"][0]["command"] == "hivemind install"


def test_the_audit_shows_as_many_changes_as_were_asked_for_however_much_was_read_since() -> None:
    for port in range(3):
        run("remember", f"Worker {port} listens on 90{port}1")
    for _ in range(20):
        run("recall", "worker listens")

    changes = run_json("log", "--audit", "--limit", "2")

    assert [one["fact"] for one in changes] == ["memory.remembered"] * 2


def test_tags_are_added_and_removed_by_edit() -> None:
    known = run_json("remember", "Deploys run from main")["id"]

    assert run_json("edit", known, "--tags", "deploy,release")["tags"] == ["deploy", "release"]
    assert run_json("edit", known, "--tags", "ci", "--remove-tags", "deploy,release")["tags"] == ["ci"]


def test_an_export_to_a_file_says_what_it_wrote_and_one_to_a_pipe_only_writes() -> None:
    run("remember", "Deploys run from main")

    assert run("export", "out.jsonl").stderr == "Wrote 1 memory to out.jsonl.\n"
    assert run_json("export", "out.jsonl") == {"memories": 1, "file": "out.jsonl"}
    assert run("export").stderr == ""
    assert "Deploys run from main" in run("export").stdout


def test_team_alone_says_how_the_team_stands() -> None:
    assert "belongs to no team" in run("team").stdout


def test_a_memory_in_two_sorts_of_trouble_waits_for_review_once() -> None:
    first = run_json("remember", "API port is 8080", "--verify-by", "2020-01-01")["id"]
    waiting_before = run_json("review")
    second = run_json("remember", "API port is 9090")["id"]

    waiting = run_json("review")

    assert [one["why"] for one in waiting_before] == ["to be verified by 2020-01-01"]
    assert [(one["memory"]["id"], [side["id"] for side in one["against"]]) for one in waiting] == [(second, [first])]
    assert waiting[0]["why"].endswith(f"contradicts {first[:8]}")


@pytest.mark.parametrize("command", [["log"], ["log", "--audit"]])
def test_each_entry_of_the_log_says_what_it_is_about_and_an_erased_one_that_it_is(command: list[str]) -> None:
    run("remember", "Deploys run from main")
    gone = run_json("remember", "The customer is Zaphod")["id"]
    run("erase", gone, "--yes")

    told, seen, piped = run_json(*command), on_a_terminal(*command, NO_COLOR="1"), run(*command).stdout

    assert {one["about"]: one["text"] for one in told if one["about"] == gone} == {gone: "(erased)"}
    assert [one["text"] for one in told if one["fact"] == "memory.remembered"] == ["(erased)", "Deploys run from main"]
    for shown in (seen, piped):
        assert re.search(r"[0-9a-f]{8}\s+Deploys run from main", shown)
        assert re.search(rf"{gone[:8]}\s+\(erased\)", shown)
        assert "Zaphod" not in shown


def test_a_shortened_id_of_what_was_erased_is_answered_with_when_that_was() -> None:
    gone = run_json("remember", "The customer is Zaphod")["id"]
    run("erase", gone, "--yes")

    told = run("show", gone[:8])

    assert told.exit_code == 3
    assert f"{gone[:8]} was erased on" in told.stderr
    assert "there is no memory" in run("show", "ffffffff").stderr
