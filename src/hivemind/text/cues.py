"""Cues: short keys by which an action of an agent and a memory about it can be matched without reading the memory.

A hook looks cues up at every step, so this module imports nothing but ``re``, and compiles a pattern when it is used.
The cue of an error may match by chance; ``recall/actions.py`` decides whether a memory really is about it.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

MOST_LINES, LONGEST_LINE = 30, 400
"""Lines of an output that may state an error, and characters of each; more would slow the hook down."""
MOST_COMMAND_WORDS, MOST_TASK_WORDS = 4, 3
"""Words of a command, without options, and those that may name its task; later ones are names of files."""
FEWEST_SIGNATURE_WORDS, SIGNATURE_SHARE = 3, 0.75
"""Words that an error in a memory must have, and the share of them that a line of output must contain."""

ERROR = (
    r"(?i)error|exception|fail|refused|denied|not found|cannot|can't|could not|couldn't|unable|no such|invalid|missing"
    r"|undefined|unknown|unexpected|timed? ?out|panic|conflict|not installed|no space|mismatch"
)
CODE = r"\b(?:E[A-Z]{5,}|[A-Z]{1,4}-?\d{3,5}|[A-Z][A-Z0-9]*_[A-Z0-9_]{3,}|\w+(?:Error|Exception))\b"
"""Words that name a kind of error: ECONNREFUSED, TS2307, ERR_MODULE_NOT_FOUND, KeyError."""
NOISE = r"\x1b\[[0-9;?]*[A-Za-z]|0x[0-9a-fA-F]+|\b[0-9a-f]{7,}\b|(?:[A-Za-z]:)?(?:[\w.@~-]*/)+"
"""What differs between two runs with the same error: colours, addresses, hashes, and the folders of a path."""
SIGNATURE_WORD = r"[A-Za-z_][\w'-]+"
QUOTED = r"`([^`\n]+)`|\"([^\"\n]+)\"|“([^”\n]+)”|'([^'\n]{8,})'"
SEGMENT = r"&&|\|\||[;|\n]"
QUOTED_TEXT = r"\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z)"
ASSIGNMENT = r"\A(?:[A-Za-z_]\w*=\S*\s+)+"
WRAPPERS = frozenset(("sudo", "time", "env", "nice", "exec", "command", "nohup"))
TASKS = ("test", "lint", "build", "deploy", "migrat", "format", "install", "release", "publish", "typecheck", "bench")
"""Stems by which notes and commands name the same task: "tests" and ``pytest``, "migrations" and ``make migrate``."""

THING = r"(?:the |any |a |our )?(`[^`\n]+`|[\w.:/@-]+(?: [a-z][\w:-]+)?)"
REPLACEMENT = (
    rf"(?:,|;| and|\bbut)? not {THING}|\b(?:instead of|rather than|in place of) (?:running |using |calling )?{THING}"
)
"""Use pnpm, not npm. Use uv instead of pip. Run `make check` rather than `pytest`."""
NEEDS = (
    # Never run `make deploy` on Fridays. Do not use npm. Avoid `git push --force`.
    rf"\b(?:never|don't|do not|must not|mustn't|should not|shouldn't|avoid|no longer|cannot|can't)"
    rf" (?:run|use|call|invoke|execute|running|using|calling|start|starting) {THING}"
    r"|\b(?:never|avoid|don't|do not) (`[^`\n]+`)",
    # Tests need the database up. `make e2e` requires Docker. pytest only works with the fixtures.
    r"(?:\A|[.;:,] |\band |\bthe |\bour |\ball )((?:`[^`\n]+`)|[\w-]+(?: [\w-]+)?)"
    r" (?:needs?|requires?|depends? on|only (?:works?|runs?|passes)|works? only|must (?:be )?run|has to|have to"
    r"|fails?|hangs?|breaks?|is broken|are broken|does(?: not|n't) work|do(?: not|n't) work)\b",
    # Start the database before running the tests. Run `make db` before `pytest`.
    rf"\bbefore (?:you )?(?:run(?:ning)?|start(?:ing)?|call(?:ing)?|us(?:e|ing))? ?{THING}",
)
"""Forms in which a note says that a command or task is wrong here, or what it needs; the group is the command or task.
Only these name tasks: "instead of building a cache" is not about a build."""


def make_file_cue(path: str) -> str:
    """Return the cue of a file, by its path from the top of the working tree."""
    return f"f {path}"


def list_command_cues(command: str) -> Iterator[str]:
    """Yield the cues of a command line: the beginnings of each command in it, and the tasks they name."""
    for words in split_commands(command):
        yield from (f"c {' '.join(words[:count])}" for count in range(1, len(words) + 1))
        yield from (f"t {task}" for word in words[:MOST_TASK_WORDS] for task in _find_run_tasks(word))


def split_commands(command: str) -> list[tuple[str, ...]]:
    """Split a command line into its commands, each as its first words in lower case, without options and variables."""
    commands = []
    # The message of a commit and the text of a here-document are no commands.
    plain_command = re.sub(QUOTED_TEXT, " ", command.partition("<<")[0][:LONGEST_LINE])
    for segment in re.split(SEGMENT, plain_command):
        words = re.sub(ASSIGNMENT, "", segment.strip()).lower().split()
        while words and words[0] in WRAPPERS:
            words = words[1:]
        plain_words = [word.strip("\"'()") for word in words if not word.startswith("-")][:MOST_COMMAND_WORDS]
        if plain_words:
            # ./gradlew and /usr/bin/npm are gradlew and npm to people.
            commands.append((plain_words[0].rpartition("/")[2], *plain_words[1:]))
    return commands


def _find_run_tasks(word: str) -> Iterator[str]:
    """Yield the tasks that a word of a command runs: `pytest`, `test:unit`; not of a path or of `pkg@latest`."""
    parts = [] if set(word) & set("/.@") else re.split(r"[^a-z]+", word)
    return (task for task in TASKS if any(part.startswith(task) or part.endswith(task) for part in parts))


def _find_named_tasks(word: str) -> Iterator[str]:
    """Yield the tasks that a word of a note names: tests, migrations, building; not StringBuilder."""
    return (task for task in TASKS if re.fullmatch(rf"{task}(?:s|e|es|ing|ting|ion|ions)?", word))


def find_warned_things(text: str, patterns: Iterable[str]) -> list[str]:
    """Return what a note warns of in one of these forms, as written; commands in backticks keep them."""
    # Here, because a hook never reads notes, and its patterns take two milliseconds to compile.
    from hivemind.text.tokenise import STOP_WORDS

    names = []
    for pattern in patterns:
        for match in re.finditer(pattern, text, re.IGNORECASE):
            for thing in filter(None, match.groups()):
                first, _, second = thing.strip().rstrip(".:").partition(" ")
                # "npm in CI" is about npm, "npm install" about installing.
                is_command = thing.startswith("`") or second.lower() not in STOP_WORDS
                names.append(thing.strip().rstrip(".:") if is_command else first)
    return list(dict.fromkeys(thing for thing in names if thing.lower() not in STOP_WORDS))


def list_warning_cues(text: str) -> Iterator[str]:
    """Yield the cues of the commands that a note warns of; those that it concerns have one of them."""
    for thing in find_warned_things(text, (REPLACEMENT, *NEEDS)):
        yield from (f"c {' '.join(words)}" for words in split_commands(thing.strip("`")))
    for thing in find_warned_things(text, NEEDS):
        # A command in backticks means itself; "the tests" means whatever runs them.
        if not thing.startswith("`"):
            yield from (f"t {task}" for word in thing.lower().split() for task in _find_named_tasks(word))


def find_error_lines(output: str) -> list[str]:
    """Return the lines of an output that may state an error: the first ones and the last ones."""
    is_error = re.compile(ERROR).search
    # Each line once, because a failing loop prints the same line many times.
    unique_lines = dict.fromkeys(output.replace("\\n", "\n").splitlines())
    lines = [line for line in unique_lines if is_error(line, 0, LONGEST_LINE)]
    half = MOST_LINES // 2
    first_and_last = lines if len(lines) <= MOST_LINES else lines[:half] + lines[-half:]
    return [line.strip()[:LONGEST_LINE] for line in first_and_last]


def list_error_cues(lines: Iterable[str]) -> Iterator[str]:
    """Yield the cues of lines that state errors: the codes in them, and each two words in a row."""
    for line in lines:
        yield from (f"x {code.lower()}" for code in find_codes(line))
        words = find_signature_words(line)
        yield from (f"e {first} {second}" for first, second in pairwise(words))


def find_codes(text: str) -> list[str]:
    """Return the words of a text that name a kind of error."""
    return re.findall(CODE, text)


def find_signature_words(line: str) -> list[str]:
    """Return the words of an error that are the same each time it occurs, in order and in lower case."""
    return [word.lower() for word in re.findall(SIGNATURE_WORD, re.sub(NOISE, " ", line))]


def find_stated_errors(text: str) -> list[str]:
    """Return the parts of a note that quote an error: in quotation marks, in backticks, or after a colon."""
    is_error = re.compile(ERROR).search
    spans = [next(filter(None, match.groups())) for match in re.finditer(QUOTED, text)]
    spans += [line.partition(": ")[2] or line for line in text.splitlines()]
    return [span for span in dict.fromkeys(spans) if is_error(span) and len(find_signature_words(span)) > 1]


def states_error(error: str, lines: Iterable[str]) -> bool:
    """Whether one of these lines of output states an error that a note quotes."""
    words = set(find_signature_words(error))
    if len(words) < FEWEST_SIGNATURE_WORDS:
        return False
    return any(len(words & set(find_signature_words(line))) >= SIGNATURE_SHARE * len(words) for line in lines)
