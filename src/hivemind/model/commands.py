"""Commands that agents ran: each without its setup and filters, which of them failed, and which passed later."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import PurePath

from hivemind.model.dataclass import dataclass
from hivemind.model.session import Observation

SHELL_SETUP = re.compile(r"\A(?:cd\s+\S+|pushd\s+\S+|export\s+\S+|source\s+\S+|\.\s+\S+|set\s+-\S+|clear)\s*\Z")
ASSIGNMENT = re.compile(r"\A(?:[A-Za-z_]\w*=(?:\"[^\"]*\"|'[^']*'|\S*)\s+)+")
OUTPUT_FILTER = re.compile(r"\A(?:head|tail|grep|rg|egrep|sed|awk|cat|tee|less|wc|sort|uniq|cut|jq|tr|column|xargs)\b")
DIRECTORY_CHANGE = re.compile(r"\A\s*(?:cd|pushd)\s+(\S+)\s*(?:&&|;)")
GIT_BASH_DRIVE = re.compile(r"\A/([A-Za-z])(?=/)")
REDIRECT = re.compile(r"\s*(?:[12&]?>{1,2}\s*(?:&\d|\S+)|<\s*/dev/null)\s*")
QUOTED = re.compile(r"\"(?:\\.|[^\"\\])*\"|'[^']*'")
INSPECTION = re.compile(
    r"\A(?:sudo\s+)?(?:ls|cat|head|tail|grep|egrep|rg|ag|find|fd|pwd|echo|printf|which|type|wc|sed|awk|sort|diff|stat"
    r"|tree|less|file|du|df|ps|jq|env|date|sleep|test|\[|true|false|cd|mkdir|rm|cp|mv|touch|chmod|ln|kill|pkill|open"
    r"|curl|wget|history|whoami|uname|export|xargs|read|for|while|if)(?:\s|\Z)"
    r"|\A(?:git|gh|jj|hg|hivemind)\s"
)
"""Commands that only inspect or tidy up; their exit codes say nothing about the work."""
PROGRAMS = frozenset(
    """
    npm npx pnpm yarn bun deno node pip pip3 pipx uv poetry pipenv conda python python3 pytest tox nox ruff black
    mypy flake8 git gh glab docker docker-compose podman kubectl helm terraform pulumi ansible make cmake ninja
    cargo rustc rustup go gofmt gradle gradlew mvn sbt bazel java javac dotnet nuget ruby gem bundle rails rake
    rspec php composer artisan phpunit mix elixir swift xcodebuild pod flutter dart jest vitest mocha cypress
    playwright eslint prettier biome tsc tsx vite webpack next nx turbo lerna prisma drizzle-kit alembic psql mysql
    sqlite3 redis-cli mongosh aws gcloud az vercel netlify fly heroku wrangler supabase firebase curl wget ssh scp
    rsync rm sudo chmod apt apt-get brew systemctl sed awk grep just task nix pnpx bunx uvx mamba virtualenv nose
    unittest pylint isort tslint gulp grunt maven yum dnf perl nvm volta asdf mise hub rubocop msbuild golangci-lint
    pre-commit husky
    """.split()  # noqa: SIM905 - a list of quoted words would be harder to read
)
"""Programs that notes name without backticks; most other words in a note are no commands."""
CODE_SPAN = re.compile(r"`([^`\n]+)`")
PURPOSES = {
    "test": re.compile(r"\b(?:tests?|testing|\w*pytest|vitest|jest|tox|nox|ctest|rspec|phpunit)\b", re.IGNORECASE),
    "lint": re.compile(r"\b(?:\w*lint\w*|ruff|biome|clippy|pre-commit|rubocop)\b", re.IGNORECASE),
    "types": re.compile(r"\b(?:type-?checks?|mypy|pyright|tsc)\b", re.IGNORECASE),
    "build": re.compile(r"\b(?:builds?|compiles?)\b", re.IGNORECASE),
}
"""What nearly every task needs a command for, and the words by which commands and requests name it."""
STOPPED_CALL = re.compile(
    r"The user doesn't want to proceed|\[Request interrupted|This command requires approval|Permission to use"
    r"|was blocked|rejected by (?:the )?user|Cancelled:|tool_use_error",
    re.IGNORECASE,
)
"""A person or the agent stopped the call; that says nothing about the command."""
FAILURE = re.compile(
    r"^(?:FAIL\b|--- FAIL|✗|E  +\w|error(?:\[\w+\])?:|Error:(?! \(none\))|ERROR\b|npm (?:ERR!|error)|panic:"
    r"|\S*sh: (?:.*: )?(?:command )?not found|Traceback \(most recent|make: \*\*\*)"
    r"|\b[1-9]\d* (?:failed|failing|failures?|errors?)\b|: error TS\d+|\(fail\)",
    re.MULTILINE,
)
"""What failing builds and tests print; needed where a pipe such as `| tail` hid their exit code."""
NO_FAILURES = re.compile(r"^\s*0 (?:fail(?:ed|ures?|ing)?|errors?)\b", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRun:
    """A command that changes or checks something, and how it ended."""

    index: int
    """Position of its step in the session."""
    command: str
    """The command without its directory changes, variables and filters."""
    has_failed: bool
    step: Observation


def list_runs(steps: Iterable[Observation]) -> Iterator[SessionRun]:
    """List the commands of a session, without those that only look and those that somebody stopped."""
    for index, step in enumerate(steps):
        command = extract_command(step.command) if step.command else ""
        if command and not is_inspection(command) and not STOPPED_CALL.search(step.output[:200]):
            prints_failure = FAILURE.search(step.output) and not NO_FAILURES.search(step.output)
            yield SessionRun(index=index, command=command, has_failed=step.failed or bool(prints_failure), step=step)


def find_fixes(runs: Iterable[SessionRun]) -> Iterator[tuple[SessionRun, SessionRun]]:
    """Find each command that failed and passed later: its last failure, and the pass."""
    failing_runs: dict[str, SessionRun] = {}
    for run in runs:
        if run.has_failed:
            # A later failure replaces an earlier one: only what was done after the last one can have fixed it.
            failing_runs[run.command] = run
        elif run.command in failing_runs:
            yield failing_runs.pop(run.command), run


def extract_command(command: str) -> str:
    """The command without directory changes before it and output filters after it; empty if there is no single one."""
    line = command.strip()
    # A script or a here-document is not one command.
    if "\n" in line or "<<" in line:
        return ""
    return " ".join(_reduce(line).split())


def extract_directory(command: str) -> str:
    """The directory that a command line changes to before it runs its command; empty if it does not."""
    change = DIRECTORY_CHANGE.match(command)
    return change[1].strip("\"'") if change else ""


def join_directory(start: PurePath, change: str) -> PurePath:
    """The directory that a change leads to, also where Git Bash on Windows writes D: as /d."""
    return start / (GIT_BASH_DRIVE.sub(r"\1:", change) if start.drive else change)


@lru_cache(maxsize=4096)
def _reduce(line: str) -> str:
    parts = _split_outside_quotes(line, ("&&", ";"))
    parts = [part for part in parts if not SHELL_SETUP.match(part)]
    if len(parts) != 1:
        # A trailing "; echo done" only prints; two commands that do something are not one command.
        parts = [part for part in parts if not part.startswith(("echo ", "printf ", "sleep "))]
    if len(parts) != 1:
        return ""
    first, *filters = _split_outside_quotes(parts[0], ("||", "|"))
    if not all(OUTPUT_FILTER.match(part) or part in ("true", ":") or part.startswith("echo ") for part in filters):
        return ""
    return REDIRECT.sub(" ", ASSIGNMENT.sub("", first)).strip(" &")


def find_purposes(text: str) -> tuple[str, ...]:
    """The purposes that a request or a command names: ``test``, ``lint``, ``types``, ``build``."""
    return tuple(purpose for purpose, words in PURPOSES.items() if words.search(text))


def find_command_purposes(note: str) -> tuple[str, ...]:
    """The purposes of the commands that a note quotes as code."""
    return find_purposes(" ; ".join(CODE_SPAN.findall(note))) if "`" in note else ()


def is_inspection(command: str) -> bool:
    """Whether a command only inspects or tidies up."""
    return bool(INSPECTION.match(command))


def _split_outside_quotes(line: str, separators: tuple[str, ...]) -> list[str]:
    # The mask keeps the length, so that positions in it are positions in the line.
    masked_line = QUOTED.sub(lambda string: "\0" * len(string[0]), line)
    separator = re.compile("|".join(map(re.escape, separators)))
    pieces, start = [], 0
    for match in separator.finditer(masked_line):
        pieces.append(line[start : match.start()].strip())
        start = match.end()
    return [piece for piece in [*pieces, line[start:].strip()] if piece]
