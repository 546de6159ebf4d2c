"""How many proposals each detector makes of the sessions in a folder, and a sample of them to judge by hand.

python -m benchmarks.detectors FOLDER                    the counts
python -m benchmarks.detectors FOLDER fixes 30           a sample of one detector, the same every time

FOLDER holds a folder of transcripts for each agent: claude-code, codex, gemini-cli …
"""

import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from hivemind import agents
from hivemind.curate.detectors import DETECTORS
from hivemind.curate.trail import Trail
from hivemind.model.proposal import Proposal
from hivemind.model.session import Observation, Seen

SEED = 42


def main() -> None:
    """Print the counts, or a sample."""
    folder, *sample = sys.argv[1:]
    trails = list(sessions(Path(folder)))
    if sample:
        print_sample(trails, sample[0], int(sample[1]))
        return
    prompts = sum(seen.seen is Seen.PROMPT for trail in trails for seen in trail.steps)
    steps = sum(len(trail.steps) for trail in trails)
    print(f"{len(trails)} sessions, {steps:,} steps, {prompts:,} prompts")
    print(f"{'detector':12} {'proposals':>9} {'distinct':>9} {'sessions':>9}")
    for name in DETECTORS:
        found = [(one, number) for number, trail in enumerate(trails) for one in DETECTORS[name](trail)]
        distinct, places = {one.text for one, _ in found}, {number for _, number in found}
        print(f"{name:12} {len(found):9} {len(distinct):9} {len(places):9}")


def print_sample(trails: list[Trail], name: str, size: int) -> None:
    """Proposals of one detector, drawn by chance but always the same ones."""
    distinct: dict[str, Proposal] = {}
    for trail in trails:
        for one in DETECTORS[name](trail):
            distinct.setdefault(one.text, one)
    drawn = list(distinct.values())
    random.Random(SEED).shuffle(drawn)
    for number, one in enumerate(drawn[:size], start=1):
        print(f"[{number}] {one.kind}: {one.text}\n    rests on: {one.sources[0].quote!r}\n")


def sessions(folder: Path) -> Iterator[Trail]:
    """The sessions below a folder, each once, read by the agent its folder is named after."""
    names = {"gemini-cli": "gemini", "copilot-cli": "copilot", "qwen-code": "qwen"}
    told: Counter[str] = Counter()
    for file in sorted(folder.rglob("*.json*")):
        agent = next((names.get(part, part) for part in file.relative_to(folder).parts), "")
        if agent not in agents.NAMES:
            continue
        steps = [one for one in agents.of(agent).read_transcript(file) if isinstance(one, Observation)]
        if steps and not told[steps[0].session_id]:
            told[steps[0].session_id] += 1
            yield Trail(steps=steps)


if __name__ == "__main__":
    main()
