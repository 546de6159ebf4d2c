"""Cues: short keys by which an action of an agent and a memory about it can be matched without reading the memory.

A hook looks cues up at every step, so this module has light imports only, and compiles a pattern when it is used. The
cue file of a working tree has digests of the cues of its memories, so that a hook need not open the store. It contains
no text: a random key and sorted digests made with it. It is a cache: every change of a memory deletes all cue files,
and the next hook of a tree writes its file again. Beside it, files of a session say what it was answered, which of its
commands failed, and whether its person saw a line.

The cue of an error may match by chance; ``recall/actions.py`` decides whether a memory really is about it.
"""

import os
import re
import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise, takewhile

from hivemind.system import open_private, remove_file, replace_file

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
GUARDED = "g"
GUARDED_COMMAND, GUARDED_FILE, GUARDED_TOOL = f"{GUARDED} ", f"{GUARDED}f ", f"{GUARDED}t "
"""Begin the cues of guards, which are looked up again at every call, whatever the session was told before."""
ANY = "*"
"""Stands for whatever a pattern with a glob or without a word leaves open."""
MOST_GUARD_WORDS = 10_000
"""Words of a command that are looked up, 4 ms for a thousand. A here-document may stand before a command."""
FOLDER = "cues"
"""Beside the store; has the cue files."""
ANNOUNCED, ANNOUNCED_SECONDS = ".announced", 86_400
"""The ending of an empty file that says that the person saw a line since their last prompt in a session. It outlives
the cue files, but not for longer than a day: then the session is over."""
KEY_BYTES, DIGEST_BYTES = 16, 8
# Not imported: for the linter the package imports all that it offers.
TABLE = f".{sys.modules['hivemind'].__version__}"
"""The ending of a cue file: another version may have other cues, and an old file would hide guards from a new hook."""


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


def list_guard_cues(
    commands: Iterable[str], files: Iterable[str], symbols: Iterable[str], tools: Iterable[str]
) -> Iterator[str]:
    """Yield the cues of a guard: a call that it may concern has a program and a word of it, a path or a tool."""
    for pattern in commands:
        program, *words = pattern.split()
        first_word = next((word for word in words if not word.startswith("-")), ANY)
        # A path is looked up by its last name, as the words of a command are: ``python tools/deploy.py``.
        program, first_word = (
            ANY if _is_glob(word) else (split_into_words(word) or [ANY])[-1] for word in (program, first_word)
        )
        yield from (f"{GUARDED_COMMAND}{program}", f"{GUARDED_COMMAND}{program} {first_word}")
    for path in (*files, *(symbol.partition("::")[0] for symbol in symbols)):
        # In lower case: on some systems a file has its name in any.
        plain_parts = list(takewhile(lambda part: not _is_glob(part), path.lower().split("/")))
        yield f"{GUARDED_FILE}{'/'.join(plain_parts) or ANY}"
    for tool in tools:
        yield f"{GUARDED_TOOL}{ANY if _is_glob(tool) else tool.lower()}"


def _is_glob(text: str) -> bool:
    return any(character in text for character in "*?[")


def list_guardable_cues(commands: Iterable[str], paths: Iterable[str], tools: Iterable[str]) -> Iterator[str]:
    """Yield all cues by which a guard may concern a call; ``narrow_guard_hits`` leaves most of them out."""
    words = dict.fromkeys(word for command in commands for word in split_into_words(command))
    if words:
        yield from (f"{GUARDED_COMMAND}{word}" for word in (*islice(words, MOST_GUARD_WORDS), ANY))
    for path in paths:
        parts = path.lower().split("/")
        keys = [*parts, *("/".join(parts[:count]) for count in range(2, len(parts) + 1)), ANY]
        yield from (f"{GUARDED_FILE}{key}" for key in keys)
    yield from (f"{GUARDED_TOOL}{key}" for tool in tools for key in (tool.lower(), ANY))


def split_into_words(command: str) -> list[str]:
    """Split a command into all words that may be a program or an argument, however they are quoted."""
    texts = (re.sub(r"\\\n|[\"'\\]", joint, command) for joint in ("", " "))
    words = (word for text in texts for word in re.findall(r"[\w.+][\w.+-]*", text))
    names = [word.removesuffix(".exe").removesuffix(".cmd") for word in words]
    # ``pip3.11`` may be meant by ``pip``.
    names += [name.rstrip("0123456789.") for name in names if name[-1:].isdigit()]
    return [*names, *(name.lower() for name in names if not name.islower())]


def narrow_guard_hits(home: str, root: str, session: str, call_cues: Iterable[str], hits: list[str]) -> list[str]:
    """Leave out the programs of guards whose first word the call does not have."""
    programs = [cue for cue in hits if cue.startswith(GUARDED_COMMAND)]
    if not programs:
        return hits
    words = [cue[len(GUARDED_COMMAND) :] for cue in call_cues if cue.startswith(GUARDED_COMMAND)]
    pairs = [f"{program} {word}" for program in programs for word in words]
    others = [cue for cue in hits if not cue.startswith(GUARDED_COMMAND)]
    return others + (find_hits(home, root, session, pairs) or [])


def find_warned_things(text: str, patterns: Iterable[str]) -> list[str]:
    """Return what a note warns of in one of these forms, as written; commands in backticks keep them."""
    # Here, because a hook never reads notes, and its patterns take two milliseconds to compile.
    from hivemind.text.search_terms import STOP_WORDS

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
            # The endings are those of tests, migrations and building; StringBuilder names no task.
            task_name = rf"({'|'.join(TASKS)})(?:s|e|es|ing|ting|ion|ions)?"
            yield from (f"t {task[1]}" for word in thing.lower().split() if (task := re.fullmatch(task_name, word)))


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


def find_root(directory: str) -> str:
    """Return the top of the working tree of a directory, without asking git; the directory itself if there is none."""
    path = start = os.path.realpath(directory)
    while not os.path.exists(os.path.join(path, ".git")):
        parent = os.path.dirname(path)
        if parent == path:
            return start
        path = parent
    return path


def find_hits(home: str, root: str, session: str, cues: Iterable[str]) -> list[str] | None:
    """Return the cues that some memory of this tree has and that this session was not answered yet.

    None if the tree has no whole cue file, so that only the store can tell.
    """
    table = _read_table(home, root)
    if table is None:
        return None
    # Not mapped but read: for 10,000 memories it is 400 kB, and the mmap module costs as much to load.
    answered = _read(_path(home, session, ".answered")) or b""
    return [cue for cue in cues if _contains(table, digest := _digest(table, cue)) and not _is_in(answered, digest)]


def mark_answered(home: str, root: str, session: str, cues: Iterable[str]) -> None:
    """Record that a session was answered at these cues."""
    table = _read_table(home, root)
    if table and session:
        with open(_path(home, session, ".answered"), "ab", opener=open_private) as file:
            file.write(b"".join(_digest(table, cue) for cue in cues))


def note_failures(home: str, session: str, commands: Iterable[str]) -> None:
    """Note that commands failed in a session, as digests."""
    digests = b"".join(_hash(command, DIGEST_BYTES) for command in commands)
    if not digests:
        return
    try:
        os.makedirs(os.path.join(home, FOLDER), mode=0o700, exist_ok=True)
        with open(_path(home, session, ".failed"), "ab", opener=open_private) as file:
            file.write(digests)
    except OSError:
        # On a full or read-only disk, only a hint is lost.
        return


def take_failures(home: str, session: str, commands: Iterable[str]) -> bool:
    """Whether one of these commands had failed in a session; what failed before is forgotten then."""
    path = _path(home, session, ".failed")
    failures = _read(path)
    if not failures:
        return False
    has_failed = any(_is_in(failures, _hash(command, DIGEST_BYTES)) for command in commands)
    if has_failed:
        remove_file(path)
    return has_failed


def write_file(home: str, root: str, cues: Iterable[str]) -> None:
    """Write the cue file of a tree, readable by its owner only."""
    key = os.urandom(KEY_BYTES)
    os.makedirs(os.path.join(home, FOLDER), mode=0o700, exist_ok=True)
    replace_file(_path(home, root, TABLE), key + b"".join(sorted({_digest(key, cue) for cue in cues})))


def has_file(home: str, root: str) -> bool:
    """Whether a tree has a whole cue file."""
    return _read_table(home, root) is not None


def forget_session(home: str, session: str) -> None:
    """Forget what a session was answered, as when its context was compacted."""
    remove_file(_path(home, session, ".answered"))


def mark_announced(home: str, session: str) -> bool:
    """Record that the person sees a line now; return whether it is the first since their last prompt in a session."""
    if not session:
        return True
    try:
        os.makedirs(os.path.join(home, FOLDER), mode=0o700, exist_ok=True)
        os.close(os.open(_path(home, session, ANNOUNCED), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError:
        # It is there, or the disk is full or read-only: then a line too few is better than one at every call.
        return False
    return True


def forget_announced(home: str, session: str) -> None:
    """Forget at the next prompt of a session that the person saw a line."""
    remove_file(_path(home, session, ANNOUNCED))


def discard_files(home: str) -> None:
    """Delete all cue files, because a memory changed."""
    import time

    folder = os.path.join(home, FOLDER)
    try:
        names = os.listdir(folder)  # noqa: PTH208 - pathlib costs the hook
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names:
        path = os.path.join(folder, name)
        try:
            if not name.endswith(ANNOUNCED) or time.time() - os.stat(path).st_mtime > ANNOUNCED_SECONDS:
                os.remove(path)
        except FileNotFoundError:
            # Another process was faster.
            continue


def _path(home: str, name: str, suffix: str = "") -> str:
    return os.path.join(home, FOLDER, _hash(name, KEY_BYTES).hex() + suffix)


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def _read_table(home: str, root: str) -> bytes | None:
    """Return the cue file of a tree; None if there is none, or if a power cut left it empty or in part."""
    table = _read(_path(home, root, TABLE))
    return table if table and len(table) >= KEY_BYTES and not (len(table) - KEY_BYTES) % DIGEST_BYTES else None


def _digest(table: bytes, cue: str) -> bytes:
    return _hash(cue, DIGEST_BYTES, table[:KEY_BYTES])


def _hash(text: str, size: int, key: bytes = b"") -> bytes:
    # Not by hashlib, which takes longer to import than all of this takes to run.
    from _blake2 import blake2b

    return blake2b(text.encode("utf-8", "replace"), key=key, digest_size=size).digest()


def _contains(table: bytes, digest: bytes) -> bool:
    """Search the sorted digests after the key."""

    def get_digest(start: int) -> bytes:
        return table[start : start + DIGEST_BYTES]

    starts = range(KEY_BYTES, len(table), DIGEST_BYTES)
    place = bisect_left(starts, digest, key=get_digest)
    return place < len(starts) and get_digest(starts[place]) == digest


def _is_in(digests: bytes, digest: bytes) -> bool:
    """Search digests in the order in which they were appended."""
    return any(digests[at : at + DIGEST_BYTES] == digest for at in range(0, len(digests), DIGEST_BYTES))
