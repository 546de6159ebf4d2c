"""Sessions of removed worktrees and moved clones belong to their repository."""

import shutil
from collections.abc import Callable
from pathlib import Path

from hivemind.model.memory import Status
from tests.conftest import Open, git
from tests.sessions.sessions import told

Make = Callable[..., Path]


def keep_session(directory: Path, user: Path, session: str = "s1") -> None:
    session_of_fix = told(directory, session, user).asked("Make the till count cents again")
    session_of_fix.ran("pytest -q", "2 passed").said("Done.").keep()


def test_a_session_of_a_worktree_that_was_removed_belongs_to_the_repository_around_it(
    open_mind: Open, make_repository: Make, tmp_path: Path
) -> None:
    here = make_repository("here")
    worktree = here / ".worktrees" / "feature"
    git(here, "worktree", "add", "-q", "-b", "feature", str(worktree))
    keep_session(worktree, tmp_path / "user")
    git(here, "worktree", "remove", str(worktree))
    mind = open_mind(here)

    mind.sessions.import_transcripts(home=tmp_path / "user")

    assert [session.id for session in mind.sessions.list()] == ["s1"]
    assert [item.memory.text for item in mind.review.queue()] == ["`pytest -q` runs the tests here"]


def test_a_command_is_learned_for_the_folder_that_the_agent_had_changed_to(
    open_mind: Open, make_repository: Make, tmp_path: Path
) -> None:
    here = make_repository("here")
    (here / "web").mkdir()
    (here / "web" / "package.json").write_text('{"scripts": {"test": "vitest run"}}')
    session = told(here, "s1", tmp_path / "user").asked("Make the till count cents again").ran("ruff check", "ok")
    session.directory = here / "web"
    session.ran("npm test", "2 passed").said("Done.").keep()
    mind = open_mind(here)

    mind.sessions.import_transcripts(home=tmp_path / "user")

    texts = {item.memory.text for item in mind.review.queue()}
    assert texts == {"`npm test` runs the tests in web/", "`ruff check` checks style here"}


def test_a_session_of_a_worktree_beside_its_repository_is_found_by_the_path_that_was_seen_before(
    open_mind: Open, make_repository: Make, tmp_path: Path
) -> None:
    here, worktree = make_repository("here"), tmp_path / "here-feature"
    git(here, "worktree", "add", "-q", "-b", "feature", str(worktree))
    open_mind(worktree).remember("Seen in the worktree")
    keep_session(worktree / "src", tmp_path / "user")
    git(here, "worktree", "remove", str(worktree))
    mind = open_mind(here)

    mind.sessions.import_transcripts(home=tmp_path / "user")

    assert [session.id for session in mind.sessions.list()] == ["s1"]


def test_sessions_of_a_clone_that_was_moved_are_found_in_its_new_place(
    open_mind: Open, make_repository: Make, tmp_path: Path
) -> None:
    old = make_repository("old", remote="https://git.example.org/shop.git")
    open_mind(old).remember("Seen in the old place")
    new = tmp_path / "new"
    old.rename(new)
    keep_session(old, tmp_path / "user")
    mind = open_mind(new)

    mind.sessions.import_transcripts(home=tmp_path / "user")

    assert [session.id for session in mind.sessions.list()] == ["s1"]


def test_what_was_imported_before_its_repository_was_known_is_found_later(
    open_mind: Open, make_repository: Make, tmp_path: Path
) -> None:
    gone, user = tmp_path / "shop" / ".worktrees" / "feature", tmp_path / "user"
    keep_session(gone, user)
    open_mind(tmp_path).sessions.import_transcripts(home=user)
    here = make_repository("shop")
    before = open_mind(here).sessions.list()

    open_mind(here).sessions.import_transcripts(home=user)

    assert before == ()
    mind = open_mind(here)
    assert [session.id for session in mind.sessions.list()] == ["s1"]
    assert [item.memory.status for item in mind.review.queue()] == [Status.PROPOSED]


def test_a_directory_that_is_gone_and_was_never_seen_stays_apart(
    open_mind: Open, make_repository: Make, tmp_path: Path
) -> None:
    here, stranger = make_repository("here"), tmp_path / "stranger"
    stranger.mkdir()
    keep_session(stranger, tmp_path / "user")
    shutil.rmtree(stranger)
    mind = open_mind(here)

    mind.sessions.import_transcripts(home=tmp_path / "user")

    assert mind.sessions.list() == ()
    assert [session.id for session in mind.sessions.list(everywhere=True)] == ["s1"]
