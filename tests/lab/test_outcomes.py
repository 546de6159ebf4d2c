"""The evaluation of outcomes replays a few sessions and writes its claims with their context."""

from datetime import timedelta
from pathlib import Path

import pytest

from hivemind.learning.session_view import SessionView
from hivemind.model.outcomes import OutcomeKind
from lab.evals.outcomes import read_views, replay, sample_cases
from tests.conftest import git
from tests.sessions.sessions import START, told

RULES = "# Rules\n\n- Use pnpm, not npm, in this repository.\n- Run the tests with `make check`.\n"


def test_a_claim_comes_with_the_memory_the_telling_and_the_step_that_shows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")
    folder = tmp_path / "tiny__shop"
    folder.mkdir()
    for number in range(1, 5):
        session = told(tmp_path / "work", f"s{number}", user=tmp_path / f"user{number}")
        session.asked("Please add a page that lists all orders of a customer.")
        session.ran("npm install" if number == 4 else "make check", "ok").said("The page is there.")
        for second, line in enumerate(session.lines):
            line["timestamp"] = (START + timedelta(days=number, seconds=second)).isoformat()
        session.keep().rename(folder / f"s{number}.jsonl")
    clone = tmp_path / "clone"
    clone.mkdir()
    (clone / "AGENTS.md").write_text(RULES)
    git(clone, "init")
    git(clone, "add", ".")
    git(clone, "commit", "-m", "start")

    views = read_views(folder)
    assert all(isinstance(view, SessionView) for view in views)
    replayed = replay(views, clone, tmp_path / "scratch")

    kinds = {item.outcome.kind for item in replayed}
    assert kinds >= {OutcomeKind.OBEYED, OutcomeKind.IGNORED}
    ignored = [case for case in sample_cases("tiny__shop", replayed) if case["claim"] == "ignored"]
    assert ["pnpm" in case["memory"] and "npm install" in case["evidence"] for case in ignored] == [True]
