"""Report runs as JSON, as rows of a table, and as one HTML page that loads nothing."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from lab.evals.tasks.harness import WITHOUT_HIVEMIND, Run, totals
from lab.evals.tasks.task import TASKS

CHARTS = {
    "success": "tasks done right",
    "tokens_in": "tokens read by the agent",
    "reads": "files read",
    "searches": "searches made",
    "stale_mistakes": "mistakes from stale memory",
    "harm": "tasks that fail only with memory",
}
STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}
table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #ddd}
figure{margin:1rem 0;display:inline-block;width:28rem;max-width:100%;vertical-align:top}figcaption{font-weight:600}
text{font:12px system-ui,sans-serif;fill:#222}rect{fill:#5b7fa6}.no{color:#a33}.yes{color:#274}
@media(prefers-color-scheme:dark){body{background:#16181c;color:#ddd}text{fill:#ddd}th,td{border-color:#333}.no{color:#e88}.yes{color:#8c9}}
"""


def as_json(runs: Sequence[Run], about: Mapping[str, str]) -> dict[str, Any]:
    """Return all runs and their totals as plain values."""
    return {**about, "totals": totals(runs), "runs": [asdict(run) for run in runs]}


def rows(runs: Sequence[Run]) -> list[list[str]]:
    """Return a row for each run, then one with the totals of each condition."""
    lines = [
        [
            run.task, run.condition, "yes" if run.success else "no", f"{len(run.reads)} ({run.repeated_reads})",
            f"{len(run.searches)} ({run.repeated_searches})", f"{run.tokens_in:,}", f"{run.seconds:.1f}", _remarks(run),
        ]
        for run in runs
    ]  # fmt: skip
    for name, sums in totals(runs).items():
        reads, searches = (f"{sums[key]} ({sums[f'repeated_{key}']})" for key in ("reads", "searches"))
        costs = (f"{sums['tokens_in']:,}", f"{sums['seconds']:.1f}")
        harm = f"{sums['harm']} harmed" if sums["harm"] else ""
        lines.append(["total", name, f"{sums['success']}/{sums['tasks']}", reads, searches, *costs, harm])
    return lines


COLUMNS = ("task", "condition", "done right", "reads (again)", "searches (again)", "tokens in", "seconds", "remarks")


def page(runs: Sequence[Run], about: Mapping[str, str]) -> str:
    """Render the page."""
    sums = totals(runs)
    charts = "".join(
        _chart(title, {name: figures[key] for name, figures in sums.items()}) for key, title in CHARTS.items()
    )
    facts = "".join(f"<li>{html.escape(name)}: {html.escape(value)}</li>" for name, value in about.items())
    tasks = "".join(f"<li><b>{task.name}</b>: {html.escape(task.title)}</li>" for task in TASKS.values())
    head = "".join(f"<th>{html.escape(column)}</th>" for column in COLUMNS)
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows(runs))
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>Does memory help an agent?</title><style>{STYLE}</style><h1>Does memory help an agent?</h1>"
        f"<ul>{facts}</ul><h2>Totals</h2>{charts}<h2>Tasks</h2><ul>{tasks}</ul>"
        f"<h2>Runs</h2><table><tr>{head}</tr>{body}</table></html>\n"
    )


def _chart(title: str, values: Mapping[str, float]) -> str:
    # At least 1, so that a chart of zeros has no bars.
    maximum = max(*values.values(), 1)
    bars = "".join(
        f'<text x="0" y="{24 * row + 16}">{html.escape(name)}</text>'
        f'<rect x="110" y="{24 * row + 3}" width="{240 * value / maximum:.0f}" height="17"/>'
        f'<text x="{116 + 240 * value / maximum:.0f}" y="{24 * row + 16}">{value:,}</text>'
        for row, (name, value) in enumerate(values.items())
    )
    height = 24 * len(values)
    return (
        f'<figure><figcaption>{html.escape(title)}</figcaption><svg role="img" aria-label="{html.escape(title)}"'
        f' viewBox="0 0 420 {height}" width="100%">{bars}</svg></figure>'
    )


def _cell(text: str) -> str:
    attribute = f' class="{text}"' if text in ("yes", "no") else ""
    return f"<td{attribute}>{html.escape(text)}</td>"


def _remarks(run: Run) -> str:
    remarks = {
        "nothing was shown": run.condition not in WITHOUT_HIVEMIND and not run.told,
        "harm": run.harm,
        "acted on stale memory": run.stale_mistake,
        "shown without receipt": run.receipts is False,
        "erased value came back": run.deletion_honoured is False,
    }
    return ", ".join(what for what, is_so in remarks.items() if is_so)
