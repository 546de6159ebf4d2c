"""Commands in unusual forms that a guard must recognise, and innocent ones that only look alike."""

import csv
import json
from pathlib import Path

import pytest

from hivemind.guard.patterns import (
    find_match,
    list_spellings,
    matches_command,
    matches_file,
    validate_command_pattern,
)
from hivemind.guard.shell import list_invocations
from hivemind.text import cues

MISSED = (
    "source <(echo npm install)",
    "bash <(echo npm install)",
    "{npm,install}",
    "npm < /dev/null install",
    "coverage run -m pytest",
    "ssh-agent bash -c 'npm install'",
    "docker-compose down -v",
    "screen -dm make deploy",
    "nix develop -c make deploy",
    'at now <<< "make deploy"',
    'concurrently "npm install" "make lint"',
    # The parser recognises these, but a hook that finds no word of the program never asks it.
    "$'\\x6epm' install",
    "A=np; B=m; $A$B install",
    'A=np; "${A}m" install',
)
"""Forms that are not recognised; nearly nobody writes them by accident."""


def read_commands() -> list[tuple[str, str, str]]:
    lines = Path(__file__).with_name("commands.tsv").read_text("utf-8").splitlines()
    rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    return [(row["pattern"], json.loads(row["command"]), row["acts"]) for row in rows]


COMMANDS = read_commands()


def is_recognised(home: str, pattern: str, command: str) -> bool:
    """Whether a hook would ask the store about a command, and the guard would act."""
    if not cues.has_file(home, pattern):
        cues.write_file(home, pattern, cues.list_guard_cues(list_spellings(pattern), (), (), ()))
    call_cues = list(cues.list_guardable_cues([command], (), ()))
    hits = cues.find_hits(home, pattern, "", call_cues) or []
    is_asked = bool(cues.narrow_guard_hits(home, pattern, "", call_cues, hits))
    return is_asked and bool(find_match([pattern], [], list_invocations(command)))


def test_guarded_commands_are_recognised_in_every_form_and_innocent_look_alikes_left_alone(tmp_path: Path) -> None:
    recognised = [command for pattern, command, _ in COMMANDS if is_recognised(str(tmp_path), pattern, command)]

    assert recognised == [command for _, command, acts in COMMANDS if acts == "yes" and command not in MISSED]


@pytest.mark.parametrize(
    "script", ["", "((((", "'unclosed", "$(", "a | | b", "if then", "\x00", "<<EOF\nx", "f() { f; }; f"]
)
def test_broken_scripts_are_read_as_far_as_they_go(script: str) -> None:
    assert isinstance(list_invocations(script), list)
    assert ("ls",) in [chain[0] for chain in list_invocations(f"ls\n{script}")] or script in ("'unclosed",)


def test_scripts_inside_scripts_end_somewhere() -> None:
    script = "npm install"
    for _ in range(8):
        script = f"bash -c {json.dumps(script)}"

    assert list_invocations(script)


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("dist/**", "dist/a/b.js", True),
        ("dist/**", "src/dist/b.js", False),
        ("**/dist/**", "src/dist/b.js", True),
        ("*.lock", "web/yarn.lock", True),
        ("package-lock.json", "web/package-lock.json", True),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/a/b.py", False),
        ("gen", "gen/x.py", True),
    ],
)
def test_file_patterns(pattern: str, path: str, matches: bool) -> None:
    assert matches_file(pattern, path) is matches


def test_a_command_that_only_asks_about_the_program_is_left_alone() -> None:
    assert not matches_command("npm", ("npm", "--version"))
    assert not matches_command("git push", ("git", "push", "--force", "--help"))
    assert matches_command("git push", ("git", "push", "--", "--help"))
    assert matches_command("npm", ("npm", "view", "x"))
    assert matches_command("npm --version", ("npm", "--version"))
    assert validate_command_pattern("  npm   install ") == "npm install"


def test_a_short_name_of_a_subcommand_means_the_long_one_and_only_there() -> None:
    assert matches_command("npm i", ("npm", "add", "left-pad"))
    assert matches_command("npm install -g", ("npm", "i", "-g", "left-pad"))
    assert not matches_command("npm run t", ("npm", "run", "test"))
    assert list_spellings("npm i -g") == ["npm i -g", "npm install -g", "npm add -g"]
    assert list_spellings("make deploy") == ["make deploy"]


def test_a_sign_before_a_branch_forces_or_deletes_like_the_option() -> None:
    assert matches_command("git push --force", ("git", "push", "origin", "+HEAD:main"))
    assert matches_command("git push -f", ("git", "push", "origin", "+main"))
    assert matches_command("git push * main", ("git", "push", "origin", "+main"))
    assert matches_command("git push --delete", ("git", "push", "origin", ":main"))
    assert not matches_command("git push --force", ("git", "push", "origin", "HEAD:main"))
    assert not matches_command("git push --delete", ("git", "push", "origin", "HEAD:main"))
    assert not matches_command("git clean --force", ("git", "clean", "+x"))


def test_values_that_double_with_every_line_stay_small() -> None:
    functions = "; ".join(f'f{n}() {{ f{n + 1} "$@" "$@"; }}' for n in range(40))

    for script in (
        "a=x; " + "a=$a$a$a$a$a; " * 40,
        "a=(x); " + 'a+=("${a[@]}" "${a[@]}"); ' * 40,
        f"{functions}; f0 x;",
    ):
        assert ("npm", "install") in [chain[0] for chain in list_invocations(f"{script} npm install")]


@pytest.mark.parametrize(("left", "right"), [("(", ")"), ("echo $(", ")"), ("if true; then ", "; fi")])
def test_brackets_deeper_than_the_stack_are_read_as_far_as_it_goes(left: str, right: str) -> None:
    script = f"npm install; {left * 3_000}true{right * 3_000}"

    assert (("npm", "install"),) in list_invocations(script)


def test_many_loops_inside_loops_end_soon() -> None:
    loop = "for a in 1 2 3 4 5 6 7 8 9; do {} done;"
    script = "x=1;"
    for _ in range(12):
        script = loop.format(script)

    assert list_invocations(f"{script} npm install")


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("redis-cli FLUSHALL", "redis-cli -h cache flushall"),
        ("rm -rf dist", "rm -rf dist/"),
        ("rm -rf dist/", "rm -rf dist src"),
        ("npm install <package>", "npm i -D vitest"),
        ("python tools/deploy.py", "cd web && python tools/deploy.py --now"),
        ("./tools/release.sh", "bash -c './tools/release.sh 1.0'"),
        ("task db:reset", "task db:reset"),
    ],
)
def test_a_pattern_is_recognised_in_another_case_by_path_and_for_any_argument(
    tmp_path: Path, pattern: str, command: str
) -> None:
    assert is_recognised(str(tmp_path), validate_command_pattern(pattern), command)


@pytest.mark.parametrize(
    ("pattern", "command"), [("npm install <package>", "npm install"), ("git branch -D", "git branch -d x")]
)
def test_an_argument_must_be_there_and_options_keep_their_case(tmp_path: Path, pattern: str, command: str) -> None:
    assert not is_recognised(str(tmp_path), validate_command_pattern(pattern), command)
