"""What each detector finds, and what it must leave alone."""

from pathlib import Path, PureWindowsPath

import pytest

from hivemind import Hivemind
from hivemind.agents.agent import get_agent
from hivemind.embedding.embedder import load_wording
from hivemind.errors import InvalidInput
from hivemind.learning.detectors import DETECTORS, select_detectors
from hivemind.learning.lasting_statements import load_judge
from hivemind.learning.session_view import SessionView
from hivemind.model.claim import Proposal
from hivemind.model.commands import extract_command, extract_directory, is_inspection, join_directory
from hivemind.model.memory import Channel, Kind, Status
from hivemind.model.session import Observation
from tests.sessions.sessions import Told, told


def found(detector: str, session: Told) -> list[Proposal]:
    read = get_agent("claude-code").read_transcript(session.keep())
    steps = [one for one in read if isinstance(one, Observation)]
    judge = load_judge(load_wording().encode_wording)
    return list(DETECTORS[detector](SessionView(steps=steps, root=str(session.directory), judge=judge)))


SCRIPTS = '{"scripts": {"test": "vitest run", "build": "tsc", "lint": "eslint ."}}'
ERROR = "tests/test_api.py:12: AssertionError: expected 200, got 401"


def broken(session: Told) -> Told:
    return session.asked("Make login work again").ran("pytest -q", ERROR, failed=True)


def test_a_failure_that_was_mended_is_a_fix_with_its_error_cause_and_file(tmp_path: Path) -> None:
    session = broken(told(tmp_path))
    session.said("The token check fails because the clock of the test is in another time zone.")
    session.edited("src/auth.py", "now()", "now(UTC)").ran("pytest -q 2>&1 | tail -5", "3 passed")

    [fix] = found("fixes", session)

    assert fix.kind is Kind.FIX
    assert "`pytest -q` failed with: " + ERROR in fix.text
    assert "Fixed in src/auth.py: The token check fails because the clock" in fix.text
    assert fix.links == ("src/auth.py",)
    assert all(one.session_id == "s1" and one.event and one.channel is Channel.DERIVED for one in fix.sources)
    assert fix.sources[0].quote == ERROR


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ("The test fails as expected, because nothing is implemented yet.", ERROR),
        ("I need to update the test because the message changed.", ERROR),
        ("This needs the import that I forgot to add to the module.", "a.go:3:1: undefined: strings"),
        ("It might be that the clock needs to be set, I will try something.", ERROR),
        ("", ERROR),
    ],
)
def test_slips_plans_and_guesses_are_no_fixes(tmp_path: Path, said: str, error: str) -> None:
    session = told(tmp_path).ran("pytest -q", error, failed=True)
    if said:
        session.said(said)
    session.edited("src/auth.py", "a", "b").ran("pytest -q", "3 passed")

    assert found("fixes", session) == []


def test_without_an_edit_or_a_pass_nothing_was_fixed(tmp_path: Path) -> None:
    why = "The token check fails because the clock of the test is in another time zone."
    flaky = broken(told(tmp_path)).said(why).ran("pytest -q", "3 passed")
    unmended = broken(told(tmp_path)).said(why).edited("src/auth.py", "a", "b").ran("pytest -q", ERROR, failed=True)

    assert found("fixes", flaky) == []
    assert found("fixes", unmended) == []


MODULE = "ModuleNotFoundError: No module named 'redis'"
REFUSED = "connect ECONNREFUSED 127.0.0.1:5432 - the database refused the connection"


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (f"Traceback (most recent call last):\n{MODULE}", "pip install redis"),
        (REFUSED, "docker compose up -d db"),
        ("Error: Cannot find module '@acme/core'", "npm run build -w @acme/core"),
        ("Could not find config cached by npm, unable to resolve", "npm config set registry https://npm.example.org"),
    ],
)
def test_one_command_between_a_failure_and_a_pass_is_the_fix(tmp_path: Path, error: str, remedy: str) -> None:
    session = told(tmp_path).ran("pytest -q", error, failed=True).said("Let me look.").ran("ls").ran(remedy, "done")
    session.ran("pytest -q", "3 passed")

    [fix] = found("fixes", session)

    assert fix.kind is Kind.FIX
    assert fix.text == f"`pytest -q` failed with: {error.splitlines()[-1]}\nFixed by `{remedy}`."
    assert fix.sources[0].quote == error.splitlines()[-1]
    assert len(fix.sources) == 3


@pytest.mark.parametrize(
    ("failing", "passing", "remedy"),
    [
        ("npm ci", "npm ci --legacy-peer-deps", "npm ci --legacy-peer-deps"),
        ("make deploy", "AWS_PROFILE=dev make deploy", "AWS_PROFILE=dev make deploy"),
    ],
)
def test_a_command_that_passes_in_another_form_is_fixed_by_it(
    tmp_path: Path, failing: str, passing: str, remedy: str
) -> None:
    session = told(tmp_path).ran(failing, MODULE, failed=True).ran(passing, "done")

    assert [one.text.splitlines()[-1] for one in found("fixes", session)] == [f"Fixed by `{remedy}`."]


def test_an_installation_is_the_fix_also_among_other_commands_and_edits(tmp_path: Path) -> None:
    session = told(tmp_path).ran("pytest -q", MODULE, failed=True).ran("make lint", "ok")
    session.ran("pip install redis", "done").edited("app.py", "a", "b").ran("pytest -q", "3 passed")

    assert [one.text.splitlines()[-1] for one in found("fixes", session)] == ["Fixed by `pip install redis`."]


@pytest.mark.parametrize("passing", ["git commit --no-verify", "make check --skip-types", "pytest -k fast"])
def test_a_check_that_no_longer_looks_is_no_fix(tmp_path: Path, passing: str) -> None:
    failing = " ".join(passing.split()[:2]) if passing.startswith(("git", "make")) else "pytest"

    assert found("fixes", told(tmp_path).ran(failing, MODULE, failed=True).ran(passing, "3 passed")) == []


@pytest.mark.parametrize(
    "part",
    [
        "cargo test rust_options", "cargo test -p core", "npm test -- login", "npm run test:unit", "go test ./api",
        "make test-unit", "pytest login", "cargo fmt --all",
    ],
)  # fmt: skip
def test_a_part_of_the_suite_does_not_run_the_tests(tmp_path: Path, part: str) -> None:
    for name in ("Cargo.toml", "go.mod", "Makefile"):
        (tmp_path / name).touch()
    (tmp_path / "package.json").write_text('{"scripts": {"test": "x", "test:unit": "x"}}')

    texts = [one.text for one in found("commands", told(tmp_path).ran(part, "3 tests passed"))]

    assert not any("runs the tests" in text for text in texts)


@pytest.mark.parametrize(
    ("command", "purpose"),
    [
        ("cargo test --workspace", "runs the tests"),
        ("go test ./...", "runs the tests"),
        ("npm test", "runs the tests"),
        ("cargo fmt --check", "checks style"),
        ("cargo fmt", "formats the code"),
    ],
)
def test_the_whole_suite_and_a_check_are_named_for_what_they_do(tmp_path: Path, command: str, purpose: str) -> None:
    for name in ("Cargo.toml", "go.mod"):
        (tmp_path / name).touch()
    (tmp_path / "package.json").write_text('{"scripts": {"test": "x"}}')

    assert [one.text for one in found("commands", told(tmp_path).ran(command, "ok 3 tests passed"))] == [
        f"`{command}` {purpose} here"
    ]


def test_what_the_agent_says_about_its_own_work_is_no_decision(tmp_path: Path) -> None:
    own = told(tmp_path).said("I deliberately left the old handler alone, because nobody asked for it.").asked("ok")
    projects = told(tmp_path).said("We decided on SQLite for the queue, because it runs offline.").asked("ok")

    assert found("decisions", own) == []
    assert len(found("decisions", projects)) == 1


@pytest.mark.parametrize(
    ("error", "between", "said"),
    [
        (MODULE, [], ""),
        (MODULE, ["pip install redis", "docker compose up -d"], ""),
        (MODULE, ["pip install redis && docker compose up -d", "make db"], ""),
        (MODULE, ["ruff check ."], ""),
        (MODULE, ["pytest tests/test_one.py"], ""),
        (MODULE, ["git stash pop"], ""),
        (MODULE, ["pip install redis"], "It fails as expected, since the extra is not installed; now install it."),
        ("AssertionError: expected 3 but got 4", ["docker compose up -d"], ""),
        ("exit 1", ["pip install redis"], ""),
    ],
)
def test_chance_checks_and_several_commands_are_no_fix(
    tmp_path: Path, error: str, between: list[str], said: str
) -> None:
    session = told(tmp_path).ran("pytest -q", error, failed=True)
    if said:
        session.said(said)
    for command in between:
        session.ran(command, "done")
    session.ran("pytest -q", "3 passed")

    assert found("fixes", session) == []


def test_a_remedy_that_failed_mended_nothing(tmp_path: Path) -> None:
    session = told(tmp_path).ran("pytest -q", MODULE, failed=True).ran("pip install redis", "error", failed=True)
    session.ran("pytest -q", "3 passed")

    assert found("fixes", session) == []


def test_commands_that_passed_tell_how_things_are_done_here(tmp_path: Path) -> None:
    (tmp_path / "Makefile").touch()
    session = told(tmp_path)
    for command in ("cd api && make test", "make test", "make lint 2>&1 | tail -3", "ls -la", "go test ./a/b -run X"):
        session.ran(command, "ran 3 tests")
    session.ran("make build", "error: no", failed=True)

    assert {(one.text, one.links) for one in found("commands", session)} == {
        ("`make test` runs the tests here", ("Makefile",)),
        ("`make lint` checks style here", ("Makefile",)),
    }


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("go test -exec=true ./...", "ok  \tacme/api\t0.2s"),
        ("golangci-lint version", "golangci-lint has version 2.1.6"),
        ("mise which golangci-lint", "/opt/golangci-lint"),
        ("pytest --version", "pytest 8.3"),
        ("pytest -q", ""),
        ("make test", "3 passed"),
    ],
)
def test_a_command_that_did_no_work_or_lost_its_file_is_not_how_things_are_done(
    tmp_path: Path, command: str, output: str
) -> None:
    (tmp_path / "go.mod").touch()

    assert found("commands", told(tmp_path).ran(command, output)) == []


def test_a_command_is_proposed_with_the_folder_it_works_in(tmp_path: Path) -> None:
    for folder in ("web", "api"):
        (tmp_path / folder / "src").mkdir(parents=True)
        (tmp_path / folder / "package.json").write_text(SCRIPTS)
    session = told(tmp_path).ran("cd web && npm run test", "3 passed").ran("cd web/src && npm run build", "done")
    session.ran(f"cd {tmp_path}/api && npm test", "5 passed").ran("cd /elsewhere/shop && npm run lint", "done")
    session.ran("cd web && ruff check", "All checks passed!").ran("cd gone && mypy", "Success: no issues found")

    assert {(proposal.text, proposal.links) for proposal in found("commands", session)} == {
        ("`npm test` runs the tests in web/", ("web/package.json",)),
        ("`npm test` runs the tests in api/", ("api/package.json",)),
        ("`npm run build` builds in web/", ("web/package.json",)),
        ("`ruff check` checks style in web/", ()),
        ("`mypy` checks types here", ()),
    }


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("npm run build 2>&1 | tail -20", "> api@0.1.0 build\n> tsc\n\nsh: tsc: command not found"),
        ("npm run build 2>&1 | tail -20", "npm error Missing script: build"),
        ("npx tsc --noEmit 2>&1 | grep Invoice", ""),
        ("npm run lint > /dev/null; echo done", "done"),
    ],
)
def test_a_filter_that_hides_a_failure_proves_nothing(tmp_path: Path, command: str, output: str) -> None:
    (tmp_path / "package.json").write_text(SCRIPTS)

    assert found("commands", told(tmp_path).ran(command, output)) == []


@pytest.mark.parametrize(
    ("command", "output", "text"),
    [
        ("npm run build 2>&1 | tail -20", "built in 2 s", "`npm run build` builds here"),
        ("npx tsc --noEmit 2>&1 | head -60", "", "`npx tsc --noEmit` checks types here"),
        ("npm run test | grep -E 'Tests'", "Tests  3 passed (3)", "`npm test` runs the tests here"),
    ],
)
def test_a_filter_that_shows_the_outcome_hides_nothing(tmp_path: Path, command: str, output: str, text: str) -> None:
    (tmp_path / "package.json").write_text(SCRIPTS)

    assert [proposal.text for proposal in found("commands", told(tmp_path).ran(command, output))] == [text]


def test_a_script_that_the_package_does_not_have_is_not_proposed(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text(SCRIPTS)
    session = told(tmp_path).ran("pnpm run typecheck", "done").ran("pnpm run lint", "done")

    assert [proposal.text for proposal in found("commands", session)] == ["`pnpm run lint` checks style here"]


def test_of_several_commands_for_one_purpose_the_simplest_is_proposed(tmp_path: Path) -> None:
    (tmp_path / "go.mod").touch()
    session = told(tmp_path)
    for command in ("golangci-lint run --timeout 5m", "golangci-lint run --timeout 5m", "golangci-lint run"):
        session.ran(command, "0 issues.")
    session.ran("go test -count=1 ./...", "ok  \tacme/api\t0.2s").ran("go test ./...", "ok  \tacme/api\t0.2s")

    assert {one.text for one in found("commands", session)} == {
        "`go test ./...` runs the tests here",
        "`golangci-lint run` checks style here",
    }


@pytest.mark.parametrize(
    "said",
    [
        "Always run the formatter before you commit.",
        "From now on put migrations into their own commit.",
        "I'd prefer dataclasses over dictionaries.",
        "The handlers should never touch the database directly.",
    ],
)
def test_what_a_person_wants_in_general_is_kept_in_their_words(tmp_path: Path, said: str) -> None:
    [wanted] = found("corrections", told(tmp_path).asked(f"Thanks. {said}"))

    assert wanted.text == said
    assert wanted.kind in (Kind.CONVENTION, Kind.PREFERENCE, Kind.DECISION)
    assert wanted.sources[0].quote == said


def test_a_statement_that_points_back_keeps_the_sentence_it_points_to(tmp_path: Path) -> None:
    said = "metrics.log holds our history. Never rewrite past lines in it."

    [rule] = found("corrections", told(tmp_path).asked(said))

    assert rule.text == said
    assert rule.sources[0].quote == "Never rewrite past lines in it."


def test_a_correction_is_kept_without_the_word_that_answers_the_agent(tmp_path: Path) -> None:
    session = told(tmp_path).said("I installed it with npm.")

    assert [one.text for one in found("corrections", session.asked("No, we use pnpm here, not npm."))] == [
        "We use pnpm here, not npm."
    ]
    # Without a comma it is part of the rule.
    assert [one.text for one in found("corrections", told(tmp_path).asked("Always: no SQL in the handlers."))] == [
        "Always: no SQL in the handlers."
    ]


def test_a_statement_that_nobody_understands_alone_is_not_proposed(tmp_path: Path) -> None:
    alone = "They must always be regenerated, never edited."

    assert found("corrections", told(tmp_path).said("I moved the fixtures.").asked(alone)) == []
    assert found("corrections", told(tmp_path).asked("Always keep these folders in the archive:")) == []
    [rule] = found("corrections", told(tmp_path).asked(f"The fixtures are generated by make. {alone}"))
    assert rule.text == f"The fixtures are generated by make. {alone}"


def test_a_rule_is_heard_after_a_request_and_the_request_is_not(tmp_path: Path) -> None:
    rule = "Don't wrap lines in Markdown, because GitHub shows the breaks."

    proposals = found("corrections", told(tmp_path).asked(f"Write the release page. {rule}"))

    assert [proposal.text for proposal in proposals] == [rule]


def test_what_the_person_took_back_is_not_proposed(tmp_path: Path) -> None:
    rule = "We deploy from the release branch only, never from main."

    assert found("corrections", told(tmp_path).asked(rule).said("Noted.").asked("Scratch that.")) == []
    assert found("corrections", told(tmp_path).asked(rule).said("Noted.").asked("Thanks."))


def test_of_two_rules_about_one_thing_the_last_stands(tmp_path: Path) -> None:
    session = told(tmp_path).asked("Always use tabs in the Go files, never spaces.").said("Done.")
    session.asked("Always use spaces in the Go files, never tabs.")

    assert [one.text for one in found("corrections", session)] == ["Always use spaces in the Go files, never tabs."]


def test_without_a_model_nobody_is_misheard(tmp_path: Path) -> None:
    read = get_agent("claude-code").read_transcript(told(tmp_path).asked("Always run the formatter.").keep())
    steps = [one for one in read if isinstance(one, Observation)]

    assert list(DETECTORS["corrections"](SessionView(steps=steps))) == []


@pytest.mark.parametrize(
    "said",
    [
        "Should we always use pnpm?",
        "Should we always use pnpm",
        "For now, always skip the slow tests.",
        "Don't worry about the tests.",
        "It should not be in the header.",
        "Never mind the last remark then.",
        "Maybe we should never retry uploads.",
        "Implement the following plan:\nAlways run the formatter before you commit.",
        "Fix the login page please.",
        "// Always run the formatter before you commit.",
        "/* Never edit the generated files by hand. */",
    ],
)
def test_questions_asides_and_pasted_plans_are_not_wishes(tmp_path: Path, said: str) -> None:
    assert found("corrections", told(tmp_path).asked(said)) == []


def test_a_decision_is_kept_only_with_its_reason(tmp_path: Path) -> None:
    session = told(tmp_path)
    session.said("I chose SQLite rather than Redis, so that nothing else has to run. I kept the names as they were.")
    # Why a commit was made is told where its lines are edited.
    session.ran('git commit -m "Read records in chunks\n\nWe chose chunks because bytes are slow."', "1 file changed")

    assert [one.text for one in found("decisions", session)] == [
        "I chose SQLite rather than Redis, so that nothing else has to run.",
    ]


@pytest.mark.parametrize("answer", ["why not go even newer?", "no, keep it as it was", "do v0.54.0", "Revert that."])
def test_a_decision_that_the_person_overruled_is_not_proposed(tmp_path: Path, answer: str) -> None:
    decided = "I picked v0.52.0 deliberately, because later versions need Go 1.25."
    overruled = told(tmp_path).said(decided).asked(answer)
    accepted = told(tmp_path).said(decided).asked("Great, now update the changelog.")

    assert found("decisions", overruled) == []
    assert [one.text for one in found("decisions", accepted)] == [decided]


def test_of_several_decisions_about_one_thing_the_last_stands(tmp_path: Path) -> None:
    session = told(tmp_path)
    session.said("I chose Redis for the job queue, because it is fast.").asked("Does it run offline?")
    session.said("We kept the names of the tables, so that reports keep working.").asked("Fine.")
    session.said("I chose SQLite for the job queue rather than Redis, because it runs offline.")

    assert [one.text for one in found("decisions", session)] == [
        "We kept the names of the tables, so that reports keep working.",
        "I chose SQLite for the job queue rather than Redis, because it runs offline.",
    ]


@pytest.mark.parametrize(
    ("command", "meant"),
    [
        ("cd /repo && FOO=1 pytest -q 2>&1 | tail -20", "pytest -q"),
        ("make test; echo done", "make test"),
        ('go test -run "A|B" ./...', 'go test -run "A|B" ./...'),
        ("make test && make lint", ""),
        ("python - <<'E'\nprint(1)\nE", ""),
        ("make test | ./report", ""),
    ],
)
def test_a_command_line_is_known_by_what_it_runs(command: str, meant: str) -> None:
    assert extract_command(command) == meant


@pytest.mark.parametrize("command", ["cd /d/shop/web && npm test", "cd D:/shop/web; npm test", "cd web && npm test"])
def test_a_change_of_directory_is_followed_on_windows(command: str) -> None:
    start = PureWindowsPath("D:/shop")

    assert join_directory(start, extract_directory(command)) == PureWindowsPath("D:/shop/web")
    assert join_directory(start, extract_directory("npm test")) == start


def test_looking_around_is_told_from_doing_something() -> None:
    assert is_inspection("rg -n needle src")
    assert not is_inspection("make needle")


def test_a_setting_that_names_a_removed_detector_is_refused_with_the_command_that_corrects_it() -> None:
    assert select_detectors(["fixes"]) == [DETECTORS["fixes"]]
    with pytest.raises(InvalidInput, match="names 'exploration', which is not a detector; run: hivemind config set"):
        select_detectors(["fixes", "exploration"])


@pytest.mark.parametrize(
    ("known", "count"),
    [
        ("", 1),
        ("ModuleNotFoundError: No module named 'redis' in the tests: `pip install redis`", 0),
        ("ModuleNotFoundError: No module named 'redis' in the tests: `uv sync --extra cache`", 1),
    ],
)
def test_a_fix_that_is_remembered_already_is_not_proposed_again(
    mind: Hivemind, tmp_path: Path, known: str, count: int
) -> None:
    if known:
        mind.remember(known, kind=Kind.FIX)
    session = told(tmp_path).ran("pytest -q", MODULE, failed=True).ran("pip install redis", "done")
    session.ran("pytest -q", "3 passed").keep()
    mind.sessions.import_transcripts(home=tmp_path / "user")

    assert len(mind.list(statuses=[Status.PROPOSED], kinds=[Kind.FIX])) == count
