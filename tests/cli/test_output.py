"""Output: JSON, quiet, colours, tables, the pager and progress."""

import io
import json
import re
import sys
import time
from pathlib import Path

import pytest

from hivemind.cli import output
from hivemind.hivemind import Hivemind
from hivemind.model.memory import Channel, Writer
from tests.command_line import run, run_json
from tests.terminal import on_a_terminal


def test_json_may_be_asked_for_before_the_command_or_after_it() -> None:
    run("remember", "Deploys run from main")

    assert json.loads(run("--json", "list").stdout) == json.loads(run("list", "--json").stdout)
    assert "Deploys" in run("list").stdout
    assert not run("list").stdout.startswith("[")


def test_quiet_leaves_out_confirmations_and_notes_but_not_answers() -> None:
    assert run("remember", "Deploys run from main").stdout != ""
    assert run("list", "--tags", "none").stderr != ""

    confirmed = run("remember", "Tests need Redis", "--quiet")
    empty = run("list", "--tags", "none", "--quiet")
    answered = run("--quiet", "list")

    assert (confirmed.stdout, confirmed.stderr) == ("", "")
    assert (empty.stdout, empty.stderr) == ("", "")
    assert "Tests need Redis" in answered.stdout


def test_colours_are_for_terminals_and_for_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    run("remember", "API port is 8080")
    known = run_json("list")[0]["id"]
    seen = on_a_terminal("show", known)

    plain = on_a_terminal("show", known, NO_COLOR="1")
    asked = on_a_terminal("show", known, "--no-color")
    piped = run("show", known).stdout
    monkeypatch.setenv("FORCE_COLOR", "1")
    forced = run("show", known).stdout

    assert "\x1b[" in seen
    assert "\x1b[" in forced
    assert "\x1b[" not in plain + asked + piped


def test_what_is_longer_than_the_screen_goes_through_the_pager(tmp_path: Path) -> None:
    for number in range(5):
        run("remember", f"Service {number} listens on port {8000 + number}")
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\necho PAGED\ncat\n")
    pager.chmod(0o755)

    long = on_a_terminal("list", lines=4, PAGER=str(pager))
    short = on_a_terminal("list", lines=40, PAGER=str(pager))
    dumb = on_a_terminal("list", lines=4, PAGER=str(pager), TERM="dumb")

    assert "PAGED" in long
    assert "PAGED" not in short + dumb
    assert "Service 4 listens" in long
    assert "Service 4 listens" in short
    assert "Service 4 listens" in dumb


def test_what_sessions_cost_is_a_table_on_80_columns() -> None:
    with Hivemind.open() as mind:
        mind.remember("Deploys run from main")
    with Hivemind.open(writer=Writer(actor="claude-code", channel=Channel.AGENT, session_id="5f1c9a52")) as mind:
        mind.recall("where do deploys run from?")

    seen = on_a_terminal("status", "--tokens", NO_COLOR="1")

    assert "who          session" in seen
    assert "claude-code  5f1c9a52" in seen


def test_a_narrow_terminal_shows_long_cells_below_the_short_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    run("remember", "Deploys run from main only, and never on a Friday after two", "--kind", "convention")

    narrow = on_a_terminal("list", COLUMNS="60").splitlines()
    wide = on_a_terminal("list", COLUMNS="120").splitlines()

    assert narrow[0].split() == ["id", "date", "scope", "kind"]
    assert narrow[1].endswith("project  convention")
    assert narrow[2] == "    | Deploys run from main only, and never on a Friday"
    assert wide[0].split() == ["id", "date", "scope", "kind", "text"]
    assert wide[1].rstrip().endswith("convention  Deploys run from main only, and never on a Friday after two")


def test_no_id_is_broken_where_not_even_the_short_columns_fit() -> None:
    run("remember", "Deploys run from main only, never on a Friday afternoon", "--propose", "--kind", "requirement")
    memory = run_json("list")[0]["id"][:8]

    seen = on_a_terminal("list", COLUMNS="40")

    assert memory in seen
    assert "requirement" in seen
    assert max(map(len, seen.splitlines())) <= 40


def test_status_begins_with_what_to_do() -> None:
    empty = run("status").stdout.splitlines()
    run("remember", "Deploys run from main")

    assert [line.split("  ")[1] for line in empty[1:4]] == [
        "hivemind install AGENT", "hivemind import", 'hivemind remember "…"',
    ]  # fmt: skip
    assert "hivemind recall" in "".join(run("status").stdout.splitlines()[:4])


def test_what_is_long_is_broken_between_words_and_stays_in_its_column() -> None:
    tags = ",".join(f"label-number-{number}" for number in range(9))
    known = run_json("remember", "API port is 9090", "--tags", tags)["id"]

    asked = on_a_terminal("show", known, NO_COLOR="1").replace("\r", "")

    lines = [line for line in asked.splitlines() if "label-number" in line]
    assert "label-number-8" in asked
    assert max(map(len, lines)) <= 80
    assert any(line.startswith(" " * 13 + "label-number") for line in lines)


def test_a_path_in_a_table_is_broken_after_a_folder() -> None:
    statement = "SELECT 'windsurf' AS agent, '~/.codeium/windsurf/memories/global_rules.md' AS file"

    seen = on_a_terminal("sql", statement, COLUMNS="42").replace("\r", "")

    assert [line.split()[-1] for line in seen.splitlines()[1:3]] == ["~/.codeium/windsurf/memories/", "global_rules.md"]


def test_long_work_shows_how_far_it_is_and_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    class Screen(io.StringIO):
        encoding = "utf-8"

        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", screen := Screen())
    monkeypatch.setattr(output, "PROGRESS_DELAY_SECONDS", 0.01)
    monkeypatch.setenv("TERM", "xterm")

    with output.progress("Reading") as advance:
        time.sleep(0.3)
        advance(1, 2)
        time.sleep(0.3)

    _, *drawn, erased, end = screen.getvalue().split("\r")
    assert drawn[0].startswith("Reading … ")
    assert "50%" in drawn[-1]
    assert (erased.strip(), end) == ("", "")


def test_long_work_shows_that_it_goes_on_and_short_work_does_not() -> None:
    run("remember", "API port is 8080")
    slowly = (
        "import time, hivemind.maintenance.maintenance as m; f = m.Maintenance.doctor; "
        "m.Maintenance.doctor = lambda *a, **k: (time.sleep(2.2), f(*a, **k))[1]; "
        "from hivemind.__main__ import main; main()"
    )
    program = [sys.executable, "-c", slowly]

    slow = on_a_terminal("doctor", program=program)
    quiet = on_a_terminal("doctor", "--quiet", program=program)
    dumb = on_a_terminal("doctor", "--quick", program=program, TERM="dumb")

    assert "Checking" in slow
    assert "Checking" not in dumb
    assert "every page is readable" in dumb
    assert "Checking" not in quiet
    assert "every page is readable" in quiet


def test_a_long_question_takes_one_line_among_the_receipts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    run("remember", "Deploys run from main only")
    run("recall", "when may we deploy, and from which branch, " * 8)

    heading = on_a_terminal("log", "--receipts").splitlines()[1]
    explanation = run("explain", run_json("list")[0]["id"]).stdout

    assert "when may we deploy" in heading
    assert heading.endswith(" …")
    assert len(heading) < 140
    assert explanation.count("when may we deploy") == 2


def test_receipts_stand_under_their_question_on_a_terminal_and_in_lines_in_a_pipe() -> None:
    run("remember", "Deploys run from main only")
    run("recall", "where do deploys run from?")

    seen = on_a_terminal("log", "--receipts", NO_COLOR="1").replace("\r", "")
    piped = run("log", "--receipts").stdout

    assert re.search(r"^\S+ \S+  \S+  where do deploys run from\?$", seen, re.MULTILINE)
    assert re.search(r"^ +1  [0-9a-f]{8} +\d+  Deploys run ", seen, re.MULTILINE)
    assert max(map(len, seen.splitlines())) <= 80
    assert len(piped.splitlines()) == 1
    assert piped.count("\t") == 6


def test_settings_are_readable_at_a_narrow_terminal() -> None:
    run("config", "set", "recall_limit", "7")

    seen = on_a_terminal("config", lines=60, NO_COLOR="1").replace("\r", "")

    assert "recall_limit = 7  (from the file)\n    Maximum number of memories that a recall returns.\n" in seen
    assert "\nkeep_days = 0\n" in seen
    assert max(map(len, seen.splitlines())) <= 80
    assert "recall_limit\t7\tfile\tMaximum number" in run("config").stdout


def test_reasons_are_printed_in_a_pipe_too_and_fenced_for_an_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    run("remember", "Deploys run from main only")

    for_person = run("recall", "where do deploys run from?", "--why").output
    monkeypatch.setenv("CLAUDECODE", "1")
    for_agent = run("recall", "where do deploys run from?", "--why").output

    assert re.search(r"^ 1  Deploys run from main only$", for_person, re.MULTILINE)
    assert re.search(r"^    words 1\.00: shares", for_person, re.MULTILINE)
    assert for_agent.startswith("<hivemind-memory ")
    assert "words 1.00: shares" in for_agent
