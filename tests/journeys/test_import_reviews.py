"""What reviewers state becomes proposals linked to the code of today; chatter, bots and questions do not."""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hivemind.errors import Refused
from hivemind.model.memory import Channel, Memory, Status
from tests.command_line import residue, run, run_json
from tests.conftest import AGENT, Open, git
from tests.transfer.test_review_threads import DISCUSSIONS, rest

SOURCE = 'import os\n\n\ndef charge(amount):\n    path = os.path.join("a", "b")\n    return send(path, amount)\n'
HUNK = '@@ -0,0 +1,5 @@\n+import os\n+\n+\n+def charge(amount):\n+    path = os.path.join("a", "b")'
RULE = "Please use `pathlib` instead of `os.path` for paths in new code."


@pytest.fixture
def root(make_repository: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    root = make_repository("shop", remote="https://github.com/acme/shop")
    (root / "pay.py").write_text(SOURCE)
    git(root, "add", ".")
    git(root, "commit", "-m", "Add payments")
    (root / "pay.py").write_text(SOURCE.replace('os.path.join("a", "b")', 'Path("a") / "b"'))
    git(root, "commit", "-am", "Use pathlib")
    monkeypatch.chdir(root)
    return root


def comment(body: str, number: int = 1, **fields: Any) -> dict[str, Any]:
    place = {"diff_hunk": HUNK, "original_line": 5, "original_start_line": None, "created_at": "2020-01-02T09:00:00Z"}
    return rest(number, body=body, **(place | fields))


def save(root: Path, *comments: dict[str, Any]) -> str:
    file = root.parent / "comments.json"
    file.write_text(json.dumps(comments))
    return str(file)


def list_proposals(mind: Any) -> tuple[Memory, ...]:
    return tuple(mind.list(statuses=[Status.PROPOSED]))


def test_a_rule_is_proposed_with_its_place_its_change_and_its_reviewer(root: Path, open_mind: Open) -> None:
    report = run_json("import", "reviews", save(root, comment(f"nit: {RULE}")))

    (memory,) = list_proposals(open_mind(root))
    assert report["new"] == 1
    assert memory.text == RULE
    assert memory.sources[0].quote == f'{RULE} After the review: `os.path.join("a", "b")` → `Path("a") / "b"`'
    assert memory.channel is Channel.IMPORT
    assert memory.about == ("pay.py::charge",)
    assert memory.metadata["reviewer"] == "grace"
    assert memory.sources[0].summary == "import github #12 pay.py:5 at aaaaaaaa"
    assert memory.anchors[0].commit == git(root, "rev-parse", "HEAD")


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "yesterday", None, 10**400])
def test_a_time_that_is_none_stays_unknown(root: Path, open_mind: Open, time: object) -> None:
    run_json("import", "reviews", save(root, comment(RULE, created_at=time)))

    (memory,) = list_proposals(open_mind(root))
    assert not memory.valid_from


def test_chatter_questions_bots_and_remarks_on_a_line_are_left_out(root: Path, open_mind: Open) -> None:
    bodies = [
        "LGTM",
        "nit: typo",
        "Why is this here?",
        "Should we always log here?",
        "Nice!",
        "Rename this to `b`.",
        "👍",
    ]
    comments = [comment(body, number) for number, body in enumerate(bodies)]
    bot = comment(RULE, 50, user={"login": "coderabbitai[bot]", "type": "Bot"})
    quoted = comment(f"> {RULE}\n\nAgreed.", 51)

    report = run_json("import", "reviews", save(root, *comments, bot, quoted))

    assert report["new"] == 0
    assert report["skipped"] == [["by a bot", 1]]
    assert list_proposals(open_mind(root)) == ()


def test_a_rule_that_its_reviewer_took_back_is_left_out(root: Path) -> None:
    never_mind = comment("Never mind, I misread the diff.", 2, in_reply_to_id=1)

    assert run_json("import", "reviews", save(root, comment(RULE), never_mind))["new"] == 0
    assert run_json("import", "reviews", save(root, comment(RULE)))["new"] == 1


def test_importing_twice_adds_nothing_and_a_rejected_rule_stays_out(root: Path, open_mind: Open) -> None:
    file = save(root, comment(RULE))
    run_json("import", "reviews", file)
    (memory,) = list_proposals(open_mind(root))
    entries = run_json("log")

    assert run_json("import", "reviews", file)["new"] == 0
    assert run_json("log") == entries
    assert run("reject", memory.id[:8]).exit_code == 0
    assert run_json("import", "reviews", file)["new"] == 0
    again = run_json("import", "reviews", save(root, comment(RULE, 99, path="other.py", diff_hunk="@@ -1 +1 @@\n+x")))
    assert (again["new"], again["refused"]) == (0, 1)


def test_a_rule_that_several_reviewers_state_is_one_proposal_with_their_comments(root: Path, open_mind: Open) -> None:
    file = save(root, comment(RULE), comment(RULE, 2, user={"login": "alan"}), comment(RULE, 3, user={"login": "kay"}))

    assert run_json("import", "reviews", file)["new"] == 1
    entries = run_json("log")
    assert run_json("import", "reviews", file)["new"] == 0

    (memory,) = list_proposals(open_mind(root))
    assert memory.metadata["reviewer"] == "grace"
    assert run_json("log") == entries


def test_an_erased_rule_leaves_nothing_and_stays_out(root: Path, open_mind: Open, home: Path) -> None:
    file = save(root, comment(f"{RULE} Zanzibar says so always."))
    run_json("import", "reviews", file)
    mind = open_mind(root)
    (memory,) = list_proposals(mind)
    mind.erase(memory.id)
    mind.close()

    assert residue(home, b"pathlib") == []
    assert run_json("import", "reviews", file)["new"] == 0


def test_a_reviewer_can_be_erased_by_name(root: Path, home: Path) -> None:
    run_json("import", "reviews", save(root, comment(RULE, user={"login": "zanzibar", "type": "User"})))
    assert residue(home, b"zanzibar")

    assert run("erase", "--about", "zanzibar", "--yes").exit_code == 0

    assert residue(home, b"zanzibar") == []


def test_secrets_are_redacted_and_hostile_text_is_made_harmless(root: Path, open_mind: Open, home: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    hostile = f"Always use the token {secret} in new tests.\u202e\u200b"
    report = run_json("import", "reviews", save(root, comment(hostile, path="../../etc/passwd")))

    assert secret not in str(report)
    memories = list_proposals(open_mind(root))
    assert residue(home, secret.encode()) == []
    assert [memory.about for memory in memories] == [()]
    assert all("\u202e" not in memory.text and "[redacted:" in memory.text for memory in memories)


def test_an_agent_is_not_told_a_proposed_rule_until_it_is_approved(root: Path, open_mind: Open) -> None:
    run_json("import", "reviews", save(root, comment(RULE)))
    (memory,) = list_proposals(open_mind(root))

    assert "pathlib" not in run("brief").output
    run("approve", memory.id[:8])
    assert "pathlib" in run("brief").output


def test_a_dry_run_shows_the_rules_and_changes_nothing(root: Path, open_mind: Open) -> None:
    result = run("import", "reviews", "--dry-run", save(root, comment(RULE)))

    assert "Would propose 1 rule from 1 comment" in result.output
    assert RULE in result.output
    assert list_proposals(open_mind(root)) == ()


def test_discussions_of_gitlab_come_from_standard_input(root: Path, open_mind: Open) -> None:
    note = {**DISCUSSIONS[0]["notes"][0], "body": RULE}  # type: ignore[index]

    result = run("import", "reviews", "-", stdin=json.dumps([{"id": "d", "notes": [note]}]))

    assert result.exit_code == 0, result.output
    assert [memory.sources[0].actor for memory in list_proposals(open_mind(root))] == ["gitlab !12"]


@pytest.mark.parametrize("text", ["nonsense", '{"message": "Not Found"}'])
def test_a_file_of_something_else_is_refused_with_what_to_give(root: Path, text: str) -> None:
    (root.parent / "x.json").write_text(text)

    result = run("import", "reviews", str(root.parent / "x.json"))

    assert result.exit_code == 2
    assert "gh api" in result.output


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, script: str) -> None:
    """Put a script in the place of gh or glab, which need a server."""
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")


def test_without_a_file_gh_gets_the_comments_of_pull_requests(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = save(root, comment(RULE))
    calls = root.parent / "calls"
    script = f'echo "$2" >> {calls}; case "$2" in *comments*) cat {file};; *) echo "[]";; esac'
    stand_in(root.parent / "bin", monkeypatch, "gh", script)

    assert run_json("import", "reviews", "12")["new"] == 1
    assert run_json("import", "reviews", "--since", "2020-01-01")["comments"] == 1
    assert calls.read_text().splitlines() == [
        "repos/{owner}/{repo}/pulls/12/comments?per_page=100&page=1",
        "repos/{owner}/{repo}/pulls/12/reviews?per_page=100&page=1",
        "repos/{owner}/{repo}/pulls/comments?sort=created&direction=desc&since=2020-01-01T00%3A00%3A00.000000Z"
        "&per_page=100&page=1",
    ]


def test_without_gh_or_a_remote_the_error_says_what_to_do(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(root.parent / "bin", monkeypatch, "other", "true")
    missing = run("import", "reviews")
    stand_in(root.parent / "bin", monkeypatch, "gh", "echo 'gh: Not Found (HTTP 404)' >&2; exit 1")
    failing = run("import", "reviews", "12")
    git(root, "remote", "remove", "origin")
    without_remote = run("import", "reviews")

    assert (missing.exit_code, failing.exit_code, without_remote.exit_code) == (6, 6, 2)
    assert "gh is not installed" in missing.output
    assert "gh: Not Found (HTTP 404)" in failing.output
    assert "no remote" in without_remote.output


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[list[dict[str, Any]]], Path]:
    """Put a program on the PATH that is called as Claude Code is, keeps the question and gives an answer."""

    def answer(items: list[dict[str, Any]]) -> Path:
        folder = tmp_path / "bin"
        folder.mkdir()
        (folder / "answer").write_text(f"Here is the list:\n{json.dumps(items)}")
        program = folder / "claude"
        program.write_text(f"#!/bin/sh\ncat > '{folder}/question'\ncat '{folder}/answer'\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        return folder / "question"

    return answer


SHORT = "half of the team is on macs → no associative arrays in anything in `scripts/`"


def test_the_persons_own_agent_finds_rules_that_quote_their_comment(
    root: Path, open_mind: Open, agent: Callable[[list[dict[str, Any]]], Path]
) -> None:
    file = save(root, comment(SHORT), comment("token ghp_" + "a1B2" * 9 + " leaked", number=2))
    rule = {
        "comment": 1,
        "text": "Scripts run on macOS's bash: no associative arrays.",
        "kind": "convention",
    }
    question = agent([
        rule | {"quote": "no associative arrays in anything"},
        rule | {"comment": 2, "quote": "no associative arrays in anything"},
        rule | {"comment": 7, "quote": "no associative arrays in anything"},
        rule | {"comment": "1", "quote": "words that nobody wrote"},
    ])  # fmt: skip

    first = run("import", "reviews", file, "--with", "claude")
    again = run_json("import", "reviews", file, "--with", "claude")

    (memory,) = list_proposals(open_mind(root))
    assert "Sending" in first.output
    assert memory.text == rule["text"]
    assert memory.status is Status.PROPOSED
    assert memory.channel is Channel.IMPORT
    assert memory.sources[0].quote.startswith("no associative arrays in anything")
    assert memory.about == ("pay.py::charge",)
    assert again["new"] == 0
    assert SHORT in question.read_text()
    assert "a1B2a1B2" not in question.read_text()


def test_an_agent_may_not_send_comments_to_another(root: Path, open_mind: Open) -> None:
    with pytest.raises(Refused, match="only a person"):
        open_mind(root, writer=AGENT).learning.import_reviews([json.dumps([comment(RULE)])], agent="claude")
