"""Replay the actions of recorded sessions, and print what memory would have told the agent at each of them.

python -m benchmarks.actions FOLDER              counts: actions, and how many of them were told something
python -m benchmarks.actions FOLDER 30           a random sample to judge by hand, the same every time
python -m benchmarks.actions FOLDER 30 NOTES.md  with the rules of a repository as further memories, a line each

FOLDER contains a folder of transcripts for each agent, of one repository. What the detectors learn from the first half
of its sessions counts as approved; the actions are those of the second half. docs/explanation/actions.md has the
judgements.
"""

import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from benchmarks.detectors import SEED, read_sessions
from hivemind import Hivemind
from hivemind.curate.detectors import DETECTORS
from hivemind.curate.session_view import SessionView
from hivemind.errors import HivemindError
from hivemind.model.memory import Channel, Kind, Writer
from hivemind.model.session import Observation
from hivemind.settings import Settings

FEWEST_WORDS, MOST_WORDS = 4, 60
"""Words of a line of notes that says something by itself."""


class Told(NamedTuple):
    """What was told at an action."""

    occasion: str
    action: str
    text: str


def main() -> None:
    """Print the counts, or a sample."""
    folder, *rest = sys.argv[1:]
    views = sorted(read_sessions(Path(folder)), key=lambda view: view.steps[0].at)
    notes = read_notes(Path(rest[1])) if len(rest) > 1 else []
    with tempfile.TemporaryDirectory() as scratch:
        counts, replies = replay(views, notes, Path(scratch))
    print(", ".join(f"{count:,} {what}" for what, count in counts.items()))
    for occasion, count in Counter(reply.occasion for reply in replies).most_common():
        print(f"{occasion}: told {count} times")
    if rest:
        for reply in random.Random(SEED).sample(replies, min(int(rest[0]), len(replies))):
            print(f"\n--- {reply.occasion}: {reply.action[:300]}\n{reply.text}")


def read_notes(file: Path) -> list[str]:
    """Return the lines of an instruction file that say something by themselves."""
    lines = [line.strip().lstrip("-*•# ").strip() for line in file.read_text("utf-8", "replace").splitlines()]
    return [line for line in lines if FEWEST_WORDS <= len(line.split()) <= MOST_WORDS]


def replay(views: Sequence[SessionView], notes: Sequence[str], scratch: Path) -> tuple[Counter[str], list[Told]]:
    """Learn from the first half of the sessions, and return what is told in the second."""
    middle = len(views) // 2
    root = scratch / "tree"
    root.mkdir()
    settings = Settings(home=scratch / "home", person="ada")
    with Hivemind.open(directory=root, settings=settings, writer=Writer(actor="ada", channel=Channel.PERSON)) as mind:
        counts = Counter({"sessions": len(views), "memories": sum(_remember(mind, views[:middle], notes))})
    replies: list[Told] = []
    for number, view in enumerate(views[middle:]):
        writer = Writer(actor="claude-code", channel=Channel.AGENT, session_id=f"replayed-{number}")
        with Hivemind.open(directory=root, settings=settings, writer=writer) as mind:
            for step in view.steps:
                counts["actions"] += bool(step.diff or step.command or step.failed)
                replies += _act(mind, view, step)
    return counts, replies


def _remember(mind: Hivemind, views: Sequence[SessionView], notes: Sequence[str]) -> Iterator[int]:
    proposals = [proposal for view in views for name in DETECTORS for proposal in DETECTORS[name](view)]
    claims = [(proposal.text, proposal.kind, proposal.links) for proposal in proposals]
    for text, kind, links in [*claims, *((note, Kind.CONVENTION, ()) for note in notes)]:
        try:
            mind.remember(text, kind=kind, links=list(links))
            yield 1
        except HivemindError:
            # A secret, or a text that is too long.
            continue


def _act(mind: Hivemind, view: SessionView, step: Observation) -> Iterator[Told]:
    """Yield what is told before and after one step, in the tree of the replay."""
    file = view.make_relative(step.file) if step.file else ""
    if not step.failed and step.diff and file:
        yield from _told("edit", file, mind.actions.before_call([_place(step, file)]).text)
    if step.command:
        yield from _told("command", step.command, mind.actions.before_call([_place(step, "")]).text)
        error = f"{step.command}\n{step.output[:300]}"
        yield from _told("failure", error, mind.actions.after_call([step], hears_before=True).text)


def _place(step: Observation, file: str) -> Observation:
    return replace(step, file=file, diff=step.diff if file else "")


def _told(occasion: str, action: str, text: str) -> Iterator[Told]:
    if text:
        yield Told(occasion, action, text)


if __name__ == "__main__":
    main()
