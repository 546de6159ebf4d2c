"""Make a table of saved figures: a row for each measure, a column for each system."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lab.yardstick.parts import PARTS, is_absent
from lab.yardstick.systems import SYSTEMS

MANY = 100
"""From here on tenths are noise."""
ALL_CASES = "test"
ABSENT = {"not offered": "not offered", "not run": "not run here"}


def load(folder: Path) -> dict[str, dict[str, Any]]:
    """Read the records of all systems, in the order of the columns; those of others come last."""
    records = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    if not records:
        raise SystemExit(f"{folder} has no figures; `python -m lab.yardstick run SYSTEM --results {folder}` saves them")
    return {
        name: records[name]
        for name in [*(name for name in SYSTEMS if name in records), *sorted(records.keys() - SYSTEMS.keys())]
    }


def format_value(value: Any) -> str:
    """Format a figure."""
    if isinstance(value, dict):
        if "of" in value:
            return f"{value['count']} of {value['of']}" if value["of"] else "–"
        return next((f"{text}: {value[key]}" for key, text in ABSENT.items() if key in value), str(value))
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= MANY or value.is_integer() else f"{value:,.1f}"
    return "–" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def format_cell(value: Any) -> str:
    """Format a figure for a table, where reasons would not fit."""
    if is_absent(value):
        return next(text for key, text in ABSENT.items() if key in value)
    return format_value(value)


def find_value(record: Mapping[str, Any], part: str, measure: str) -> Any:
    """Return a figure; a part that is absent as a whole gives its reason for each of its measures."""
    figures = record["parts"].get(part, {}).get("figures", {})
    if measure in figures:
        return figures[measure]
    # A measure that depends on another which is absent: the first absent one of the same kind says why.
    prefix = measure.partition(":")[0]
    absent = [
        value
        for name, value in figures.items()
        if is_absent(value) and (name == "all" or name.partition(":")[0] == prefix)
    ]
    return absent[0] if absent else None


def list_measures(records: Mapping[str, Mapping[str, Any]], part: str) -> list[str]:
    """List the measures of a part that any system has."""
    names: dict[str, None] = {}
    for record in records.values():
        figures = record["parts"].get(part, {}).get("figures", {})
        names |= dict.fromkeys(name for name, value in figures.items() if name != "all" and not is_absent(value))
    return list(names)


def render(records: Mapping[str, Mapping[str, Any]], parts: tuple[str, ...] = PARTS) -> str:
    """Render the table of all parts, the reasons for what is missing, and what was measured."""
    lines = []
    for part in parts:
        measures = list_measures(records, part)
        if not measures:
            continue
        lines += [f"### {part.capitalize()}", "", f"| | {' | '.join(records)} |", "|---" * (len(records) + 1) + "|"]
        for measure in measures:
            cells = [format_cell(find_value(record, part, measure)) for record in records.values()]
            lines.append(f"| {measure} | {' | '.join(cells)} |")
        lines.append("")
    lines += [*render_other_cases(records, parts), *render_reasons(records, parts), *render_systems(records)]
    return "\n".join(lines)


def render_reasons(records: Mapping[str, Mapping[str, Any]], parts: tuple[str, ...]) -> list[str]:
    """List why systems have no figure, each reason once."""
    lines = ["### What was not run here, and why", ""]
    for name, record in records.items():
        reasons: dict[str, list[str]] = {}
        for part in parts:
            for value in record["parts"].get(part, {}).get("figures", {}).values():
                if (
                    isinstance(value, dict)
                    and "not run" in value
                    and part not in reasons.setdefault(value["not run"], [])
                ):
                    reasons[value["not run"]].append(part)
        lines += [f"* **{name}**, {', '.join(places)}: {reason}" for reason, places in reasons.items()]
    return [*lines, ""]


def render_other_cases(records: Mapping[str, Mapping[str, Any]], parts: tuple[str, ...]) -> list[str]:
    """List which figures come from other cases than all of the test part: they must not be compared with the rest."""
    rows = [
        f"* **{name}**, {part}: {record['parts'][part]['cases']}"
        for name, record in records.items()
        for part in parts
        if record["parts"].get(part, {}).get("cases", ALL_CASES) != ALL_CASES
    ]
    return ["### Not from all cases of the test part", "", *rows, ""] if rows else []


def render_systems(records: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """List what was measured, with which choices, when and where."""
    lines = [
        "### What was measured",
        "",
        "| system | version | through | choices of the adapter | machine | dates |",
        "|---|---|---|---|---|---|",
    ]
    for name, record in records.items():
        about = record["description"]
        dates = sorted(part["date"] for part in record["parts"].values())
        span = f"{dates[0]} to {dates[-1][11:] if dates[0][:10] == dates[-1][:10] else dates[-1]} UTC" if dates else ""
        lines.append(
            f"| {name} | {about['version']} | {about['doors']} | {about['choices']} | {record['machine']} | {span} |"
        )
    return lines
