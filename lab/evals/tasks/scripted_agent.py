"""An agent without a model: a small policy that reads, searches, runs and edits, and follows its notes.

It has no answers built in. Its actions depend on the task, the files, the history and the notes alone; the same code
runs in every condition. It understands two forms of notes, "`A` instead of `B`" and "added to `NAME` in `FILE`", where
words in capitals match anything, and checks the code before it follows a note that is marked to be verified.
"""

import difflib
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lab.evals.tasks.conditions import NoMemory
from lab.evals.tasks.shop import git

ENTRY = re.compile(r"^- (?P<text>.*) \[(?P<label>[0-9a-f]{8} · [^\]]*)\]$|^- (?P<line>.*)$", re.MULTILINE)
SWAP = re.compile(r"`([^`]+)` instead of `([^`]+)`")
TABLE = re.compile(r"added to `(\w+)` in `([\w/.]+)`")
FILE = re.compile(r"`([\w/]+\.py)`")
CRASH = re.compile(r"`(python [^`]+)` crashes")
DRAFT = re.compile(r"to `([\w/.]+)`.*?```python\n(.*?)```", re.DOTALL)
NEW_KEY = re.compile(r"`(\w+)` at `([^`]+)`, beside `(\w+)`")
FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<name>\S+)')
WILDCARD = re.compile(r"\b[A-Z]{2,}\b")
LITERAL = re.compile(r"'[^']*'|\"[^\"]*\"")
NAME = re.compile(r"\b[A-Za-z_]\w*(?=\()|\b[A-Z]\w*[a-z]\w*\b")
TRUST = ("low", "medium", "high")
MAX_EXPLORED_FILES = 3
"""Other files that an agent without notes reads to see how things are done."""

Swap = tuple[str, str]
"""New code and the code it replaces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A note as the agent reads it."""

    text: str
    label: str = ""

    @property
    def is_doubtful(self) -> bool:
        """Whether its label asks for verification."""
        return "verify" in self.label or "disputed" in self.label

    @property
    def trust(self) -> int:
        """The trust in its label, from 1 to 3; a label without it means high trust, and no label none."""
        ranks = (rank for rank, name in enumerate(TRUST, 1) if f"trust {name}" in self.label)
        return next(ranks, len(TRUST) if self.label else 0)


@dataclass(slots=True, kw_only=True)
class AgentTools:
    """The agent's tools, which count all that passes through them."""

    root: Path
    memory: NoMemory
    inputs: list[str] = field(default_factory=list)
    """All texts that reached the agent."""
    outputs: list[str] = field(default_factory=list)
    """All texts that the agent wrote."""
    reads: list[str] = field(default_factory=list)
    searches: list[str] = field(default_factory=list)

    def read(self, path: str) -> str:
        """Read a file."""
        self.reads.append(path)
        return self._return("Read", {"file_path": str(self.root / path)}, (self.root / path).read_text("utf-8"))

    def search(self, pattern: str) -> list[tuple[str, str]]:
        """Return the lines of the package that match, with their files."""
        self.searches.append(pattern)
        matches = [
            (str(path.relative_to(self.root)), line)
            for path in sorted(self.root.glob("shop/*.py"))
            for line in path.read_text("utf-8").splitlines()
            if re.search(pattern, line)
        ]
        self._return("Grep", {"pattern": pattern}, "\n".join(f"{path}: {line}" for path, line in matches))
        return matches

    def history(self, word: str) -> str:
        """Return the newest commit whose message contains a word, with its changes."""
        self.searches.append(f"git log {word}")
        patch = git(self.root, "log", "-1", "--patch", "--format=%h %s", f"--grep={word}")
        return self._return("Bash", {"command": f"git log -1 -p --grep={word}"}, patch)

    def run(self, command: str) -> tuple[bool, str]:
        """Return whether a command succeeded, and its output."""
        words = [sys.executable if word == "python" else word for word in shlex.split(command)]
        process = subprocess.run(words, cwd=self.root, capture_output=True, encoding="utf-8", check=False)
        is_error = process.returncode != 0
        output = process.stdout + process.stderr
        return not is_error, self._return("Bash", {"command": command}, output, is_error=is_error)

    def write(self, path: str, text: str) -> None:
        """Write a file."""
        self.outputs.append(text)
        (self.root / path).write_text(text, "utf-8")
        arguments = {"file_path": str(self.root / path), "content": text}
        self.memory.capture("Write", arguments, "ok", is_error=False)

    def recall(self, question: str) -> list[Note]:
        """Ask memory a question."""
        answer = self.memory.recall(question)
        self.inputs.append(answer)
        return parse_notes(answer)

    def _return(self, tool: str, arguments: dict[str, str], output: str, *, is_error: bool = False) -> str:
        self.inputs.append(output)
        self.memory.capture(tool, arguments, output, is_error=is_error)
        return output


def parse_notes(text: str) -> list[Note]:
    """Parse the notes in a text: entries of a Hivemind block, or items of a list in a file."""
    return [Note(text=entry["text"] or entry["line"], label=entry["label"] or "") for entry in ENTRY.finditer(text)]


def work(tools: AgentTools, prompt: str) -> None:
    """Do what the prompt asks for."""
    context = tools.memory.begin(prompt)
    tools.inputs += [prompt, context]
    notes = parse_notes(context)
    if crash := CRASH.search(prompt):
        _fix_crash(tools, crash[1], notes)
    elif key := NEW_KEY.search(prompt):
        _add_key(tools, key[1], key[2], key[3], notes)
    elif draft := DRAFT.search(prompt):
        _add_code(tools, draft[1], draft[2], notes or tools.recall(prompt.partition("\n")[0]))


def _fix_crash(tools: AgentTools, command: str, notes: Sequence[Note]) -> None:
    """Run the command, and apply at the failing line what fixed this error before."""
    _, output = tools.run(command)
    error = output.strip().splitlines()[-1].partition(":")[0]
    frames = [frame for frame in FRAME.finditer(output) if frame["file"].startswith(str(tools.root))]
    path = str(Path(frames[-1]["file"]).relative_to(tools.root))
    notes = [*notes, *tools.recall(f"{error} in {frames[-1]['name']}")]
    swaps = _find_swaps(tools, [note for note in notes if error in note.text], path)
    if not swaps:
        # Without a note it looks at the history, and at last guesses.
        swaps = _parse_patch(tools.history(error)) or [("NAME.get(KEY)", "NAME[KEY]")]
    text = tools.read(path)
    tools.write(path, _apply_swaps(tools, text, swaps, path))
    tools.run(command)


def _add_code(tools: AgentTools, path: str, draft: str, notes: Sequence[Note]) -> None:
    """Add a draft to a file, changed as the notes say."""
    swaps = [swap for swap in _find_swaps(tools, notes, path) if _pattern(swap[1]).search(draft)]
    if not swaps:
        _explore(tools, path)
    text = tools.read(path)
    head, guard, tail = text.partition('\n\nif __name__ == "__main__"')
    text = f"{head.rstrip()}\n\n\n{draft.strip()}\n{guard}{tail}"
    tools.write(path, _apply_swaps(tools, text, swaps, path, only=draft))


def _explore(tools: AgentTools, path: str) -> None:
    """Read the README and other files of the package, as an agent does that knows nothing."""
    tools.read("README.md")
    paths = dict.fromkeys(other for other, _ in tools.search(r"^def |raise |^[A-Z_]+ = ") if other != path)
    for other in list(paths)[:MAX_EXPLORED_FILES]:
        tools.read(other)


def _add_key(tools: AgentTools, key: str, value: str, beside: str, notes: Sequence[Note]) -> None:
    """Add a key to the table that a reliable note names, else to the table that most code uses."""
    if not any(TABLE.search(note.text) for note in notes):
        notes = tools.recall(f"adding {key} beside {beside}")
    tables = [
        table.groups()
        for note in _sort_by_trust(notes)
        if (table := TABLE.search(note.text)) and (tools.root / table[2]).exists() and not note.is_doubtful
    ]
    name, path = tables[0] if tables else _find_most_used_table(tools, beside)
    text = tools.read(path)
    tools.write(path, re.sub(rf"(^{name} = {{)", rf'\1"{key}": {value}, ', text, count=1, flags=re.MULTILINE))


def _find_most_used_table(tools: AgentTools, key: str) -> tuple[str, str]:
    """Return name and file of the table with a key whose file is imported most."""
    tables: list[tuple[int, str, str]] = []
    for path in dict.fromkeys(path for path, _ in tools.search(f'"{key}"')):
        name = re.search(r"^(\w+) = \{", tools.read(path), re.MULTILINE)
        importers = {other for other, _ in tools.search(rf"(from|import) .*\b{Path(path).stem}\b")}
        tables += [(len(importers), name[1], path)] if name else []
    return max(tables)[1:]


def _sort_by_trust(notes: Sequence[Note]) -> list[Note]:
    """Sort the most trusted first; of equals, the last one first."""
    return sorted(notes, key=lambda note: note.trust)[::-1]


def _find_swaps(tools: AgentTools, notes: Sequence[Note], path: str) -> list[Swap]:
    """Return what to write in place of what in a file; for the same code the most trusted note wins."""
    new_by_old: dict[str, str] = {}
    for note in _sort_by_trust(notes):
        files = FILE.findall(note.text)
        for new, old in SWAP.findall(note.text) if not files or path in files else ():
            if not note.is_doubtful or _exists(tools, new):
                new_by_old.setdefault(old, new)
    return [(new, old) for old, new in new_by_old.items()]


def _exists(tools: AgentTools, code: str) -> bool:
    """Return whether the name in a doubtful note exists in the code; what is no name cannot be looked up."""
    name = re.match(r"[A-Za-z_]+", code)
    return not name or bool(tools.search(rf"\b{name[0]}\b"))


def _parse_patch(patch: str) -> list[Swap]:
    """Return what a commit wrote in place of what, with its string as a wildcard."""
    old_lines = [line[1:].strip() for line in patch.splitlines() if re.match(r"-(?!--)", line)]
    new_lines = [line[1:].strip() for line in patch.splitlines() if re.match(r"\+(?!\+\+)", line)]
    for old in old_lines:
        for new in difflib.get_close_matches(old, new_lines, n=1):
            before = re.search(r"(\w+\[)$", LITERAL.split(old)[0])
            after = re.search(r"(\w+\(\w+, )$", LITERAL.split(new)[0])
            if before and after and LITERAL.findall(old) == LITERAL.findall(new):
                return [(f"{after[1]}NAME)", f"{before[1]}NAME]")]
    return []


def _apply_swaps(tools: AgentTools, text: str, swaps: Sequence[Swap], path: str, *, only: str = "") -> str:
    """Apply swaps to a text, or to one part of it, and add the imports that this needs."""
    part = only.strip() or text
    new_part = part
    for new, old in swaps:
        new_part = _pattern(old).sub(_replacement(new), new_part)
    text = text.replace(part, new_part)
    for name in dict.fromkeys(NAME.findall(" ".join(new for new, _ in swaps))):
        paths = [other for other, _ in tools.search(rf"^(def|class) {name}\b")]
        if paths and paths[0] != path and not re.search(rf"import .*\b{name}\b", text):
            text = _add_import(text, f"from {paths[0].removesuffix('.py').replace('/', '.')} import {name}")
    return text


def _add_import(text: str, statement: str) -> str:
    """Add an import below the others, or below the docstring."""
    lines = text.split("\n")
    imports = [number for number, line in enumerate(lines) if re.match(r"import |from ", line)]
    position = imports[-1] + 1 if imports else 1
    return "\n".join([*lines[:position], *([] if imports else [""]), statement, *lines[position:]])


def _pattern(code: str) -> "re.Pattern[str]":
    """Compile code to a pattern in which words in capitals match anything but brackets."""
    # Outside brackets a word in capitals is a constant.
    parts = WILDCARD.split(code) if any(bracket in code for bracket in "([") else [code]
    return re.compile(r"([^\[\]()]+)".join(map(re.escape, parts)))


def _replacement(code: str) -> Callable[["re.Match[str]"], str]:
    """Return a function for ``re.sub`` that puts what the wildcards matched into the new code."""

    def replace(match: "re.Match[str]") -> str:
        values = iter(match.groups())
        return WILDCARD.sub(lambda _: next(values), code) if match.groups() else code

    return replace
