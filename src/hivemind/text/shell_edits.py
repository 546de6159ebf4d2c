"""The files that a command line changes and names: by `sed -i`, redirections, `git apply`, `mv`, `python - <<EOF`.

Light imports only: a hook runs this before every command. It is no shell: what it does not understand names no file.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

TRIGGERS = (
    *("sed ", "perl ", ">", "tee ", "apply", "patch", "mv ", "cp ", "rm ", "ln -", "touch ", "truncate ", "unlink "),
    *("shred ", "of=", "checkout ", "restore ", "write", "open(", "unlink", "remove", "rename", "rmtree"),
)
"""Without one of these a command is not looked at further."""
LONGEST_COMMAND = 20_000
"""Characters without here-documents."""
MOST_FILES = 20
DEEPEST = 3
"""Scripts inside scripts: `bash -c "…"`."""
HERE_DOCUMENT = r"(?<!<)<<-?\s*(['\"]?)\\?([A-Za-z_]\w*)\1"
PATCH_TARGET = r"^(?:\+\+\+ (?:b/)?|--- (?:a/)?|\*\*\* (?:(?:Update|Delete|Add) File|Move to): )([^\t\n]+)"
"""A file in the text of a patch that a here-document hands to `git apply` or `patch`."""
SIGN = r"&>>|&>|>>|>\||<<<|<<|<>|[<>]&|[<>]|[;&|()]+"
SEPARATOR = r"[;&|()]+"
INLINE_SCRIPT = r"\b(?:python[\d.]*|node|bun|ruby|perl|php)\b[^\n|;&]*(?:<<| -[cer]\b)"
"""Begins a script on the command line."""
SCRIPT_FILE = r"\s*(['\"][^'\"\n]+['\"]|\w+)\s*"
WRITTEN_FILE = (
    rf"\bopen\({SCRIPT_FILE},\s*(?:mode\s*=\s*)?['\"]r?b?[wax+]"
    rf"|\b(?:Path\({SCRIPT_FILE}\)|(\w+))\.write_(?:text|bytes)\("
    rf"|\b(?:(?:write|append)File|unlink|remove|rename|rmtree|truncate|rm)(?:Sync)?\({SCRIPT_FILE}[,)]"
)
"""A file, or the name of one, that such a script writes."""
NAMED_FILE = r"\b(\w+)\s*=\s*(?:[\w.]*Path\()?\s*['\"]([^'\"\n]+)['\"]"
REDIRECTIONS = frozenset((">", ">>", ">|", "&>", "&>>"))
INPUTS = frozenset(("<", "<<<", "<>"))
BEFORE_PROGRAM = r"sudo|env|command|nohup|time|do|then|else|if|while|!|\{|[A-Za-z_]\w*=.*"
"""Words before the program that a command runs."""
SHELLS = frozenset(("bash", "sh", "zsh", "dash"))
ARITHMETIC = r"\(\([^()\n]*\)\)"
COMMENT = r"(?:^|(?<=\s))#.*$"
IN_PLACE = r"-(?![MmIr])\w*i\S*|--in-place\S*"
SCRIPT_OPTION = r"-\w*[ef]|--(?:expression|file)\b"
"""Begins an option of `sed` or `perl` with a script; without any, the first argument of `sed` is the script."""


def find_edited_files(command: str) -> list[str]:
    """Return the files that a command line is about to change and names, as it writes them."""
    if not any(trigger in command for trigger in TRIGGERS):
        return []
    is_patch = re.search(r"\b(?:git\s+apply|(?:apply_)?patch)\b", command) is not None
    files = re.findall(PATCH_TARGET, command, re.MULTILINE) if is_patch else []
    if re.search(INLINE_SCRIPT, command):
        names = dict(re.findall(NAMED_FILE, command))
        written_files = ("".join(match) for match in re.findall(WRITTEN_FILE, command))
        files += [names.get(file, "") if file.isidentifier() else file.strip("'\"") for file in written_files]
    files += _find_changed_files(command, "", 0)
    return [*dict.fromkeys(file for file in files if file and not file.startswith(("-", "/dev/", "$", "&", ">")))][
        :MOST_FILES
    ]


def _find_changed_files(command: str, folder: str, depth: int) -> Iterator[str]:
    """Yield the files that simple commands change, in the folders to which `cd` goes before."""
    variables: dict[str, str] = {}
    for written_words in _split(_leave_out_here_documents(command)):
        words = _expand(written_words, variables)
        variables |= dict(word.split("=", 1) for word in words if re.match(r"[A-Za-z_]\w*=", word))
        if words[:1] == ["for"] and words[2:3] == ["in"]:
            variables[words[1]] = " ".join(words[3:])
        words = _leave_out_words_before_program(words)
        if words[:1] in (["cd"], ["pushd"]):
            folder = posixpath.join(folder, *words[1:2])
        elif words[:1] == ["git"] and words[1:2] == ["-C"] and len(words) > 3:
            yield from _join(posixpath.join(folder, words[2]), _find_targets(["git", *words[3:]]))
        elif words and words[0].rpartition("/")[2] in SHELLS and depth < DEEPEST:
            for script in _find_script(words):
                yield from _find_changed_files(script, folder, depth + 1)
        yield from _join(folder, _find_targets(words))


def _leave_out_here_documents(command: str) -> str:
    """Leave out the texts of here-documents, which are no commands."""
    lines = command.split("\n")
    marks = {line.strip() for line in lines}
    kept_lines, waiting_marks = list[str](), list[str]()
    for line in lines:
        if waiting_marks:
            waiting_marks = waiting_marks[line.strip() == waiting_marks[0] :]
            continue
        # Without an end it is something else, such as ``1 << n``.
        waiting_marks = [mark for _, mark in re.findall(HERE_DOCUMENT, line) if mark in marks]
        kept_lines.append(re.sub(HERE_DOCUMENT, " ", line) if waiting_marks else line)
    return "\n".join(kept_lines)


def _join(folder: str, files: Iterable[str]) -> Iterator[str]:
    return (posixpath.normpath(posixpath.join(folder, file)) for file in files if file)


def _expand(words: list[str], variables: dict[str, str]) -> list[str]:
    """Put the values of variables that the command line itself sets into the words."""

    def look_up(match: re.Match[str]) -> str:
        return variables.get(match[1], match[0])

    # A value may be several words, as in a loop over files.
    texts = ((word, re.sub(r"\$\{?(\w+)\}?", look_up, word) if "$" in word else word) for word in words)
    return [part for word, text in texts for part in ([text] if text == word else text.split())]


def _leave_out_words_before_program(words: list[str]) -> list[str]:
    place = 0
    while place < len(words) and (re.fullmatch(BEFORE_PROGRAM, words[place]) or (place and words[place][0:1] == "-")):
        place += 1
    return words[place:]


def _find_script(words: list[str]) -> list[str]:
    """Return the script that a shell is given as an argument, if there is one."""
    return [script for option, script in pairwise(words) if re.fullmatch(r"-\w*c", option)][:1]


def _split(command: str) -> Iterator[list[str]]:
    """Yield the words of each command of a line; none if its quotes do not match."""
    # Here, because few commands get this far, and a hook pays for each import.
    import shlex

    if len(command) > LONGEST_COMMAND:
        return
    words: list[str] = []
    command = re.sub(ARITHMETIC, "", command)
    # Comments are left out only where their quotes do not match: a ``#`` may stand in a text.
    for text in (command, re.sub(COMMENT, "", command, flags=re.MULTILINE)):
        lexer = shlex.shlex(text.replace("\\\n", " ").replace("\n", " ; "), posix=True, punctuation_chars=True)
        lexer.commenters = ""
        # Else a word ends at each of @ + , : [ ].
        lexer.whitespace_split = True
        try:
            words = list(lexer)
            break
        except ValueError:
            continue
    simple_command: list[str] = []
    for word in [*words, ";"]:
        # Signs without white space between them come as one word: `;(`.
        for part in re.findall(SIGN, word) if re.fullmatch(r"[;&|()<>]+", word) else [word]:
            if re.fullmatch(SEPARATOR, part):
                yield simple_command
                simple_command = []
            else:
                simple_command.append(part)


def _find_targets(words: list[str]) -> Iterator[str]:
    program, *arguments = _leave_out_redirections(words) or [""]
    # In a comparison the sign is none of a redirection.
    if words[:1] != ["[["]:
        yield from (file for sign, file in pairwise(words) if sign in REDIRECTIONS)
    program = program.rpartition("/")[2]
    files = [word for word in arguments if word and not word.startswith("-")]
    if program == "git" and files[:1] in (["mv"], ["rm"], ["checkout"], ["restore"]):
        program, *files = files
        files = arguments[arguments.index("--") + 1 :] if "--" in arguments else files
    if program == "restore" and "--staged" in arguments:
        return
    if program in ("tee", "rm", "checkout", "restore", "touch", "unlink", "shred"):
        yield from files
    elif program == "truncate":
        yield from files[-1:]
    elif program == "dd":
        yield from (file[len("of=") :] for file in files if file.startswith("of="))
    elif program in ("mv", "cp", "ln"):
        yield from files[:-1] if program == "mv" else ()
        # Into a folder a file goes under its own name.
        yield from (
            f"{target}{file.rpartition('/')[2]}" if target.endswith("/") else target
            for target in files[-1:]
            for file in files[:-1]
        )
    elif program == "patch":
        yield from files[:1]
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
