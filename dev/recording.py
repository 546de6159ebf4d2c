"""Record one task of lab/evals/tasks without and with memory, as an animated picture for the README.

python -m dev.recording           run the task twice, and write docs/pictures/recording.svg
python -m dev.recording --check   fail if the picture does not show what happens now
"""

import re
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from lab.evals.tasks import harness, scripted_agent, shop
from lab.evals.tasks.conditions import NoMemory
from lab.evals.tasks.scripted_agent import parse_notes
from lab.evals.tasks.task import TASKS, Task

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "recording.svg"
TASK = TASKS["convention"]
TITLES = {"none": "without memory", "hivemind": "with hivemind"}
CHECK = 'hidden check: parse_weight("3 stone") raises ShopError'
"""What the last part of the task's check tests."""
COLUMNS = 54
"""Characters in a line of a pane."""
LINE_HEIGHT, MARGIN = 19, 16
WIDTH, PANE_WIDTH = 932, 446
SECONDS, SECONDS_TO_READ = 19.0, 6.0
SECONDS_BEFORE = 2.5
"""The end is shown first, so that a still picture of the beginning has all of it."""
ID = re.compile(r"(?<=\[)[0-9a-f]{8}(?= ·)")
"""Differs in every run."""
STYLE = """
svg { --page: #f6f8fa; --pane: #ffffff; --edge: #d0d7de; --plain: #24292f; --dim: #6e7781; --told: #8250df;
      --added: #1a7f37; --good: #1a7f37; --bad: #cf222e }
@media (prefers-color-scheme: dark) { svg { --page: #161b22; --pane: #0d1117; --edge: #30363d; --plain: #e6edf3;
      --dim: #8b949e; --told: #d2a8ff; --added: #7ee787; --good: #3fb950; --bad: #ff7b72 } }
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre }
.plain { fill: var(--plain) } .dim { fill: var(--dim) } .told { fill: var(--told) } .added { fill: var(--added) }
.good { fill: var(--good); font-weight: bold } .bad { fill: var(--bad); font-weight: bold }
.title { fill: var(--plain); font-weight: bold }
@media (prefers-reduced-motion: reduce) { text { animation: none !important } }
""".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a pane, and how it is coloured."""

    text: str
    colour: str = "plain"


@dataclass(slots=True, kw_only=True)
class RecordedMemory(NoMemory):
    """A memory that keeps what it told at the start, and each call of a tool."""

    memory: NoMemory
    told: str = ""
    calls: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def begin(self, prompt: str) -> str:
        """Keep and return what the hooks tell."""
        self.told = self.memory.begin(prompt)
        return self.told

    def recall(self, question: str) -> str:
        """Ask the memory."""
        return self.memory.recall(question)

    def capture(self, tool: str, arguments: dict[str, str], output: str, *, is_error: bool) -> None:
        """Keep a call, and let the memory record it."""
        self.calls.append((tool, arguments))
        self.memory.capture(tool, arguments, output, is_error=is_error)

    def close(self) -> None:
        """End the session."""
        self.memory.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What happened in one run of the task."""

    root: Path
    told: str
    calls: Sequence[tuple[str, dict[str, str]]]
    added: Sequence[str]
    """The lines that the agent wrote."""
    error: str
    """The last line of the check's output; empty if the check passed."""


def run_task(task: Task, condition: str) -> Run:
    """Let the scripted agent do the task in a new repository, and check the result."""
    with tempfile.TemporaryDirectory(prefix="hivemind-recording-", ignore_cleanup_errors=True) as folder:
        tools = harness.prepare(task, condition, Path(folder).resolve())
        memory = tools.memory = RecordedMemory(memory=tools.memory)
        scripted_agent.work(tools, task.prompt)
        memory.close()
        checked = harness.check(task, tools.root)
        patch = shop.git(tools.root, "diff", "--unified=0").splitlines()
    added = [line for line in patch if re.match(r"\+(?!\+\+)", line) and line != "+"]
    return Run(
        root=tools.root,
        told=memory.told,
        calls=memory.calls,
        added=added,
        error=checked.stderr.strip().rpartition("\n")[2] if checked.returncode else "",
    )


def list_lines(run: Run, other: Run) -> Iterator[Line]:
    """Yield what a pane shows: what was told, each call, the lines that differ from the other run, and the check."""
    yield from _list_told_lines(run)
    for tool, arguments in run.calls:
        path, pattern = arguments.get("file_path", ""), arguments.get("pattern", "")
        yield Line(text=f"● {tool} {path.removeprefix(f'{run.root}/') or pattern}")
        if tool == "Write":
            yield from _list_added_lines(run.added, other.added)
    yield Line(text="")
    yield Line(text=CHECK, colour="dim")
    if run.error:
        yield Line(text=f"  {run.error}", colour="dim")
        yield Line(text="✗ failed", colour="bad")
    else:
        yield Line(text="✓ passed", colour="good")


def _list_told_lines(run: Run) -> Iterator[Line]:
    """Yield the one note of the brief that the agent followed, because a pane has no room for all."""
    notes = parse_notes(run.told)
    if not notes:
        yield Line(text="● session starts, nothing is known", colour="dim")
        return
    yield Line(text=f"● session starts, the hook tells {len(notes)} notes, among them:", colour="dim")
    [note] = [note for note in notes if note.text == TASK.notes[0].text]
    for text in [*textwrap.wrap(note.text, COLUMNS - 2), f"[{note.label}]"]:
        yield Line(text=f"  {text}", colour="told")


def _list_added_lines(added: Sequence[str], others: Sequence[str]) -> Iterator[Line]:
    was_shown = True
    for line in added:
        is_shown = line not in others or line.startswith("+def ")
        if is_shown:
            yield Line(text=line, colour="added")
        elif was_shown:
            yield Line(text="…", colour="dim")
        was_shown = is_shown


def draw(panes: dict[str, Sequence[Line]]) -> str:
    """Draw the panes side by side; their lines appear one after the other."""
    prompt = " ".join(TASK.prompt.partition(" A draft to start from")[0].split())
    task = textwrap.wrap(f"Task: {prompt}", 2 * COLUMNS)
    top = MARGIN + len(task) * LINE_HEIGHT + 10
    pane_height = (max(map(len, panes.values())) + 2) * LINE_HEIGHT + MARGIN
    bottom = top + pane_height + 8
    parts = [_draw_text(MARGIN, MARGIN + 10 + number * LINE_HEIGHT, text, "plain") for number, text in enumerate(task)]
    keyframes: list[str] = []
    count = sum(map(len, panes.values())) + len(panes)
    for column, (title, lines) in enumerate(panes.items()):
        x = MARGIN + column * (WIDTH - 2 * MARGIN - PANE_WIDTH)
        parts.append(
            f'<rect x="{x}" y="{top}" width="{PANE_WIDTH}" height="{pane_height}" rx="6" fill="var(--pane)"'
            ' stroke="var(--edge)"/>'
        )
        parts.append(_draw_text(x + 12, top + 24, title, "title"))
        for number, line in enumerate(lines):
            if line.text:
                step = len(keyframes)
                # A little longer between the two runs.
                share = (step + 1 + 2 * column) / (count + 2) * SECONDS / (SECONDS + SECONDS_TO_READ)
                keyframes.append(f"@keyframes s{step} {{ 0% {{ opacity: 0 }} {share:.1%} {{ opacity: 1 }} }}")
                y = top + 24 + (number + 1) * LINE_HEIGHT + 6
                parts.append(_draw_text(x + 12, y, line.text, line.colour, f"s{step}"))
    caption = "The agent is a script, the same in both runs. Repository, hooks, memory and check are real."
    parts.append(_draw_text(MARGIN, bottom + 14, caption, "dim"))
    height = bottom + 14 + MARGIN
    seconds = SECONDS + SECONDS_TO_READ
    animation = f"[data-step] {{ animation: {seconds:g}s step-end {SECONDS_BEFORE - seconds:g}s infinite }}"
    style = "\n".join([STYLE, animation, *keyframes])
    spoken = "; ".join(f"{title}: {' '.join(line.text for line in lines)}" for title, lines in panes.items())
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
            "<title>The same agent fails a task without memory and does it with memory</title>",
            f"<desc>{escape(spoken)}</desc>",
            f"<style>\n{style}\n</style>",
            f'<rect width="{WIDTH}" height="{height}" rx="8" fill="var(--page)"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _draw_text(x: float, y: float, text: str, colour: str, step: str = "") -> str:
    moves = f' data-step="" style="animation-name: {step}"' if step else ""
    return f'<text x="{x}" y="{y}" class="{colour}"{moves}>{escape(text)}</text>'


def main() -> None:
    """Write the picture, or check it."""
    runs = {condition: run_task(TASK, condition) for condition in TITLES}
    cold, warm = runs["none"], runs["hivemind"]
    picture = draw({TITLES["none"]: [*list_lines(cold, warm)], TITLES["hivemind"]: [*list_lines(warm, cold)]})
    is_same = PICTURE.exists() and ID.sub("", PICTURE.read_text("utf-8")) == ID.sub("", picture)
    if "--check" in sys.argv:
        sys.exit(0 if is_same else "recording.svg shows something else; run 'python -m dev.recording' and look at it")
    if not is_same:
        PICTURE.write_text(picture, "utf-8")


if __name__ == "__main__":
    main()
