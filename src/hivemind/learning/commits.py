"""Learns from a repository's history: fixes, and decisions whose messages give reasons."""

import re
from collections.abc import Iterator

from hivemind.code.git import Commit
from hivemind.model.claim import Proposal
from hivemind.model.memory import Channel, Kind, Source

FIX = re.compile(r"\A(?:[\w,/() -]{1,40}: ?)?\[?(?:bug)?fix(?:es|ed)?\b|\A(?:resolves?|repair)\b", re.IGNORECASE)
TRIVIAL = re.compile(
    r"\A(?:docs?|deps|chore|style|build|ci|release|changelog|readme|copyright|tests?)\b|\(deps\)|\bdigest\b"
    r"|\b(?:merge )?conflicts?\b|\breview (?:feedback|comments?|findings)|\brebase\b|\bflaky\b|_test\.\w+\b"
    r"|\b(?:typos?|lint(?:er|ing)?|format(?:ting)?|whitespace|spelling|changelog|bump|merge|release|wording|grammar"
    r"|comments?|warnings?|nits?|broken links?)\b",
    re.IGNORECASE,
)
"""Subjects about documentation, dependencies, style, tests or reviews; they teach nothing about the code."""
REASON = re.compile(
    r"\b(?:because|so that|instead of|rather than|in favou?r of|to avoid|otherwise|no longer|the reason|due to"
    r"|this means|which means|decided|chose|prefer(?:red)?)\b",
    re.I,
)
TRAILER = re.compile(
    r"^[A-Za-z-]+(?:-by|-to|-id|-with|-checkpoint): .*$|^(?:closes|fixes|refs?|see) #\d+.*$", re.I | re.M
)
# A number says nothing without its issue tracker.
LINK = re.compile(r"\s*\((?:[a-z]+ )?#\d+(?:, ?(?:[a-z]+ )?#\d+)*\)|\s*#\d+", re.IGNORECASE)
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])|\n\s*\n|\n(?=\s*[-*] )")
COMMIT_DETECTORS = ("git-fixes", "git-decisions")
LONGEST, SHORTEST, MOST_FILES = 600, 25, 25
"""Characters of a text and of a subject; commits with more files are sweeping changes and say little about any."""


def propose_from_commit(commit: Commit) -> Iterator[Proposal]:
    """Propose what a commit teaches, if anything: a fix that says what was wrong, or a change that says why."""
    subject, _, body = commit.message.partition("\n")
    subject = LINK.sub("", subject).strip()
    reason = extract_reasons(body)
    if len(commit.files) > MOST_FILES or TRIVIAL.search(subject):
        return
    if FIX.match(subject) and (reason or len(subject) >= SHORTEST):
        yield _make_proposal(
            COMMIT_DETECTORS[0], Kind.FIX, commit, subject, reason or next(iter(_split_sentences(body)), "")[:LONGEST]
        )
    elif reason:
        yield _make_proposal(COMMIT_DETECTORS[1], Kind.DECISION, commit, subject, reason)


def extract_reasons(body: str) -> str:
    """Return the sentences of a commit message that give a reason."""
    return " ".join(part for part in _split_sentences(body) if REASON.search(part))[:LONGEST]


def _split_sentences(body: str) -> list[str]:
    parts = (" ".join(part.split()) for part in SENTENCE.split(TRAILER.sub("", body)))
    return [part for part in parts if part]


def _make_proposal(detector: str, kind: Kind, commit: Commit, subject: str, reason: str) -> Proposal:
    text = f"{subject.rstrip('.')}. {reason}" if reason else subject
    source = Source(
        channel=Channel.DERIVED, actor=commit.author, commit=commit.id, file=(*commit.files, "")[0], quote=subject
    )
    links = tuple(commit.files[:5])
    return Proposal(
        detector=detector, kind=kind, text=text, sources=(source,), tags=("git",), links=links, said_at=commit.at
    )
