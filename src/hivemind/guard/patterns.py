"""Patterns of guards: a few words of a command, and globs of files."""

import re
import shlex
from collections.abc import Sequence
from fnmatch import fnmatchcase
from itertools import takewhile
from pathlib import PurePosixPath

from hivemind.errors import InvalidInput

Words = tuple[str, ...]
Invocation = tuple[Words, ...]
"""A command in its words, followed by the commands that it runs: ``sudo npm install``, then ``npm install``."""
UNKNOWN = "\ue000"
"""Stands in a word for text that is only known when the shell runs; a letter of nobody, so that scripts still parse."""
ASKS_ABOUT_ITSELF = frozenset(("--version", "-V", "--help", "-h", "help", "version"))
"""The only argument of commands that print something about themselves and do nothing."""
ASKS_FOR_HELP = ("--help", "-help")
"""With these a command prints its help and does nothing, whatever else it is given."""
SYNONYMS = {
    "git push": {"-f": "--force", "+": "--force", "-d": "--delete", ":": "--delete"},
    "git commit": {"-n": "--no-verify", "-a": "--all"},
    "git clean": {"-f": "--force"},
    "git branch": {"-D": "--delete"},
    "rm": {"-r": "--recursive", "-R": "--recursive", "-f": "--force"},
    "docker compose down": {"-v": "--volumes"},
    "docker-compose down": {"-v": "--volumes"},
    "npm install": {"-g": "--global", "-D": "--save-dev"},
    "chmod": {"-R": "--recursive"},
    "npm": {"i": "install", "add": "install", "t": "test", "un": "uninstall", "rm": "uninstall", "up": "update"},
    "pnpm": {"i": "install", "rm": "remove", "up": "update"},
    "bun": {"i": "install", "a": "add", "rm": "remove"},
    "cargo": {"b": "build", "c": "check", "r": "run", "t": "test", "d": "doc"},
}
"""Short options and subcommands that mean the same as a long one, and signs before a branch: ``git push origin +main``.
In other commands they mean something else."""
TASK_RUNNERS = frozenset(("make", "gmake", "ninja", "rake", "gradle", "gradlew", "mvn"))
"""Programs whose plain arguments are all tasks, in any order: ``make build deploy``."""
PLACE_OPTIONS = ("-C", "-f", "--directory", "--file", "--makefile", "--rakefile")
"""Their options that are followed by a folder or a file, which is no task: ``make -C deploy lint``."""
SHORT_OPTIONS = re.compile(r"-[A-Za-z]{1,6}")
VERSIONED_PROGRAM = re.compile(r"\A(python|pip|php|ruby|lua)[\d.]+\Z")
"""Programs whose versions are installed beside each other, each under its own name."""
VERSION_OF_PACKAGE = re.compile(r"(?<=\w)@(?:[\d^~v][\w.^~-]*|latest|next)\Z")
"""What follows the name of a package: ``npm install react@18``."""
PLACEHOLDER = re.compile(r"<[^<>]+>")
"""What people write for any argument: ``npm install <package>``."""
CHANGING_TOOL = re.compile(
    r"write|create|edit(?!or|_tool)|delete|remove|rename|patch|replace(?!_editor|_based)", re.IGNORECASE
)
"""In the name of a tool that changes the file it is given; some calls have no diff, as of a notebook. An editor also
reads files."""
OPTION_WITH_VALUE = re.compile(r"(-[A-Za-z])[^A-Za-z-].*", re.DOTALL)
"""A short option with its value: ``-i.bak``."""


def get_program(words: Sequence[str]) -> str:
    """Return the name of the program that a command starts, without its folder."""
    name = words[0].replace("\\", "/").rpartition("/")[2] if words else ""
    return name.removesuffix(".exe").removesuffix(".cmd")


def validate_command_pattern(text: str) -> str:
    """Return a command pattern in its normal form; refuses one that has no program."""
    try:
        words = shlex.split(PLACEHOLDER.sub("*", text))
    except ValueError:
        words = []
    if not words or words[0].startswith("-") or set(words[0]) <= set("*?"):
        raise InvalidInput(f"{text!r} is no command pattern; write a program and its first words: 'npm install'")
    return shlex.join(words).replace("'*'", "*") if any(" " in word for word in words) else " ".join(words)


def validate_file_pattern(text: str) -> str:
    """Return a file pattern in its normal form; refuses one that leaves the repository or matches everything."""
    pattern = text.strip().removeprefix("./")
    if not pattern.strip("*/") or pattern.startswith("/") or ".." in PurePosixPath(pattern).parts:
        raise InvalidInput(f"{text!r} is no file pattern; write a path from the top of the repository: 'dist/**'")
    return f"{pattern}**" if pattern.endswith("/") else pattern


def validate_symbol(text: str) -> str:
    """Return a symbol in its normal form; refuses one without a file or a name."""
    path, _, name = text.strip().partition("::")
    if not path or not name:
        raise InvalidInput(f"{text!r} is no symbol; write its file and its name: 'pay.py::Cart.add'")
    # The index separates the parts of a name with dots in every language.
    return f"{path.removeprefix('./')}::{name.replace('::', '.')}"


def find_match(patterns: Sequence[str], exceptions: Sequence[str], invocations: Sequence[Invocation]) -> str:
    """Return the first pattern that a command of a script matches, unless an exception matches it too; else empty."""
    for invocation in invocations:
        if any(matches_command(exception, words) for exception in exceptions for words in invocation):
            continue
        for pattern in patterns:
            if any(matches_command(pattern, words) for words in invocation):
                return pattern
    return ""


def matches_command(pattern: str, words: Words) -> bool:
    """Whether a command is the one a pattern names: its program, its first arguments in order, its options."""
    written_program, *rest = shlex.split(pattern)
    program, name = get_program([written_program]), get_program(words)
    # ``pip3`` and ``pip3.11`` are pip.
    if not any(fnmatchcase(spelling, program) for spelling in (name, VERSIONED_PROGRAM.sub(r"\1", name))):
        return False
    arguments = list(words[1:])
    if _asks_about_itself(arguments) and not _asks_about_itself(rest):
        return False
    plain_words = [word for word in rest if not word.startswith("-")]
    options = [word for word in rest if word.startswith("-")]
    synonyms = _find_synonyms(program, plain_words)
    has_options = all(_has_option(option, arguments, synonyms) for option in options)
    return has_options and _has_words(program, plain_words, arguments)


def list_spellings(pattern: str) -> list[str]:
    """List a pattern as it is, and with each short name of its subcommand."""
    program, *rest = pattern.split()
    synonyms, subcommand = SYNONYMS.get(program, {}), rest[0] if rest else ""
    full_name = synonyms.get(subcommand, subcommand)
    names = [full_name, *(name for name, synonym in synonyms.items() if synonym == full_name)]
    return [pattern, *(" ".join((program, name, *rest[1:])) for name in names if name != subcommand)]


def _asks_about_itself(arguments: Sequence[str]) -> bool:
    own_arguments = list(takewhile(lambda argument: argument != "--", arguments))
    return any(argument in ASKS_FOR_HELP for argument in own_arguments) or (
        bool(arguments) and all(argument in ASKS_ABOUT_ITSELF for argument in arguments)
    )


def _has_words(program: str, words: Sequence[str], arguments: Sequence[str]) -> bool:
    """Whether plain arguments begin with these words; a word after an option may be the option's value."""
    place, option = 0, ""
    for argument in arguments:
        if place == len(words):
            break
        synonyms = SYNONYMS.get(" ".join((program, *words[:place])), {})
        bare_argument = VERSION_OF_PACKAGE.sub("", argument.removeprefix("+"))
        name, word = (synonyms.get(text, text) for text in (bare_argument, words[place]))
        if argument.startswith("-") and len(argument) > 1:
            # ``--prefix=web`` has its value with it.
            option = "" if "=" in argument else argument
        elif program in TASK_RUNNERS and option in PLACE_OPTIONS:
            option = ""
        elif _is_word(name, word) or _is_word(argument, word):
            place, option = place + 1, ""
        elif option or argument.startswith("+") or program in TASK_RUNNERS:
            # ``cargo +nightly update`` chooses a toolchain.
            option = ""
        else:
            return False
    return place == len(words)


def _is_word(argument: str, word: str) -> bool:
    """Whether an argument is a word of a pattern, in any case and with or without a last slash."""
    argument, word = (text.lower().removesuffix("/") or text for text in (argument, word))
    return fnmatchcase(argument, word) and UNKNOWN not in argument


def _has_option(option: str, arguments: Sequence[str], synonyms: dict[str, str]) -> bool:
    names = set()
    for argument in arguments:
        if argument == "--":
            break
        if SHORT_OPTIONS.fullmatch(argument):
            names |= {f"-{letter}" for letter in argument[1:]} | {argument}
        elif option_with_value := OPTION_WITH_VALUE.fullmatch(argument):
            names |= {option_with_value[1], argument}
        elif argument.startswith("-"):
            names |= {argument.partition("=")[0], argument}
        else:
            names.add(argument[:1])
    names |= {synonyms[name] for name in names if name in synonyms}
    words = [f"-{letter}" for letter in option[1:]] if SHORT_OPTIONS.fullmatch(option) else [option]
    return option in names or all(name in names or synonyms.get(name) in names for name in words)


def _find_synonyms(program: str, plain_words: Sequence[str]) -> dict[str, str]:
    for count in range(len(plain_words), -1, -1):
        if synonyms := SYNONYMS.get(" ".join((program, *plain_words[:count]))):
            return synonyms
    return {}


def matches_tool(pattern: str, tool: str) -> bool:
    """Whether a tool has this name, whatever the case; clients join the names of server and tool in their own ways."""
    return fnmatchcase(tool.lower(), pattern.lower())


def matches_file(pattern: str, path: str) -> bool:
    """Whether a path from the top of the repository matches a glob; one without a slash matches in any folder.

    Whatever the case: on macOS and Windows a file has its name in any.
    """
    pattern, path = pattern.lower(), path.lower()
    if "/" not in pattern:
        # Some frameworks name files ``[id].tsx``.
        return any(part == pattern or fnmatchcase(part, pattern) for part in PurePosixPath(path).parts)
    expression = re.escape(pattern).replace(r"\*\*/", "(?:.*/)?").replace(r"\*\*", ".*").replace(r"\*", "[^/]*")
    return re.fullmatch(expression.replace(r"\?", "[^/]"), path) is not None
