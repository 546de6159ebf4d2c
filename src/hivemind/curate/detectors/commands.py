"""Detects commands that work: how to test, check, build and run in this repository."""

import re
from collections import Counter
from collections.abc import Iterator

from hivemind.curate.session_view import SessionRun, SessionView, make_source
from hivemind.model.claim import Proposal
from hivemind.model.memory import Kind

RUNNER = re.compile(
    r"\A(?:\./)?(?:npm|pnpm|yarn|bun|npx|bunx|mise|make|just|task|go|cargo|pytest|python3? -m|uv run|poetry run|hatch"
    r"|pdm|tox|nox|gradlew?|mvnw?|dotnet|rake|bundle exec|mix|swift|bazel|deno|composer|php artisan|ruff|mypy|eslint"
    r"|biome|tsc|golangci-lint|pre-commit|turbo|nx|ctest|cmake|sbt|zig|dev/\w+|scripts?/\w+)(?:\s|\Z)"
)
# The first match decides, so `lint --fix` must come before `lint`.
PURPOSES = {
    "runs the tests": re.compile(r"\b(?:tests?|pytest|vitest|jest|nox|tox|ctest)\b"),
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
    r"|\s(?!\./\.\.\.)\S*/|\d{3,}|_\w+_|linters\b|--help|--version|\s-h\b|--dry-run"
)
"""Commands about one file, one test or one machine; they do not show how things are done in the repository."""
MOST_WORDS = 5


def commands(view: SessionView) -> Iterator[Proposal]:
    """Propose, for each purpose, the general command that passed most often in the session."""
    for purpose, pattern in PURPOSES.items():
        passing_runs = [run for run in view.runs if _is_general(run) and _match_purpose(run.command) is pattern]
        if not passing_runs:
            continue
        best, _ = Counter(run.command for run in passing_runs).most_common(1)[0]
        proof = next(run.step for run in passing_runs if run.command == best)
        yield Proposal(
            detector="commands",
            kind=Kind.PROCEDURE,
            text=f"`{best}` {purpose} here",
            sources=(make_source(proof, best),),
            tags=("command",),
        )


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
