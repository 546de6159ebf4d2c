"""``hivemind status``, and ``hivemind`` alone."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import heading, label, progress, say, tell
from hivemind.model.moments import minute
from hivemind.model.reports import Standing
from hivemind.model.text import first_line


@click.command("status")
def command() -> None:
    """Where you stand: what is remembered here, who is connected, what waits; and what to do next.

    \b
    hivemind
    hivemind status --json
    """
    with open_mind() as mind, progress("Looking"):
        stands = mind.standing()
    tell(stands, lambda: _told(stands))


def _told(stands: Standing) -> None:
    counted = " · ".join(f"{count:,} {status}" for status, count in stands.memories)
    elsewhere = f"{stands.elsewhere:,} in other repositories" if stands.elsewhere else ""
    label("store", f"{stands.store}  {stands.bytes / 1e6:.1f} MB")
    label("repository", stands.repository)
    label("memories", " · ".join(filter(None, [counted or "none here yet", elsewhere])))
    label("agents", ", ".join(stands.connected) or "none connected")
    if last := stands.last_session:
        label("last session", f"{last.agent}, {minute(last.last_seen_at)}: {first_line(last.task, 60)}")
    label("waiting", f"{stands.waiting:,} for review" if stands.waiting else "nothing for review")
    label("in doubt", f"{stands.doubted:,} by what the code says now" if stands.doubted else "nothing")
    heading("Next")
    for step in stands.next:
        say(f"  {step.command:<30}{step.why}")
