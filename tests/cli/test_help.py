"""Help: examples, lists of commands, suggestions for what is mistyped, and completion."""

import os
import re
import subprocess
from collections.abc import Iterator

import click
import pytest

from hivemind.cli import GROUPS, hivemind
from hivemind.cli.framework import MEANINGS, SYNONYMS, summarise_command
from tests.command_line import run, run_json
from tests.contract.test_architecture import modules_after
from tests.terminal import COMMAND, on_a_terminal


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


def every_group() -> Iterator[list[str]]:
    """Each group of commands by the words one types for it."""

    def below(path: list[str], group: click.Group) -> Iterator[list[str]]:
        yield path
        context = click.Context(group)
        for name in group.list_commands(context):
            if isinstance(command := group.get_command(context, name), click.Group):
                yield from below([*path, name], command)

    yield from below([], hivemind)


@pytest.mark.parametrize("path", list(every_command()))
def test_every_command_has_an_example_and_takes_json_and_quiet(path: str) -> None:
    told = run(*path.split(), "--help").stdout

    assert f"hivemind {path.split(maxsplit=1)[0]}" in told.split("Usage:")[1].split("\n", 1)[1] or "hivemind\n" in told
    assert "--json" in told
    assert "--quiet" in told


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
    assert len(hivemind.list_commands(click.Context(hivemind))) <= 43


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
    ("typed", "suggestion"),
    [
        ("delete", "Did you mean 'hivemind forget' or 'hivemind erase'?"),
        ("rm", "Did you mean 'hivemind forget' or 'hivemind erase'?"),
        ("search", "Did you mean 'hivemind recall'?"),
        ("Find", "Did you mean 'hivemind recall'?"),
        ("serach", "Did you mean 'hivemind recall'?"),
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
        ("help recall", "Did you mean 'hivemind --help'?"),
    ],
)
def test_an_unknown_command_is_answered_with_what_to_type_instead(typed: str, suggestion: str) -> None:
    done = run(*typed.split())

    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.strip().endswith(suggestion)


@pytest.mark.parametrize("typed", ["trace", "hub", "hub token"])
def test_a_group_without_a_command_lists_its_commands(typed: str) -> None:
    done = run(*typed.split())

    assert (done.exit_code, done.stderr) == (2, run(*typed.split(), "--help").stdout)


@pytest.mark.parametrize("typed", ["completion", "hub token create --name ci"])
def test_a_missing_choice_is_answered_in_one_line(typed: str) -> None:
    done = run(*typed.split())

    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert re.search(r"Choose \w+, \w+,? ", done.stderr)


@pytest.mark.parametrize("name", [name for names in MEANINGS for name in names.split(", ")])
def test_every_suggested_command_exists_and_no_synonym_is_a_command(name: str) -> None:
    words = [word for word in name.split() if not word.startswith("-")]
    options = [word for word in name.split() if word.startswith("-")]

    told = run(*words, "--help")

    assert told.stdout.startswith(f"Usage: {' '.join(['hivemind', *words])} ")
    assert [option for option in options if option not in told.stdout] == []
    assert set(hivemind.list_commands(click.Context(hivemind))).isdisjoint(SYNONYMS)


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
        assert "restore" in completed("hivemind backup ", 2)
    assert known not in completed("hivemind show zz", 2)


@pytest.mark.parametrize("words", [["session", "--limit", "1"], ["-q", "session", "--json", "--everywhere"], ["team"]])
def test_a_group_without_a_command_takes_the_options_of_its_default(words: list[str]) -> None:
    assert run(*words).exit_code == 0
