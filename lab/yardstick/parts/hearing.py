"""Read prompts of people who are in no training set, and see which lasting sentences are kept, and what else."""

import json
import re
from collections.abc import Sequence
from typing import Any

from lab.yardstick.adapter import Turn
from lab.yardstick.material import CASES, read_rows
from lab.yardstick.parts import Figures, Run, count, is_absent, try_out

COVERED_SHARE = 0.6
SPLITS = {"development": "dev", "test": "test"}


def measure(run: Run) -> Figures:
    """Give each prompt in a session of its own, and compare what is kept with the labels."""
    lines = map(json.loads, run.need("hearing.jsonl").read_text("utf-8").splitlines())
    rows = run.cut(row for row in lines if row["part"] == SPLITS[run.part])
    labels: dict[str, list[str]] = {row["id"]: [] for row in rows}
    prompts = {row["id"]: row["prompt"] for row in rows}
    for label in read_rows(CASES / "hearing" / "labels.tsv"):
        if label["prompt"] in labels and label["grade"] == "keep":
            labels[label["prompt"]].append(prompts[label["prompt"]][int(label["begin"]) : int(label["end"])])
    turns = [Turn(row["prompt"], row["reply"]) for row in rows]
    figures: Figures = {"prompts": len(turns), "lasting sentences": sum(map(len, labels.values()))}
    for name, work in (("kept by itself", run.adapter.hear), ("brought to the agent to judge", run.adapter.suggest)):
        with run.open_store(f"hearing-{name[:4]}"):
            kept: Any = try_out(work, turns)
        figures |= {f"lasting sentences {name}": kept} if is_absent(kept) else compare(name, [*labels.values()], kept)
    return figures


def compare(name: str, labels: Sequence[Sequence[str]], kept: Sequence[Sequence[str]]) -> Figures:
    """Compare labelled sentences with what was kept of each prompt."""
    texts = [(text, sentences) for sentences, own in zip(labels, kept, strict=True) for text in own]
    return {
        f"lasting sentences {name}": count(
            any(is_covered(sentence, text) for text in own)
            for sentences, own in zip(labels, kept, strict=True)
            for sentence in sentences
        ),
        f"{name}, but not lasting": count(
            not any(is_covered(sentence, text) for sentence in sentences) for text, sentences in texts
        ),
    }


def is_covered(sentence: str, quote: str) -> bool:
    """Whether two sentences share enough of the words of the shorter one."""
    words, quoted_words = (set(re.findall(r"\w+", text.lower())) for text in (sentence, quote))
    shortest = min(len(words), len(quoted_words))
    return bool(shortest) and len(words & quoted_words) >= COVERED_SHARE * shortest
