"""A decision was taken in an earlier session; a task comes in other words."""

import json
import random
from pathlib import Path
from statistics import mean
from typing import Any

from lab.yardstick.adapter import Answer, NotRun
from lab.yardstick.material import CASES
from lab.yardstick.parts import Figures, Run, average, count, is_absent, try_out
from lab.yardstick.texts import CHARACTERS_PER_TOKEN, count_tokens, list_terms, measure_share
from lab.yardstick.transcripts import Message, read_messages

ENOUGH, WHOLE_PHRASE = 0.5, 0.6
"""The share of a rule's words, or of its phrases, that tells it; and of the words of a phrase."""
FOREIGN_PROMPTS, FEWEST_WORDS, SEED = 20, 8, 7
"""Prompts of people in other repositories that nothing here concerns, and how many words each has at least."""
FEW_TOKENS = 400
"""A budget for an answer that all can be compared at, because whole sessions contain everything."""
PASSAGE = 60
"""Characters by which the session of a hit is found, if the system does not name it."""


def measure(run: Run) -> Figures:
    """Take in the sessions of each repository, then put the tasks, unasked and asked."""
    folder = run.need("experience")
    files = [path for path in sorted((CASES / "experience" / run.part).glob("*.json")) if (folder / path.stem).is_dir()]
    if not files:
        raise NotRun("none of the repositories with sessions could be fetched")
    prompts = {path.stem: draw_prompts(folder / path.stem) for path in files}
    repositories = []
    with run.open_store("experience"):
        for path in run.cut(files):
            foreign = [prompt for name, others in prompts.items() if name != path.stem for prompt in others]
            random.Random(SEED).shuffle(foreign)
            cases = json.loads(path.read_text())
            repositories.append(ask(run, cases, folder / path.stem, run.cut(foreign[:FOREIGN_PROMPTS])))
    return summarise(repositories)


def ask(run: Run, cases: dict[str, Any], folder: Path, foreign: list[str]) -> dict[str, Any]:
    """Return what was told and found in one repository."""
    transcripts = sorted(
        folder.glob("*.jsonl"), key=lambda path: path.read_text("utf-8").partition('"timestamp": ')[2][:22]
    )
    talks = {path.stem: normalise(" ".join(message.text for message in read_messages(path))) for path in transcripts}
    repo = run.make_repo(f"experience-{folder.name.rpartition('__')[2]}")
    run.adapter.observe(transcripts, repo)
    tasks = run.cut(cases["cases"])
    recalled = [(case, try_out(run.adapter.recall, case["prompt"], repo)) for case in tasks]
    told = [(case, try_out(run.adapter.tell, case["prompt"], repo)) for case in tasks]
    silent = None if is_absent(told[0][1]) else {
        "neutral": [run.adapter.tell(prompt, repo) for prompt in run.cut(cases["neutral"])],
        "foreign": [run.adapter.tell(prompt, repo) for prompt in foreign],
    }  # fmt: skip
    found = [
        (case, answer, [find_session(hit, talks) for hit in answer.hits])
        for case, answer in recalled
        if not is_absent(answer)
    ]
    return {"told": told, "found": found, "recalled": recalled, "silent": silent, "sessions": len(transcripts)}


def summarise(repositories: list[dict[str, Any]]) -> Figures:
    """Return the figures of all repositories."""
    told = [row for repository in repositories for row in repository["told"]]
    recalled = [row for repository in repositories for row in repository["recalled"]]
    rows: list[tuple[dict[str, Any], Answer, list[str]]] = [
        row for repository in repositories for row in repository["found"]
    ]
    figures: Figures = {"repositories": len(repositories), "sessions": sum(item["sessions"] for item in repositories)}
    if is_absent(told[0][1]):
        figures["what was decided is told unasked"] = told[0][1]
    else:
        silent = [repository["silent"] for repository in repositories]
        figures |= {
            "what was decided is told unasked": count(has_rule(case, text) for case, text in told),
            "tasks of the same project that nothing decides: something is told": count(bool(text.strip()) for item in silent for text in item["neutral"]),
            "prompts from other projects: something is told": count(bool(text.strip()) for item in silent for text in item["foreign"]),
            "tokens told with a task, mean": average((count_tokens(text) for _, text in told), 0),
        }  # fmt: skip
    if is_absent(recalled[0][1]):
        return figures | {"asked: what was decided is shown": recalled[0][1]}
    amended = [(case, sessions) for case, _, sessions in rows if case["kind"] == "amended"]
    return figures | {
        "asked: a session that decides comes first": count(sessions[:1] != [] and sessions[0] in {*case["decides"], *case["amends"]} for case, _, sessions in rows),
        "asked: what was decided is shown": count(has_rule(case, answer.text) for case, answer, _ in rows),
        f"asked: what was decided is in the first {FEW_TOKENS} tokens": count(has_rule(case, cut_tokens(answer)) for case, answer, _ in rows),
        "asked, amended later: the newest decision comes before the older ones": count(is_newest_first(case, sessions) for case, sessions in amended),
        "asked: tokens of an answer, mean": average((count_tokens(answer.text) for _, answer, _ in rows), 0),
    }  # fmt: skip


def cut_tokens(answer: Answer) -> str:
    """Return the beginning of what was found, without what a system writes around it."""
    return "\n".join(hit.text for hit in answer.hits)[: FEW_TOKENS * CHARACTERS_PER_TOKEN]


def has_rule(case: dict[str, Any], text: str) -> bool:
    """Whether a text has half of the words of what was decided, or half of its phrases."""
    phrases = [measure_share(list_terms(phrase), text) >= WHOLE_PHRASE for phrase in case["points"]]
    return measure_share(list_terms(case["rule"]), text) >= ENOUGH or mean(phrases) >= ENOUGH


def is_newest_first(case: dict[str, Any], sessions: list[str]) -> bool:
    """Whether the session with the newest decision is shown, and no older one before it."""
    places = [sessions.index(session) for session in case["decides"] if session in sessions]
    older = [sessions.index(session) for session in case["amends"] if session in sessions]
    return bool(places) and min(places) < min(older, default=len(sessions))


def find_session(hit: Any, talks: dict[str, str]) -> str:
    """Return the session that a hit comes from: what the system says, or the one that has its words."""
    if hit.session:
        return str(hit.session)
    passage = normalise(hit.text)
    pieces = [passage[start : start + PASSAGE] for start in range(0, max(1, len(passage) - PASSAGE), PASSAGE)]
    votes = {name: sum(piece in talk for piece in pieces) for name, talk in talks.items()}
    best = max(votes, key=lambda name: votes[name])
    return best if votes[best] else ""


def normalise(text: str) -> str:
    """Return a text without marks and layout, which systems change."""
    return " ".join("".join(letter if letter.isalnum() else " " for letter in text.lower()).split())


def draw_prompts(folder: Path) -> list[str]:
    """Draw prompts that people typed in the sessions of a repository."""
    messages: list[Message] = [message for path in sorted(folder.glob("*.jsonl")) for message in read_messages(path)]
    prompts = [
        message.text for message in messages if message.role == "user" and len(message.text.split()) >= FEWEST_WORDS
    ]
    return random.Random(SEED).sample(prompts, min(len(prompts), FOREIGN_PROMPTS))
