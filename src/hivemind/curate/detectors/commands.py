"""Detects commands that work: how to test, check, build and run in this repository."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from hivemind.curate.session_view import SessionRun, SessionView, make_source
from hivemind.model.claim import Proposal
from hivemind.model.memory import Kind
from hivemind.model.session import Observation

RUNNER = re.compile(
    r"\A(?:\./)?(?:npm|pnpm|yarn|bun|npx|bunx|mise|make|just|task|go|cargo|pytest|python3? -m|uv run|poetry run|hatch"
    r"|pdm|tox|nox|gradlew?|mvnw?|dotnet|rake|bundle exec|mix|swift|bazel|deno|composer|php artisan|ruff|mypy|eslint"
    r"|biome|tsc|golangci-lint|pre-commit|turbo|nx|ctest|cmake|sbt|zig|dev/\w+|scripts?/\w+)(?:\s|\Z)"
)
TESTS = "runs the tests"
# The first match decides, so `lint --fix` must come before `lint`.
PURPOSES = {
    TESTS: re.compile(r"\b(?:tests?|pytest|vitest|jest|nox|tox|ctest)\b"),
    "fixes style": re.compile(r"\b(?:lint|eslint|biome|ruff|clippy)\S*(?:\s.*)?(?::|--|-)fix\b"),
    "checks style": re.compile(
        r"\b(?:lint|ruff check|eslint|biome|clippy|golangci-lint|vet|pre-commit)\b|\b(?:fmt|format)\S*check"
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
    "npm": ("package.json",),
    "pnpm": ("package.json",),
    "yarn": ("package.json",),
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
MOST_WORDS = 5


def commands(view: SessionView) -> Iterator[Proposal]:
    """Propose, for each purpose, the simplest general command that passed in the session."""
    for purpose, pattern in PURPOSES.items():
        passing_runs = [
            run
            for run in view.runs
            if _is_general(run) and _match_purpose(run.command) is pattern and _did_its_work(run, purpose)
        ]
        # Options that were needed once are not how things are done; of equally simple commands the usual one counts.
        for best, _ in sorted(
            Counter(run.command for run in passing_runs).items(), key=lambda item: (len(item[0].split()), -item[1])
        )[:1]:
            proof = next(run.step for run in passing_runs if run.command == best)
            needed_files = NEEDED_FILES.get(PurePosixPath(best.split()[0]).name, ())
            file = _find_needed_file(needed_files, view, proof)
            if needed_files and not file:
                continue
            yield Proposal(
                detector="commands",
                kind=Kind.PROCEDURE,
                text=f"`{best}` {purpose} here",
                sources=(make_source(proof, best),),
                tags=("command",),
                links=(file,) if file else (),
            )


def _find_needed_file(names: tuple[str, ...], view: SessionView, step: Observation) -> str:
    """Return the file that the command works with, relative to the repository; empty if it is gone."""
    root = Path(view.root)
    # A command may have been run in a package of the repository, which is seldom deeper.
    packages = (folder for folder in root.glob("*") if folder.is_dir())
    folders = [root, Path(step.directory), *packages] if view.root else []
    paths = (folder / name for folder in folders for name in names if (folder / name).exists())
    return next((view.make_relative(str(file)) for file in paths), "")


def _did_its_work(run: SessionRun, purpose: str) -> bool:
    return not NO_WORK.search(run.command) and (purpose != TESTS or bool(TESTS_RAN.search(run.step.output)))


def _is_general(run: SessionRun) -> bool:
    return (
        not run.has_failed
        # An agent that reports no exit code does not show that the command passed.
        and run.step.exit_code == 0
        and len(run.command.split()) <= MOST_WORDS
        and bool(RUNNER.match(run.command))
        and not PARTICULAR.search(run.command)
    )


def _match_purpose(command: str) -> re.Pattern[str] | None:
    return next((pattern for pattern in PURPOSES.values() if pattern.search(command)), None)
