"""A branch says what it taught and which memories it makes stale, and a pull request is told nothing private."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hivemind import Hivemind
from hivemind.model.code import SymbolChange
from tests.command_line import run
from tests.conftest import AGENT, Clock, Open, git

DOC = Path(__file__).parents[2] / "docs/how-to/branch-diff.md"
REMOTE = "https://github.com/acme/shop"
BEFORE = '''def charge(card, amount):
    """Take money from a card."""
    retries = 3
    for attempt in range(retries):
        if card.take(amount):
            return attempt
    raise RuntimeError("the bank refused")


def refund(card, amount):
    """Give money back."""
    receipt = card.give(amount)
    audit(receipt)
    return receipt


def audit(receipt):
    """Write a receipt to the log."""
    entry = {"receipt": receipt, "kind": "audit"}
    log(entry)
    return entry
'''
AFTER = BEFORE.replace("retries = 3", "retries = 5")


def commit(root: Path, message: str, **files: str) -> str:
    for name, content in files.items():
        (root / name.replace("_py", ".py")).write_text(content)
    git(root, "add", "--all")
    git(root, "commit", "-m", message)
    return git(root, "rev-parse", "HEAD")


@pytest.fixture
def root(make_repository: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Path:
    # Commits have the time of this machine. Before the first of them is made, so that memories come after it.
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-02-01T00:00:00Z")
    root = make_repository("shop", remote=REMOTE)
    commit(root, "Add payments", pay_py=BEFORE)
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def mind(root: Path, open_mind: Open) -> Hivemind:
    return open_mind(root)


def branch_off(root: Path, **files: str) -> None:
    git(root, "checkout", "-b", "feature")
    commit(root, "Change payments", **files)


def test_changed_moved_and_deleted_code_is_told_with_old_and_new(root: Path, mind: Hivemind) -> None:
    charge = mind.remember("Charges are tried three times: retries", links=["pay.py::charge"])
    refund = mind.remember("Refunds are audited", links=["pay.py::refund"])
    audit = mind.remember("The audit log has receipts", links=["pay.py::audit"])
    other = mind.remember("The README says how to start", links=["README.md"])
    branch_off(root, pay_py=AFTER.partition("def refund")[0], audit_py=BEFORE[BEFORE.index("def audit") :])

    report = mind.review.diff("main")

    changes = {item.memory.id: item.became[0] for item in report.stale}
    assert set(changes) == {charge.id, refund.id}
    assert "`retries = 3` → `retries = 5`" in changes[charge.id].text
    assert changes[refund.id].change is SymbolChange.GONE
    assert [(item.memory.id, item.became[0].text.split(" since")[0]) for item in report.moved] == [
        (audit.id, "moved to audit.py")
    ]
    assert other.id not in report.memory_ids
    # All were written about the code before the branch.
    assert report.taught == ()


@pytest.mark.parametrize(
    "name", ["", "main", "main...", "main…", "main..", "main...HEAD", "main..feature", "...feature"]
)
def test_a_branch_is_named_as_git_names_ranges(root: Path, mind: Hivemind, name: str) -> None:
    memory = mind.remember("Charges are tried three times: retries", links=["pay.py::charge"])
    branch_off(root, pay_py=AFTER)

    report = mind.review.diff(name)

    assert [item.memory.id for item in report.stale] == [memory.id]
    assert report.taught == ()
    assert report.base == git(root, "rev-parse", "main")


def test_moved_code_is_found_among_many_changed_files(root: Path, mind: Hivemind) -> None:
    memory = mind.remember("The audit log has receipts", links=["pay.py::audit"])
    parts = {f"part_{number:03}_py": f"def part_{number}():\n    return {number}\n" for number in range(60)}
    before, after = BEFORE[: BEFORE.index("def audit")], BEFORE[BEFORE.index("def audit") :]
    branch_off(root, pay_py=before, trail_py=after, **parts)

    assert [item.memory.id for item in mind.review.diff("main").moved] == [memory.id]


def test_overloads_that_change_alike_are_told_once(root: Path, mind: Hivemind) -> None:
    shop = "class Shop\n  def self.open\n    1\n  end\n\n  def open\n    1\n  end\nend\n"
    commit(root, "Add a shop", **{"shop.rb": shop})
    stored = run("remember", "Shops open at nine", "--link", "shop.rb::Shop.open")
    branch_off(root, **{"shop.rb": ""})

    assert mind.list()[0].about == ("shop.rb::Shop.open",)
    for answer in (stored.stderr, run("diff", "main").stdout, run("code", "stale").stdout):
        assert answer.count("shop.rb::Shop.open") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_file_whose_name_is_not_unicode_changes_no_answer(root: Path, mind: Hivemind) -> None:
    memory = mind.remember("Refunds are audited", links=["pay.py::refund"])
    (root / os.fsdecode(b"caf\xe9.py")).write_text("def pour():\n    return 1\n")
    branch_off(root, pay_py=BEFORE.partition("def refund")[0])

    assert [item.memory.id for item in mind.review.diff("main").stale] == [memory.id]
    assert [item.memory.id for item in mind.code.stale()] == [memory.id]


def test_another_branch_is_compared_without_checking_it_out(root: Path, mind: Hivemind) -> None:
    memory = mind.remember("Charges are tried three times: retries", links=["pay.py::charge"])
    branch_off(root, pay_py=AFTER)
    git(root, "checkout", "main")

    assert [item.memory.id for item in mind.review.diff("main...feature").stale] == [memory.id]
    assert mind.review.diff("main").stale == ()


def test_what_changed_on_main_is_not_of_the_branch(root: Path, mind: Hivemind) -> None:
    mind.remember("Charges are tried three times: retries", links=["pay.py::charge"])
    branch_off(root, other_py="def other():\n    return 1\n")
    git(root, "checkout", "main")
    commit(root, "Retry more", pay_py=AFTER)
    git(root, "checkout", "feature")

    assert mind.review.diff("main").memory_ids == frozenset()


def test_layout_and_comments_make_nothing_stale(root: Path, mind: Hivemind) -> None:
    mind.remember("Charges are tried three times: retries", links=["pay.py::charge"])
    branch_off(root, pay_py=BEFORE.replace("    retries = 3", "    # As the bank asks.\n    retries = 3"))

    assert mind.review.diff("main").stale == ()


def test_a_memory_that_was_verified_on_the_branch_is_no_longer_to_verify(root: Path, mind: Hivemind) -> None:
    memory = mind.remember("Charges are tried three times: retries", links=["pay.py::charge"])
    branch_off(root, pay_py=AFTER)
    assert mind.review.diff("main").stale

    mind.review.verify(memory.id)

    assert mind.review.diff("main").stale == ()


def test_taught_is_what_was_stored_since_then_about_files_of_the_branch(root: Path, mind: Hivemind) -> None:
    branch_off(root, pay_py=AFTER)
    taught = mind.remember("Charges are tried five times, as the bank asked", links=["pay.py::charge"])
    mind.remember("The README says how to start", links=["README.md"])

    assert [memory.id for memory in mind.review.diff("main").taught] == [taught.id]


def test_taught_is_also_what_a_session_stored_that_changed_the_files(
    root: Path, mind: Hivemind, open_mind: Open, clock: Clock
) -> None:
    branch_off(root, pay_py=AFTER)
    for session, file in (("s1", "pay.py"), ("s9", "README.md")):
        edit = {
            "session_id": session, "hook_event_name": "PostToolUse", "cwd": str(root), "tool_name": "Edit",
            "tool_input": {"file_path": str(root / file), "old_string": "a", "new_string": "b"}, "tool_response": {},
        }  # fmt: skip
        run("brief")
        subprocess.run(
            [sys.executable, "-m", "hivemind.entrypoints.hook", "claude-code"],
            input=json.dumps(edit).encode(),
            check=True,
        )
    from_session = open_mind(root, AGENT).remember("The bank asked for five attempts")
    mind.remember("Our bank is in Zürich")

    taught = [memory.id for memory in mind.review.diff("main").taught]

    assert taught == [from_session.id]


def test_a_memory_that_contradicts_an_older_one_is_told(root: Path, mind: Hivemind) -> None:
    old = mind.remember("The payment timeout is 30 seconds", subject="payment-timeout")
    branch_off(root, pay_py=AFTER)
    new = mind.remember("The payment timeout is 60 seconds", links=["pay.py::charge"], replaces=[old.id])

    (item,) = mind.review.diff("main").contradicted

    assert (item.memory.id, item.by.id, item.is_replaced) == (old.id, new.id, True)
    assert run("diff", "main").exit_code == 1


def test_a_stale_proposal_is_told_and_stops_nothing_until_it_is_approved(root: Path, mind: Hivemind) -> None:
    proposal = mind.remember("Charges are tried three times: retries", links=["pay.py::charge"], propose=True)
    branch_off(root, pay_py=AFTER)

    assert [item.memory.id for item in mind.review.diff("main").stale] == [proposal.id]
    assert run("diff", "main").exit_code == 0
    mind.approve(proposal.id)
    assert run("diff", "main").exit_code == 1


def test_markdown_shows_the_team_and_counts_the_rest(root: Path, mind: Hivemind) -> None:
    mind.remember("Charges are tried three times: retries", links=["pay.py::charge"], scope="team")
    mind.remember("Secretly we retry for the Zanzibar account", links=["pay.py::charge"])
    branch_off(root, pay_py=AFTER)

    public, private = run("diff", "main", "--markdown"), run("diff", "main", "--markdown", "--private")
    text, values = run("diff", "main"), json.loads(run("diff", "main", "--json").stdout)

    assert "Charges are tried three times" in public.stdout
    assert "`pay.py::charge`" in public.stdout
    assert "`retries = 3` → `retries = 5`" in public.stdout
    assert "Zanzibar" not in public.stdout
    assert "1 private memory not shown" in public.stdout
    assert "ada" not in public.stdout
    assert "Zanzibar" in private.stdout
    assert "Zanzibar" in text.stdout
    assert len(values["stale"]) == 2
    assert {public.exit_code, private.exit_code, text.exit_code} == {1}


def test_nothing_in_a_memory_is_markdown_in_a_pull_request(root: Path, mind: Hivemind) -> None:
    hostile = "retries: @everyone ![x](https://evil.example/x.png) <img src=x> `` ``` #1"
    mind.remember(hostile, links=["pay.py::charge"], scope="team")
    branch_off(root, pay_py=AFTER)

    line = next(line for line in run("diff", "main", "--markdown").stdout.splitlines() if "@everyone" in line)

    assert line.startswith("- ```` retries: @everyone")
    assert line.endswith(" ````")


def test_a_branch_that_affects_nothing_says_so_and_exits_with_zero(root: Path, mind: Hivemind) -> None:
    branch_off(root, pay_py=AFTER)

    text, markdown = run("diff"), run("diff", "--markdown")

    assert (text.exit_code, markdown.exit_code) == (0, 0)
    assert "affects no memory since it left main" in text.output
    assert "No memory was taught or is affected" in markdown.stdout


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["nowhere"], 2), (["--output=x...HEAD"], 2), (["main", "--private"], 2), (["main", "--markdown", "--json"], 2)],
)
def test_wrong_names_and_options_are_refused(root: Path, arguments: list[str], code: int) -> None:
    assert run("diff", *arguments).exit_code == code


def test_histories_without_a_common_commit_and_folders_outside_of_git_are_explained(
    root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    git(root, "checkout", "--orphan", "alone")
    commit(root, "Start again")
    alone = run("diff", "main")
    monkeypatch.chdir(tmp_path)
    outside = run("diff", "main")
    commits = run("import", "git")

    assert (alone.exit_code, outside.exit_code) == (6, 6)
    assert "no commit in common" in alone.output
    assert outside.output == commits.output


def read_block(language: str, containing: str) -> str:
    """Return the block of the page that has these words."""
    blocks: list[str] = re.findall(rf"^```{language}\n(.*?)^```", DOC.read_text(), re.DOTALL | re.MULTILINE)
    return next(block for block in blocks if containing in block)


def test_the_workflow_of_the_page_works_in_a_clone_without_a_store(
    root: Path, mind: Hivemind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    yaml = pytest.importorskip("yaml")
    mind.remember("Charges are tried three times: retries", links=["pay.py::charge"], scope="team")
    gone = mind.remember("Receipts go to the auditor", scope="team")
    mind.code.link(gone.id, ["pay.py::refund"])
    mind.remember("Zanzibar is my own affair", links=["pay.py::charge"])
    assert run("export", "--shared", ".hivemind.jsonl").exit_code == 0
    base = commit(root, "Share memories")
    branch_off(root, pay_py=AFTER.replace(BEFORE[BEFORE.index("def refund") : BEFORE.index("def audit")], ""))
    mind.remember("Five attempts are what the bank asked for", links=["pay.py::charge"], scope="team")
    assert run("export", "--shared", ".hivemind.jsonl").exit_code == 0
    head = commit(root, "Share what was learned")
    git(tmp_path, "clone", str(root), "clone")
    git(tmp_path / "clone", "remote", "set-url", "origin", REMOTE)
    workflow: Any = yaml.safe_load(read_block("yaml", "pull_request"))
    (script,) = (step["run"] for step in workflow["jobs"]["diff"]["steps"] if "hivemind diff" in step.get("run", ""))
    command = shutil.which("hivemind") or str(Path(sys.executable).with_name("hivemind"))

    subprocess.run(
        ["bash", "-e", "-c", script], cwd=tmp_path / "clone", check=True, capture_output=True,
        env={
            **os.environ, "BASE": base, "HEAD": head, "HIVEMIND_HOME": str(tmp_path / "runner"),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
            "PATH": f"{Path(command).parent}{os.pathsep}{os.environ['PATH']}",
        },
    )  # fmt: skip

    summary = (tmp_path / "summary.md").read_text()
    assert "`retries = 3` → `retries = 5`" in summary
    assert "`Receipts go to the auditor`" in summary
    assert "gone since" in summary
    assert "`Five attempts are what the bank asked for` (proposed)" in summary
    assert "Zanzibar" not in summary
    assert "Zanzibar" not in (root / ".hivemind.jsonl").read_text()


def test_the_hook_of_the_page_stops_a_push_that_makes_memories_stale(
    root: Path, mind: Hivemind, tmp_path: Path
) -> None:
    hook = root / ".git/hooks/pre-push"
    hook.write_text(read_block("sh", "#!/bin/sh"))
    hook.chmod(0o755)
    git(tmp_path, "init", "--bare", "server.git")
    git(root, "remote", "set-url", "--push", "origin", str(tmp_path / "server.git"))
    memory = mind.remember("Charges are tried three times: retries", links=["pay.py::charge"])
    branch_off(root, pay_py=AFTER)
    command = shutil.which("hivemind") or str(Path(sys.executable).with_name("hivemind"))
    environment = {**os.environ, "PATH": f"{Path(command).parent}{os.pathsep}{os.environ['PATH']}"}

    push = ["git", "push", "origin", "feature"]
    stopped = subprocess.run(push, cwd=root, env=environment, capture_output=True, text=True, check=False)
    mind.review.verify(memory.id)
    passed = subprocess.run(push, cwd=root, env=environment, capture_output=True, text=True, check=False)

    assert stopped.returncode == 1
    assert memory.id[:8] in stopped.stdout + stopped.stderr
    assert passed.returncode == 0, passed.stderr
