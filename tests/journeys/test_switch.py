"""Memory turned off in one repository, by its own file."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hivemind import Hivemind
from hivemind.entrypoints import hook as hook_file
from hivemind.sessions import spool_reader
from hivemind.text.switch import FILE, NOTICE, is_off
from tests.command_line import run, run_json
from tests.conftest import Clock, Open, git
from tests.mcp.client import connected

Make = Callable[..., Path]
EVENTS = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")


def hook(directory: Path, event: str = "PostToolUse", **more: object) -> str:
    payload = {
        "session_id": "s1",
        "cwd": str(directory),
        "hook_event_name": event,
        "prompt": "How do we deploy?",
        "tool_name": "Bash",
        "tool_input": {"command": "make"},
        "tool_response": {"stdout": "done"},
        "tool_use_id": f"t-{directory.name}",
    }
    command = [sys.executable, "-I", "-S", str(hook_file.__file__), "claude-code", event]
    done = subprocess.run(
        command, input=json.dumps(payload | more).encode(), capture_output=True, check=False, timeout=20
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def count_lines(home: Path) -> int:
    return len(list(spool_reader.read_waiting_lines(str(home))))


@pytest.fixture
def repository(make_repository: Make, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = make_repository("quiet")
    monkeypatch.chdir(directory)
    return directory


def test_where_memory_is_off_hooks_record_and_answer_nothing_and_where_it_is_on_they_do(
    repository: Path, make_repository: Make, home: Path
) -> None:
    run_json("remember", "We deploy with make ship", "--scope", "user")
    neighbour = make_repository("neighbour")
    run("off")

    answers = [hook(repository, event) for event in EVENTS]
    lines_while_off = count_lines(home)
    neighbours_answer = hook(neighbour, "SessionStart", session_id="s2")
    run("on")
    answer_when_on = hook(repository, "SessionStart")
    sessions = run_json("sql", "SELECT directory FROM sessions ORDER BY directory")

    assert (answers, lines_while_off) == ([""] * len(EVENTS), 0)
    assert ("make ship" in neighbours_answer, "make ship" in answer_when_on) == (True, True)
    assert [session["directory"] for session in sessions] == [str(neighbour), str(repository)]


def test_a_subfolder_and_every_worktree_of_the_repository_count(repository: Path, tmp_path: Path, home: Path) -> None:
    (repository / "src" / "app").mkdir(parents=True)
    git(repository, "worktree", "add", "-q", str(tmp_path / "other"))
    places = [repository, repository / "src" / "app", tmp_path / "other"]

    for place in (repository, tmp_path / "other"):
        os.chdir(place)
        assert run_json("off")["memory"] == "off"
        assert [is_off(str(directory)) for directory in places] == [True] * len(places)
        for directory in places:
            hook(directory)
        assert count_lines(home) == 0
        assert run_json("on")["memory"] == "on"
        assert [is_off(str(directory)) for directory in places] == [False] * len(places)


def test_worktrees_of_a_bare_repository_share_the_switch(repository: Path, tmp_path: Path) -> None:
    bare = tmp_path / "store.git"
    git(tmp_path, "clone", "-q", "--bare", str(repository), str(bare))
    for name in ("one", "two"):
        git(bare, "worktree", "add", "-q", "-b", name, str(tmp_path / name))
    os.chdir(tmp_path / "one")

    run("off")

    assert (is_off(str(tmp_path / "two")), is_off(str(repository))) == (True, False)
    assert git(tmp_path / "one", "status", "--porcelain").strip() == ""


def test_off_is_private_and_on_leaves_nothing_behind(repository: Path) -> None:
    exclude = repository / ".git" / "info" / "exclude"
    before = exclude.read_bytes() if exclude.exists() else b""

    run("off")
    run("off")
    status = git(repository, "status", "--porcelain").strip()
    excludes = exclude.read_text().count(FILE)
    run("on")

    assert (status, excludes) == ("", 1)
    assert not (repository / FILE).exists()
    assert (exclude.read_bytes() if exclude.exists() else b"") == before


def test_a_file_that_the_team_committed_turns_memory_off_and_other_lines_stay(repository: Path, home: Path) -> None:
    (repository / FILE).write_text('# ours\nmemory = "off"  # no recording here\nbelieved = "everything"\n')
    git(repository, "add", FILE)
    git(repository, "commit", "-qm", "Turn memory off")
    hook(repository)
    lines_while_off = count_lines(home)

    changed = run_json("on")["changed"]
    hook(repository)

    assert (lines_while_off, count_lines(home)) == (0, 1)
    assert changed == [str(repository / FILE)]
    assert (repository / FILE).read_text() == '# ours\nbelieved = "everything"\n'


@pytest.mark.parametrize(
    "content", [b'memory = "on"\n', b'other = "off"\n', b'# memory = "off"\n', b"\xff\xfe\x00" * 9000, b""]
)
def test_a_file_that_does_not_say_off_changes_nothing(repository: Path, home: Path, content: bytes) -> None:
    (repository / FILE).write_bytes(content)

    hook(repository)

    assert count_lines(home) == 1


@pytest.mark.parametrize(
    "content", [b'memory = "off"', b"memory='off'\r\n", b'\xef\xbb\xbfmemory = "off"\n', b'x = 1\n  memory="off" # y\n']
)
def test_the_line_may_be_written_in_any_way_that_toml_allows(repository: Path, content: bytes) -> None:
    (repository / FILE).write_bytes(content)

    assert is_off(str(repository))


def test_a_folder_a_pipe_a_loop_and_an_unreadable_file_neither_block_nor_break_a_hook(
    repository: Path, home: Path
) -> None:
    def make_unreadable(path: Path) -> None:
        path.write_text("x")
        path.chmod(0)

    for make in (Path.mkdir, os.mkfifo, lambda path: path.symlink_to(path), make_unreadable):
        make(repository / FILE)
        before = count_lines(home)
        hook(repository)
        assert count_lines(home) == before + 1
        (repository / FILE).rename(repository / f"old-{before}")


def test_off_says_what_to_do_about_a_folder_in_the_place_of_the_file(repository: Path) -> None:
    (repository / FILE).mkdir()

    result = run("off")

    assert (result.exit_code, FILE in result.output) == (4, True)


def test_a_directory_that_only_a_tool_call_names_counts_and_a_quoted_one_does_not(
    repository: Path, make_repository: Make, home: Path
) -> None:
    neighbour = make_repository("neighbour")
    run("off")
    os.chdir(neighbour)

    hook(neighbour, tool_input={"command": "make", "workdir": str(repository)})
    lines_of_the_call = count_lines(home)
    hook(neighbour, tool_response={"stdout": json.dumps({"cwd": str(repository)})})

    assert (lines_of_the_call, count_lines(home)) == (0, 1)


def test_a_payload_without_a_directory_counts_where_the_hook_runs(repository: Path, home: Path) -> None:
    run("off")
    hook(repository, cwd=None)
    lines_while_off = count_lines(home)
    run("on")
    hook(repository, cwd=None)

    assert (lines_while_off, count_lines(home)) == (0, 1)


def test_what_waits_in_the_spool_when_memory_is_turned_off_is_not_recorded(
    repository: Path, make_repository: Make
) -> None:
    neighbour = make_repository("neighbour")
    hook(repository)
    hook(neighbour, session_id="s2")

    run("off")

    assert run_json("sql", "SELECT id FROM sessions") == [{"id": "s2"}]


def write_transcript(user: Path, session: str, directory: Path) -> None:
    file = user / ".claude" / "projects" / "-repo" / f"{session}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    message = {"role": "user", "content": [{"type": "text", "text": "Never deploy on a Friday"}]}
    line = {"type": "user", "message": message, "sessionId": session, "cwd": str(directory), "promptId": session}
    file.write_text(json.dumps(line | {"timestamp": "2026-03-01T10:00:00.000Z"}) + "\n")


def test_transcripts_are_imported_only_of_repositories_where_memory_is_on(
    repository: Path, make_repository: Make, tmp_path: Path, open_mind: Open
) -> None:
    neighbour, user = make_repository("neighbour"), tmp_path / "user"
    git(repository, "worktree", "add", "-q", str(repository / "wt"))
    for session, directory in (("s1", repository), ("s2", neighbour), ("s3", repository / "wt")):
        write_transcript(user, session, directory)
    git(repository, "worktree", "remove", "wt")
    run("off")
    mind = open_mind(repository)

    while_off = mind.sessions.import_transcripts(home=user)
    run("on")
    again = mind.sessions.import_transcripts(home=user)

    assert (while_off.sessions, while_off.sessions_off, while_off.new) == (1, 2, 1)
    assert (again.sessions, again.sessions_off, again.new) == (3, 0, 2)


def test_nothing_is_learned_from_sessions_where_memory_was_turned_off_since(
    repository: Path, make_repository: Make, tmp_path: Path, open_mind: Open, clock: Clock
) -> None:
    neighbour = make_repository("neighbour")
    for number, directory in enumerate((repository, neighbour)):
        prompt = {"session_id": f"s{number}", "prompt": "No, always use uv instead of pip in this project"}
        hook(directory, "UserPromptSubmit", **prompt)
    mind: Hivemind = open_mind(repository)
    clock.advance(days=400)
    run("off")

    report = mind.learning.learn()

    assert (len(mind.sessions.list(everywhere=True)), report.sessions) == (2, 1)


def test_notes_of_agents_are_proposed_only_where_memory_is_on(
    repository: Path, make_repository: Make, open_mind: Open, tmp_path: Path
) -> None:
    for directory in (repository, make_repository("neighbour")):
        note = directory / ".serena" / "memories" / "tests.md"
        note.parent.mkdir(parents=True)
        note.write_text(f"- Tests of {directory.name} need the database to be up before they run\n")
        hook(directory, session_id=directory.name)
    # Both repositories have been seen before memory is turned off in one.
    mind = open_mind(repository)
    run("off")

    while_off = mind.files.sync_notes(home=tmp_path / "user")
    run("on")
    again = mind.files.sync_notes(home=tmp_path / "user")

    assert (while_off.new, again.new) == (1, 1)


def test_tools_say_that_memory_is_off_and_work_again_when_it_is_on(repository: Path) -> None:
    with connected(repository) as client:
        client.shake_hands()
        stored, _ = client.call("remember", text="We deploy with make ship")
        run("off")
        while_off = [
            client.call("remember", text="We deploy with make boat"),
            client.call("recall", query="deploy"),
            client.call("context", task="deploy"),
            client.call("trace", action="Deployed"),
        ]
        run("on")
        after, _ = client.call("recall", query="how do we deploy")

    assert stored.startswith("Stored")
    assert while_off == [(NOTICE, False)] * len(while_off)
    assert ("make ship" in after, "make boat" in after) == (True, False)


def test_a_person_can_still_search_and_store_and_an_agent_cannot(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("off")
    stored = run("remember", "We deploy with make ship")
    search = run("recall", "how do we deploy?")
    monkeypatch.setenv("CLAUDECODE", "1")
    refusals = [run("remember", "Tests need Docker"), run("recall", "deploy"), run("on")]

    assert (stored.exit_code, search.exit_code, "make ship" in search.output) == (0, 0, True)
    assert [refusal.exit_code for refusal in refusals] == [4, 4, 4]
    assert is_off(str(repository))


def test_status_says_so_while_memory_is_off(repository: Path) -> None:
    line = "memory       off in this repository; to turn it on: hivemind on"

    run("off")
    while_off, report = run().output, run_json("status")
    run("on")

    assert (line in while_off.splitlines(), report["is_off"]) == (True, True)
    assert (line in run().output, run_json("status")["is_off"]) == (False, False)
