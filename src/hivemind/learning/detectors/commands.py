"""Detects commands that work: how to test, check, build and run in this repository."""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from hivemind.learning.session_view import SessionView, make_source
from hivemind.model.claim import Proposal
from hivemind.model.commands import SessionRun, extract_directory, join_directory
from hivemind.model.memory import Kind
from hivemind.model.session import Observation
from hivemind.text.untrusted import Unreadable, read_limited

RUNNER = re.compile(
    r"\A(?:\./)?(?:npm|pnpm|yarn|bun|npx|bunx|mise|make|just|task|go|cargo|pytest|python3? -m|uv run|poetry run|hatch"
    r"|pdm|tox|nox|gradlew?|mvnw?|dotnet|rake|bundle exec|mix|swift|bazel|deno|composer|php artisan|ruff|mypy|eslint"
    r"|biome|tsc|golangci-lint|pre-commit|turbo|nx|ctest|cmake|sbt|zig|dev/\w+|scripts?/\w+)(?:\s|\Z)"
)
LARGEST_FILE = 1024 * 1024
"""Bytes of a file with scripts, such as package.json."""
TESTS = "runs the tests"
# The first match decides, so `lint --fix` must come before `lint`.
PURPOSES = {
    TESTS: re.compile(r"\b(?:tests?|pytest|vitest|jest|nox|tox|ctest)\b"),
    "fixes style": re.compile(r"\b(?:lint|eslint|biome|ruff|clippy)\S*(?:\s.*)?(?::|--|-)fix\b"),
    "checks style": re.compile(
        r"\b(?:lint|ruff check|eslint|biome|clippy|golangci-lint|vet|pre-commit)\b"
        r"|\b(?:fmt|format|gofmt|prettier)\b(?=.*check)(?:\S*check)?"
    ),
    "formats the code": re.compile(r"\b(?:fmt|format|prettier|gofmt)\b"),
    "checks types": re.compile(r"\b(?:typecheck|type-check|tsc|mypy|pyright|check-types)\b"),
    "builds": re.compile(r"\b(?:build|compile)\b"),
    "generates code": re.compile(r"\b(?:generate|codegen)\b"),
}
PARTICULAR = re.compile(
    r"[\"'$*<>{}~\\]|\s-(?:run|k|t|tags?|c)[\s=]|--(?:filter|grep|testNamePattern|only)\b|\S+\.\w{1,4}(?:\s|:|\Z)|::"
    r"|\s(?!\./\.\.\.)\S*/|\d{3,}|_\w+_"
)
"""Commands about one file, one test or one machine; they do not show how things are done in the repository."""
WHOLE = re.compile(
    r"(?:\s+(?:--(?:workspace|all|all-targets|all-features|all-files|release|verbose|quiet|silent|check|fix|recursive|ci|run"
    r"|parallel|no-cov|noEmit|locked|frozen)|-[qvrw]+|run|\./\.\.\.|\.|-- -D warnings))*\Z"
)
"""What may follow the name of the task: options after which it still works on everything."""
NO_WORK = re.compile(
    r"(?:\A|\s)(?:--?version|version|-[vV]|--?help|help|-h|which|where|linters|list|ls|info|env)(?:\s|\Z)"
    r"|--?(?:dry-run|no-run|collect-only|list-tests|listTests|exec(?:=|\s)true|print-config|show-\w+)\b"
)
"""Commands that ask a tool about itself, or keep it from doing its work."""
TESTS_RAN = re.compile(
    r"\b(?!0+\b)\d+ (?:tests?|specs?|examples?|assertions?|passed|passing|ok|succeeded)\b|\bTests?:? +\d|^ok\b|^PASS\b"
    r"|^--- PASS|test result: ok|\bOK\b|\ball tests? pass|\bpassed\b|^\.{3,}|\b100%|✓",
    re.IGNORECASE | re.MULTILINE,
)
"""What programs print that ran at least one test; many exit with 0 when they found none."""
NEEDED_FILES = {
    "make": ("Makefile", "makefile", "GNUmakefile"),
    "just": ("justfile", "Justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "mise": ("mise.toml", ".mise.toml", "mise-tasks", ".config/mise.toml"),
    **dict.fromkeys(("npm", "npx", "bun", "bunx", "pnpm", "yarn"), ("package.json",)),
    "go": ("go.mod", "go.work"),
    "cargo": ("Cargo.toml",),
    "gradlew": ("gradlew",),
    "mvnw": ("mvnw",),
    "tox": ("tox.ini", "pyproject.toml", "setup.cfg"),
    "nox": ("noxfile.py",),
    "mix": ("mix.exs",),
    "composer": ("composer.json",),
    "rake": ("Rakefile",),
}
"""One of these files must exist for the command to work; it is linked, so that its loss makes the memory stale."""
HIDES_OUTPUT = re.compile(r"\|\s*(?:grep|egrep|rg|awk|sed|jq|wc|cut|sort|uniq|tr|xargs)\b|>\s*/dev/null")
"""Filters after which neither the exit code nor the output shows whether the command passed."""
LONG_TEST_SCRIPT = re.compile(r"\A(npm|pnpm|yarn) run (?=test(?:\s|\Z))")
"""`npm run test` and `npm test` are the same; `bun run test` and `bun test` are not."""
SCRIPT = re.compile(r"\A(?:npm|pnpm|yarn|bun) run (\S+)|\A(?:npm|pnpm|yarn) (test)(?:\s|\Z)")
"""The script of package.json that a command runs."""
MOST_WORDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """Where in the repository a command works."""

    folder: str
    """Relative to the repository; empty at its top."""
    file: str
    """The file that the command needs, relative to the repository; empty if it needs none."""


def commands(view: SessionView) -> Iterator[Proposal]:
    """Propose, for each purpose and folder, the simplest general command that passed in the session."""
    runs: dict[tuple[str, Workplace], list[SessionRun]] = defaultdict(list)
    for run in filter(_is_general, view.runs):
        purpose = next((purpose for purpose, pattern in PURPOSES.items() if pattern.search(run.command)), "")
        if purpose and _did_its_work(run, purpose) and (place := _find_workplace(view, run)):
            runs[purpose, place].append(run)
    # In the order of the purposes, and of the first run in each place.
    for purpose, place in sorted(runs, key=lambda group: [*PURPOSES].index(group[0])):
        yield _propose(purpose, place, runs[purpose, place])


def _propose(purpose: str, place: Workplace, passing_runs: list[SessionRun]) -> Proposal:
    counts = Counter(_shorten(run.command) for run in passing_runs)
    # Options that were needed once are not how things are done; of equally simple commands the usual one counts.
    best = min(counts, key=lambda command: (len(command.split()), -counts[command]))
    proof = next(run for run in passing_runs if _shorten(run.command) == best)
    return Proposal(
        detector="commands",
        kind=Kind.PROCEDURE,
        text=f"`{best}` {purpose} " + (f"in {place.folder}/" if place.folder else "here"),
        sources=(make_source(proof.step, proof.command),),
        tags=("command",),
        links=(place.file,) if place.file else (),
    )


def _find_workplace(view: SessionView, run: SessionRun) -> Workplace | None:
    """Return where a command ran, as far as the repository still has that folder and the file it needs."""
    names = NEEDED_FILES.get(PurePosixPath(run.command.split()[0]).name, ())
    if not view.root:
        return None if names else Workplace(folder="", file="")
    root = Path(view.root)
    for folder in _list_folders(root, run.step):
        file = next((folder / name for name in names if _is_usable(root / folder / name, run.command)), None)
        # The top of the repository is the path "."; other folders may be gone, such as a worktree's.
        if file or (not names and (folder == Path() or (root / folder).is_dir())):
            return Workplace(folder="" if folder == Path() else folder.as_posix(), file=file.as_posix() if file else "")
    return None


def _is_usable(file: Path, command: str) -> bool:
    """Whether the file exists and has the script that the command runs."""
    if not file.is_file() or not (script := SCRIPT.match(command)):
        return file.exists()
    # Some agents do not record that a command ran in a package below, and a script may have been removed since.
    try:
        content = read_limited(file, LARGEST_FILE)
    except (OSError, Unreadable):
        return False
    return f'"{script[1] or script[2]}"'.encode() in content


def _list_folders(root: Path, step: Observation) -> tuple[Path, ...]:
    """List the folder of the repository in which a command ran, and those above it; none if it ran elsewhere."""
    start = Path(step.directory)
    target = Path(os.path.normpath(join_directory(start, extract_directory(step.command))))
    # A client may record the directory after the change, so that the change leads nowhere when it is applied again.
    directory = target if target.is_dir() or not target.is_relative_to(root) else start
    if not directory.is_relative_to(root):
        return ()
    # npm, go, cargo and others look for their file in the folders above, too.
    folder = directory.relative_to(root)
    return (folder, *folder.parents)


def _shorten(command: str) -> str:
    return LONG_TEST_SCRIPT.sub(r"\1 ", command)


def _did_its_work(run: SessionRun, purpose: str) -> bool:
    """Whether a run did the whole of its task: with a filter, a path or one package it did a part."""
    task = PURPOSES[purpose].search(run.command)
    rest = run.command[task.end() :] if task else ""
    # `test:unit` is a part of the tests; `build:prod` is a build.
    is_whole = WHOLE.match(rest if purpose == TESTS else re.sub(r"\A\S+", "", rest))
    if NO_WORK.search(run.command) or not is_whole:
        return False
    # A filter keeps the line that counts the tests, but hides whether a linter or a build complained.
    return bool(TESTS_RAN.search(run.step.output)) if purpose == TESTS else not HIDES_OUTPUT.search(run.step.command)


def _is_general(run: SessionRun) -> bool:
    return (
        not run.has_failed
        # An agent that reports no exit code does not show that the command passed.
        and run.step.exit_code == 0
        and len(run.command.split()) <= MOST_WORDS
        and bool(RUNNER.match(run.command))
        and not PARTICULAR.search(run.command)
    )
