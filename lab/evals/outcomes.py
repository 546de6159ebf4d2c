"""Replay recorded sessions with memories, and print what is claimed to have followed each telling.

python -m lab.evals.outcomes FOLDER CLONES [NAME...]      counts of tellings and outcomes of each repository
python -m lab.evals.outcomes FOLDER CLONES --cases FILE   also writes every claim with its context, for readers to judge

FOLDER contains a folder OWNER__REPOSITORY of transcripts for each repository; CLONES has
clones of the repositories (OWNER+REPOSITORY), for their instruction files. The memories are the rules in these and what
the detectors learn from the first half of the sessions, all as if approved. In the second half they are told at the
moments at which hooks tell them. The agents of the recorded sessions did not hear them, so the figures say whether a
claim is right, and not whether memory helps. lab/notes/detectors.md has the judgements.
"""

import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from hivemind import Hivemind
from hivemind.agents.agent import get_agent
from hivemind.embedding.embedder import load_wording
from hivemind.learning.lasting_statements import load_judge
from hivemind.learning.session_view import SessionView
from hivemind.model.memory import Channel, Writer
from hivemind.model.outcomes import OutcomeKind, Telling, TellingOutcome
from hivemind.model.session import Observation, ObservationKind
from hivemind.model.timestamps import parse_timestamp
from hivemind.sessions.outcomes import judge_tellings
from hivemind.settings import Settings
from lab.benchmarks.actions import act, check_out, learn
from lab.benchmarks.detectors import SEED

AGENT = "claude-code"
READERS = (AGENT, "codex", "copilot", "gemini", "opencode")
MOST_PER_MEMORY = 10
MOST_SESSIONS = 150
"""Of a repository, the last ones: a longer replay takes long and repeats itself."""
STEPS_AROUND, LONGEST = 6, 700
"""Steps before and after the telling and the evidence in a case, and characters of each text."""
MOMENT = timedelta(milliseconds=1)
QUIET_KINDS = (OutcomeKind.UNKNOWN, OutcomeKind.MENTIONED)
"""Not claims about what followed: nothing was found, or only a sign of use."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """A telling of a replayed session, what followed by our rules, and the session."""

    telling: Telling
    outcome: TellingOutcome
    steps: Sequence[Observation]


class ReplayClock:
    """A clock that stands where the replay is."""

    def __init__(self, at: str) -> None:
        self.now = parse_timestamp(at)

    def __call__(self) -> Any:
        """Return the time of the replay."""
        return self.now


def main() -> None:
    """Print the counts, and write the cases if asked."""
    folder, clones, *rest = sys.argv[1:]
    file = Path(rest[rest.index("--cases") + 1]) if "--cases" in rest else None
    names = [name for name in rest if not name.startswith("--") and (file is None or name != str(file))]
    cases: list[dict[str, Any]] = []
    for place in sorted(Path(folder).iterdir()):
        if names and place.name not in names:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            replayed = replay(read_views(place), find_clone(Path(clones), place.name), Path(scratch))
        counts = Counter(item.outcome.kind.value for item in replayed)
        print(
            f"{place.name}: {len(replayed):,} tellings; {', '.join(f'{n} {kind}' for kind, n in counts.most_common())}"
        )
        cases += sample_cases(place.name, replayed)
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(json.dumps(case, ensure_ascii=False) + "\n" for case in cases), "utf-8")
        print(f"{len(cases)} claims in {file}")


def find_clone(clones: Path, name: str) -> Path | None:
    """Return the clone of a repository, or the git directory in it; None if there is none."""
    place = clones / name.replace("__", "+")
    if not place.is_dir():
        return None
    heads = [*place.glob("HEAD"), *place.glob("*/HEAD")]
    return heads[0].parent if heads else place


def read_views(folder: Path) -> list[SessionView]:
    """Read the sessions of a repository, oldest first."""
    judge = load_judge(load_wording().encode_wording)
    by_session: dict[str, dict[str, Observation]] = defaultdict(dict)
    for file in sorted(folder.glob("*.jsonl")):
        for step in _read_transcript(file):
            by_session[step.session_id].setdefault(step.source_id, step)
    views = [
        SessionView(steps=sorted(steps.values(), key=lambda step: step.at), judge=judge)
        for steps in by_session.values()
        if any(step.seen is ObservationKind.TOOL for step in steps.values())
    ]
    return sorted(views, key=lambda view: view.steps[0].at)[-MOST_SESSIONS:]


def _read_transcript(file: Path) -> list[Observation]:
    """Read a transcript in the first format that fits."""
    for agent in READERS:
        steps = [step for step in get_agent(agent).read_transcript(file) if isinstance(step, Observation)]
        if steps:
            return steps
    return []


def replay(views: Sequence[SessionView], clone: Path | None, scratch: Path) -> list[Replayed]:
    """Learn from the first half of the sessions, tell in the second, and return what followed."""
    middle = len(views) // 2
    if not views[middle:]:
        return []
    start = views[middle].steps[0].at
    tree, settings = scratch / "tree", Settings(home=scratch / "home", person="ada")
    try:
        check_out(clone or scratch / "nowhere", tree, before=start)
    except subprocess.CalledProcessError:
        # No clone, or no commit that is old enough: then there are no rules of the repository.
        shutil.rmtree(tree, ignore_errors=True)
        subprocess.run(["git", "init", "--quiet", str(tree)], check=True)
        identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
        subprocess.run(["git", *identity, "commit", "--quiet", "--allow-empty", "-m", "start"], cwd=tree, check=True)
    clock = ReplayClock(start)
    clock.now -= timedelta(days=1)
    person = Writer(actor="ada", channel=Channel.PERSON)
    with Hivemind.open(directory=tree, settings=settings, writer=person, clock=clock) as mind:
        # So that rules are linked to the code that they name, and told when it is edited.
        mind.code.index()
        learn(mind, views[:middle], since=f"{int(start[:4]) - 1}{start[4:10]}")
    return [item for view in views[middle:] for item in _replay_session(view, tree, settings, clock)]


def _replay_session(view: SessionView, tree: Path, settings: Settings, clock: ReplayClock) -> list[Replayed]:
    session_id = view.steps[0].session_id
    writer = Writer(actor=AGENT, channel=Channel.AGENT, session_id=session_id)
    clock.now = parse_timestamp(view.steps[0].at) - MOMENT
    with Hivemind.open(directory=tree, settings=settings, writer=writer, clock=clock) as mind:
        mind.brief()
        for step in view.steps:
            # Hooks tell before a call, and after what a person typed and after a failure.
            clock.now = parse_timestamp(step.at) - MOMENT
            if step.seen is ObservationKind.PROMPT and not step.subagent:
                clock.now += 2 * MOMENT
                mind.on_prompt(step.text)
            elif step.seen is ObservationKind.TOOL and not step.subagent:
                for _ in act(mind, view, step, between=lambda: _pass(clock)):
                    pass
        lines = mind.history.receipts(session_id, limit=10_000)
        memories = {memory.id: memory for memory in mind.browse.get_all({line.memory_id for line in lines})}
    tellings = [Telling(receipt=line, memory=memories[line.memory_id]) for line in lines if line.memory_id in memories]
    pairs = zip(tellings, judge_tellings(tellings, view.steps), strict=True)
    return [Replayed(telling, outcome, view.steps) for telling, outcome in pairs]


def _pass(clock: ReplayClock) -> None:
    """Let the call pass, so that what is told after it stands after it."""
    clock.now += 2 * MOMENT


def sample_cases(name: str, replayed: Sequence[Replayed]) -> Iterator[dict[str, Any]]:
    """Yield the claims, at most some for each memory and outcome, with what a reader needs to judge them."""
    claims = [item for item in replayed if item.outcome.kind not in QUIET_KINDS]
    random.Random(SEED).shuffle(claims)
    counts: Counter[str] = Counter()
    for item in claims:
        counts[item.outcome.memory_id] += 1
        if counts[item.outcome.memory_id] <= MOST_PER_MEMORY:
            yield _describe(name, item)


def _describe(name: str, item: Replayed) -> dict[str, Any]:
    receipt, outcome, steps = item.telling.receipt, item.outcome, item.steps
    place = sum(step.at <= receipt.at for step in steps)
    evidence_place = next((at for at, step in enumerate(steps) if step.source_id == outcome.evidence), None)
    case: dict[str, Any] = {
        "repository": name,
        "session": receipt.session_id,
        "memory": item.telling.memory.text,
        "kind": item.telling.memory.kind,
        "told_at": receipt.at,
        "occasion": receipt.occasion or ("prompt" if receipt.query else "brief"),
        "query": receipt.query[:LONGEST],
        "claim": outcome.kind,
        "claim_in_words": outcome.kind.label,
        "steps_in_session": len(steps),
        "around_the_telling": [_format(steps[at], at) for at in _range(place, steps)],
    }
    if evidence_place is not None:
        case["evidence"] = _format(steps[evidence_place], evidence_place)
        case["around_the_evidence"] = [_format(steps[at], at) for at in _range(evidence_place, steps)]
    if receipt.occasion == "edits":
        file = receipt.query.split(", ")[0]
        case["later_changes_of_the_file"] = [
            _format(steps[at], at) for at in range(place, len(steps)) if _may_change(steps[at], file)
        ][:20]
    if receipt.occasion == "failures":
        case["later_runs"] = [_format(steps[at], at) for at in range(place, len(steps)) if steps[at].command][:15]
    return case


def _may_change(step: Observation, file: str) -> bool:
    is_edit = bool(step.diff) and step.file.endswith(Path(file).name)
    return is_edit or any(word in step.command for word in ("git checkout", "git restore", "git revert", "git stash",
                                                            "git reset", Path(file).name))  # fmt: skip


def _range(middle: int, steps: Sequence[Observation]) -> range:
    return range(max(0, middle - STEPS_AROUND), min(len(steps), middle + STEPS_AROUND))


def _format(step: Observation, place: int) -> str:
    parts = [f"#{place} {step.at[11:19]} {step.seen.value}"]
    parts += [f"subagent {step.subagent}"] if step.subagent else []
    parts += [f"$ {step.command[:LONGEST]}"] if step.command else []
    parts += [f"file {step.file}"] if step.file else []
    parts += ["FAILED"] if step.failed else []
    parts += [step.text[:LONGEST]] if step.text else []
    parts += [f"diff:\n{step.diff[:LONGEST]}"] if step.diff else []
    parts += [f"output: {_shorten(step.output)}"] if step.output and not step.diff else []
    return " | ".join(parts)


def _shorten(output: str) -> str:
    half = LONGEST // 2
    return output if len(output) <= LONGEST else f"{output[:half]} […] {output[-half:]}"


if __name__ == "__main__":
    main()
