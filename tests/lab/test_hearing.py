"""The evaluation of hearing counts which lasting sentences a note quotes, on a history small enough for every run."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.evals.hearing.__main__ import (
    compute_checksum,
    is_covered,
    main,
    measure,
    pair_turns,
    parse_history,
    read_data,
    read_turns,
    summarise,
)
from tests.conftest import git

TASK = "Please make the button on the login page blue."
RULE = "From now on use pnpm, not npm, because npm breaks the lockfile."
PATH = ".specstory/history/2026-03-01-login.md"
HISTORY = f"""# Login page

_**User**_

{TASK}

---

_**Agent (model x)**_

<think>Where is the button?</think>
It is blue now. I ran npm install.

---

_**User**_

Thanks. {RULE}
"""


@pytest.fixture
def clones(tmp_path: Path, make_repository: Callable[..., Path]) -> Path:
    """A bare clone of a repository with one history, and tables that name its prompts."""
    origin = make_repository("origin")
    (origin / PATH).parent.mkdir(parents=True)
    (origin / PATH).write_text(HISTORY)
    git(origin, "add", ".")
    git(origin, "commit", "-q", "-m", "Add a session")
    commit = git(origin, "rev-parse", "HEAD").strip()
    git(tmp_path, "clone", "-q", "--bare", str(origin), str(tmp_path / "clones" / "ada+shop"))
    rows = [
        ["id", "split", "repository", "commit", "path", "turn", "checksum"],
        ["ada:1", "test", "ada/shop", commit, PATH, "1", compute_checksum(TASK)],
        ["ada:2", "test", "ada/shop", commit, PATH, "2", compute_checksum(f"Thanks. {RULE}")],
        ["ada:3", "test", "ada/shop", commit, PATH, "2", compute_checksum("something else")],
        ["bob:1", "dev", "bob/absent", commit, PATH, "1", compute_checksum(TASK)],
    ]
    begin = len("Thanks. ")
    labels = [["prompt", "begin", "end", "kind", "grade"], ["ada:2", str(begin), str(begin + len(RULE)), "R", "keep"]]
    for name, table in (("prompts.tsv", rows), ("labels.tsv", labels)):
        (tmp_path / name).write_text("".join("\t".join(row) + "\n" for row in table))
    return tmp_path / "clones"


def test_a_lasting_sentence_is_covered_and_a_task_gets_no_note(tmp_path: Path, clones: Path) -> None:
    places, labels = read_data(tmp_path)
    answers = measure(places, labels, read_turns(clones, places))

    assert [(answer.place.id, answer.quotes) for answer in answers] == [("ada:1", ()), ("ada:2", (RULE,))]
    figures = summarise(answers)
    assert (figures["people"], figures["prompts"], figures["notes per 100 prompts"]) == (1, 2, 50)
    assert figures["keep covered"] == figures["keep+maybe covered"] == "1 of 1 (100%)"
    assert figures["prompts that load the encoder"] == "1 of 2 (50%)"


def test_the_command_prints_only_splits_that_have_prompts(
    tmp_path: Path, clones: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["hearing", str(clones), "--data", str(tmp_path)])
    main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("2 of 4 prompts")
    assert "test" in lines
    assert "dev" not in lines


def test_a_turn_has_the_reply_before_it_without_reasoning() -> None:
    first, second = pair_turns(parse_history(PATH, HISTORY))
    assert (first.prompt, first.reply) == (TASK, "")
    assert (second.prompt, second.reply) == (f"Thanks. {RULE}", "It is blue now. I ran npm install.")


def test_aider_and_claude_code_histories_give_the_same_turns() -> None:
    aider = f"# aider chat started at 2026-03-01\n\n#### {TASK}\n\nDone.\n\n> Tokens: 5\n\n#### {RULE}\n"
    entries = [
        {"type": "user", "message": {"content": f"<system-reminder>Be brief.</system-reminder>{TASK}"}},
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "Done."}]}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "content": "blue"}]}},
        {"type": "user", "message": {"content": [{"type": "text", "text": RULE}]}},
    ]
    transcript = "".join(f"{json.dumps(entry)}\n" for entry in entries)
    for path, text in ((".aider.chat.history.md", aider), ("ab/cd/0/full.jsonl", transcript)):
        assert list(pair_turns(parse_history(path, text))) == [(TASK, ""), (RULE, "Done.")]


def test_a_quote_covers_a_sentence_with_most_words_of_the_shorter_one() -> None:
    assert is_covered(RULE, "use pnpm, not npm")
    assert not is_covered(RULE, TASK)
    assert not is_covered(RULE, "…")
