"""The past: transcripts become observations and proposals, once."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hivemind import Hivemind
from hivemind.sessions import spool
from tests.command_line import residue, run, run_json
from tests.conftest import Open, git

T = "2026-03-01T10:00:0{}.000Z"
SESSIONS = 400
"""Of an import; to read them takes some seconds."""


def lines(path: Path, *told: dict[str, Any] | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in told))
    return path


def said(number: int, role: str, *content: Any, session: str = "s1", cwd: str = "/repo") -> dict[str, Any]:
    return {
        "type": role,
        "message": {"role": role, "content": list(content)},
        "sessionId": session,
        "cwd": cwd,
        "timestamp": T.format(number),
        "promptId": "p1",
    }


def words(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def ran(number: int, command: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": command}}


def printed(number: int, output: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": f"t{number}", "content": output}


def claude_session(user: Path, cwd: str, output: str = "2 passed") -> Path:
    return lines(
        user / ".claude" / "projects" / "-repo" / "s1.jsonl",
        said(1, "user", words("Build it"), cwd=cwd),
        said(2, "assistant", words("On it."), ran(1, "make"), cwd=cwd),
        said(3, "user", printed(1, output), cwd=cwd),
        '{"type": "user", "broken',
        {"type": "something-new", "sessionId": "s1"},
    )


def cursor_session(user: Path) -> Path:
    return lines(
        user / ".cursor" / "projects" / "repo" / "agent-transcripts" / "c1" / "c1.jsonl",
        {"role": "user", "message": {"content": [words("Rename the flag")]}},
    )


def test_a_transcript_is_taken_in_once_and_says_what_could_not_be_read(mind: Hivemind, tmp_path: Path) -> None:
    claude_session(tmp_path / "user", str(tmp_path))

    first = mind.sessions.import_transcripts(home=tmp_path / "user")
    second = mind.sessions.import_transcripts(home=tmp_path / "user")

    assert (first.transcripts, first.sessions, first.observations, first.new) == (1, 1, 3, 3)
    assert first.skipped == (("not JSON", 1), ("a line of type 'something-new'", 1))
    assert (second.observations, second.new) == (3, 0)
    assert mind.maintenance.stats().observations == 3


def test_a_dry_run_counts_and_changes_nothing(mind: Hivemind, tmp_path: Path) -> None:
    claude_session(tmp_path / "user", str(tmp_path))

    planned = mind.sessions.import_transcripts(home=tmp_path / "user", dry_run=True)

    assert planned.new == 3
    assert mind.maintenance.stats().observations == 0


def test_what_hooks_told_is_not_told_again_by_the_transcript(open_mind: Open, home: Path, tmp_path: Path) -> None:
    claude_session(tmp_path / "user", str(tmp_path))
    payload = {
        "session_id": "s1",
        "cwd": str(tmp_path),
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "make"},
        "tool_response": {"stdout": "2 passed"},
        "tool_use_id": "t1",
    }
    spool.append(str(home), "claude-code", "PostToolUse", "2026-03-01T10:00:03.000000Z", json.dumps(payload))
    mind = open_mind()

    done = mind.sessions.import_transcripts(home=tmp_path / "user")

    assert (done.observations, done.new) == (3, 2)
    assert mind.maintenance.stats().observations == 3


def test_where_ids_differ_a_session_that_hooks_told_of_is_left_out(open_mind: Open, home: Path, tmp_path: Path) -> None:
    cursor_session(tmp_path / "user")
    payload = {"conversation_id": "c1", "hook_event_name": "beforeSubmitPrompt", "prompt": "Rename the flag"}
    spool.append(str(home), "cursor", "beforeSubmitPrompt", "2026-03-01T10:00:03.000000Z", json.dumps(payload))
    mind = open_mind()

    hooked = mind.sessions.import_transcripts(["cursor"], home=tmp_path / "user")
    elsewhere = open_mind(home=tmp_path / "other").sessions.import_transcripts(["cursor"], home=tmp_path / "user")

    assert (mind.maintenance.stats().observations, hooked.new) == (1, 0)
    assert elsewhere.new == 1


def test_secrets_in_a_transcript_do_not_reach_the_store_even_where_it_is_trimmed(
    mind: Hivemind, home: Path, tmp_path: Path
) -> None:
    secret = "ghp_" + "Zx9Kq2Wv7Rt4Yb1Nc8Md5Lf3Hg6Jp0SaQwEr"
    half = 32 * 1024
    output = "x" * (half - 20) + f" {secret} " + "y" * (3 * half) + "all fine"
    claude_session(tmp_path / "user", str(tmp_path), output)

    mind.sessions.import_transcripts(home=tmp_path / "user")

    mind.close()
    told = [line["output"] for line in run_json("sql", "SELECT output FROM tool_outputs")]
    assert residue(home, secret[:16].encode()) == []
    assert not any(secret[:16] in output for output in told)
    assert any(output.endswith("all fine") for output in told)


def test_only_sessions_of_this_repository_when_asked(open_mind: Open, make_repository: Any, tmp_path: Path) -> None:
    here, there = make_repository("here"), make_repository("there")
    claude_session(tmp_path / "user", str(there))
    lines(
        tmp_path / "user" / ".claude" / "projects" / "-here" / "s2.jsonl",
        said(1, "user", words("And this"), session="s2", cwd=str(here)),
    )
    mind = open_mind(here)

    done = mind.sessions.import_transcripts(home=tmp_path / "user", here=True)

    assert (done.sessions, done.new) == (1, 1)


def test_a_session_without_a_directory_belongs_to_no_repository(open_mind: Open, tmp_path: Path) -> None:
    cursor_session(tmp_path / "user")
    mind = open_mind()

    mind.sessions.import_transcripts(home=tmp_path / "user")

    assert mind.sessions.list() == ()
    assert [one.repo for one in mind.sessions.list(everywhere=True)] == [""]


def test_since_leaves_out_what_was_before(mind: Hivemind, tmp_path: Path) -> None:
    claude_session(tmp_path / "user", str(tmp_path))

    done = mind.sessions.import_transcripts(home=tmp_path / "user", since="2026-03-01T10:00:02Z")

    assert done.new == 2


def commit(root: Path, message: str, file: str = "a.py", content: str = "") -> str:
    (root / file).write_text(content or message)
    git(root, "add", ".")
    git(root, "commit", "-m", message)
    return git(root, "rev-parse", "HEAD")


FIXED = "fix: retry the upload when the token has expired\n\nIt failed because the token lives five minutes."


def test_the_commands_say_what_they_did(make_repository: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_repository("api")
    commit(root, FIXED)
    claude_session(tmp_path / "user", str(root))
    monkeypatch.chdir(root)

    planned = run("import", "transcripts", "--dry-run")
    taken = run_json("import", "transcripts", "claude-code", "--project")
    from_git = run("import", "git")
    unknown = run("import", "transcripts", "nobody")

    assert "with 3 observations, 3 new" in planned.output
    assert "proposal" not in planned.output
    assert taken["new"] == 3
    assert "Read 2 commits, 1 with a reason." in from_git.output
    assert unknown.exit_code == 2
    assert "unknown agent" in unknown.output


def test_an_import_that_was_stopped_keeps_what_it_read_and_reads_the_rest_later(
    make_repository: Any, tmp_path: Path, open_mind: Open
) -> None:
    root = make_repository("api")
    for number in range(SESSIONS):
        told = [said(1, "user", words(f"Build part {number}"), session=f"s{number}", cwd=str(root))]
        told += [said(2, "assistant", words(f"Part {number} is built: {'again, ' * 40}"), session=f"s{number}")] * 3
        lines(tmp_path / "user" / ".claude" / "projects" / "-repo" / f"s{number}.jsonl", *told)
    command = [sys.executable, "-m", "hivemind", "import", "transcripts"]

    importing = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    while importing.poll() is None and not open_mind().maintenance.stats().observations:
        time.sleep(0.02)
    importing.send_signal(signal.SIGINT)
    _, told_person = importing.communicate()
    kept = open_mind().maintenance.stats().observations
    report = run_json("import", "transcripts")

    assert importing.returncode == 130
    assert "the same command imports the rest" in told_person
    assert kept > 0
    assert report["sessions"] == SESSIONS
    assert open_mind().maintenance.stats().observations == kept + report["new"] == 2 * SESSIONS


def test_where_only_sessions_were_imported_the_status_offers_to_search_them(
    make_repository: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_repository("api")
    claude_session(tmp_path / "user", str(root))
    monkeypatch.chdir(root)
    before = [step["command"] for step in run_json("status")["next"]]

    run("import", "transcripts")

    after = [step["command"] for step in run_json("status")["next"]]
    assert ("hivemind import" in before, 'hivemind recall "…"' in before) == (True, False)
    assert ("hivemind import" in after, 'hivemind recall "…"' in after) == (False, True)
    assert "Nothing is stored" not in run("status").output


def test_instruction_files_are_part_of_the_past(make_repository: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_repository("here")
    for name, text in {
        "CLAUDE.md": "- Tests are named like sentences\n",
        ".cursor/rules/api.mdc": "- Handlers return problem details\n",
        ".windsurf/rules/hivemind.md": "- Ask the memory first\n",
        ".cursor/rules/hivemind.mdc": "- Ask the memory first\n",
        ".agents/rules/api.md": "- Version every endpoint\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    monkeypatch.chdir(root)

    planned = run_json("import", "rules", "--dry-run")
    done = run_json("import", "rules")

    assert planned == done == {"said": 3, "new": 3, "gone": 0, "kept_out": []}
    assert {one["text"] for one in run_json("list")} == {
        "Tests are named like sentences", "Handlers return problem details", "Version every endpoint",
    }  # fmt: skip
