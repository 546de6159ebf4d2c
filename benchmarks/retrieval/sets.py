"""Public question sets, read from a folder the user points at; nothing of them is shipped.

Each gives stores to fill and questions to ask of them. Where to get them, and under which licence, is in
docs/explanation/ranking.md.
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
    """Something to be found."""

    id: str
    text: str
    session: str = ""
    date: str = ""
    hidden: str = ""
    """Why it must not be found: ``elsewhere``, or ``retracted``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, and what should come back."""

    text: str
    wanted: tuple[str, ...]
    is_answerable: bool = True
    """Whether its store holds an answer at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A store to fill and the questions for it."""

    texts: tuple[Text, ...]
    questions: tuple[Question, ...]


def longmemeval(data: Path) -> Iterator[Case]:
    """LongMemEval-S: which of about fifty sessions hold the answer. A store for each question."""
    for entry in _read_json(data / "longmemeval", "longmemeval_s_cleaned.json", "longmemeval_s_dev50.json.gz"):
        # Its own session ids tell which hold the answer, so they are numbered anew.
        number = {own: f"s{place}" for place, own in enumerate(entry["haystack_session_ids"])}
        texts = tuple(
            Text(id=f"s{place}", text="\n".join(turn["content"] for turn in turns), date=read_date(date))
            for place, (turns, date) in enumerate(zip(entry["haystack_sessions"], entry["haystack_dates"], strict=True))
        )
        wanted = tuple(dict.fromkeys(number[own] for own in entry["answer_session_ids"]))
        answerable = not entry["question_id"].endswith("_abs")
        yield Case(texts=texts, questions=(Question(text=entry["question"], wanted=wanted, is_answerable=answerable),))


def locomo(data: Path) -> Iterator[Case]:
    """LoCoMo: which turns of a conversation of months hold the evidence."""
    for sample in _read_json(data / "locomo", "locomo10.json", "locomo_dev3.json"):
        talk = sample["conversation"]
        texts = [
            Text(id=turn["dia_id"], text=_turn(turn), session=name, date=read_date(talk.get(f"{name}_date_time", "")))
            for name in sorted((n for n in talk if re.fullmatch(r"session_\d+", n)), key=lambda n: int(n[8:]))
            for turn in talk[name]
        ]
        known = {text.id for text in texts}
        questions = [
            Question(text=asked["question"], wanted=evidence)
            for asked in sample["qa"]
            if (evidence := _evidence(asked["evidence"], known))
        ]
        yield Case(texts=tuple(texts), questions=tuple(questions))


def beam(data: Path) -> Iterator[Case]:
    """BEAM-100K: which messages of a long conversation hold the evidence."""
    for folder in sorted((data / "beam" / "100K").iterdir(), key=lambda path: int(path.name)):
        texts: list[Text] = []
        date = ""
        for batch in _read_json(folder, "chat.json"):
            for turn in (turn for group in batch["turns"] for turn in group):
                date = turn.get("time_anchor") or date
                said = re.sub(r"\s*->->.*$", "", turn["content"], flags=re.DOTALL)
                session = str(batch["batch_number"])
                texts.append(Text(id=str(turn["id"]), text=said, session=session, date=read_date(date)))
        asked = (one for group in _read_json(folder, "probing_questions.json").values() for one in group)
        questions = [
            Question(text=one["question"], wanted=wanted, is_answerable=bool(wanted))
            for one in asked
            for wanted in [tuple(dict.fromkeys(map(str, _leaves(one.get("source_chat_ids")))))]
        ]
        yield Case(texts=tuple(texts), questions=tuple(questions))


def swe(data: Path) -> Iterator[Case]:
    """SWE-bench: which earlier fixes of the same repository touched the same file. A store for each issue."""
    issues = {
        one["instance_id"]: one for name in ("lite", "verified") for one in _lines(data / "swebench" / f"{name}.jsonl")
    }
    by_repo: dict[str, list[Any]] = {}
    for issue in sorted(issues.values(), key=lambda one: (one["repo"], _moment(one), one["instance_id"])):
        by_repo.setdefault(issue["repo"], []).append(issue)
    for history in by_repo.values():
        for place, issue in enumerate(history):
            earlier = [one for one in history[:place] if _moment(one) < _moment(issue)]
            related = tuple(one["instance_id"] for one in earlier if set(one["gold_files"]) & set(issue["gold_files"]))
            if related and len(earlier) >= 10:
                texts = tuple(
                    Text(id=one["instance_id"], text=_fix(one), date=read_date(one["base_date"])) for one in earlier
                )
                yield Case(texts=texts, questions=(Question(text=issue["problem_statement"], wanted=related),))


def cosqa(data: Path) -> Iterator[Case]:
    """CoSQA: which of 6,267 Python functions a web question asks for."""
    functions = _read_json(data / "cosqa", "code_idx_map.txt")
    asked = _read_json(data / "cosqa", "cosqa-retrieval-test-500.json", "cosqa-retrieval-dev-500.json")
    yield Case(
        texts=tuple(Text(id=str(number), text=code) for code, number in functions.items()),
        questions=tuple(Question(text=one["doc"], wanted=(str(one["retrieval_idx"]),)) for one in asked),
    )


SETS = {"longmemeval": longmemeval, "locomo": locomo, "beam": beam, "swe": swe, "cosqa": cosqa}


def _read_json(folder: Path, *names: str) -> Any:
    """The first of these files that is there."""
    for path in (folder / name for name in names):
        if path.exists():
            raw = path.read_bytes()
            return json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)
    raise SystemExit(f"none of {', '.join(names)} is in {folder}")


def _lines(path: Path) -> Iterator[Any]:
    return (json.loads(line) for line in path.read_text().splitlines())


def _turn(turn: dict[str, str]) -> str:
    shared = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
    return f"{turn['speaker']}: {turn['text']}{shared}"


def _evidence(written: list[str], known: set[str]) -> tuple[str, ...]:
    """Ids of turns; the set writes some as ``D8:6; D9:17`` or ``D30:05``."""
    found = (f"D{int(a)}:{int(b)}" for one in written for a, b in re.findall(r"D:?\s*(\d+):0*(\d+)", one))
    return tuple(dict.fromkeys(one for one in found if one in known))


def _leaves(value: Any) -> Iterator[Any]:
    match value:
        case dict():
            yield from (leaf for one in value.values() for leaf in _leaves(one))
        case list():
            yield from (leaf for one in value for leaf in _leaves(one))
        case None:
            return
        case _:
            yield value


def _fix(issue: dict[str, Any]) -> str:
    return f"{issue['problem_statement']}\nFiles changed: {' '.join(issue['gold_files'])}\n{issue['patch']}"


def _moment(issue: dict[str, Any]) -> datetime:
    try:
        return datetime.fromisoformat(issue["base_date"]).astimezone()
    except ValueError:
        return datetime.fromisoformat(issue["base_date"][:19] + "+00:00")


def read_date(written: str) -> str:
    """A date in any of the ways the sets write it; empty where it cannot be read."""
    for form in (
        "%Y/%m/%d (%a) %H:%M",
        "%I:%M %p on %d %B, %Y",
        "%B-%d-%Y",
        "%Y-%m-%d %H:%M:%S%z",
        "%Y-%m-%dT%H:%M:%S%z",
    ):
        try:
            return datetime.strptime(written, form).isoformat()  # noqa: DTZ007 - the sets give none
        except ValueError:
            continue
    return ""
