"""Reads shell text and lists the commands that it would run, in whatever form they are written."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

import tree_sitter
import tree_sitter_bash

from hivemind.guard.patterns import UNKNOWN, Invocation, Words, get_program

MOST_CHARACTERS = 100_000
"""Of a script that is parsed, and of a variable; agents write no longer ones by hand."""
DEEPEST = 6
"""Scripts inside scripts, such as ``bash -c "bash -c …"``."""
MOST_COMMANDS = 2_000
"""That are read, and words of an array."""
MOST_ROUNDS = 200
"""Of all loops together; after them each loop is read once."""

SHELLS = frozenset(("bash", "sh", "zsh", "dash", "ksh", "ash", "fish"))
WRAPPERS = {
    "sudo": "-u -g -p -C -D -R -T -h -r -t --user --group --prompt --chdir --host",
    "doas": "-u -C",
    "env": "-u -C --unset --chdir",
    "nice": "-n --adjustment",
    "ionice": "-c -n -p --class --classdata",
    "timeout": "-s -k --signal --kill-after",
    "stdbuf": "-i -o -e --input --output --error",
    "time": "-f -o --format --output",
    "xargs": "-I -n -P -L -d -a -E -s --replace --max-args --max-procs --max-lines --delimiter --arg-file",
    "watch": "-n --interval",
    "parallel": "-j --jobs -n --max-args -a --arg-file --delay --timeout",
    "exec": "-a",
    "command": "",
    "npx": "-p --package",
    "uv run": "--with --python -p --extra --group --env-file --project --directory --with-requirements",
    "poetry run": "-C --directory -P --project",
    "strace": "-e -o -p -s",
    "flock": "-w --timeout -E",
    "chrt": "-p",
    "taskset": "-p",
    "systemd-run": "-p --property -u --unit",
    "dotenv": "-f --file -e",
    **dict.fromkeys(("powershell", "pwsh"), "-ExecutionPolicy -ep -WorkingDirectory -wd"),
    **dict.fromkeys(("tmux new-session", "tmux new-window", "tmux new", "tmux send-keys"), "-s -n -c -t -x -y -e"),
    **dict.fromkeys(("cmd", "direnv exec"), ""),
    "aws-vault exec": "-d --duration --region",
    **dict.fromkeys(
        (
            *("nohup", "builtin", "setsid", "chronic", "unbuffer", "noglob", "nocorrect", "caffeinate", "coproc"),
            *("bunx", "pnpx", "uvx", "corepack", "winpty", "busybox", "catchsegv", "firejail", "proxychains"),
            *("pipenv run", "pdm run", "hatch run", "rye run", "pixi run", "pipx run", "uv tool run", "bundle exec"),
            *("pnpm exec", "pnpm dlx", "yarn exec", "yarn dlx", "npm exec", "bun x", "mise exec", "rtx exec"),
            *("conda run", "micromamba run", "doppler run", "op run", "fnm exec", "volta run", "asdf exec"),
        ),
        "-n --name -p --package -C --dir",
    ),
}
"""Commands that run the command in their arguments, with their options that take a value of their own."""
POSITIONAL_VALUES = dict.fromkeys(("timeout", "flock", "taskset", "chrt", "cmd", "direnv exec", "aws-vault exec"), 1)
"""How many plain arguments such a command takes before the command that it runs; ``cmd`` takes ``/c``."""
SCRIPT_OPTIONS = {
    **dict.fromkeys(("npx", "npm exec"), ("-c", "--call")),
    **dict.fromkeys(("su", "flock", "script"), ("-c", "--command")),
    "nix-shell": ("--run", "--command"),
    "env": ("-S", "--split-string"),
}
"""Options whose value is a script."""
SCRIPT_JOINERS = frozenset(
    ("watch", "parallel", "cmd", "powershell", "pwsh", *(name for name in WRAPPERS if name.startswith("tmux ")))
)
"""Wrappers that give their arguments to a shell, so that one argument may be a whole script."""
EXEC_OPTIONS = frozenset(("-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"))
PRINTERS = frozenset(("echo", "printf"))
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
WHOLE_ARRAY = re.compile(r"\"?\$\{(\w+)\[[@*]\]\}\"?")
ESCAPE = re.compile(r"\\(\n|.)", re.DOTALL)
ESCAPE_IN_STRING = re.compile(r"\\(\n|[$`\"\\])")

_parser: tree_sitter.Parser | None = None


def list_invocations(script: str) -> list[Invocation]:
    """List the commands that a shell text runs, also inside substitutions, wrappers, functions and inner shells."""
    reader = _Reader()
    # Hundreds of brackets inside each other are read as far as Python's stack goes.
    with suppress(RecursionError):
        reader.read(script, 0)
    return reader.invocations


def _parse(script: str) -> tree_sitter.Node:
    global _parser  # noqa: PLW0603 - a parser takes a millisecond to make, and a trial parses thousands of commands
    _parser = _parser or tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
    # A line that goes on may go on in the middle of a word.
    return _parser.parse(script.replace("\\\n", "").encode("utf-8", "replace")).root_node


class _Reader:
    """Follows a script from top to bottom, with the variables, functions and aliases it defines."""

    def __init__(self) -> None:
        self.invocations: list[Invocation] = []
        self._variables: dict[str, str] = {}
        self._arrays: dict[str, Words] = {}
        self._functions: dict[str, tree_sitter.Node] = {}
        self._aliases: dict[str, str] = {}
        self._arguments: Words = ()
        """Those of the function or inner shell that is read, which ``$1`` and ``$@`` stand for."""
        self._depth = 0
        self._rounds = 0

    def read(self, script: str, depth: int) -> str | None:
        """Read a script; return what it prints, if that is known."""
        if depth > DEEPEST or len(script) > MOST_CHARACTERS:
            return None
        before, self._depth = self._depth, depth
        output = self._run_all(_parse(script))
        self._depth = before
        return output

    def _run(self, node: tree_sitter.Node, stdin: str | None = None) -> str | None:
        """Read a statement that gets this text, if it is known; return what it prints, if that is known."""
        match node.type:
            case "command":
                return self._run_command(node, stdin)
            case "variable_assignment":
                self._assign(node)
            case "function_definition":
                name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
                if name and body:
                    self._functions[_get_text(name)] = body
            case "pipeline":
                output = stdin
                for child in node.named_children:
                    output = self._run(child, output)
                return output
            case "redirected_statement":
                return self._run_redirected(node, stdin)
            case "for_statement":
                return self._run_loop(node, stdin)
            case "comment" | "heredoc_body" | "word" | "variable_name":
                pass
            case "string" | "concatenation" | "simple_expansion" | "expansion":
                self._evaluate(node)
            case _:
                return self._run_all(node, stdin)
        return None

    def _run_loop(self, node: tree_sitter.Node, stdin: str | None) -> str | None:
        """Read the body of a loop for each value of its variable."""
        name, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
        values = [word for child in node.children_by_field_name("value") for word in self._expand(child)]
        outputs: list[str | None] = []
        for value in values or [UNKNOWN]:
            if outputs and self._rounds > MOST_ROUNDS:
                break
            self._rounds += 1
            if name:
                self._variables[_get_text(name)] = value
            outputs.append(self._run(body, stdin) if body else None)
        return _join_outputs(outputs)

    def _run_all(self, node: tree_sitter.Node, stdin: str | None = None) -> str | None:
        return _join_outputs([self._run(child, stdin) for child in node.named_children])

    def _run_redirected(self, node: tree_sitter.Node, stdin: str | None) -> str | None:
        body, later, is_to_file = node.child_by_field_name("body"), [], False
        for redirect in node.children_by_field_name("redirect"):
            if redirect.type == "heredoc_redirect":
                stdin = ""
                for part in redirect.named_children:
                    if part.type == "heredoc_body":
                        self._evaluate_children(part)
                        stdin = _get_text(part)
                    # What stands behind the mark of a here-document, as in ``cat <<EOF | bash``.
                    elif part.type not in ("heredoc_start", "heredoc_end"):
                        later.append(part)
            elif redirect.type == "herestring_redirect":
                stdin = self._evaluate_children(redirect)
            elif redirect.type == "file_redirect":
                is_to_file |= ">" in _get_text(redirect)
                self._evaluate_children(redirect)
        output = self._run(body, stdin) if body else None
        output = None if is_to_file else output
        for child in later:
            output = None if child.type == "file_redirect" else self._run(child, output)
        return output

    def _assign(self, node: tree_sitter.Node) -> None:
        variable, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if variable is None:
            return
        name, is_added = _get_text(variable), _get_text(node).startswith(f"{_get_text(variable)}+=")
        if value and value.type == "array":
            words = tuple(word for child in value.named_children for word in self._expand(child))
            self._arrays[name] = ((*self._arrays.get(name, ()), *words) if is_added else words)[:MOST_COMMANDS]
        else:
            text = self._evaluate(value) if value else ""
            self._variables[name] = (self._variables.get(name, "") + text if is_added else text)[:MOST_CHARACTERS]

    def _run_command(self, node: tree_sitter.Node, stdin: str | None) -> str | None:
        words: list[str] = []
        for child in node.named_children:
            match child.type:
                case "variable_assignment":
                    self._assign(child)
                case "herestring_redirect":
                    stdin = self._evaluate_children(child)
                case "file_redirect":
                    self._evaluate_children(child)
                case "command_name":
                    words += self._expand(child.named_children[0]) if child.named_children else [_get_text(child)]
                case _:
                    words += self._expand(child)
        return self._run_words(tuple(words), stdin) if words else None

    def _run_words(self, words: Words, stdin: str | None) -> str | None:
        """Note a command and all that it runs in turn."""
        if len(self.invocations) >= MOST_COMMANDS:
            return None
        chain, inner = [words], _unwrap(words, stdin)
        while inner and len(chain) <= DEEPEST:
            chain.append(inner)
            inner = _unwrap(inner, stdin)
        self.invocations.append(tuple(chain))
        last = chain[-1]
        name = get_program(last)
        if name == "alias":
            self._aliases |= {
                name: text for name, separator, text in (word.partition("=") for word in last[1:]) if separator
            }
        if name in self._aliases and self._depth < DEEPEST:
            text = self._aliases.pop(name)
            return self.read(" ".join((text, *last[1:])), self._depth + 1)
        if name in self._functions:
            # Taken out meanwhile, because a function may call itself.
            body = self._functions.pop(name)
            output = self._run_with(last[1:], lambda: self._run(body, stdin))
            self._functions[name] = body
            return output
        for script in _list_scripts(last, stdin):
            # ``bash -c SCRIPT NAME ARGUMENTS``
            arguments = last[last.index(script) + 2 :] if script in last else ()
            return self._run_with(arguments, lambda: self.read(script, self._depth + 1))  # noqa: B023 - called at once
        return _find_output(last, stdin)

    def _run_with(self, arguments: Words, run: Callable[[], str | None]) -> str | None:
        """Read something that has arguments of its own."""
        outer_arguments, self._arguments = self._arguments, arguments[:MOST_COMMANDS]
        output = run()
        self._arguments = outer_arguments
        return output

    def _expand(self, node: tree_sitter.Node) -> list[str]:
        """Return the words that an argument stands for; an expansion outside quotes may be several."""
        if _get_text(node).strip('"') in ("$@", "$*", "${@}"):
            return list(self._arguments)
        if array := WHOLE_ARRAY.fullmatch(_get_text(node)):
            return list(self._arrays.get(array[1], (UNKNOWN,)))
        text = self._evaluate(node)
        if node.type in ("simple_expansion", "expansion", "command_substitution"):
            return text.split() or [UNKNOWN]
        return [text]

    def _evaluate(self, node: tree_sitter.Node) -> str:
        """Return the text that an argument stands for, with a mark for what is not known."""
        match node.type:
            case "word" | "number" | "special_variable_name" | "heredoc_content":
                return ESCAPE.sub(lambda match: "" if match[1] == "\n" else match[1], _get_text(node))
            case "raw_string":
                return _get_text(node)[1:-1]
            case "ansi_c_string":
                return _decode_ansi(_get_text(node)[2:-1])
            case "string_content":
                return ESCAPE_IN_STRING.sub(lambda match: "" if match[1] == "\n" else match[1], _get_text(node))
            case "simple_expansion" | "expansion":
                names = [child for child in node.named_children if child.type == "variable_name"]
                defaults = [self._evaluate(child) for child in node.named_children if child not in names]
                text = self._look_up(_get_text(names[0])) if names else UNKNOWN
                has_default = text == UNKNOWN and ":-" in _get_text(node)
                return defaults[-1] if has_default and defaults else text
            case "command_substitution" | "process_substitution":
                output = self._run_all(node)
                return UNKNOWN if output is None else output
            case "string" | "translated_string" | "concatenation" | "array":
                return self._evaluate_children(node)
            case _:
                self._run_all(node)
                return _get_text(node)

    def _look_up(self, name: str) -> str:
        if name.isdigit():
            place = int(name) - 1
            return self._arguments[place] if 0 <= place < len(self._arguments) else UNKNOWN
        return self._variables.get(name, UNKNOWN)

    def _evaluate_children(self, node: tree_sitter.Node) -> str:
        pieces, end = [], node.start_byte + (1 if node.type == "string" else 0)
        for child in node.named_children:
            if node.type == "string" and child.start_byte > end:
                # White space between two parts of a string has no node of its own.
                pieces.append(_get_text(node)[end - node.start_byte : child.start_byte - node.start_byte])
            pieces.append(self._evaluate(child))
            end = child.end_byte
        return "".join(pieces)


def _unwrap(words: Words, stdin: str | None) -> Words:
    """Return the command that a command runs with its arguments; empty if it runs none."""
    program = get_program(words)
    if program in ("find", "fd", "fdfind"):
        start = next((place for place, word in enumerate(words) if word in EXEC_OPTIONS), len(words))
        return tuple(word for word in words[start + 1 :] if word not in (";", "+", "{}"))
    if re.fullmatch(r"python[\d.]*|py|pypy3?", program):
        return words[place + 1 :] if (place := _find_module_option(words)) else ()
    # ``command -v npm`` only looks the program up.
    if program == "command" and len(words) > 1 and words[1] in ("-v", "-V"):
        return ()
    name, rest = _split_wrapper(program, words)
    if not name or name in SCRIPT_JOINERS or any(word in SCRIPT_OPTIONS.get(name, ()) for word in rest):
        return ()
    inner = _skip_options(name, rest)
    if name == "xargs" and inner and stdin:
        inner = (*inner, *stdin.split())
    # Packages may be named with a version: ``npx tsc@5``.
    if name in ("npx", "bunx", "pnpx", "uvx") or name.endswith((" dlx", " exec", " x", " run")):
        inner = tuple(re.sub(r"(?<=\w)@[\w.^~-]+\Z", "", word) if at == 0 else word for at, word in enumerate(inner))
    return inner


def _find_module_option(words: Words) -> int:
    """Return the place of ``-m`` among the options of Python itself; 0 if there is none."""
    for place, word in enumerate(words[1:], start=1):
        if word == "-m":
            return place if place + 1 < len(words) else 0
        if not word.startswith("-") or word == "-c":
            return 0
    return 0


def _split_wrapper(program: str, words: Words) -> tuple[str, Words]:
    """Return the name of a wrapper, which may have two or three words, and its arguments."""
    for count in (3, 2, 1):
        name = " ".join((program, *words[1:count]))
        if len(words) >= count and name in WRAPPERS:
            return name, words[count:]
    return "", ()


def _skip_options(name: str, words: Words) -> Words:
    """Leave out the options, assignments and values in front of the command that a wrapper runs."""
    valued_options, values = WRAPPERS[name].split(), POSITIONAL_VALUES.get(name, 0)
    place = 0
    while place < len(words):
        word = words[place]
        if word == "--":
            # Nothing behind it is an option, but ``env -- X=1 npm`` still assigns.
            valued_options = []
        elif word.startswith("-") and len(word) > 1:
            place += word in valued_options
        elif (ASSIGNMENT.match(word) and name in ("env", "sudo", "doas")) or (word == "-" and name == "env"):
            # ``env -`` begins with an empty environment.
            pass
        elif values:
            values -= 1
        else:
            return words[place:]
        place += 1
    return ()


def _list_scripts(words: Words, stdin: str | None) -> Iterator[str]:
    """Yield the shell script that a command runs: in an argument, or on its standard input."""
    program, arguments = get_program(words), words[1:]
    if program in SHELLS:
        for place, word in enumerate(arguments):
            if re.fullmatch(r"-[a-z]*c[a-z]*", word):
                yield from [text for text in arguments[place + 1 :] if not re.fullmatch(r"--|[-+]\w+", text)][:1]
                return
        if not [word for word in arguments if not word.startswith("-")] or "-s" in arguments:
            yield from filter(None, [stdin])
    elif program == "eval":
        yield " ".join(arguments)
    elif program == "trap":
        yield from arguments[:1]
    elif program in ("source", ".") and arguments[:1] == ("/dev/stdin",):
        yield from filter(None, [stdin])
    name, rest = _split_wrapper(program, words)
    name, rest = (name, rest) if name else (program, arguments)
    for option in SCRIPT_OPTIONS.get(name, ()):
        if option in rest[:-1]:
            yield rest[rest.index(option) + 1]
            return
    if name in SCRIPT_JOINERS:
        inner = _skip_options(name, rest)
        place = inner.index(":::") if ":::" in inner else len(inner)
        # ``parallel ::: 'npm ci' 'npm test'`` runs each of them, ``parallel npm ::: ci test`` npm with each.
        yield "\n".join(" ".join((*inner[:place], value)) for value in (inner[place + 1 :] or ("",)))


def _find_output(words: Words, stdin: str | None) -> str | None:
    """Return what a command prints, where its words tell."""
    program = get_program(words)
    if program in PRINTERS:
        printed = [word for word in words[1:] if not re.fullmatch(r"-[neE]+", word)]
        return " ".join(printed).replace("\\n", "\n")
    if program == "tee" or (program == "cat" and all(word == "-" for word in words[1:])):
        return stdin
    if program in ("which", "command"):
        # ``$(which npm)`` stands for npm.
        return words[-1]
    return None


def _join_outputs(outputs: Iterable[str | None]) -> str | None:
    printed = [output for output in outputs if output is not None]
    return "\n".join(printed) if printed else None


def _decode_ansi(text: str) -> str:
    try:
        return text.encode("latin-1", "backslashreplace").decode("unicode_escape")
    except UnicodeDecodeError:
        return text


def _get_text(node: tree_sitter.Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
