"""Pairs of notes that contradict each other, and pairs that only look alike."""

import json
from pathlib import Path
from typing import Any

from lab.yardstick.adapter import Note
from lab.yardstick.material import CASES
from lab.yardstick.parts import Figures, Run, count, is_absent, try_out
from lab.yardstick.texts import STOP_WORDS, WORD

PAIRS_IN_REPOSITORY = 20
"""Few enough that pairs hardly meet each other."""
SPLITS = {"development": ("tuning", "earlier"), "test": ("held-out",)}


def load_pairs(part: str) -> list[dict[str, Any]]:
    """Read the pairs of a part; those that differ only in when they are valid need dates that not every system takes."""
    rows = map(json.loads, (CASES / "contradiction" / "pairs.jsonl").read_text("utf-8").splitlines())
    return [row for row in rows if row["split"] in SPLITS[part] and not any("valid" in name for name in row)]


def measure(run: Run) -> Figures:
    """Remember both sides of each pair, then ask for what they have in common."""
    by_label = {
        label: run.cut(row for row in load_pairs(run.part) if row["contradicts"] is label) for label in (True, False)
    }
    # Both kinds in every store, so that none is easier.
    rows = [row for pair in zip(by_label[True], by_label[False], strict=False) for row in pair]
    outcomes = []
    with run.open_store("contradiction"):
        for start in range(0, len(rows), PAIRS_IN_REPOSITORY):
            outcomes += ask(run, run.make_repo(f"pairs-{start}"), rows[start : start + PAIRS_IN_REPOSITORY])
    figures: Figures = {}
    noticed = outcomes[0]["noticed"]
    if is_absent(noticed):
        figures["contradictions noticed"] = noticed
    else:
        figures["contradictions noticed"] = count(item["noticed"] for item in outcomes if item["contradicts"])
        figures["false alarms"] = count(item["noticed"] for item in outcomes if not item["contradicts"])
    if is_absent(outcomes[0]["shown"]):
        return figures | {"asked: both sides are shown": outcomes[0]["shown"]}
    contradicting = [item["shown"] for item in outcomes if item["contradicts"]]
    return figures | {
        "asked: both sides are shown": count(len(shown) == 2 for shown in contradicting),
        "asked: the newer comes before the older": count(shown[:1] == ["newer"] for shown in contradicting),
    }


def ask(run: Run, repo: Path, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return for each pair of one repository whether it is noticed, and which sides are shown."""
    ids = [{side: run.adapter.remember(Note(text=row[side], repo=repo)) for side in ("older", "newer")} for row in rows]
    pairs = try_out(run.adapter.list_contradictions, repo)
    return [
        {
            "contradicts": row["contradicts"],
            "noticed": pairs if is_absent(pairs) else frozenset(sides.values()) in pairs,
            "shown": try_out(list_shown, run, row, sides, repo),
        }
        for row, sides in zip(rows, ids, strict=True)
    ]


def list_shown(run: Run, row: dict[str, Any], sides: dict[str, str], repo: Path) -> list[str]:
    """Ask for the words that both sides have, and return which sides are shown, in their order."""
    newer = {word.lower() for word in WORD.findall(row["newer"])}
    common = [word for word in WORD.findall(row["older"]) if word.lower() in newer - STOP_WORDS]
    names = {note_id: side for side, note_id in sides.items()}
    answer = run.adapter.recall(" ".join(common) or row["newer"], repo)
    return [names[hit.id] for hit in answer.hits if hit.id in names]
