"""How many proposals each detector makes of the sessions in a folder, and a sample of them to judge by hand.

python -m benchmarks.detectors FOLDER                    the counts
python -m benchmarks.detectors FOLDER fixes 30           a sample of one detector, the same every time

FOLDER holds a folder of transcripts for each agent: claude-code, codex, gemini-cli …; or it is a git repository,
whose newest commits are read instead.
"""

import random
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from hivemind import agents
from hivemind.codebase import git
from hivemind.curate import commits
from hivemind.curate.detectors import DETECTORS
from hivemind.curate.trail import Trail
from hivemind.model.proposal import Proposal
from hivemind.model.session import Observation, Seen

SEED = 42
COMMITS = 1000


def main() -> None:
    """Print the counts, or a sample."""
    folder, *sample = sys.argv[1:]
    of_git = is_repository(Path(folder))
    found = list((of_commits if of_git else of_sessions)(Path(folder)))
    if sample:
        print_sample([one for one, _ in found if one.detector == sample[0]], int(sample[1]))
        return
    print(f"{'detector':14} {'proposals':>9} {'distinct':>9} {'places':>9}")
    for name in ("git-fixes", "git-decisions") if of_git else DETECTORS:
        texts = [one.text for one, _ in found if one.detector == name]
        places = {place for one, place in found if one.detector == name}
        print(f"{name:14} {len(texts):9} {len(set(texts)):9} {len(places):9}")


def of_sessions(folder: Path) -> Iterator[tuple[Proposal, int]]:
    """What every detector makes of the sessions in a folder, each with the number of its session."""
    trails = list(sessions(folder))
    steps = [seen for trail in trails for seen in trail.steps]
    prompts = sum(seen.seen is Seen.PROMPT for seen in steps)
    print(f"{len(trails)} sessions, {len(steps):,} steps, {prompts:,} prompts")
    for name in DETECTORS:
        for number, trail in enumerate(trails):
            yield from ((one, number) for one in DETECTORS[name](trail))


def of_commits(repository: Path) -> Iterator[tuple[Proposal, int]]:
    """What the newest commits of a repository teach, each with the number of its commit."""
    read = list(git.commits(repository, limit=COMMITS))
    print(f"{len(read)} commits")
    for number, commit in enumerate(read):
        yield from ((one, number) for one in commits.proposals(commit))


def is_repository(folder: Path) -> bool:
    """Whether the folder is a git repository, with or without a working tree."""
    return (folder / ".git").exists() or (folder / "HEAD").exists()


def print_sample(found: list[Proposal], size: int) -> None:
    """Proposals of one detector, drawn by chance but always the same ones."""
    drawn = list({one.text: one for one in found}.values())
    random.Random(SEED).shuffle(drawn)
    for number, one in enumerate(drawn[:size], start=1):
        print(f"[{number}] {one.kind}: {one.text}\n    rests on: {one.sources[0].quote!r}\n")


def sessions(folder: Path) -> Iterator[Trail]:
    """The sessions below a folder, each once, read by the agent its folder is named after."""
    names = {"gemini-cli": "gemini", "copilot-cli": "copilot", "qwen-code": "qwen"}
    told: dict[str, dict[str, Observation]] = defaultdict(dict)
    for file in sorted(folder.rglob("*.json*")):
        agent = next((names.get(part, part) for part in file.relative_to(folder).parts), "")
        if agent not in agents.NAMES:
            continue
        for one in agents.of(agent).read_transcript(file):
            if isinstance(one, Observation):
                told[one.session_id].setdefault(one.source_id, one)
    for steps in told.values():
        yield Trail(steps=sorted(steps.values(), key=lambda one: one.at))


if __name__ == "__main__":
    main()
