"""Replay the actions of recorded sessions, and print what memory would have told the agent at each of them.

python -m lab.benchmarks.actions FOLDER TREE         counts: actions, and how many of them were told something
python -m lab.benchmarks.actions FOLDER TREE 30      a random sample to judge by hand, the same every time

FOLDER contains a folder of transcripts for each agent, of one repository, and TREE is a clone of it. The memories are
the rules in its instruction files and what the detectors learn from the first half of the sessions, all as if approved;
reasons in its commits are told, too. The actions are those of the second half. lab/notes/actions.md has the
judgements.
"""

import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from hivemind import Hivemind
from hivemind.errors import HivemindError
from hivemind.learning.detectors import DETECTORS
from hivemind.learning.session_view import SessionView
from hivemind.model.memory import Channel, Status, Writer
from hivemind.model.session import Observation
from hivemind.settings import Settings
from lab.benchmarks.detectors import SEED, read_sessions

MOST_MEMORIES = 100_000


class Told(NamedTuple):
    """What was told at an action."""

    occasion: str
    action: str
    text: str


def main() -> None:
    """Print the counts, or a sample."""
    folder, tree, *sample = sys.argv[1:]
    views = sorted(read_sessions(Path(folder)), key=lambda view: view.steps[0].at)
    with tempfile.TemporaryDirectory() as scratch:
        counts, replies = replay(views, Path(tree), Path(scratch))
    print(", ".join(f"{count:,} {what}" for what, count in counts.items()))
    for occasion, count in Counter(reply.occasion for reply in replies).most_common():
        print(f"{occasion}: told {count} times")
    if sample:
        for reply in random.Random(SEED).sample(replies, min(int(sample[0]), len(replies))):
            print(f"\n--- {reply.occasion}: {reply.action[:300]}\n{reply.text}")


def replay(views: Sequence[SessionView], repository: Path, scratch: Path) -> tuple[Counter[str], list[Told]]:
    """Learn from the repository and the first half of the sessions, and return what is told in the second."""
    middle = len(views) // 2
    tree, settings = scratch / "tree", Settings(home=scratch / "home", person="ada")
    start_at = views[middle].steps[0].at
    # The commits of a year: older ones are mostly about code that is gone.
    since = f"{int(start_at[:4]) - 1}{start_at[4:10]}"
    check_out(repository, tree, before=start_at)
    with Hivemind.open(directory=tree, settings=settings, writer=Writer(actor="ada", channel=Channel.PERSON)) as mind:
        learn(mind, views[:middle], since)
        counts = Counter({"sessions": len(views), "memories": len(mind.list(limit=MOST_MEMORIES))})
    replies: list[Told] = []
    for number, view in enumerate(views[middle:]):
        writer = Writer(actor="claude-code", channel=Channel.AGENT, session_id=f"replayed-{number}")
        with Hivemind.open(directory=tree, settings=settings, writer=writer) as mind:
            for step in view.steps:
                counts["actions"] += bool(step.diff or step.command or step.failed)
                replies += act(mind, view, step)
    return counts, replies


def check_out(repository: Path, tree: Path, before: str) -> None:
    """Clone a repository at its last commit before a time, so that no memory knows what the sessions did."""
    subprocess.run(["git", "clone", "--quiet", "--shared", "--no-checkout", str(repository), str(tree)], check=True)
    find = ["git", "rev-list", "-1", f"--before={before}", "HEAD"]
    commit = subprocess.run(find, cwd=tree, check=True, capture_output=True, text=True).stdout.strip()
    subprocess.run(["git", "update-ref", "--no-deref", "HEAD", commit], cwd=tree, check=True)
    subprocess.run(["git", "read-tree", commit], cwd=tree, check=True)
    # Not `checkout`: a mirror may lack large files, and the others do without them.
    subprocess.run(["git", "checkout-index", "--all", "--force", "--quiet"], cwd=tree, check=False, capture_output=True)


def learn(mind: Hivemind, views: Sequence[SessionView], since: str) -> None:
    """Store what is known before the second half, and approve all of it."""
    mind.code.index_commits(since=since)
    mind.files.sync_instructions()
    for proposal in [proposal for view in views for name in DETECTORS for proposal in DETECTORS[name](view)]:
        # A secret, or a text that is too long.
        with suppress(HivemindError):
            mind.remember(proposal.text, kind=proposal.kind, links=list(proposal.links))
    for memory in mind.list(statuses=[Status.PROPOSED], limit=MOST_MEMORIES):
        mind.approve(memory.id)


def act(
    mind: Hivemind, view: SessionView, step: Observation, between: Callable[[], object] = lambda: None
) -> Iterator[Told]:
    """Yield what is told before and after one step, in the tree of the replay; ``between`` is called at the step."""
    file = view.make_relative(step.file) if step.file else ""
    if not step.failed and step.diff and file:
        yield from _told("edit", file, mind.actions.before_call([_place(step, file)]).text)
    if step.command:
        yield from _told("command", step.command, mind.actions.before_call([_place(step, "")]).text)
        error = f"{step.command}\n{step.output[:300]}"
        between()
        yield from _told("failure", error, mind.actions.after_call([step], hears_before=True).text)


def _place(step: Observation, file: str) -> Observation:
    return replace(step, file=file, diff=step.diff if file else "")


def _told(occasion: str, action: str, text: str) -> Iterator[Told]:
    if text:
        yield Told(occasion, action, text)


if __name__ == "__main__":
    main()
