"""The files that a command line changes and names: by `sed -i`, redirections, `git apply`, `mv`, `cp`, `rm`.

Light imports only: a hook runs this before every command. It is no shell: what it does not understand names no file.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

TRIGGERS = ("sed ", "perl ", ">", "tee ", "apply", "patch", "mv ", "cp ", "rm ")
"""Without one of these a command is not looked at further."""
LONGEST_COMMAND = 20_000
MOST_FILES = 20
HERE_DOCUMENT = r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n(?:.*?\n)??[ \t]*\2[ \t]*(?=\n|\Z)"
PATCH_TARGET = r"^(?:\+\+\+ b/|--- a/|\*\*\* (?:Update|Delete|Add) File: )([^\t\n]+)"
"""A file in the text of a patch that a here-document hands to `git apply` or `patch`."""
SEPARATORS = frozenset((";", "&&", "||", "|", "&", "(", ")", "\n"))
REDIRECTIONS = frozenset((">", ">>", ">|", "&>", "&>>"))
INPUTS = frozenset(("<", "<<<", "<>"))
IN_PLACE = r"-\w*i\S*|--in-place\S*"
SCRIPT_OPTION = r"-\w*[ef]|--(?:expression|file)\b"
"""Begins an option of `sed` or `perl` with a script; without any, the first argument of `sed` is the script."""


def find_edited_files(command: str) -> list[str]:
    """Return the files that a command line is about to change and names, as it writes them."""
    if not any(trigger in command for trigger in TRIGGERS) or len(command) > LONGEST_COMMAND:
        return []
    is_patch = re.search(r"\b(?:git\s+apply|patch)\b", command) is not None
    files = re.findall(PATCH_TARGET, command, re.MULTILINE) if is_patch else []
    # The text of a here-document is no command.
    plain_command = re.sub(HERE_DOCUMENT, r" \3\n", command, flags=re.DOTALL)
    files += _find_changed_files(_split(plain_command))
    return [*dict.fromkeys(file for file in files if file and not file.startswith(("-", "/dev/", "$", "&")))][
        :MOST_FILES
    ]


def _find_changed_files(commands: Iterable[list[str]]) -> Iterator[str]:
    """Yield the files that simple commands change, in the folders to which `cd` goes before."""
    folder = ""
    for words in commands:
        if words[:1] == ["cd"]:
            folder = posixpath.join(folder, *words[1:2])
        yield from (posixpath.normpath(posixpath.join(folder, file)) for file in _find_targets(words) if file)


def _split(command: str) -> Iterator[list[str]]:
    """Yield the words of each command of a line; none if its quotes do not match."""
    # Here, because few commands get this far, and a hook pays for each import.
    import shlex

    lexer = shlex.shlex(command.replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:
        return
    simple_command: list[str] = []
    for word in [*words, ";"]:
        if word in SEPARATORS:
            yield simple_command
            simple_command = []
        else:
            simple_command.append(word)


def _find_targets(words: list[str]) -> Iterator[str]:
    program, *arguments = _leave_out_redirections(words[words[:1] == ["sudo"] :]) or [""]
    yield from (file for sign, file in pairwise(words) if sign in REDIRECTIONS)
    program = program.rpartition("/")[2]
    files = [word for word in arguments if not word.startswith("-")]
    if program == "git" and files[:1] in (["mv"], ["rm"]):
        program, *files = files
    if program in ("tee", "rm"):
        yield from files
    elif program in ("mv", "cp"):
        yield from files[:-1] if program == "mv" else ()
        # Into a folder a file goes under its own name.
        yield from (
            f"{target}{file.rpartition('/')[2]}" if target.endswith("/") else target
            for target in files[-1:]
            for file in files[:-1]
        )
    elif program in ("sed", "perl") and any(re.fullmatch(IN_PLACE, word) for word in arguments):
        has_script = any(re.match(SCRIPT_OPTION, word) for word in arguments)
        scripts = [value for option, value in pairwise(arguments) if re.fullmatch(SCRIPT_OPTION, option)]
        yield from (file for file in files[program == "sed" and not has_script :] if file not in scripts)


def _leave_out_redirections(words: list[str]) -> list[str]:
    arguments: list[str] = []
    is_file = False
    for word in words:
        is_sign = word in REDIRECTIONS or word in INPUTS
        # The number of a stream stands before the sign: `2> errors`.
        if is_sign and arguments and arguments[-1].isdigit():
            arguments.pop()
        if not is_sign and not is_file:
            arguments.append(word)
        is_file = is_sign
    return arguments
