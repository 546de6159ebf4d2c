"""An agent without a model: a small policy that reads, searches, runs and edits, and goes by what it was told.

It knows no answers. What it does follows from the task, the files, the history and the notes before it; the same code
runs in every condition. It understands two shapes of notes, "`A` instead of `B`" and "added to `NAME` in `FILE`", with
words in capitals standing for anything, and looks again before it acts on what is marked to be verified.
"""

import difflib
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hivemind.entrypoints.eval.ground import git
from hivemind.entrypoints.eval.memory import Nothing

ENTRY = re.compile(r"^\[(?P<about>[0-9a-f]{8} · [^\]]*)\] (?P<text>.*)$|^- (?P<line>.*)$", re.MULTILINE)
SWAP = re.compile(r"`([^`]+)` instead of `([^`]+)`")
PLACE = re.compile(r"added to `(\w+)` in `([\w/.]+)`")
FILE = re.compile(r"`([\w/]+\.py)`")
CRASH = re.compile(r"`(python [^`]+)` crashes")
DRAFT = re.compile(r"to `([\w/.]+)`.*?```python\n(.*?)```", re.DOTALL)
NEW_KEY = re.compile(r"`(\w+)` at `([^`]+)`, beside `(\w+)`")
FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<name>\S+)')
ANYTHING = re.compile(r"\b[A-Z]{2,}\b")
LITERAL = re.compile(r"'[^']*'|\"[^\"]*\"")
NAME = re.compile(r"\b[A-Za-z_]\w*(?=\()|\b[A-Z]\w*[a-z]\w*\b")
TRUST = ("low", "medium", "high")
EXPLORED = 3
"""Files a cold agent reads to see how things are done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something the agent was told."""

    text: str
    about: str = ""

    @property
    def is_doubtful(self) -> bool:
        """Whether it asks to be verified."""
        return "verify" in self.about or "disputed" in self.about

    @property
    def trust(self) -> int:
        """How far it may be believed, if it says so."""
        return next((rank for rank, name in enumerate(TRUST, 1) if f"trust {name}" in self.about), 0)


@dataclass(slots=True, kw_only=True)
class ScriptedDesk:
    """The agent's tools; whatever comes back from them is counted."""

    root: Path
    memory: Nothing
    given: list[str] = field(default_factory=list)
    """All texts that reached the agent."""
    written: list[str] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    searches: list[str] = field(default_factory=list)

    def read(self, path: str) -> str:
        """A file."""
        self.reads.append(path)
        return self._back("Read", {"file_path": str(self.root / path)}, (self.root / path).read_text())

    def search(self, pattern: str) -> list[tuple[str, str]]:
        """Lines of the package that match: file and line."""
        self.searches.append(pattern)
        found = [
            (str(path.relative_to(self.root)), line)
            for path in sorted(self.root.glob("shop/*.py"))
            for line in path.read_text().splitlines()
            if re.search(pattern, line)
        ]
        self._back("Grep", {"pattern": pattern}, "\n".join(f"{path}: {line}" for path, line in found))
        return found

    def history(self, word: str) -> str:
        """The newest commit whose message has a word, with what it changed."""
        self.searches.append(f"git log {word}")
        shown = git(self.root, "log", "-1", "--patch", "--format=%h %s", f"--grep={word}")
        return self._back("Bash", {"command": f"git log -1 -p --grep={word}"}, shown)

    def run(self, command: str) -> tuple[bool, str]:
        """Whether a command went well, and what it said."""
        words = [sys.executable if word == "python" else word for word in shlex.split(command)]
        done = subprocess.run(words, cwd=self.root, capture_output=True, text=True, check=False)
        failed = done.returncode != 0
        return not failed, self._back("Bash", {"command": command}, done.stdout + done.stderr, failed=failed)

    def write(self, path: str, text: str) -> None:
        """Change a file."""
        self.written.append(text)
        (self.root / path).write_text(text)
        self.memory.saw("Write", {"file_path": str(self.root / path), "content": text}, "ok", failed=False)

    def recall(self, question: str) -> list[Note]:
        """What memory knows about a question."""
        answer = self.memory.ask(question)
        self.given.append(answer)
        return notes_in(answer)

    def _back(self, tool: str, given: dict[str, str], text: str, *, failed: bool = False) -> str:
        self.given.append(text)
        self.memory.saw(tool, given, text, failed=failed)
        return text


def notes_in(text: str) -> list[Note]:
    """The notes in what an agent was told, from a block of ours or a list in a file."""
    return [Note(text=found["text"] or found["line"], about=found["about"] or "") for found in ENTRY.finditer(text)]


def work(desk: ScriptedDesk, prompt: str) -> None:
    """Do what the prompt asks for."""
    context = desk.memory.begin(prompt)
    desk.given += [prompt, context]
    notes = notes_in(context)
    if crash := CRASH.search(prompt):
        _mend(desk, crash[1], notes)
    elif key := NEW_KEY.search(prompt):
        _enter(desk, key[1], key[2], key[3], notes)
    elif draft := DRAFT.search(prompt):
        _add(desk, draft[1], draft[2], notes or desk.recall(prompt.partition("\n")[0]))


def _mend(desk: ScriptedDesk, command: str, notes: Sequence[Note]) -> None:
    """Run, see where it fails, and change there what was changed before when this error came up."""
    _, said = desk.run(command)
    error = said.strip().splitlines()[-1].partition(":")[0]
    frames = [frame for frame in FRAME.finditer(said) if frame["file"].startswith(str(desk.root))]
    path = str(Path(frames[-1]["file"]).relative_to(desk.root))
    known = [*notes, *desk.recall(f"{error} in {frames[-1]['name']}")]
    swaps = _swaps(desk, [note for note in known if error in note.text], path)
    if not swaps:
        swaps = _swaps_in(desk.history(error)) or [("NAME.get(KEY)", "NAME[KEY]")]
    text = desk.read(path)
    desk.write(path, _swapped(desk, text, swaps, path))
    desk.run(command)


def _add(desk: ScriptedDesk, path: str, draft: str, notes: Sequence[Note]) -> None:
    """Add a draft to a file, the way things are done here as far as that is known."""
    swaps = [swap for swap in _swaps(desk, notes, path) if _pattern(swap[1]).search(draft)]
    if not swaps:
        _look_around(desk, path)
    text = desk.read(path)
    head, guard, tail = text.partition('\n\nif __name__ == "__main__"')
    desk.write(path, _swapped(desk, f"{head.rstrip()}\n\n\n{draft.strip()}\n{guard}{tail}", swaps, path, only=draft))


def _look_around(desk: ScriptedDesk, path: str) -> None:
    """How it is done elsewhere: the way of the file itself, the README and its neighbours."""
    desk.read("README.md")
    near = dict.fromkeys(found for found, _ in desk.search(r"^def |raise |^[A-Z_]+ = ") if found != path)
    for other in list(near)[:EXPLORED]:
        desk.read(other)


def _enter(desk: ScriptedDesk, key: str, value: str, beside: str, notes: Sequence[Note]) -> None:
    """Add a key to a table: where the notes say, unless they are in doubt; else to the one that most code uses."""
    known = notes if any(PLACE.search(note.text) for note in notes) else desk.recall(f"adding {key} beside {beside}")
    named = [(note, place) for note in _most_trusted(known) if (place := PLACE.search(note.text))]
    about_it = [(note, place) for note, place in named if (desk.root / place[2]).exists()]
    sure = [place.groups() for note, place in about_it if not note.is_doubtful]
    name, path = sure[0] if sure else _most_used(desk, beside)
    text = desk.read(path)
    desk.write(path, re.sub(rf"(^{name} = {{)", rf'\1"{key}": {value}, ', text, count=1, flags=re.MULTILINE))


def _most_used(desk: ScriptedDesk, beside: str) -> tuple[str, str]:
    """Of the tables that hold a key, the one whose file most others import."""
    tables: list[tuple[int, str, str]] = []
    for path in dict.fromkeys(path for path, _ in desk.search(f'"{beside}"')):
        name = next((found[1] for found in re.finditer(r"^(\w+) = \{", desk.read(path), re.MULTILINE)), "")
        importers = {other for other, _ in desk.search(rf"(from|import) .*\b{Path(path).stem}\b")}
        tables += [(len(importers), name, path)] if name else []
    return max(tables)[1:]


def _most_trusted(notes: Sequence[Note]) -> list[Note]:
    """What may be believed most comes first; of equals, what was said last."""
    return sorted(notes, key=lambda note: note.trust)[::-1]


def _swaps(desk: ScriptedDesk, notes: Sequence[Note], path: str) -> list[tuple[str, str]]:
    """What to write instead of what in a file, the better trusted note winning where two speak of the same."""
    chosen: dict[str, str] = {}
    for note in _most_trusted(notes):
        files = FILE.findall(note.text)
        for new, old in SWAP.findall(note.text) if not files or path in files else ():
            if not note.is_doubtful or _is_there(desk, new):
                chosen.setdefault(old, new)
    return [(new, old) for old, new in chosen.items()]


def _is_there(desk: ScriptedDesk, code: str) -> bool:
    """Whether the code knows a name that a doubtful note speaks of; what is no name cannot be looked up."""
    name = re.match(r"[A-Za-z_]+", code)
    return not name or bool(desk.search(rf"\b{name[0]}\b"))


def _swaps_in(patch: str) -> list[tuple[str, str]]:
    """What a commit put instead of what, the string in it standing for any."""
    removed = [line[1:].strip() for line in patch.splitlines() if re.match(r"-(?!--)", line)]
    added = [line[1:].strip() for line in patch.splitlines() if re.match(r"\+(?!\+\+)", line)]
    for old in removed:
        for new in difflib.get_close_matches(old, added, n=1):
            olds, news = LITERAL.split(old), LITERAL.split(new)
            before = re.search(r"(\w+\[)$", olds[0])
            after = re.search(r"(\w+\(\w+, )$", news[0])
            if before and after and LITERAL.findall(old) == LITERAL.findall(new):
                return [(f"{after[1]}NAME)", f"{before[1]}NAME]")]
    return []


def _swapped(desk: ScriptedDesk, text: str, swaps: Sequence[tuple[str, str]], path: str, *, only: str = "") -> str:
    """The text with everything swapped, in a part of it or all, and with the imports this newly needs."""
    part = only.strip() or text
    changed = part
    for new, old in swaps:
        changed = _pattern(old).sub(_replacement(new), changed)
    text = text.replace(part, changed)
    for name in dict.fromkeys(NAME.findall(" ".join(new for new, _ in swaps))):
        homes = [found for found, _ in desk.search(rf"^(def|class) {name}\b")]
        if homes and homes[0] != path and not re.search(rf"import .*\b{name}\b", text):
            text = _with_import(text, f"from {homes[0].removesuffix('.py').replace('/', '.')} import {name}")
    return text


def _with_import(text: str, line: str) -> str:
    """An import below those that are there, or below the docstring."""
    lines = text.split("\n")
    imports = [number for number, one in enumerate(lines) if re.match(r"import |from ", one)]
    at = imports[-1] + 1 if imports else 1
    return "\n".join([*lines[:at], *([] if imports else [""]), line, *lines[at:]])


def _pattern(code: str) -> "re.Pattern[str]":
    """Code as a pattern, in which words in capitals stand for anything that is no bracket."""
    cut = ANYTHING.split(code) if any(sign in code for sign in "([") else [code]
    return re.compile(r"([^\[\]()]+)".join(map(re.escape, cut)))


def _replacement(code: str) -> Callable[["re.Match[str]"], str]:
    def put(found: "re.Match[str]") -> str:
        held = iter(found.groups())
        return ANYTHING.sub(lambda _: next(held), code) if found.groups() else code

    return put
