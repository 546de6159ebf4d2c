"""Read the message of a commit: whether it gives a reason for the change, and in which sentences."""

import re

TRIVIAL = re.compile(
    r"\A(?:docs?|deps|chore|style|build|ci|release|changelog|readme|copyright|tests?)\b|\(deps\)|\bdigest\b"
    r"|\b(?:merge )?conflicts?\b|\breview (?:feedback|comments?|findings)|\brebase\b|\bflaky\b|_test\.\w+\b"
    r"|\b(?:typos?|lint(?:er|ing)?|format(?:ting)?|whitespace|spelling|changelog|bump|merged?|release|wording|grammar"
    r"|comments?|warnings?|nits?|broken links?)\b",
    re.IGNORECASE,
)
"""Subjects about documentation, dependencies, style, tests or reviews; they teach nothing about the code."""
CAUSE = re.compile(
    r"\b(?:because|so that|otherwise|the reason|due to|since|in order to|in case|which means|this means|unless"
    r"|(?:to|and|which|that|this|would|could|can|will) (?:avoids?|prevents?|ensures?|breaks?|fails?)"
    r"|(?:caus|lead|result)(?:es?|s|ed|ing)\b(?: (?:to|in))?|as (?:it|this|that|they|we|the)|would (?:be|have|not)"
    r"|(?:must|should|can|could|does|do|did|is|are|was) ?n[o']t|need(?:s|ed)? to|misleading|work ?around|regression"
    r"|race condition|previously|prior to this|before this|used to)\b",
    re.IGNORECASE,
)
"""Words of a sentence that says why, or what was wrong before; what was done instead, the diff says."""
TRAILER = re.compile(
    r"^[A-Za-z-]+(?:-by|-to|-id|-with|-checkpoint): .*$|^(?:closes|fixes|refs?|see):? #\d+.*$", re.I | re.M
)
QUOTED_LINE = re.compile(r"^(?:>| {4}|\t|\||```).*$", re.MULTILINE)
"""Quotations, code and tables: words of somebody else."""
BULLET = re.compile(r"[-*+•] ")
# A number says nothing without its issue tracker.
LINK = re.compile(r"\s*\((?:[a-z]+ )?#\d+(?:, ?(?:[a-z]+ )?#\d+)*\)|\s*#\d+", re.IGNORECASE)
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])|\n\s*\n|\n(?=\s*[-*+•] )")
BESIDE = re.compile(r"\b(?:tests?|CI|this (?:PR|patch|commit|pull request) (?:is|was)|reviewers?|https?://\S+)\b|:\)")
"""Sentences about tests and about the review, rather than about the code."""
BOT = re.compile(r"\[bot\]|\b(?:dependabot|renovate|github-actions|pre-commit-ci|\w*-?bot)\b", re.IGNORECASE)
LONGEST = 600
"""Characters of the sentences that are kept."""
FEWEST_WORDS = 6
"""Of a sentence that can be understood alone."""


def find_reason(message: str, author: str = "") -> str:
    """Return the sentences of a commit's message that say why; empty if none does, or a program wrote it."""
    subject, _, body = message.partition("\n")
    if BOT.search(author) or TRIVIAL.search(subject):
        return ""
    sentences = [part for part in split_sentences(QUOTED_LINE.sub("", body)) if CAUSE.search(part)]
    # The points of a squashed commit are the subjects of the commits in it.
    prose = (part for part in sentences if len(part.split()) >= FEWEST_WORDS and not BULLET.match(part))
    reasons = (part for part in prose if not BESIDE.search(part))
    return " ".join(reasons)[:LONGEST]


def clean_subject(message: str) -> str:
    """Return the first line of a message without numbers of issues."""
    return LINK.sub("", message.partition("\n")[0]).strip().rstrip(".")


def split_sentences(body: str) -> list[str]:
    """Split the body of a message into sentences, paragraphs and points, without the lines that tools add."""
    parts = (" ".join(part.split()) for part in SENTENCE.split(TRAILER.sub("", body)))
    return [part for part in parts if part]
