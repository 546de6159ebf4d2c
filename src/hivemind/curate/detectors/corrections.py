"""Detects corrections and preferences in what a person typed, and keeps their words."""

import re
from collections.abc import Iterator

from hivemind.curate.session_view import SessionView, make_source, split_sentences
from hivemind.model.claim import Proposal
from hivemind.model.memory import Kind
from hivemind.model.session import ObservationKind

LEAD = (
    r"\A(?:(?:please|and|but|also|so|no|nope|ok|okay|yes|yeah|yup|hey|oh|hmm|well|again|btw|remember|then|just|actually"
    r"|right|sure|ah|erm|i think|imo|let's)[,:!.]*\s+){0,4}"
)
RULE = re.compile(
    LEAD + r"(?:(?:you|we|it|they|this|that|tests?) )?(?:(?:should|must) )?(?:always|never)\s+(?!mind|ever|been|had)\w+"
    r"|\b(?:from now on|going forward|next time|as a rule|every time you|whenever you)\b"
    r"|\b(?:should|must|may) (?:always|never|only) (?:be |have )?\w+"
    r"|\bonly (?:the |a )?\S+(?: \S+)? should\b",
    re.IGNORECASE,
)
"""A rule for more than this one time."""
PROJECT_HABIT = re.compile(
    LEAD + r"(?:here |in this (?:repo|project|codebase)[, ]+)?we (?:only |always |never |explicitly |usually )*"
    r"(?:use|don't use|do not use|prefer|deploy|support|don't support|don't do|don't want|do not want|want to avoid)"
    r"\b(?! (?:to|case|it|this|that|them)\b)",
    re.IGNORECASE,
)
"""How things are done here."""
PREFERENCE = re.compile(
    LEAD + r"I(?:'d| would)? (?:much |really |rather |generally |actually )*(?:prefer|hate|dislike|don't like)\b"
    r"(?! (?:to (?:know|see|check|understand|ask)|it|this|that)\b)",
    re.IGNORECASE,
)
CORRECTION = re.compile(
    LEAD + r"(?:(?:don't|do not|avoid) (?!worry|forget|think|know|see|have|need|get|understand|mind|believe|be\b)\w+"
    r".*\b(?:as|because|since|otherwise|so that|ever|in general)\b"
    r"|(?!(?:it|this|that|they|these|those|there) )(?:\S+ ){1,5}(?:should not|shouldn't|must not|mustn't)"
    r" (?!be (?:too|a|an|hard|difficult)\b|matter|take)\w+"
    r"|use \S+(?: \S+){0,4} (?:instead|rather than|and not)\b|instead of \S+(?: \S+){0,5},? use\b)",
    re.IGNORECASE,
)
"""Not like this, but like that."""
DANGLING = re.compile(r"\b(?:do|like|not) (?:that|this|it)\b", re.IGNORECASE)
"""Refers to something said before, and cannot be understood alone."""
UNSURE = re.compile(r"\b(?:maybe|probably|perhaps|not sure|i guess|might)\b", re.IGNORECASE)
QUESTION = re.compile(r"\?\s*\Z|\A(?:can|could|would|should|is|are|do|does|did|why|what|how|where|when|which)\b", re.I)
PASTED = re.compile(
    r"\A(?:implement the following plan|base directory for this skill|\[\[ ##|<|#|[+>|]|caveat:|this session is being"
    r"|\S+ (?:low|medium|high) severity|.*\b(?:medium|high|low) severity\b)",
    re.IGNORECASE,
)
"""Plans, skills, reviews and logs that were pasted, not typed."""
CODE = re.compile(r"[{};=]\s*\Z|\A[+|>$]|://\S+\Z")
SHORTEST, LONGEST, LONGEST_PROMPT = 18, 300, 1200


def corrections(view: SessionView) -> Iterator[Proposal]:
    """Propose each sentence in which a person said how they want things done."""
    for step in view.steps:
        # The prompt of a subagent was written by the agent, not by a person.
        if (
            step.seen is not ObservationKind.PROMPT
            or step.subagent
            or len(step.text) > LONGEST_PROMPT
            or PASTED.match(step.text)
        ):
            continue
        for sentence in split_sentences(step.text):
            kind = _classify(sentence)
            if kind:
                text = sentence[0].upper() + sentence[1:]
                yield Proposal(
                    detector="corrections", kind=kind, text=text, sources=(make_source(step, sentence),), tags=("said",)
                )


def _classify(sentence: str) -> Kind | None:
    if not SHORTEST <= len(sentence) <= LONGEST or any(
        pattern.search(sentence) for pattern in (QUESTION, CODE, UNSURE, DANGLING)
    ):
        return None
    if RULE.search(sentence) or PROJECT_HABIT.search(sentence):
        return Kind.CONVENTION
    return Kind.PREFERENCE if PREFERENCE.search(sentence) or CORRECTION.search(sentence) else None
