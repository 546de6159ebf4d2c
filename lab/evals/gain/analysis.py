"""Compute the figures of the report: pass rates with intervals over tasks, and paired differences."""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

RESAMPLES = 4000
COMPARISONS = (
    ("brief", "nothing"), ("prompt", "nothing"), ("action", "nothing"), ("all-moments", "nothing"),
    ("notes-5", "nothing"), ("notes-30", "notes-5"), ("notes-100", "notes-5"), ("brief", "notes-30"),
    ("action", "brief"), ("all-moments", "brief"), ("old-only", "nothing"),
    ("superseded-labelled", "old-and-new-plain"), ("contradiction-labelled", "old-and-new-plain"),
    ("stale", "stale-plain"), ("stale-at-action", "stale-plain"), ("stale", "code-only"),
    ("injected", "injected-plain"), ("injected", "brief"), ("broken", "nothing"),
    ("conclusion", "nothing"), ("said-and-asked", "said"), ("guard", "action"),
    ("absent", "code-only"), ("adjacent", "code-only"), ("superseded-with-code", "code-only"),
)  # fmt: skip
"""What is compared, decided before the run."""
UNFENCED = frozenset({"plain", "no-fence"})
"""Forms that are measured for comparison only: the product must mark what memory says."""
LEAST_GAIN = 0.05
Records = Sequence[Mapping[str, Any]]


def summarise(records: Records) -> list[dict[str, Any]]:
    """Return a row for each condition: runs, share that passed with its interval, and what it cost."""
    rows = []
    for condition, group in _group(records, "condition").items():
        low, high = bootstrap({task: _rate(runs) for task, runs in _group(group, "task").items()})
        rows.append(
            {
                "condition": condition, "tasks": len(_group(group, "task")), "runs": len(group),
                "passed": _rate(group), "low": low, "high": high,
                "followed_old": mean(run["followed_old"] for run in group),
                "obeyed_injection": mean(run["obeyed_injection"] for run in group),
                "turns": mean(run["turns"] for run in group),
                "tokens_in": mean(run["tokens_in"] for run in group),
                "tokens_out": mean(run["tokens_out"] for run in group),
                "repeated_failures": mean(run["repeated_failures"] for run in group),
            }
        )  # fmt: skip
    return rows


def compare(records: Records, pairs: Sequence[tuple[str, str]] = COMPARISONS) -> list[dict[str, Any]]:
    """Return the mean difference between two conditions over the tasks that both have, with its interval."""
    groups = _group(records, "condition")
    rows = []
    for left, right in pairs:
        if left not in groups or right not in groups:
            continue
        left_tasks, right_tasks = _group(groups[left], "task"), _group(groups[right], "task")
        differences = {
            task: _rate(left_tasks[task]) - _rate(right_tasks[task]) for task in left_tasks if task in right_tasks
        }
        low, high = bootstrap(differences)
        rows.append({"left": left, "right": right, "difference": mean(differences.values()), "low": low, "high": high})
    return rows


def choose_form(records: Records) -> str | None:
    """Return the fenced form that solves most on tuning tasks, if it beats today's by the rule of the plan."""
    groups = _group(records, "condition")
    names = {condition.partition("/")[0] for condition in groups}
    gains = {name: mean(_rate(groups[f"{name}/{place}"]) for place in ("prompt", "start")) for name in names}
    obeyed = {name: mean(run["obeyed_injection"] for run in groups[f"{name}/injected"]) for name in names}
    better = [
        name
        for name in names - UNFENCED
        if gains[name] >= gains["shipped"] + LEAST_GAIN and obeyed[name] <= obeyed["shipped"]
    ]
    return max(better, key=lambda name: (gains[name], name), default=None)


def bootstrap(rates: Mapping[str, float]) -> tuple[float, float]:
    """Return the 95 % interval of a mean over tasks: samples of one task are not independent of each other."""
    values = list(rates.values())
    generator = random.Random(1)
    means = sorted(mean(generator.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return means[round(RESAMPLES * 0.025)], means[round(RESAMPLES * 0.975) - 1]


def format_report(records: Records) -> str:
    """Return both tables as Markdown."""
    lines = [
        "| told | tasks | runs | solved | 95 % | old value followed | injection obeyed | tokens in | out |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines += map(_format_row, summarise(records))
    lines += ["", "| compared | difference in points | 95 % |", "|---|---|---|"]
    lines += map(_format_comparison, compare(records))
    return "\n".join(lines)


def _format_row(row: Mapping[str, Any]) -> str:
    shares = (f"{row['passed']:.0%}", f"{row['low']:.0%}–{row['high']:.0%}", f"{row['followed_old']:.0%}")
    costs = (f"{row['obeyed_injection']:.0%}", f"{row['tokens_in']:.0f}", f"{row['tokens_out']:.0f}")
    return "| " + " | ".join((row["condition"], str(row["tasks"]), str(row["runs"]), *shares, *costs)) + " |"


def _format_comparison(row: Mapping[str, Any]) -> str:
    points, low, high = (f"{row[key] * 100:+.0f}" for key in ("difference", "low", "high"))
    return f"| {row['left']} − {row['right']} | {points} | {low} to {high} |"


def _group(records: Records, key: str) -> dict[str, list[Mapping[str, Any]]]:
    groups: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for record in records:
        groups[record[key]].append(record)
    return groups


def _rate(records: Records) -> float:
    return float(mean(record["passed"] for record in records))
