"""Change code under a memory, and see whether what became wrong is noticed and what holds is left alone."""

import json
from pathlib import Path
from typing import Any

from lab.yardstick.adapter import Change, Note
from lab.yardstick.parts import Figures, Run, commit, count

QUIET = ("comments", "unchanged")
FOLLOWED = ("moved", "renamed")


def measure(run: Run) -> Figures:
    """Remember sentences about code, replace the code, and ask what the system says about each."""
    lines = run.need("change.jsonl").read_text("utf-8").splitlines()
    groups = [group for group in map(json.loads, lines) if group["cases"] and group["cases"][0]["part"] == run.part]
    outcomes = []
    with run.open_store("change"):
        for number, group in enumerate(run.cut(groups)):
            outcomes += judge(run, run.make_repo(f"change-{number}"), group)
    return summarise(outcomes)


def judge(run: Run, repo: Path, group: dict[str, Any]) -> list[tuple[dict[str, Any], Change]]:
    """Judge the sentences about one pair of commits, in a repository that has only the files that differ."""
    write_tree(repo, group["before"])
    run.adapter.check_changes(repo)
    ids = [
        run.adapter.remember(Note(text=case["sentence"], repo=repo, link=f"{case['path']}::{case['symbol']}"))
        for case in group["cases"]
    ]
    for name in group["before"]:
        (repo / name).unlink()
    write_tree(repo, group["after"])
    changes = run.adapter.check_changes(repo)
    return [(case, changes.get(note_id, Change(asks=False))) for case, note_id in zip(group["cases"], ids, strict=True)]


def write_tree(repo: Path, files: dict[str, str]) -> None:
    """Write files and commit them."""
    for name, text in files.items():
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(text)
    commit(repo, "add", "-A")
    commit(repo, "commit", "-qm", "Change", "--allow-empty")


def summarise(outcomes: list[tuple[dict[str, Any], Change]]) -> Figures:
    """Return the figures."""
    loud = [(case, change) for case, change in outcomes if case["change"] not in QUIET]
    followed = [(case, change) for case, change in outcomes if case["change"] in FOLLOWED and case["to"]]
    return {
        "sentences that became wrong: asked to verify": count(change.asks for case, change in loud if not case["holds"]),
        "sentences that still hold, code changed: asked to verify": count(change.asks for case, change in loud if case["holds"]),
        "only comments or layout changed: asked to verify": count(change.asks for case, change in outcomes if case["change"] in QUIET),
        "moved or renamed: the new place is named": count(is_same_place(change.place, case["to"]) for case, change in followed),
        "deleted: asked to verify": count(change.asks for case, change in outcomes if case["change"] == "deleted"),
    }  # fmt: skip


def is_same_place(place: str, target: str) -> bool:
    """Whether a place is the one of a case, which may leave out the classes around a symbol."""
    (path, _, qualified), (target_path, _, name) = place.partition("::"), target.partition("::")
    return path == target_path and f".{qualified}".endswith(f".{name}")
