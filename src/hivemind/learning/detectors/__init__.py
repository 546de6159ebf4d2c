"""Detectors learn from sessions: each is a function from a session view to proposals.

How often each is right was counted by hand on public sessions: docs/explanation/learning.md.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from hivemind.errors import InvalidInput
from hivemind.learning.detectors.commands import commands
from hivemind.learning.detectors.corrections import corrections
from hivemind.learning.detectors.decisions import decisions
from hivemind.learning.detectors.fixes import fixes
from hivemind.learning.session_view import SessionView
from hivemind.model.claim import Proposal

Detector = Callable[[SessionView], Iterator[Proposal]]

DETECTORS: dict[str, Detector] = {
    "fixes": fixes,
    "commands": commands,
    "corrections": corrections,
    "decisions": decisions,
}
VERSION = 4
"""Increase it when detectors find more; sessions are then read again."""


def select_detectors(names: Iterable[str]) -> list[Detector]:
    """Return the detectors with these names, or raise InvalidInput for an unknown one."""
    selection = list(names)
    if unknown := [name for name in selection if name not in DETECTORS]:
        # A settings file can outlive a detector: "exploration" and "dead_ends" were detectors once.
        remedy = f"run: hivemind config set detectors '{' '.join(DETECTORS)}'"
        raise InvalidInput(f"the setting detectors names {unknown[0]!r}, which is not a detector; {remedy}")
    return [DETECTORS[name] for name in selection]


def run_detectors(view: SessionView, detectors: Iterable[Detector]) -> Iterator[Proposal]:
    """Run the detectors on a session and yield their proposals, each with the time of what it is based on."""
    times = {step.source_id: step.at for step in view.steps}
    for detector in detectors:
        for proposal in detector(view):
            yield replace(proposal, said_at=times.get(proposal.sources[0].event, ""))
