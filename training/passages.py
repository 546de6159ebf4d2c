"""Choose passages that a language model writes questions for, and join its questions to them.

python -m training.passages choose WORK PAIRS... --cases CASES...
python -m training.passages join WORK PAIRS...

The first writes WORK/passages.jsonl (id, style, text); the second reads WORK/questions.jsonl (id, question) and writes
WORK/written.jsonl, a file for ``training.prepare``. Any language model may write in between; INSTRUCTIONS has what it
is asked.
"""

import argparse
import hashlib
import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from training import overlap
from training.corpus import read_pairs
from training.pairs import Pair

INSTRUCTIONS = {
    "chat": "This is part of a conversation from some weeks ago. Write the one short question that a person who took "
    "part would ask today because they forgot a detail that the text answers. If speakers have names, name the person. "
    "Use other words than the text, do not quote it, and do not mention the text or the conversation. Write only the "
    "question.",
    "code": "Write what somebody who needs this code, but has not seen it, would type into a search box. At most "
    "twelve plain words, no names from the code, no quotation marks. Write only the search.",
    "issue": "This is about a change in a software project. Write one or two sentences in which a user who knows "
    "nothing of the change reports what is broken or missing. Use other words than the text, do not quote it. Write "
    "only the report.",
    "doc": "Write the one short question that somebody asks who is stuck and whose answer is in this text. Use other "
    "words than the text, do not quote it, and do not mention the text. Write only the question.",
}
STYLES = {
    "talk": "chat",
    "transcript": "chat",
    "python": "code",
    "code": "code",
    "commit": "issue",
    "fix": "issue",
    "manual": "doc",
    "failure": "doc",
}
SHARES = {"talk": 0.28, "transcript": 0.3, "python": 0.09, "code": 0.09, "commit": 0.06, "fix": 0.06, "manual": 0.12}
"""Of all characters; conversations have most, because the teachers know least about them."""
CHARACTERS = 27_000_000
SHORTEST = 100
MEANING = re.compile(r"[A-Za-z]{3,}")


def main() -> None:
    """Choose passages, or join questions to them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("choose", "join"))
    parser.add_argument("work", type=Path)
    parser.add_argument("pairs", type=Path, nargs="*")
    parser.add_argument("--cases", type=Path, nargs="*", default=[])
    options = parser.parse_args()
    if options.step == "choose":
        forbidden = overlap.read_forbidden_runs(options.cases)
        rows = choose(read_pairs(options.pairs), forbidden, random.Random(18))
        _write_lines(options.work / "passages.jsonl", rows)
    else:
        texts = {name_passage(pair.kind, pair.text): pair.text for pair in read_pairs(options.pairs)}
        pairs = join(texts, _read_lines(options.work / "questions.jsonl"))
        _write_lines(options.work / "written.jsonl", map(asdict, pairs))


def choose(pairs: Iterable[Pair], forbidden: frozenset[int], rng: random.Random) -> list[dict[str, str]]:
    """Return passages of each kind up to its share of the characters, shuffled, so that a part of them is as mixed."""
    texts: dict[str, list[str]] = {kind: [] for kind in SHARES}
    for kind, text in dict.fromkeys((pair.kind, pair.text) for pair in pairs if pair.kind in SHARES):
        if len(text) >= SHORTEST and len(MEANING.findall(text)) >= 12:
            texts[kind].append(text)
    rows = []
    for kind, candidates in texts.items():
        # Longer ones are likelier: most turns of a dialogue are short, but what the product embeds is mostly long.
        candidates.sort(key=lambda text: rng.random() ** (1 / len(text) ** 0.5), reverse=True)
        left = SHARES[kind] * CHARACTERS
        for text in candidates:
            if left <= 0:
                break
            if not overlap.shares_run(text, forbidden):
                left -= len(text.encode())
                rows.append({"id": name_passage(kind, text), "style": STYLES[kind], "text": text})
    rng.shuffle(rows)
    return rows


def name_passage(kind: str, text: str) -> str:
    """Return a name that the same text has in every run."""
    return f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def join(texts: Mapping[str, str], answers: Iterable[dict[str, str]]) -> Iterator[Pair]:
    """Yield each passage with the question written for it, without the words that a language model adds around it."""
    for answer in answers:
        text = texts.get(answer["id"], "")
        question = clean_question(answer["question"])
        if question and text and question.lower() not in text.lower():
            yield Pair(kind=f"asked {STYLES[answer['id'].partition('-')[0]]}", query=question, text=text)


def clean_question(answer: str) -> str:
    """Return the first line without label, list mark or quotation marks; empty if that is no question or search."""
    first = next((line for line in answer.splitlines() if line.strip()), "")
    question = re.sub(r"^\W*(question|search|report|issue|query|title)\W*:\s*", "", first, flags=re.IGNORECASE)
    question = question.strip(" \"'`*#-")
    refers_to_text = re.search(r"(?i)\b(the|this|given|provided) (text|passage|conversation|code snippet)\b", question)
    return "" if refers_to_text or not 12 <= len(question) <= 400 else question


def _read_lines(path: Path) -> Iterator[dict[str, str]]:
    return (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip())


def _write_lines(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
