"""Detects decisions with their reasons, in the agent's replies and in commits made in the session."""

import re
from collections.abc import Iterator

from hivemind.learning.session_view import SessionView, keep_last_about_each, make_source, split_sentences
from hivemind.model.claim import Proposal
from hivemind.model.memory import Kind
from hivemind.model.session import Observation, ObservationKind
from hivemind.text.commit_messages import FIX, TRIVIAL, extract_reasons

CHOICE = re.compile(
    r"\bwe (?:chose|decided|opted|went with|kept|settled on|picked|deliberately|intentionally|avoided)\b"
    # "I deliberately left that alone" is about the agent's own work.
    r"|\bI (?:chose|opted for|went with|settled on|picked|decided (?:on|against|to use))\b"
    r"|\A\W*(?:decision|design decision|rationale|trade-?off)\b[^:]{0,30}:",
    re.IGNORECASE,
)
REASON = re.compile(
    r"\b(?:because|since|so that|to avoid|rather than|instead of|in order to|otherwise|which (?:avoids|keeps|means))\b",
    re.IGNORECASE,
)
MESSAGE = re.compile(
    r"git (?:-C \S+ )?commit\b[^\n]*?(?:-a?m|--message)[ =]?"
    r"(?:\"\$\(cat <<'?\"?(?P<mark>\w+)'?\"?\n(?P<here>.*?)\n\s*(?P=mark)"
    r"|\"(?P<double>(?:[^\"\\]|\\.)+)\"|'(?P<single>[^']+)')",
    re.DOTALL,
)
# Added by tools; a reason in them would not be the author's.
TRAILERS = re.compile(
    r"^.*(?:Co-Authored-By|Generated with|Claude-Session|Entire-\w+).*$", re.MULTILINE | re.IGNORECASE
)
CAUSE = re.compile(r"\b(?:because|so that|to avoid|otherwise|the reason|due to|since|in order to)\b", re.IGNORECASE)
"""What a commit must give beyond what was done: that, `git log` says anyway."""
SHORTEST, LONGEST = 40, 500


def decisions(view: SessionView) -> Iterator[Proposal]:
    """Propose each decision that comes with a reason, the last one about each thing, unless the person overruled it."""
    yield from keep_last_about_each([*_find_decisions(view)])


def _find_decisions(view: SessionView) -> Iterator[Proposal]:
    for index, step in enumerate(view.steps):
        if step.subagent:
            continue
        if step.seen is ObservationKind.REPLY:
            decisions_in_reply = [*_read_reply(step)]
            if decisions_in_reply and not view.is_overruled(index):
                yield from decisions_in_reply
        elif step.command and not step.failed:
            yield from _read_commits(step)


def _read_reply(step: Observation) -> Iterator[Proposal]:
    for sentence in split_sentences(step.text):
        if (
            SHORTEST <= len(sentence) <= LONGEST
            and CHOICE.search(sentence)
            and REASON.search(sentence)
            and not sentence.endswith("?")
        ):
            yield _propose(step, sentence.strip("*_ "), sentence)


def _read_commits(step: Observation) -> Iterator[Proposal]:
    for commit in MESSAGE.finditer(step.command):
        message = TRAILERS.sub("", commit["here"] or commit["double"] or commit["single"] or "").strip()
        subject, _, body = message.partition("\n")
        why = extract_reasons(body)
        if CAUSE.search(why) and not TRIVIAL.search(subject):
            kind = Kind.FIX if FIX.match(subject) else Kind.DECISION
            yield _propose(step, f"{subject.strip().rstrip('.')}. {why}", subject.strip(), kind)


def _propose(step: Observation, text: str, quote: str, kind: Kind = Kind.DECISION) -> Proposal:
    return Proposal(detector="decisions", kind=kind, text=text, sources=(make_source(step, quote),), tags=("why",))
