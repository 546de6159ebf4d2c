"""Instruction files of a repository as a source, and memories written back into them.

AGENTS.md and its kin are what a team has agreed on: each point in them is a convention with the highest authority
in its project. What we write there stands in a block of our own, which we never read back.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hivemind.errors import InvalidInput
from hivemind.model.ids import MemoryId, derived, short
from hivemind.model.memory import Memory, Status, Trust
from hivemind.model.text import LONGEST_TEXT, neutral

NAMES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md", "QWEN.md", ".github/copilot-instructions.md")
FOLDERS = (
    (".cursor/rules", "*.mdc"), (".cursor/rules", "*.md"), (".claude/rules", "*.md"), (".windsurf/rules", "*.md"),
    (".clinerules", "*.md"), (".continue/rules", "*.md"), (".github/instructions", "*.instructions.md"),
)  # fmt: skip
OURS = "hivemind.md"
"""The rule that ``hivemind install`` writes for agents without hooks: about us, not about the project."""
LARGEST = 1024 * 1024
BATCH = "files"
"""What the learning runs that read these files are called; what they take back they may bring again."""

BEGIN, END = "<!-- hivemind: what the team has learned -->", "<!-- hivemind: end -->"
BLOCK = re.compile(re.escape(BEGIN) + r".*?" + re.escape(END) + r"\n?", re.DOTALL)
BULLET = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One thing a file says, and where."""

    file: str
    lines: str
    text: str
    """With the heading it stands under."""
    bare: str
    """Without it."""

    def memory_id(self, repo: str) -> MemoryId:
        """The same for the same words in the same file, so that reading it again changes nothing."""
        return MemoryId(derived("file", repo, self.file, self.text))


def points(root: Path) -> Iterator[Point]:
    """What the instruction files of a repository say, a point at a time."""
    for file in _files(root):
        text = file.read_text(errors="replace")
        name = file.relative_to(root).as_posix()
        yield from (
            Point(file=name, lines=lines, text=said, bare=bare)
            for lines, said, bare in _paragraphs(BLOCK.sub(_blank, text))
            if said
        )


def without_heading(text: str) -> str:
    """What a point of a file said without the heading it stood under."""
    return text.partition(": ")[2] or text


def promoted(text: str, memory: Memory) -> str:
    """The file with a reviewed memory in our block; the same file if it is there already."""
    if memory.status is not Status.ACTIVE or memory.trust is not Trust.HIGH:
        raise InvalidInput(
            f"{short(memory.id)} is {memory.status}, trust {memory.trust}; approve it before promoting it"
        )
    line = f"- {' '.join(neutral(memory.text).split())} <!-- {short(memory.id)} -->"
    found = BLOCK.search(text)
    lines = found[0].splitlines()[1:-1] if found else []
    kept = [one for one in lines if f"<!-- {short(memory.id)} -->" not in one]
    block = "\n".join([BEGIN, *kept, line, END]) + "\n"
    if found:
        return text[: found.start()] + block + text[found.end() :]
    return (text.rstrip("\n") + "\n\n" if text.strip() else "") + block


def _files(root: Path) -> Iterator[Path]:
    named = [root / name for name in NAMES]
    found = [file for folder, pattern in FOLDERS for file in sorted((root / folder).glob(pattern))]
    for file in named + found:
        # A link that leads out of the repository is not the repository's word.
        if (
            file.name != OURS
            and file.is_file()
            and file.resolve().is_relative_to(root.resolve())
            and file.stat().st_size <= LARGEST
        ):
            yield file


def _paragraphs(text: str) -> Iterator[tuple[str, str, str]]:
    """Bullets and paragraphs with their lines, under the heading they stand in; code and front matter left out."""
    heading, start, in_code = "", 0, False
    held: list[str] = []
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        begins = bool(BULLET.match(line)) or not line.strip() or line.startswith("#") or line.strip() == "---"
        if begins and held:
            bare = " ".join(held)
            yield _lines(start, number - 1), _said(heading, bare), bare
            held = []
        if line.startswith("#"):
            heading = line.lstrip("# ").strip()
        elif line.strip() and line.strip() != "---" and not in_code and not line.lstrip().startswith(("```", "<!--")):
            start = start if held else number
            held.append(BULLET.sub("", line).strip())


def _said(heading: str, said: str) -> str:
    return (f"{heading}: {said}" if heading else said)[: LONGEST_TEXT // 4]


def _lines(start: int, end: int) -> str:
    return str(start) if start == end else f"{start}-{end}"


def _blank(block: re.Match[str]) -> str:
    """Nothing to read, as many lines as before."""
    return "\n" * block[0].count("\n")
