"""How the command line behaves towards people and scripts, whatever the command."""

import fcntl
import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import click
import pytest

from hivemind import Hivemind
from hivemind.cli import GROUPS, hivemind, output
from hivemind.cli.framework import EXIT_CODES, MEANINGS, SYNONYMS, summarise_command
from hivemind.errors import InvalidInput, NotFound, Refused, StoreBusy, StoreDamaged, Unavailable
from tests.command_line import residue, run, run_json
from tests.contract.test_architecture import modules_after

COMMAND = [sys.executable, "-m", "hivemind"]


@pytest.fixture(autouse=True)
def in_a_plain_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def every_command() -> Iterator[str]:
    """Each command by the words one types for it."""

    def below(path: str, command: click.Command) -> Iterator[str]:
        if path and not (isinstance(command, click.Group) and not command.invoke_without_command):
            yield path
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                found = command.get_command(context, name)
                assert found is not None
                yield from below(f"{path} {name}".strip(), found)

    yield from below("", hivemind)


def on_a_terminal(*arguments: str, lines: int = 24, **environ: str) -> str:
    """What a person sees who types this at a terminal."""
    screen, keyboard = pty.openpty()
    size = {"TERM": "xterm", "COLUMNS": "80", "LINES": str(lines)}
    process = subprocess.Popen(
        [*COMMAND, *arguments], stdin=keyboard, stdout=keyboard, stderr=keyboard, env=os.environ | size | environ
    )
    os.close(keyboard)
    seen = b""
    with os.fdopen(screen, "rb", buffering=0) as output:
        # Linux ends a terminal that nobody holds any more with an error.
        with suppress(OSError):
            while part := output.read(65536):
                seen += part
        process.wait()
    return seen.decode(errors="replace")


@pytest.mark.parametrize("path", list(every_command()))
def test_every_command_has_an_example_and_takes_json_and_quiet(path: str) -> None:
    told = run(*path.split(), "--help").stdout

    assert f"hivemind {path.split(maxsplit=1)[0]}" in told.split("Usage:")[1].split("\n", 1)[1] or "hivemind\n" in told
    assert "--json" in told
    assert "--quiet" in told


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


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["recal", "x"], "recall"),
        (["recall", "x", "--scop", "user"], "--scope"),
        (["recall", "x", "--scope", "projct"], "project"),
        (["list", "--kind", "decison"], "decision"),
        (["install", "claud-code"], "claude-code"),
        (["session", "replya"], "replay"),
    ],
)
def test_what_is_mistyped_gets_a_suggestion(typed: list[str], meant: str) -> None:
    done = run(*typed)

    assert done.exit_code == 2
    assert meant in re.split("mean|Possible", done.stderr)[1]


@pytest.mark.parametrize(
    ("kind", "code"),
    [(InvalidInput, 2), (NotFound, 3), (Refused, 4), (StoreBusy, 5), (StoreDamaged, 5), (Unavailable, 6)],
)
def test_each_kind_of_error_has_its_exit_code(
    kind: type[Exception], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise kind("the reason")

    monkeypatch.setattr(Hivemind, "list", fail)

    done = run("list")

    assert (done.exit_code, done.stderr) == (code, "hivemind: the reason\n")
    assert code in EXIT_CODES.values()


def test_exit_codes_as_scripts_meet_them(home: Path) -> None:
    assert run("remember", "API port is 8080").exit_code == 0
    assert run("show", "ffffffff").exit_code == 3
    assert run("recall", "x", "--limit", "0").exit_code == 2
    assert run("erase", "API", "--json").exit_code == 3
    assert run("review", "promote", run_json("list")[0]["id"], "--json").exit_code == 1
    (home / "memory.db").write_bytes(b"not a database at all" * 100)

    assert run("list").exit_code == 5


def test_an_error_nobody_foresaw_is_one_calm_line_and_the_details_are_kept(
    monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("with the token ghp_x7Kq9ZtR2mWv4LpB8sNc3YhJ6dFgA1QeUoT5 in it")

    monkeypatch.setattr(Hivemind, "list", fail)

    calm = run("list")
    kept = (home / "last-error.txt").read_text()
    shown = run("list", "--debug")

    assert calm.exit_code == 70
    assert calm.stderr.count("\n") == 1
    assert "Traceback" not in calm.stderr
    assert str(home / "last-error.txt") in calm.stderr
    assert "Traceback" in kept
    assert "ghp_x7Kq9Z" not in kept
    assert shown.exit_code == 70
    assert "Traceback" in shown.stderr


def test_an_error_that_quoted_a_memory_goes_when_the_memory_is_erased(
    monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    known = run_json("remember", "The customer Zaphod Beeblebrox pays by invoice")["id"]
    listed = Hivemind.list

    def fail(mind: Hivemind, **given: Any) -> None:
        raise KeyError(listed(mind, **given)[0].text)

    with monkeypatch.context() as patched:
        patched.setattr(Hivemind, "list", fail)
        run("list")
    assert "last-error.txt" in residue(home, b"Beeblebrox")

    erased = run_json("erase", known)

    assert residue(home, b"Beeblebrox") == []
    assert ("last-error.txt", "done") in [(place["name"], place["state"]) for place in erased["places"]]


def test_where_details_cannot_be_written_the_line_says_how_to_see_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HIVEMIND_HOME", str(tmp_path / "file" / "home"))
    monkeypatch.setattr(Hivemind, "open", lambda *_, **__: 1 / 0)

    done = run("list")

    assert done.exit_code == 70
    assert "--debug" in done.stderr


def test_a_reader_who_leaves_is_no_error() -> None:
    for place in ("main", "release", "hotfix", "staging"):
        run("remember", f"Deploys of {place}: " + f"only from {place}, never from elsewhere. " * 1400)

    piped = f"{sys.executable} -m hivemind export | head -c 10; echo ' ended with' ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", piped], capture_output=True, text=True, check=True)

    assert (done.stdout, done.stderr) == ('{"hivemind ended with 141\n', "")


# Whoever runs the suite in the background has Ctrl-C switched off, and so would the command.
attentive = partial(signal.signal, signal.SIGINT, signal.default_int_handler)


def test_ctrl_c_is_quiet(home: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "remember"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=attentive,  # noqa: PLW1509
    )
    assert process.stdin is not None
    assert process.stderr is not None
    while not (home / "memory.id").exists():
        time.sleep(0.05)
    time.sleep(0.5)

    process.send_signal(signal.SIGINT)
    told = process.stderr.read()

    assert process.wait() == 130
    assert told.strip() == ""
    process.stdin.close()
    process.stderr.close()


@pytest.mark.parametrize("seconds", [0.001, 0.004, 0.016, 0.05])
def test_ctrl_c_is_quiet_while_we_are_still_being_loaded(seconds: float) -> None:
    hasty = (
        "import os, signal; from hivemind.__main__ import main; "
        "signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT)); "
        f"signal.setitimer(signal.ITIMER_REAL, {seconds}); main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", hasty, "remember"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=attentive,  # noqa: PLW1509
    )
    with process:
        assert process.wait() == 130
        assert process.stderr is not None
        assert process.stderr.read() == b""


@pytest.mark.parametrize(
    ("question", "asked"),
    [(["erase", "ID"], "Erase this"), (["sync", "setup", "shared"], "Go on?"), (["review"], "quit")],
)
def test_ctrl_c_at_a_question_is_an_interrupt_and_no_answer(question: list[str], asked: str) -> None:
    run("remember", "API port is 8080")
    run("remember", "API port is 9090")
    known = run_json("list")[0]["id"]
    screen, keyboard = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *(known if word == "ID" else word for word in question)],
        stdin=keyboard, stdout=keyboard, stderr=keyboard, start_new_session=True,
        preexec_fn=lambda: (attentive(), fcntl.ioctl(0, termios.TIOCSCTTY, 0)),  # noqa: PLW1509
    )  # fmt: skip
    os.close(keyboard)
    seen = ""
    while asked not in seen:
        seen += os.read(screen, 65536).decode(errors="replace")

    # A key pressed between the question and the reading of its answer is seen with the next one.
    while process.poll() is None:
        time.sleep(0.3)
        os.write(screen, b"\x03")
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=20)
    code = process.wait()
    with suppress(OSError):
        seen += os.read(screen, 65536).decode(errors="replace")
    os.close(screen)

    assert code == 130
    assert "Traceback" not in seen
    assert "Abort" not in seen
    assert len(run_json("list")) == 2


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


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_commands_options_and_ids(shell: str) -> None:
    run("remember", "API port is 8080")
    known = run_json("list")[0]["id"][:8]
    script = run("completion", shell).stdout

    def completed(words: str, place: int) -> str:
        environ = os.environ | {
            "_HIVEMIND_COMPLETE": f"{shell}_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": str(place),
        }
        if shell == "fish":
            environ["COMP_CWORD"] = words.rsplit(" ", maxsplit=1)[-1]
        return subprocess.run(COMMAND, env=environ, capture_output=True, text=True, check=True).stdout

    assert f"_HIVEMIND_COMPLETE={shell}_complete" in script
    assert known in completed("hivemind show ", 2)
    if shell == "bash":
        assert "recall" in completed("hivemind rec", 1)
        assert "--everywhere" in completed("hivemind recall --ev", 2)
        assert "project" in completed("hivemind recall --scope pr", 3)
    assert known not in completed("hivemind show zz", 2)


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


def test_long_work_shows_that_it_goes_on_and_short_work_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    run("remember", "API port is 8080")
    slowly = (
        "import time, hivemind.maintenance.maintenance as m; f = m.Maintenance.doctor; "
        "m.Maintenance.doctor = lambda *a, **k: (time.sleep(2.2), f(*a, **k))[1]; "
        "from hivemind.__main__ import main; main()"
    )
    monkeypatch.setitem(globals(), "COMMAND", [sys.executable, "-c", slowly])

    slow = on_a_terminal("doctor")
    quiet = on_a_terminal("doctor", "--quiet")
    dumb = on_a_terminal("doctor", "--quick", TERM="dumb")

    assert "Checking" in slow
    assert "Checking" not in dumb
    assert "every page is readable" in dumb
    assert "Checking" not in quiet
    assert "every page is readable" in quiet


def every_group() -> Iterator[list[str]]:
    """Each group of commands by the words one types for it."""

    def below(path: list[str], group: click.Group) -> Iterator[list[str]]:
        yield path
        context = click.Context(group)
        for name in group.list_commands(context):
            if isinstance(command := group.get_command(context, name), click.Group):
                yield from below([*path, name], command)

    yield from below([], hivemind)


@pytest.mark.parametrize("group", list(every_group()), ids=" ".join)
def test_help_lists_each_command_in_one_line_that_begins_with_a_verb(group: list[str]) -> None:
    told = on_a_terminal(*group, "--help", NO_COLOR="1").replace("\r", "")
    sections = [part.splitlines() for part in told.split("\n\n") if re.match(r"(?!Options|Usage)\w[\w ]+:\n", part)]
    lines = [line for section in sections for line in section[1:]]

    assert lines
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if not re.fullmatch(r"  [a-z-]+ +[A-Z][a-z]+,? .*[^.]", line)] == []


def test_the_help_is_grouped_and_lists_about_thirty_five_commands() -> None:
    told = run("--help").stdout

    assert [title for title in GROUPS if f"\n{title}:\n" not in told] == []
    assert len(hivemind.list_commands(click.Context(hivemind))) <= 40


@pytest.mark.parametrize(
    ("typed", "suggestion"),
    [
        ("delete", "Did you mean 'hivemind forget' or 'hivemind erase'?"),
        ("rm", "Did you mean 'hivemind forget' or 'hivemind erase'?"),
        ("search", "Did you mean 'hivemind recall'?"),
        ("Find", "Did you mean 'hivemind recall'?"),
        ("add", "Did you mean 'hivemind remember'?"),
        ("undo", "Did you mean 'hivemind restore' or 'hivemind rollback'?"),
        ("share", "Did you mean 'hivemind team publish'?"),
        ("login", "Did you mean 'hivemind team login'?"),
        ("replay", "Did you mean 'hivemind session replay'?"),
        ("stale", "Did you mean 'hivemind code stale'?"),
        ("session find", "Did you mean 'hivemind recall'?"),
        ("session ls", "Did you mean 'hivemind session list'?"),
        ("team join", "Did you mean 'hivemind team login'?"),
        ("import trnscripts", "Did you mean 'hivemind import transcripts'?"),
        ("xyzzy", "See 'hivemind --help'."),
        ("session xyzzy", "See 'hivemind session --help'."),
        ("audit", "Did you mean 'hivemind log --audit'?"),
        ("model", "Did you mean 'hivemind config model'?"),
    ],
)
def test_an_unknown_command_is_answered_with_what_to_type_instead(typed: str, suggestion: str) -> None:
    done = run(*typed.split())

    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.strip().endswith(suggestion)


@pytest.mark.parametrize("name", [name for names in MEANINGS for name in names.split(", ")])
def test_every_suggested_command_exists_and_no_synonym_is_a_command(name: str) -> None:
    words = [word for word in name.split() if not word.startswith("-")]
    options = [word for word in name.split() if word.startswith("-")]

    told = run(*words, "--help")

    assert told.stdout.startswith(f"Usage: hivemind {' '.join(words)} ")
    assert [option for option in options if option not in told.stdout] == []
    assert set(hivemind.list_commands(click.Context(hivemind))).isdisjoint(SYNONYMS)


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


def test_what_is_long_is_broken_between_words_and_stays_in_its_column() -> None:
    tags = ",".join(f"label-number-{number}" for number in range(9))
    known = run_json("remember", "API port is 9090", "--tags", tags)["id"]

    asked = on_a_terminal("show", known, NO_COLOR="1").replace("\r", "")

    lines = [line for line in asked.splitlines() if "label-number" in line]
    assert "label-number-8" in asked
    assert max(map(len, lines)) <= 80
    assert any(line.startswith(" " * 13 + "label-number") for line in lines)


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


def test_the_list_of_commands_says_of_each_what_its_own_help_says() -> None:
    summaries = {name: text for group in GROUPS.values() for name, (_, text) in group.items()}
    commands = {name: hivemind.get_command(click.Context(hivemind), name) for name in summaries}

    assert summaries == {name: summarise_command(command) for name, command in commands.items() if command}


def test_the_list_of_commands_imports_none_of_them() -> None:
    modules = modules_after("from hivemind.cli import hivemind; hivemind(['--help'], standalone_mode=False)")

    assert "hivemind.cli" in modules
    assert not [name for name in modules if name.startswith(("hivemind.cli.commands.", "hivemind.sql"))]


def test_every_command_stands_in_one_group_of_the_help() -> None:
    told = run("--help").stdout.split("\n\n")
    listed = [line.split()[0] for group in told for line in group.splitlines()[1:] if re.match(r"  \w", line)]
    there = hivemind.list_commands(click.Context(hivemind))

    assert {"ui", "remember", "import"} <= set(there)
    assert [name for name in there if listed.count(name) != 1] == []
    assert sorted(name for group in GROUPS.values() for name in group) == there


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
