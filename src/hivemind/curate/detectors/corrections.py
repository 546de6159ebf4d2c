"""Corrections and preferences, in the person's own words."""

import re
from collections.abc import Iterator

from hivemind.curate.trail import Trail, sentences, source
from hivemind.model.memory import Kind
from hivemind.model.proposal import Proposal
from hivemind.model.session import Seen

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
"""Said for more than this once."""
HERE = re.compile(
    LEAD + r"(?:here |in this (?:repo|project|codebase)[, ]+)?we (?:only |always |never |explicitly |usually )*"
    r"(?:use|don't use|do not use|prefer|deploy|support|don't support|don't do|don't want|do not want|want to avoid)"
    r"\b(?! (?:to|case|it|this|that|them)\b)",
    re.IGNORECASE,
)
"""How things are done here."""
LIKING = re.compile(
    LEAD + r"I(?:'d| would)? (?:much |really |rather |generally |actually )*(?:prefer|hate|dislike|don't like)\b"
    r"(?! (?:to (?:know|see|check|understand|ask)|it|this|that)\b)",
    re.IGNORECASE,
)
NOT_SO = re.compile(
    LEAD + r"(?:(?:don't|do not|avoid) (?!worry|forget|think|know|see|have|need|get|understand|mind|believe|be\b)\w+"
    r".*\b(?:as|because|since|otherwise|so that|ever|in general)\b"
    r"|(?!(?:it|this|that|they|these|those|there) )(?:\S+ ){1,5}(?:should not|shouldn't|must not|mustn't)"
    r" (?!be (?:too|a|an|hard|difficult)\b|matter|take)\w+"
    r"|use \S+(?: \S+){0,4} (?:instead|rather than|and not)\b|instead of \S+(?: \S+){0,5},? use\b)",
    re.IGNORECASE,
)
"""Not like this, but like that."""
DANGLING = re.compile(r"\b(?:do|like|not) (?:that|this|it)\b", re.IGNORECASE)
"""Means something only beside what was said before."""
UNSURE = re.compile(r"\b(?:maybe|probably|perhaps|not sure|i guess|might)\b", re.IGNORECASE)
QUESTION = re.compile(r"\?\s*\Z|\A(?:can|could|would|should|is|are|do|does|did|why|what|how|where|when|which)\b", re.I)
PASTED = re.compile(
    r"\A(?:implement the following plan|base directory for this skill|\[\[ ##|<|#|[+>|]|caveat:|this session is being"
    r"|\S+ (?:low|medium|high) severity|.*\b(?:medium|high|low) severity\b)",
    re.IGNORECASE,
)
"""Plans, skills, reviews and logs that were put in whole; nobody typed them."""
CODE = re.compile(r"[{};=]\s*\Z|\A[+|>$]|://\S+\Z")
SHORTEST, LONGEST, LONGEST_PROMPT = 18, 300, 1200


def corrections(trail: Trail) -> Iterator[Proposal]:
    """What a person said about how they want things done, sentence by sentence."""
    for seen in trail.steps:
        if seen.seen is not Seen.PROMPT or seen.subagent or len(seen.text) > LONGEST_PROMPT or PASTED.match(seen.text):
            continue
        for said in sentences(seen.text):
            kind = _kind(said)
            if kind:
                text = said[0].upper() + said[1:]
                yield Proposal(
                    detector="corrections", kind=kind, text=text, sources=(source(seen, said),), tags=("said",)
                )


def _kind(said: str) -> Kind | None:
    if not SHORTEST <= len(said) <= LONGEST or any(unfit.search(said) for unfit in (QUESTION, CODE, UNSURE, DANGLING)):
        return None
    if RULE.search(said) or HERE.search(said):
        return Kind.CONVENTION
    return Kind.PREFERENCE if LIKING.search(said) or NOT_SO.search(said) else None
