"""Detects decisions with their reasons in the agent's replies; those of commits are read from git (``code``)."""

import re
from collections.abc import Iterator

from hivemind.learning.session_view import SessionView, keep_last_about_each, make_source
from hivemind.model.claim import Proposal
from hivemind.model.memory import Kind
from hivemind.model.session import Observation, ObservationKind
from hivemind.sessions.talk import split_reply

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
SHORTEST, LONGEST = 40, 500


def decisions(view: SessionView) -> Iterator[Proposal]:
    """Propose each decision that comes with a reason, the last one about each thing, unless the person overruled it."""
    replies = [
        (index, [*_read_reply(step)])
        for index, step in enumerate(view.steps)
        if step.seen is ObservationKind.REPLY and not step.subagent
    ]
    standing = (proposals for index, proposals in replies if proposals and not view.is_overruled(index))
    yield from keep_last_about_each([proposal for proposals in standing for proposal in proposals])


def _read_reply(step: Observation) -> Iterator[Proposal]:
    for sentence in split_reply(step.text):
        is_statement = SHORTEST <= len(sentence) <= LONGEST and not sentence.endswith("?")
        if is_statement and CHOICE.search(sentence) and REASON.search(sentence):
            source = make_source(step, sentence)
            yield Proposal(
                detector="decisions", kind=Kind.DECISION, text=sentence.strip("*_ "), sources=(source,), tags=("why",)
            )
