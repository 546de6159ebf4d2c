"""Write a question set as passages, questions and BM25 scores, so that a machine without the package can score models.

python -m lab.training.cases DATA OUT.json.xz
"""

import json
import lzma
import re
import sqlite3
import sys
from pathlib import Path
from typing import Any

from hivemind.text.search_terms import extract_terms, split_passages
from lab.benchmarks.retrieval.sets import SETS, Case


def main() -> None:
    """Write every set that the folder has."""
    data, out = Path(sys.argv[1]), Path(sys.argv[2])
    folders = {"swe": "swebench"}
    passages: dict[str, int] = {}
    sets = {
        name: [describe(case, passages) for case in read(data) if any(q.relevant for q in case.questions)]
        for name, read in SETS.items()
        if (data / folders.get(name, name)).is_dir()
    }
    content = json.dumps({"passages": list(passages), "sets": sets}, ensure_ascii=False)
    out.write_bytes(lzma.compress(content.encode("utf-8", "replace"), preset=2))
    for name, cases in sets.items():
        print(f"{name}: {len(cases)} stores, {sum(len(case['questions']) for case in cases)} questions")


def describe(case: Case, passages: dict[str, int]) -> dict[str, Any]:
    """Return one store; its passages are numbers in a table that all stores share."""
    owners: list[int] = []
    numbers: list[int] = []
    for place, text in enumerate(case.texts):
        for passage in split_passages(text.text) or ["(empty)"]:
            owners.append(place)
            numbers.append(passages.setdefault(passage, len(passages)))
    places = {text.id: place for place, text in enumerate(case.texts)}
    questions = [question for question in case.questions if question.relevant]
    return {
        "texts": len(case.texts),
        "owners": owners,
        "passages": numbers,
        "questions": [question.text for question in questions],
        "relevant": [[places[text_id] for text_id in q.relevant if text_id in places] for q in questions],
        "words": score_words([text.text for text in case.texts], [question.text for question in questions]),
    }


def score_words(texts: list[str], questions: list[str]) -> list[dict[str, float]]:
    """Return BM25 of plain FTS5 for each question, by the number of the text."""
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5 (text, tokenize = 'porter unicode61')")
    db.executemany("INSERT INTO t (rowid, text) VALUES (?, ?)", enumerate(_clean(text) for text in texts))
    scores = []
    for question in questions:
        expression = " OR ".join(f'"{term}"' for term in extract_terms(_clean(question))) or '""'
        rows = db.execute(
            "SELECT rowid, bm25(t) FROM t WHERE t MATCH ? ORDER BY 2 LIMIT 300", (expression.replace("\x00", " "),)
        )
        scores.append({str(row): round(-score, 3) for row, score in rows})
    return scores


def _clean(text: str) -> str:
    return re.sub("[\ufffd\x00]", " ", text.encode("utf-8", "replace").decode())


if __name__ == "__main__":
    main()
