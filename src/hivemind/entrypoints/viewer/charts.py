"""Small charts, drawn where the numbers are: no script, no style, a sentence for whoever cannot see them."""

from collections.abc import Sequence

from markupsafe import Markup, escape

WIDTH, HEIGHT, GAP = 300, 64, 2


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
