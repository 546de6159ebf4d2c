"""Commits that give a reason: which do, how they are indexed, and which of them made a line."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hivemind import Hivemind
from hivemind.code.commit_index import MOST_FILES, CommitIndex, ReasonedCommit
from hivemind.errors import Unavailable
from hivemind.recall import blame
from hivemind.text.commit_messages import find_reason
from tests.command_line import residue
from tests.conftest import Open, git

WHY = "The token lives five minutes, so a retry with the old one fails because the server forgot it."
FIXED = f"Retry the upload with a new token\n\n{WHY}"
Make = Callable[..., Path]


def commit(root: Path, message: str, name: str = "upload.py", content: str = "x = 1\n", author: str = "Ada") -> str:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(content)
    git(root, "add", ".")
    git(root, "commit", "-m", message, "--author", f"{author} <a@example.com>")
    return git(root, "rev-parse", "HEAD").strip()


def read(root: Path, home: Path) -> list[ReasonedCommit]:
    with CommitIndex.open(root, home / "index") as index:
        return index.search(["token", "queue", "redis", "server"], 10)


@pytest.mark.parametrize(
    ("message", "author", "gives_one"),
    [
        (FIXED, "Ada", True),
        ('Revert "Cache tokens"\n\nThis reverts commit abc, because two users got the same one.', "Ada", True),
        ("Retry the upload with a new token", "Ada", False),
        ('Revert "Cache tokens"\n\nThis reverts commit 0123456789abcdef.', "Ada", False),
        (f"Bump requests from 2.1 to 2.2\n\n{WHY}", "Ada", False),
        (FIXED, "dependabot[bot]", False),
        (f"Release 2.1\n\n{WHY}", "Ada", False),
        (f"Retry (#12)\n\n* {WHY}", "Ada", False),
        (f"Retry\n\n> {WHY}", "Ada", False),
        ("Retry\n\nReviewed-by: because of the server that fails", "Ada", False),
    ],
)
def test_a_message_gives_a_reason_only_in_words_of_its_author(message: str, author: str, gives_one: bool) -> None:
    assert bool(find_reason(message, author)) == gives_one


def test_commits_are_indexed_once_and_make_no_proposals(open_mind: Open, make_repository: Make, home: Path) -> None:
    root = make_repository("api")
    first = commit(root, FIXED)
    commit(root, "Add a queue", "queue.py")
    mind = open_mind(root)

    done, again = mind.code.index_commits(), mind.code.index_commits()
    second = commit(root, "Drop redis\n\nThe queue would be lost with it, because nothing is written.", "queue.py", "y")
    later = mind.code.index_commits()

    assert (done.commits, done.reasons, again.commits) == (3, 1, 0)
    assert (later.commits, later.reasons) == (1, 1)
    assert {one.id for one in read(root, home)} == {first, second}
    assert mind.list(everywhere=True) == ()


def test_a_dry_run_counts_and_stores_nothing(open_mind: Open, make_repository: Make, home: Path) -> None:
    root = make_repository("api")
    commit(root, FIXED)

    report = open_mind(root).code.index_commits(dry_run=True)

    assert (report.commits, report.reasons) == (2, 1)
    assert not list((home / "index").glob("commits-*"))


def test_only_commits_since_a_date_are_read_if_asked(
    open_mind: Open, make_repository: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_repository("api")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2020-01-01T00:00:00Z")
    commit(root, FIXED)
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2024-01-01T00:00:00Z")
    commit(root, f"Ask twice\n\n{WHY}", content="x = 2\n")

    mind = open_mind(root)

    assert mind.code.index_commits(since="2023-01-01", dry_run=True).reasons == 1
    assert mind.code.index_commits(since="2019-01-01").reasons == 2


def test_a_rewritten_history_is_read_again(open_mind: Open, make_repository: Make, home: Path) -> None:
    root = make_repository("api")
    commit(root, FIXED)
    mind = open_mind(root)
    mind.code.index_commits()
    git(root, "commit", "--amend", "-m", f"Ask the server again\n\n{WHY}")
    git(root, "reflog", "expire", "--expire=now", "--all")
    git(root, "gc", "--prune=now", "--quiet")

    mind.code.index_commits()

    assert [one.subject for one in read(root, home)] == ["Ask the server again"]


def test_a_damaged_index_is_made_again(open_mind: Open, make_repository: Make, home: Path) -> None:
    root = make_repository("api")
    commit(root, FIXED)
    mind = open_mind(root)
    mind.code.index_commits()
    [file] = (home / "index").glob("commits-*.db")
    file.write_bytes(b"not a database, but long enough to be looked at" * 100)

    assert mind.recall("why a new token after an upload fails?").commits == ()
    assert mind.code.index_commits().reasons == 1


def test_a_sweeping_commit_has_no_reason_for_any_line(open_mind: Open, make_repository: Make) -> None:
    root = make_repository("api")
    for number in range(MOST_FILES):
        (root / f"{number}.py").write_text("x\n")
    commit(root, FIXED)

    assert open_mind(root).code.index_commits().reasons == 0


def test_indexing_the_code_and_learning_index_new_commits(open_mind: Open, make_repository: Make, home: Path) -> None:
    root = make_repository("api")
    commit(root, FIXED)
    mind = open_mind(root)

    mind.code.index()
    by_indexing = len(read(root, home))
    commit(root, f"Ask the server\n\n{WHY}", content="x = 2\n")
    mind.learning.learn()

    assert (by_indexing, len(read(root, home))) == (1, 2)


def test_odd_names_and_times_stop_nothing(
    open_mind: Open, make_repository: Make, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_repository("api")
    (root / os.fsdecode(b"caf\xe9.py")).write_text("x\n")
    (root / "new\nline.py").write_text("x\n")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "@4102444800000 +0000")
    monkeypatch.setenv("GIT_AUTHOR_DATE", "@4102444800000 +0000")
    commit(root, f"Ask the server\n\n{WHY}", "odd.py")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")
    (root / os.fsdecode(b"th\xe9.py")).write_text("x\n")
    commit(root, FIXED)

    open_mind(root).code.index_commits()

    assert "Retry the upload with a new token" in [one.subject for one in read(root, home)]


def test_secrets_in_messages_are_redacted(open_mind: Open, make_repository: Make, home: Path) -> None:
    root = make_repository("api")
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    commit(root, f"Send the token\n\nThe server fails because {secret} was left out.")

    open_mind(root).code.index_commits()

    assert "[redacted" in read(root, home)[0].reason.lower()
    assert not residue(home, secret.encode())


def test_a_directory_without_a_history_says_so(open_mind: Open, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="no git repository"):
        open_mind(tmp_path).code.index_commits()


def test_an_erased_text_leaves_the_index_and_does_not_come_back(
    open_mind: Open, make_repository: Make, home: Path
) -> None:
    root = make_repository("api")
    text = "the customer Zabrowski pays in advance on the first of May"
    commit(root, f"Ask for the money\n\nWe fail because {text}.")
    commit(root, FIXED, content="x = 2\n")
    mind = open_mind(root)
    mind.code.index_commits()
    there_before = residue(home, b"Zabrowski")
    memory = mind.remember(text)

    receipt = mind.erase(memory.id)
    after_erasing = residue(home, b"Zabrowski")
    for file in (home / "index").glob("commits-*"):
        file.unlink()
    mind.code.index_commits()

    assert there_before
    assert any(place.name == "index" and place.state == "done" for place in receipt.places)
    assert receipt.is_complete
    assert not after_erasing
    assert not residue(home, b"Zabrowski")
    assert "Retry the upload with a new token" in [one.subject for one in read(root, home)]


def test_erasing_a_name_reaches_copies_of_commits(open_mind: Open, make_repository: Make, home: Path) -> None:
    root = make_repository("api")
    commit(root, FIXED, author="Quillfeather")
    commit(root, f"Ask the server\n\n{WHY}", content="x = 2\n")
    mind = open_mind(root)
    mind.code.index_commits()
    mind.remember("Quillfeather knows the server")

    mind.erasures.erase_mentions("Quillfeather")

    assert not residue(home, b"Quillfeather")
    assert [one.author for one in read(root, home)] == ["Ada"]


def test_a_rejected_reason_is_not_found_again(open_mind: Open, make_repository: Make) -> None:
    root = make_repository("api")
    commit(root, FIXED)
    mind = open_mind(root)
    mind.code.index_commits()
    question = "why does a retry of the upload need a new token?"
    before = mind.recall(question).commits
    mind.reject(mind.remember(WHY).id)

    assert len(before) == 1
    assert mind.recall(question).commits == ()


def test_recall_lists_commits_of_this_repository_that_surely_match(open_mind: Open, make_repository: Make) -> None:
    root, other = make_repository("api"), make_repository("other")
    commit_id = commit(root, FIXED)
    mind, elsewhere = open_mind(root), open_mind(other)
    mind.code.index_commits()
    elsewhere.code.index_commits()
    question = "why does a retry of the upload need a new token?"

    answer = mind.recall(question)

    assert [one.commit_id for one in answer.commits] == [commit_id]
    assert f"commit {commit_id[:7]} · Ada · " in answer.text
    assert "not reviewed" in answer.text
    assert answer.receipt
    assert mind.recall("how is the upload page deployed to the server farm?").commits == ()
    assert mind.recall(question, kinds=["fact"]).commits == ()
    assert elsewhere.recall(question).commits == ()


# -- which commit made a line --------------------------------------------------------------------------


def diff(*lines: str) -> list[str]:
    return ["\n".join(("--- a", "+++ a", "@@ -1,9 +1,9 @@", *lines))]


@pytest.fixture
def history(make_repository: Make) -> tuple[Path, str, str]:
    root = make_repository("api")
    created = commit(root, "Upload", content="def send(token):\n    retry = 1\n    return token\n")
    changed = commit(root, FIXED, content="def send(token):\n    retry = 5\n    return token\n")
    return root, created, changed


def test_the_commit_of_a_removed_line_is_found_also_within_a_line(history: tuple[Path, str, str]) -> None:
    root, created, changed = history

    whole = blame.find_origins(root, "upload.py", diff(" def send(token):", "-    retry = 5", "+    retry = 6"))
    part = blame.find_origins(root, "upload.py", diff("-retry = 5", "+retry = 6"))
    [first] = blame.find_origins(root, "upload.py", diff("-    return token", "+    return 1"))

    assert [(one.commit_id, one.creates_file) for one in whole] == [(changed, False)]
    assert [one.commit_id for one in part] == [changed]
    assert (first.commit_id, first.creates_file) == (created, True)


def test_a_commit_that_only_indents_a_line_did_not_make_it(history: tuple[Path, str, str]) -> None:
    root, _, changed = history
    commit(root, "Indent", content="def send(token):\n        retry  =  5\n    return token\n")

    [origin] = blame.find_origins(root, "upload.py", diff("-        retry  =  5", "+        retry = 6"))

    assert origin.commit_id == changed


def test_lines_that_are_not_committed_or_only_added_have_no_commit(history: tuple[Path, str, str]) -> None:
    root, _, changed = history
    (root / "upload.py").write_text("def send(token):\n    retry = 5\n    wait = 9\n    return token\n")

    assert blame.find_origins(root, "upload.py", diff("-    wait = 9", "+    wait = 8")) == []
    assert blame.find_origins(root, "upload.py", diff("     retry = 5", "+    wait = 9")) == []
    assert blame.find_origins(root, "new.py", diff("-    retry = 5")) == []
    [origin] = blame.find_origins(root, "upload.py", diff("-    retry = 5", "-    wait = 9", "+    wait = 8"))
    assert origin.commit_id == changed


def test_lines_older_than_asked_for_have_no_commit(make_repository: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_repository("api")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2020-01-01T00:00:00Z")
    commit(root, FIXED, content="size = 1\n")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2024-01-01T00:00:00Z")
    newer = commit(root, FIXED, content="size = 1\nwidth = 2\n")
    edit = diff("-size = 1", "-width = 2")

    assert [one.commit_id for one in blame.find_origins(root, "upload.py", edit, since="2023-01-01")] == [newer]
    assert len(blame.find_origins(root, "upload.py", edit, since="2020-01-01T00:00:00Z")) == 2


def test_comments_and_imports_have_no_commit(make_repository: Make) -> None:
    root = make_repository("api")
    commit(root, FIXED, content="import token\n    # the retry\nretry = 1\n")

    assert blame.find_origins(root, "upload.py", diff("-import token", "-    # the retry")) == []
    assert len(blame.find_origins(root, "upload.py", diff("-import token", "-    # the retry", "-retry = 1"))) == 1


def test_a_line_that_stands_there_twice_has_no_commit(make_repository: Make) -> None:
    root = make_repository("api")
    commit(root, FIXED, content="size = 1\nb = 2\nsize = 1\nc = 3\n")

    assert blame.find_origins(root, "upload.py", diff("-size = 1")) == []
    assert len(blame.find_origins(root, "upload.py", diff("-size = 1", " c = 3"))) == 1


def test_without_git_nothing_is_known_of_a_line(
    history: tuple[Path, str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, _, _ = history
    edit = diff("-    retry = 5", "+    retry = 6")
    before = blame.find_origins(root, "upload.py", edit)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert before
    assert blame.find_origins(root, "upload.py", edit) == []


def test_the_index_is_for_the_owner_alone(open_mind: Open, make_repository: Make, home: Path) -> None:
    root = make_repository("api")
    commit(root, FIXED)
    mind: Hivemind = open_mind(root)
    mind.code.index_commits()

    assert {file.stat().st_mode & 0o077 for file in (home / "index").glob("commits-*")} == {0}
