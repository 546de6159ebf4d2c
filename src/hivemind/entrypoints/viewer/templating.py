"""How things look: the templates, what they say about times, places and differences, and small charts: no script,
no style, a sentence for whoever cannot see them.
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

from hivemind.errors import (
    HivemindError,
    InvalidInput,
    NotFound,
    RateLimited,
    Refused,
    StoreError,
    Unauthenticated,
    Unavailable,
)
from hivemind.formats.timestamps import format_date, format_minute, parse_timestamp
from hivemind.model.ids import shorten_id
from hivemind.model.memory import Kind, Status
from hivemind.model.scope import Scope
from hivemind.text.clean import first_line, neutralise

LARGEST_WORD_DIFF = 8_000
"""Characters; longer texts are compared line by line."""
WIDTH, HEIGHT, GAP = 300, 64, 2
"""Of a chart."""
WORDS, LINES = re.compile(r"\s+|\w+|[^\w\s]"), re.compile(r"[^\n]*\n|[^\n]+")
STATUS: dict[type[HivemindError], int] = {
    InvalidInput: 400, NotFound: 404, Unauthenticated: 401, RateLimited: 429, Refused: 403, StoreError: 503,
    Unavailable: 503,
    HivemindError: 500,
}  # fmt: skip
TITLES = {
    400: "That does not make sense",
    401: "Who is it?",
    403: "Not like this",
    404: "Nothing here",
    405: "Not like this",
    413: "Too much",
    421: "Not our address",
    429: "Too quick",
    503: "Not now",
}


def refused(status: int, why: str) -> HTMLResponse:
    """A page that says what went wrong and what to do."""
    title = TITLES.get(status, "Something broke")
    page = ENVIRONMENT.get_template("error.html").render(title=title, why=why, status=status, visitor=None)
    return HTMLResponse(page, status)


def told(error: HivemindError) -> HTMLResponse:
    """The page for an error of ours."""
    return refused(next(status for kind, status in STATUS.items() if isinstance(error, kind)), str(error))


def _said(value: Any) -> Any:
    """Whatever a template prints: nothing hidden or obeyed in it, and never markup unless a template made it."""
    return value if isinstance(value, Markup) or not isinstance(value, str) else neutralise(value)


def ago(stored: str, now: datetime | None = None) -> str:
    """A moment as people speak of it."""
    if not stored:
        return ""
    seconds = ((now or datetime.now(UTC)) - parse_timestamp(stored)).total_seconds()
    for size, name in ((86_400 * 45, ""), (86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {name} ago" if name else format_date(stored)
    return "just now" if seconds > -60 else format_minute(stored)


def place(repo: str) -> str:
    """A repository by the end of its name."""
    kind, _, name = repo.partition(":")
    return name[:8] if kind == "commit" else name.rstrip("/").rsplit("/", 1)[-1] or "everywhere"


def changed(before: str, after: str) -> Iterator[tuple[str, str]]:
    """Two wordings as one text: what stayed, what went, what came."""
    cut = (WORDS if max(len(before), len(after)) <= LARGEST_WORD_DIFF else LINES).findall
    old, new = cut(before), cut(after)
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            yield "same", "".join(old[a:b])
            continue
        if a < b:
            yield "went", "".join(old[a:b])
        if c < d:
            yield "came", "".join(new[c:d])


def unified(before: str, after: str) -> list[tuple[str, str]]:
    """Two states of code as a patch: each line with what became of it."""
    return patch("\n".join(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2)))


def patch(diff: str) -> list[tuple[str, str]]:
    """A patch by its lines, without the names of its files."""
    kinds = {"+": "came", "-": "went", "@": "where"}
    return [(kinds.get(line[:1], "same"), line) for line in diff.splitlines() if not line.startswith(("+++", "---"))]


def excerpt(text: str, lines: int = 14) -> tuple[str, int]:
    """The beginning and the end of what was printed, and how many lines lie between."""
    every = text.splitlines()
    if len(every) <= lines:
        return text, 0
    left = len(every) - lines
    return "\n".join([*every[: lines // 2], f"… {left} lines …", *every[-(lines - lines // 2) :]]), left


def bars(points: Sequence[tuple[str, float]], said: str, unit: str = "") -> Markup:
    """A bar for each day."""
    most = max((value for _, value in points), default=0) or 1
    step = WIDTH / max(len(points), 1)
    drawn = []
    for place, (name, value) in enumerate(points):
        tall = max(round(HEIGHT * value / most, 1), 1.5 if value else 0)
        drawn.append(_bar(place * step, HEIGHT - tall, step - GAP, tall, "bar", f"{name}: {_number(value)} {unit}"))
    return _chart("".join(drawn), said)


def stack(points: Sequence[tuple[str, Sequence[tuple[str, float]]]], said: str) -> Markup:
    """A column for each day, of parts that each have a class."""
    most = max((sum(value for _, value in parts) for _, parts in points), default=0) or 1
    step = WIDTH / max(len(points), 1)
    drawn = []
    for place, (name, parts) in enumerate(points):
        bottom = float(HEIGHT)
        for kind, value in parts:
            tall = HEIGHT * value / most
            bottom -= tall
            if value:
                drawn.append(_bar(place * step, bottom, step - GAP / 2, tall, kind, f"{name}: {value:,} {kind}"))
    return _chart("".join(drawn), said)


def _bar(left: float, top: float, wide: float, tall: float, kind: str, title: str) -> str:
    place = f'x="{left:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{tall:.1f}"'
    return f'<rect class="{escape(kind)}" {place}><title>{escape(title.strip())}</title></rect>'


def _chart(drawn: str, said: str) -> Markup:
    return Markup(  # every text in it went through escape
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" role="img"'
        f' aria-label="{escape(said)}"><line class="ground" x1="0" x2="{WIDTH}" y1="{HEIGHT}" y2="{HEIGHT}"/>'
        f"{drawn}</svg>"
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("hivemind.entrypoints.viewer"),
        autoescape=True,
        finalize=_said,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "ago": ago, "day": format_date, "minute": format_minute, "short": shorten_id, "place": place,
        "first_line": first_line,
        "patch": patch, "excerpt": excerpt,
    }  # fmt: skip
    environment.globals |= {
        "changed": changed, "unified": unified, "query": urlencode, "bars": bars, "stack": stack,
        "KINDS": [*Kind], "SCOPES": [*Scope], "STATUSES": [one for one in Status if one is not Status.ERASED],
    }  # fmt: skip
    return environment


ENVIRONMENT = _environment()
