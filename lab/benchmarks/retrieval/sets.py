"""Read public question sets from a folder that the user names; none is shipped.

Each set yields stores to fill and questions to ask. lab/notes/ranking.md says which files each reader wants.
"""

import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A text to store and find."""

    id: str
    text: str
    session: str = ""
    date: str = ""
    hidden: str = ""
    """Why it must not be found: ``elsewhere`` or ``retracted``; empty for an ordinary text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question and the ids of the texts that answer it."""

    text: str
    relevant: tuple[str, ...]
    is_answerable: bool = True
    """Whether its store contains an answer at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A store to fill and the questions for it."""

    texts: tuple[Text, ...]
    questions: tuple[Question, ...]


def longmemeval(data: Path) -> Iterator[Case]:
    """Yield LongMemEval-S: which of about fifty sessions contain the answer; one store per question."""
    for entry in _read_json(data / "longmemeval", "longmemeval_s*.json", "longmemeval_s*.json.gz"):
        # The original session ids give the answer away, so sessions get numbers instead.
        number = {own: f"s{place}" for place, own in enumerate(entry["haystack_session_ids"])}
        texts = tuple(
            Text(id=f"s{place}", text="\n".join(turn["content"] for turn in turns), date=read_date(date))
            for place, (turns, date) in enumerate(zip(entry["haystack_sessions"], entry["haystack_dates"], strict=True))
        )
        relevant = tuple(dict.fromkeys(number[own] for own in entry["answer_session_ids"]))
        answerable = not entry["question_id"].endswith("_abs")
        yield Case(
            texts=texts, questions=(Question(text=entry["question"], relevant=relevant, is_answerable=answerable),)
        )


def locomo(data: Path) -> Iterator[Case]:
    """Yield LoCoMo: which turns of a conversation over months contain the evidence."""
    for sample in _read_json(data / "locomo", "locomo*.json"):
        texts = _list_turns(sample["conversation"])
        turn_ids = {text.id for text in texts}
        questions = [
            Question(text=entry["question"], relevant=evidence)
            for entry in sample["qa"]
            if (evidence := _parse_evidence(entry["evidence"], turn_ids))
        ]
        yield Case(texts=tuple(texts), questions=tuple(questions))


def locomo_plus(data: Path) -> Iterator[Case]:
    """Yield LoCoMo-Plus: which remark, months ago, makes somebody understand what is said now.

    Each conversation of LoCoMo gets every tenth remark, so that one store serves many questions, and the remarks
    compete with each other too.
    """
    samples = _read_json(data / "locomo-plus", "locomo10.json")
    entries = _read_json(data / "locomo-plus", "locomo_plus.json")
    for place, sample in enumerate(samples):
        talk = sample["conversation"]
        speakers = {"A": talk["speaker_a"], "B": talk["speaker_b"]}
        texts = _list_turns(talk)
        questions = []
        for number, entry in list(enumerate(entries))[place :: len(samples)]:
            turns = [
                f"{speakers[line[0]]}:{line[2:]}"
                for line in entry["cue_dialogue"].splitlines()
                if line[:2] in ("A:", "B:")
            ]
            texts += [
                Text(id=f"cue {number}:{turn}", text=text, session=f"cue {number}") for turn, text in enumerate(turns)
            ]
            question = re.sub(r"^A:\s*", "", entry["trigger_query"])
            questions.append(Question(text=question, relevant=(f"cue {number}:0",)))
        yield Case(texts=tuple(texts), questions=tuple(questions))


def beam(data: Path) -> Iterator[Case]:
    """Yield BEAM-100K: which messages of a long conversation contain the evidence."""
    for folder in sorted((data / "beam" / "100K").iterdir(), key=lambda path: int(path.name)):
        texts: list[Text] = []
        date = ""
        for batch in _read_json(folder, "chat.json"):
            for turn in (turn for group in batch["turns"] for turn in group):
                date = turn.get("time_anchor") or date
                text = re.sub(r"\s*->->.*$", "", turn["content"], flags=re.DOTALL)
                session = str(batch["batch_number"])
                texts.append(Text(id=str(turn["id"]), text=text, session=session, date=read_date(date)))
        entries = (entry for group in _read_json(folder, "probing_questions.json").values() for entry in group)
        questions = [
            Question(text=entry["question"], relevant=relevant, is_answerable=bool(relevant))
            for entry in entries
            for relevant in [tuple(dict.fromkeys(map(str, _list_leaves(entry.get("source_chat_ids")))))]
        ]
        yield Case(texts=tuple(texts), questions=tuple(questions))


def swe(data: Path) -> Iterator[Case]:
    """Yield SWE-bench: which earlier fixes of the same repository touched the same file; one store per issue."""
    issues = {
        issue["instance_id"]: issue
        for name in ("lite", "verified")
        for issue in _read_lines(data / "swebench" / f"{name}.jsonl")
    }
    by_repo: dict[str, list[Any]] = {}
    for issue in sorted(issues.values(), key=lambda issue: (issue["repo"], _parse_date(issue), issue["instance_id"])):
        by_repo.setdefault(issue["repo"], []).append(issue)
    for history in by_repo.values():
        for place, issue in enumerate(history):
            earlier = [fix for fix in history[:place] if _parse_date(fix) < _parse_date(issue)]
            relevant = tuple(fix["instance_id"] for fix in earlier if set(fix["gold_files"]) & set(issue["gold_files"]))
            if relevant and len(earlier) >= 10:
                texts = tuple(
                    Text(id=fix["instance_id"], text=_format_fix(fix), date=read_date(fix["base_date"]))
                    for fix in earlier
                )
                yield Case(texts=texts, questions=(Question(text=issue["problem_statement"], relevant=relevant),))


def cosqa(data: Path) -> Iterator[Case]:
    """Yield CoSQA: which of 6,267 Python functions a web question asks for."""
    functions = _read_json(data / "cosqa", "code_idx_map.txt")
    entries = _read_json(data / "cosqa", "cosqa-retrieval-test-500.json", "cosqa-retrieval-*-500.json")
    yield Case(
        texts=tuple(Text(id=str(number), text=code) for code, number in functions.items()),
        questions=tuple(Question(text=entry["doc"], relevant=(str(entry["retrieval_idx"]),)) for entry in entries),
    )


SETS = {
    "longmemeval": longmemeval,
    "locomo": locomo,
    "locomo-plus": locomo_plus,
    "beam": beam,
    "swe": swe,
    "cosqa": cosqa,
}


def _read_json(folder: Path, *patterns: str) -> Any:
    """Read the first file that matches, because each part of a set has a file name of its own."""
    for path in (path for pattern in patterns for path in sorted(folder.glob(pattern))):
        raw = path.read_bytes()
        return json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)
    raise SystemExit(f"{folder} contains none of {', '.join(patterns)}; download the set first (lab/notes/ranking.md)")


def _read_lines(path: Path) -> Iterator[Any]:
    return (json.loads(line) for line in path.read_text().splitlines())


def _list_turns(talk: dict[str, Any]) -> list[Text]:
    """Return the turns of a LoCoMo conversation, session by session."""
    sessions = sorted((name for name in talk if re.fullmatch(r"session_\d+", name)), key=lambda name: int(name[8:]))
    return [
        Text(
            id=turn["dia_id"], text=_format_turn(turn), session=name, date=read_date(talk.get(f"{name}_date_time", ""))
        )
        for name in sessions
        for turn in talk[name]
    ]


def _format_turn(turn: dict[str, str]) -> str:
    caption = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
    return f"{turn['speaker']}: {turn['text']}{caption}"


def _parse_evidence(references: list[str], turn_ids: set[str]) -> tuple[str, ...]:
    """Return the ids of existing turns; the set writes some as ``D8:6; D9:17`` or ``D30:05``."""
    turns = (
        f"D{int(a)}:{int(b)}" for reference in references for a, b in re.findall(r"D:?\s*(\d+):0*(\d+)", reference)
    )
    return tuple(dict.fromkeys(turn for turn in turns if turn in turn_ids))


def _list_leaves(value: Any) -> Iterator[Any]:
    match value:
        case dict():
            yield from (leaf for child in value.values() for leaf in _list_leaves(child))
        case list():
            yield from (leaf for child in value for leaf in _list_leaves(child))
        case None:
            return
        case _:
            yield value


def _format_fix(issue: dict[str, Any]) -> str:
    return f"{issue['problem_statement']}\nFiles changed: {' '.join(issue['gold_files'])}\n{issue['patch']}"


def _parse_date(issue: dict[str, Any]) -> datetime:
    try:
        return datetime.fromisoformat(issue["base_date"]).astimezone()
    except ValueError:
        return datetime.fromisoformat(issue["base_date"][:19] + "+00:00")


def read_date(text: str) -> str:
    """Parse a date in any of the sets' formats into ISO form; empty where that fails."""
    for form in (
        "%Y/%m/%d (%a) %H:%M",
        "%I:%M %p on %d %B, %Y",
        "%B-%d-%Y",
        "%Y-%m-%d %H:%M:%S%z",
        "%Y-%m-%dT%H:%M:%S%z",
    ):
        try:
            return datetime.strptime(text, form).isoformat()  # noqa: DTZ007 - the sets give none
        except ValueError:
            continue
    return ""
