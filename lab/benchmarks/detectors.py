"""Count the proposals each detector makes from the sessions in a folder, or print a sample to judge by hand.

python -m lab.benchmarks.detectors FOLDER                    the counts
python -m lab.benchmarks.detectors FOLDER fixes 30           a random sample of one detector, the same every time

FOLDER contains a folder of transcripts for each agent: claude-code, codex, gemini-cli …
"""

import random
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from hivemind.agents import callers
from hivemind.agents.agent import get_agent
from hivemind.embedding.embedder import load_wording
from hivemind.learning.detectors import DETECTORS
from hivemind.learning.lasting_statements import load_judge
from hivemind.learning.session_view import SessionView
from hivemind.model.claim import Proposal
from hivemind.model.session import Observation, ObservationKind

SEED = 42


def main() -> None:
    """Print the counts, or a sample."""
    folder, *sample = sys.argv[1:]
    proposals = list(propose_from_sessions(Path(folder)))
    if sample:
        print_sample([proposal for proposal, _ in proposals if proposal.detector == sample[0]], int(sample[1]))
        return
    print(f"{'detector':14} {'proposals':>9} {'distinct':>9} {'places':>9}")
    for name in DETECTORS:
        texts = [proposal.text for proposal, _ in proposals if proposal.detector == name]
        places = {place for proposal, place in proposals if proposal.detector == name}
        print(f"{name:14} {len(texts):9} {len(set(texts)):9} {len(places):9}")


def propose_from_sessions(folder: Path) -> Iterator[tuple[Proposal, int]]:
    """Yield every detector's proposals from the sessions in a folder, each with the number of its session."""
    trails = list(read_sessions(folder))
    steps = [step for view in trails for step in view.steps]
    prompts = sum(step.seen is ObservationKind.PROMPT for step in steps)
    print(f"{len(trails)} sessions, {len(steps):,} steps, {prompts:,} prompts")
    for name in DETECTORS:
        for number, view in enumerate(trails):
            yield from ((proposal, number) for proposal in DETECTORS[name](view))


def print_sample(proposals: list[Proposal], size: int) -> None:
    """Print a random sample of proposals; the seed is fixed, so that judgements can be compared between runs."""
    sample = list({proposal.text: proposal for proposal in proposals}.values())
    random.Random(SEED).shuffle(sample)
    for number, proposal in enumerate(sample[:size], start=1):
        print(f"[{number}] {proposal.kind}: {proposal.text}\n    rests on: {proposal.sources[0].quote!r}\n")


def read_sessions(folder: Path) -> Iterator[SessionView]:
    """Yield each session below a folder once, read in the format of the agent that its folder is named after."""
    judge = load_judge(load_wording().encode_wording)
    names = {"gemini-cli": "gemini", "copilot-cli": "copilot", "qwen-code": "qwen"}
    by_session: dict[str, dict[str, Observation]] = defaultdict(dict)
    for file in sorted(folder.rglob("*.json*")):
        agent = next((names.get(part, part) for part in file.relative_to(folder).parts), "")
        if agent not in callers.NAMES:
            continue
        for observation in get_agent(agent).read_transcript(file):
            if isinstance(observation, Observation):
                by_session[observation.session_id].setdefault(observation.source_id, observation)
    for steps in by_session.values():
        yield SessionView(steps=sorted(steps.values(), key=lambda step: step.at), judge=judge)


if __name__ == "__main__":
    main()
