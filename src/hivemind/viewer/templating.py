"""The templates and their filters: times, repositories, diffs, and small charts.

A chart is an SVG without script or style, as the content policy demands, with a sentence for screen readers.
"""

import difflib
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse

from hivemind.errors import HivemindError
from hivemind.model.ids import shorten_id
from hivemind.model.memory import Kind, Status
from hivemind.model.scope import Scope, label_other_repository
from hivemind.model.timestamps import format_date, format_minute, parse_timestamp
from hivemind.text.clean import first_line, neutralise, plural
from hivemind.viewer.http_guard import get_status

MAX_WORD_DIFF_CHARACTERS = 8_000
"""Longer texts are compared line by line: comparing words takes quadratic time."""
CHART_WIDTH, CHART_HEIGHT, BAR_GAP = 300, 64, 2
WORDS, LINES = re.compile(r"\s+|\w+|[^\w\s]"), re.compile(r"[^\n]*\n|[^\n]+")
TITLES = {
    401: "Sign in",
    403: "Forbidden",
    404: "Not found",
    405: "Method not allowed",
    413: "Too large",
    421: "Wrong address",
    422: "Invalid request",
    429: "Too many requests",
    503: "Unavailable",
}


def render_refusal(status: int, reason: str) -> HTMLResponse:
    """Return a page that says what went wrong and what to do."""
    title = TITLES.get(status, "Unexpected error")
    page = ENVIRONMENT.get_template("error.html").render(title=title, why=reason, status=status, visitor=None)
    return HTMLResponse(page, status)


def render_error(error: HivemindError) -> HTMLResponse:
    """Return the page of an error."""
    return render_refusal(get_status(error), str(error))


def _neutralise(value: Any) -> Any:
    """Return what a template may print: text without control characters, or markup that a template made."""
    return value if isinstance(value, Markup) or not isinstance(value, str) else neutralise(value)


def format_age(timestamp: str, now: datetime | None = None) -> str:
    """Return how long ago a time was, or its date if that is long ago."""
    if not timestamp:
        return ""
    seconds = ((now or datetime.now(UTC)) - parse_timestamp(timestamp)).total_seconds()
    for size, unit in ((86_400 * 45, ""), (86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago" if unit else format_date(timestamp)
    # Clocks of other devices may be a little ahead.
    return "just now" if seconds > -60 else format_minute(timestamp)


def name_repository(repo: str) -> str:
    """Return the last part of a repository's name."""
    kind, _, name = repo.partition(":")
    return name[:8] if kind == "commit" else name.rstrip("/").rsplit("/", 1)[-1] or "everywhere"


def diff_words(before: str, after: str) -> Iterator[tuple[str, str]]:
    """Yield the pieces of two texts in order, each with "same", "went" or "came"."""
    tokenise = (WORDS if max(len(before), len(after)) <= MAX_WORD_DIFF_CHARACTERS else LINES).findall
    old, new = tokenise(before), tokenise(after)
    # With autojunk, frequent words of a long text would all count as changed.
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            yield "same", "".join(old[a:b])
            continue
        if a < b:
            yield "went", "".join(old[a:b])
        if c < d:
            yield "came", "".join(new[c:d])


def diff_lines(before: str, after: str) -> list[tuple[str, str]]:
    """Return the unified diff of two texts as lines with their kinds."""
    return classify_patch("\n".join(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2)))


def classify_patch(diff: str) -> list[tuple[str, str]]:
    """Return the lines of a patch with their kinds, without the file names."""
    kinds = {"+": "came", "-": "went", "@": "where"}
    return [(kinds.get(line[:1], "same"), line) for line in diff.splitlines() if not line.startswith(("+++", "---"))]


def excerpt(text: str, max_lines: int = 14) -> tuple[str, int]:
    """Return the first and last lines of a text, and how many were left out between them."""
    lines = text.splitlines()
    if len(lines) <= max_lines:
        return text, 0
    omitted_count = len(lines) - max_lines
    head, tail = lines[: max_lines // 2], lines[-(max_lines - max_lines // 2) :]
    return "\n".join([*head, f"… {omitted_count} lines …", *tail]), omitted_count


def draw_chart(columns: Sequence[tuple[str, Sequence[tuple[str, float]]]], label: str, unit: str = "") -> Markup:
    """Return a chart with one column per day; each of its parts has a CSS class and a value."""
    most = max((sum(value for _, value in parts) for _, parts in columns), default=0) or 1
    step = CHART_WIDTH / max(len(columns), 1)
    rectangles = []
    for position, (day, parts) in enumerate(columns):
        bottom = float(CHART_HEIGHT)
        for kind, value in parts:
            # A small value must still be visible.
            height = max(CHART_HEIGHT * value / most, 1.5 if value else 0)
            bottom -= height
            if value:
                title = f"{day}: {_format_number(value)} {unit or kind}"
                rectangles.append(
                    f'<rect class="{escape(kind)}" x="{position * step:.1f}" y="{bottom:.1f}"'
                    f' width="{step - BAR_GAP:.1f}" height="{height:.1f}"><title>{escape(title)}</title></rect>'
                )
    return Markup(  # every text in it went through escape
        f'<svg class="chart" viewBox="0 0 {CHART_WIDTH} {CHART_HEIGHT}" preserveAspectRatio="none" role="img"'
        f' aria-label="{escape(label)}"><line class="ground" x1="0" x2="{CHART_WIDTH}" y1="{CHART_HEIGHT}"'
        f' y2="{CHART_HEIGHT}"/>{"".join(rectangles)}</svg>'
    )


def _format_number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def _make_environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("hivemind.viewer"),
        autoescape=True,
        finalize=_neutralise,
        # A misspelt name fails instead of printing nothing.
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "ago": format_age, "day": format_date, "minute": format_minute, "short": shorten_id, "place": name_repository,
        "first_line": first_line, "patch": classify_patch, "excerpt": excerpt, "plural": plural,
    }  # fmt: skip
    environment.globals |= {
        "diff_words": diff_words, "diff_lines": diff_lines, "query": urlencode, "chart": draw_chart,
        "label_other_repository": label_other_repository,
        "KINDS": [*Kind], "SCOPES": [*Scope], "STATUSES": [status for status in Status if status != Status.ERASED],
    }  # fmt: skip
    return environment


ENVIRONMENT = _make_environment()
