"""Every command of the documentation is one that the program understands, and the README's first ones work."""

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from markdown_it import MarkdownIt

from hivemind.cli import hivemind
from tests.command_line import run
from tests.contract.test_docs import PAGES, ROOT

SHELL_WORD = re.compile(r"\||&&|\|\||;|>|<")
PLACEHOLDER = re.compile(r"\A(?:[A-Z_]+|…|\[?[A-Z]+\]?(?:\.\.\.)?)\Z")


def list_commands(text: str) -> Iterator[str]:
    """Yield the lines of a page's shell blocks that run our program, continued lines joined."""
    for token in MarkdownIt("commonmark").parse(text):
        if token.type == "fence" and token.info in ("", "sh", "bash", "shell"):
            for line in token.content.replace("\\\n", " ").splitlines():
                yield from (part.strip() for part in SHELL_WORD.split(remove_comment(line)) if is_ours(part))


def remove_comment(line: str) -> str:
    return re.split(r"\s#\s", line)[0]


def is_ours(part: str) -> bool:
    return bool(re.match(r"\s*(?:[A-Z_]+=\S+ )*hivemind(?: |$)", part)) and part.count('"') % 2 == 0


def find_mistake(command: str) -> str:
    """Return why the program would not understand a command; empty if it does."""
    words = shlex.split(command, comments=True)
    words = words[words.index("hivemind") + 1 :]
    command_or_group: click.Command = hivemind
    context = click.Context(hivemind, info_name="hivemind")
    try:
        while isinstance(command_or_group, click.Group):
            command_or_group.parse_args(context, words)
            # click keeps the name of the subcommand here, under another name in each of its versions.
            first_words = vars(context).get("_protected_args", vars(context).get("protected_args", []))
            words = [*first_words, *context.args]
            if not words:
                return ""
            name, subcommand, words = command_or_group.resolve_command(context, words)
            assert subcommand
            command_or_group, context = subcommand, click.Context(subcommand, parent=context, info_name=name)
        command_or_group.parse_args(context, list(words))
    except click.exceptions.Exit:
        return ""
    except click.BadParameter as error:
        # A file that a reader would have, and a value that stands for one, are not mistakes.
        is_file = error.param is not None and isinstance(error.param.type, click.Path | click.File)
        return "" if is_file or any(map(PLACEHOLDER.match, words)) else error.format_message()
    except click.ClickException as error:
        return error.format_message()
    return ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_names_only_commands_and_options_that_exist(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = list(list_commands(page.read_text()))
    for word in {word for command in commands for word in shlex.split(command)}:
        # 'import' takes a file where other words are commands.
        if re.fullmatch(r"[\w-]+\.jsonl", word):
            (tmp_path / word).touch()
    mistakes = {command: find_mistake(command) for command in commands}

    assert {command: mistake for command, mistake in mistakes.items() if mistake} == {}


@pytest.mark.parametrize("command", ["hivemind recal deploys", "hivemind recall x --lmit 3", "hivemind session sow x"])
def test_a_command_that_does_not_exist_is_noticed(command: str) -> None:
    assert list(list_commands(f"```sh\n{command}   # why\n```\n")) == [command]
    assert find_mistake(command)


def test_the_first_commands_of_the_readme_work_in_a_repository(
    make_repository: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "README.md").read_text()
    commands = list(list_commands(text.partition("## First recall")[2].partition("\n## ")[0]))
    monkeypatch.chdir(make_repository("shop"))

    results = {command: run(*shlex.split(command)[1:]) for command in commands}

    assert len(results) > 4
    assert {command: result.output for command, result in results.items() if result.exit_code} == {}
    assert "Deploys run from main only" in results['hivemind recall "when may we deploy?"'].stdout


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 130
