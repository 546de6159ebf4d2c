"""Ask for what earlier sessions decided, in other words, and count what an agent is told.

python -m lab.evals.experience FOLDER                     the test part of our cases
python -m lab.evals.experience FOLDER --part development  the part that rules and thresholds were chosen on
python -m lab.evals.experience FOLDER --told FILE         also write what was told, for somebody to judge
python -m lab.evals.experience FOLDER --save              save the figures

FOLDER has a folder ``OWNER__REPOSITORY/sessions`` with Claude Code transcripts for each file in ``cases/PART``;
lab/README.md says where they come from. The cases are ours: a task, the sessions that decide it, what they decide, and
the phrases that whoever was told must have seen. A case counts as told if half of the phrases, or half of the words of
the rule, are in what an agent is shown.
"""

import argparse
import json
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

from hivemind.agents.agent import get_agent
from hivemind.hivemind import Hivemind
from hivemind.model.memory import Channel, Writer
from hivemind.model.recall import Recall
from hivemind.model.session import Observation, ObservationKind
from hivemind.sessions.digests import make_digest
from hivemind.settings import Settings
from hivemind.text.prose import split_typed
from hivemind.text.search_terms import extract_terms, measure_share
from lab.benchmarks import results

CASES = Path(__file__).with_name("cases")
FOREIGN_PROMPTS, FEWEST_WORDS, SEED = 100, 8, 7
"""Prompts of people in other repositories that nothing here concerns, and how many words each has at least."""
ENOUGH, WHOLE_PHRASE = 0.5, 0.6
"""The share of a rule's words, or of its phrases, that tells it; and of the words of a phrase."""
LARGE_SESSION = 500
"""Observations of a session whose digest is timed."""


@dataclass(frozen=True)
class Answer:
    """What an agent was told for one case."""

    case: str
    kind: str
    told: bool
    """Whether the prompt hook told what was decided."""
    first: bool
    """Whether recall shows the deciding session first."""
    shown: bool
    """Whether what recall shows has what was decided."""
    newest_first: bool | None
    """For an amended decision: whether recall shows the newest session first; ``labelled``, whether it says so."""
    labelled: bool | None
    prompt: str = ""
    rule: str = ""
    text: str = ""


@dataclass
class Score:
    """What was counted in one repository."""

    repository: str
    sessions: int
    answers: list[Answer] = field(default_factory=list)
    neutral: list[bool] = field(default_factory=list)
    """Whether something was said to tasks of the same project that no session decided."""
    foreign: list[bool] = field(default_factory=list)
    digest_milliseconds: list[float] = field(default_factory=list)
    """CPU for the digests of sessions, scaled to ``LARGE_SESSION`` observations."""


def main() -> None:
    """Run the cases of one part, print the table, and save the figures if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--part", default="test", choices=("test", "development"))
    parser.add_argument("--cases", type=Path, default=CASES, help="a folder with the parts, instead of ours")
    parser.add_argument("--told", type=Path)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    files = [
        file for file in sorted((options.cases / options.part).glob("*.json")) if (options.folder / file.stem).is_dir()
    ]
    if not files:
        raise SystemExit(f"{options.folder} has no folder for any of the cases in {options.cases / options.part}")
    prompts = {file.stem: draw_prompts(options.folder / file.stem) for file in files}
    scores = []
    for file in files:
        foreign = [prompt for name, others in prompts.items() if name != file.stem for prompt in others]
        random.Random(SEED).shuffle(foreign)
        scores.append(measure(json.loads(file.read_text()), options.folder / file.stem, foreign[:FOREIGN_PROMPTS]))
        print(format_row(file.stem, [scores[-1]]), flush=True)
    print(format_row("all", scores))
    if options.told:
        answers = [asdict(answer) for score in scores for answer in score.answers]
        options.told.write_text(json.dumps(answers, indent=1))
    if options.save:
        results.save(
            "experience", data=f"{options.part}: cases of our own over public sessions", configuration="as installed",
            figures=summarise(scores), made_by=f"python -m lab.evals.experience FOLDER --part {options.part}",
        )  # fmt: skip


def measure(cases: dict[str, Any], folder: Path, foreign: Sequence[str]) -> Score:
    """Import the sessions of a repository into a store of its own, and ask."""
    with tempfile.TemporaryDirectory() as directory:
        home, tree = Path(directory) / "home", Path(directory) / "tree"
        tree.mkdir()
        for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "begin"]):
            subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@x", *command], cwd=tree, check=True)
        transcripts = home / ".claude/projects/x"
        transcripts.mkdir(parents=True)
        paths = sorted((folder / "sessions").glob("*.jsonl"))
        for path in paths:
            lines = (json.loads(line) | {"cwd": str(tree)} for line in path.read_text().splitlines())
            (transcripts / path.name).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        score = Score(repository=cases["repo"], sessions=len(paths))
        settings = Settings(home=home / "store", person="tester")
        with Hivemind.open(settings=settings, directory=tree) as mind:
            mind.sessions.import_transcripts(["claude-code"], home=home)
            mind.maintenance.catch_up(include_sessions=True)
            score.digest_milliseconds = list(time_digests(mind))
            score.answers = [ask(mind, settings, tree, case) for case in cases["cases"]]
        score.neutral = [bool(tell(settings, tree, prompt).text) for prompt in cases["neutral"]]
        score.foreign = [bool(tell(settings, tree, prompt).text) for prompt in foreign]
        shutil.rmtree(home)
    return score


def ask(mind: Hivemind, settings: Settings, tree: Path, case: dict[str, Any]) -> Answer:
    """Put a task to the prompt hook and to recall."""
    told = tell(settings, tree, case["prompt"]).text
    recall = mind.recall(case["prompt"])
    session_ids = [hit.session_id for hit in recall.session_hits]
    right_ids = {*case["decides"], *case["amends"]}
    is_amended = case["kind"] == "amended"
    newest_first = bool(session_ids) and session_ids[0] in case["decides"]
    return Answer(
        case=case["id"], kind=case["kind"], told=has_rule(case, told),
        first=bool(session_ids) and session_ids[0] in right_ids, shown=has_rule(case, recall.text),
        newest_first=newest_first if is_amended else None,
        labelled=newest_first and bool(recall.session_hits[0].amends) if is_amended else None,
        prompt=case["prompt"], rule=case["rule"], text=told,
    )  # fmt: skip


def tell(settings: Settings, tree: Path, prompt: str) -> Recall:
    """Return what the prompt hook says in a session of its own."""
    writer = Writer(actor="claude-code", channel=Channel.AGENT, session_id=f"asked-{time.monotonic_ns()}")
    with Hivemind.open(settings=settings, directory=tree, writer=writer) as mind:
        return mind.on_prompt(prompt)


def has_rule(case: dict[str, Any], text: str) -> bool:
    """Whether a text has half of the words of what was decided, or half of its phrases."""
    phrases = [measure_share(extract_terms(phrase), text) >= WHOLE_PHRASE for phrase in case["points"]]
    return measure_share(extract_terms(case["rule"]), text) >= ENOUGH or mean(phrases) >= ENOUGH


def time_digests(mind: Hivemind) -> Iterator[float]:
    """Yield the CPU milliseconds of the digest of each large session, scaled to the same number of observations."""
    for session in mind.sessions.list(limit=1000):
        _, trace = mind.sessions.show(session.id)
        if len(trace) >= LARGE_SESSION / 2:
            begin = time.process_time()
            make_digest(session, trace)
            yield 1000 * (time.process_time() - begin) * LARGE_SESSION / len(trace)


def draw_prompts(folder: Path) -> list[str]:
    """Draw prompts that people typed in the sessions of a repository."""
    agent = get_agent("claude-code")
    steps = (step for path in sorted((folder / "sessions").glob("*.jsonl")) for step in agent.read_transcript(path))
    prompts = [step.text for step in steps if isinstance(step, Observation) and step.seen is ObservationKind.PROMPT]
    typed = [prompt for prompt in prompts if len(" ".join(split_typed(prompt)).split()) >= FEWEST_WORDS]
    return random.Random(SEED).sample(typed, min(len(typed), FOREIGN_PROMPTS // 2))


def summarise(scores: Sequence[Score]) -> dict[str, Any]:
    """Return the figures of several repositories together."""
    answers = [answer for score in scores for answer in score.answers]
    amended = [answer for answer in answers if answer.newest_first is not None]
    milliseconds = [value for score in scores for value in score.digest_milliseconds]
    return {
        "repositories": len(scores), "sessions": sum(score.sessions for score in scores), "cases": len(answers),
        "told": _share(answer.told for answer in answers), "first": _share(answer.first for answer in answers),
        "shown": _share(answer.shown for answer in answers), "amended": len(amended),
        "newest first": _share(bool(answer.newest_first) for answer in amended),
        "labelled": _share(bool(answer.labelled) for answer in amended),
        "foreign": _share(said for score in scores for said in score.foreign),
        "neutral": _share(said for score in scores for said in score.neutral),
        "digest ms": round(mean(milliseconds)) if milliseconds else None,
    }  # fmt: skip


def format_row(name: str, scores: Sequence[Score]) -> str:
    """Format the figures of one or several repositories."""
    return f"{name[:34]:34} " + "  ".join(f"{key} {value}" for key, value in summarise(scores).items())


def _share(flags: Any) -> float | None:
    values = list(flags)
    return round(sum(values) / len(values), 3) if values else None


if __name__ == "__main__":
    main()
