"""Decisions with their reasons, from what the agent reported and from commits made in the session."""

import re
from collections.abc import Iterator

from hivemind.curate.commits import FIX, TRIVIAL, reasons
from hivemind.curate.trail import Trail, sentences, source
from hivemind.model.memory import Kind
from hivemind.model.proposal import Proposal
from hivemind.model.session import Observation, Seen

CHOSE = re.compile(
    r"\b(?:I|we) (?:chose|decided|opted|went with|kept|settled on|picked|deliberately|intentionally|avoided)\b"
    r"|\A\W*(?:decision|design decision|rationale|trade-?off)\b[^:]{0,30}:",
    re.IGNORECASE,
)
WHY = re.compile(
    r"\b(?:because|since|so that|to avoid|rather than|instead of|in order to|otherwise|which (?:avoids|keeps|means))\b",
    re.IGNORECASE,
)
MESSAGE = re.compile(
    r"git (?:-C \S+ )?commit\b[^\n]*?(?:-a?m|--message)[ =]?"
    r"(?:\"\$\(cat <<'?\"?(?P<mark>\w+)'?\"?\n(?P<here>.*?)\n\s*(?P=mark)"
    r"|\"(?P<double>(?:[^\"\\]|\\.)+)\"|'(?P<single>[^']+)')",
    re.DOTALL,
)
TRAILERS = re.compile(
    r"^.*(?:Co-Authored-By|Generated with|Claude-Session|Entire-\w+).*$", re.MULTILINE | re.IGNORECASE
)
SHORTEST, LONGEST = 40, 500


def decisions(trail: Trail) -> Iterator[Proposal]:
    """What was decided, and why."""
    for seen in trail.steps:
        if seen.subagent:
            continue
        if seen.seen is Seen.REPLY:
            yield from _reported(seen)
        elif seen.command and not seen.failed:
            yield from _committed(seen)


def _reported(seen: Observation) -> Iterator[Proposal]:
    for said in sentences(seen.text):
        if SHORTEST <= len(said) <= LONGEST and CHOSE.search(said) and WHY.search(said) and not said.endswith("?"):
            yield _decision(seen, said.strip("*_ "), said)


def _committed(seen: Observation) -> Iterator[Proposal]:
    for found in MESSAGE.finditer(seen.command):
        message = TRAILERS.sub("", found["here"] or found["double"] or found["single"] or "").strip()
        subject, _, body = message.partition("\n")
        why = reasons(body)
        if why and not TRIVIAL.search(subject):
            kind = Kind.FIX if FIX.match(subject) else Kind.DECISION
            yield _decision(seen, f"{subject.strip().rstrip('.')}. {why}", subject.strip(), kind)


def _decision(seen: Observation, text: str, quote: str, kind: Kind = Kind.DECISION) -> Proposal:
    return Proposal(detector="decisions", kind=kind, text=text, sources=(source(seen, quote),), tags=("why",))
