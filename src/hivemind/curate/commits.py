"""What a repository's history tells: fixes, and decisions whose reasons were written down."""

import re
from collections.abc import Iterator

from hivemind.codebase.git import Commit
from hivemind.model.memory import Channel, Kind, Source
from hivemind.model.proposal import Proposal

FIX = re.compile(r"\A(?:[\w,/() -]{1,40}: ?)?\[?(?:bug)?fix(?:es|ed)?\b|\A(?:resolves?|repair)\b", re.IGNORECASE)
TRIVIAL = re.compile(
    r"\A(?:docs?|deps|chore|style|build|ci|release|changelog|readme|copyright|tests?)\b|\(deps\)|\bdigest\b"
    r"|\b(?:merge )?conflicts?\b|\breview (?:feedback|comments?|findings)|\brebase\b|\bflaky\b|_test\.\w+\b"
    r"|\b(?:typos?|lint(?:er|ing)?|format(?:ting)?|whitespace|spelling|changelog|bump|merge|release|wording|grammar"
    r"|comments?|warnings?|nits?|broken links?)\b",
    re.IGNORECASE,
)
REASON = re.compile(
    r"\b(?:because|so that|instead of|rather than|in favou?r of|to avoid|otherwise|no longer|the reason|due to"
    r"|this means|which means|decided|chose|prefer(?:red)?)\b",
    re.I,
)
TRAILER = re.compile(
    r"^[A-Za-z-]+(?:-by|-to|-id|-with|-checkpoint): .*$|^(?:closes|fixes|refs?|see) #\d+.*$", re.I | re.M
)
LINK = re.compile(r"\s*\((?:[a-z]+ )?#\d+(?:, ?(?:[a-z]+ )?#\d+)*\)|\s*#\d+", re.IGNORECASE)
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])|\n\s*\n|\n(?=\s*[-*] )")
LONGEST, SHORTEST, MOST_FILES = 600, 25, 25
"""Commits that touch more files are sweeping changes, whose messages say little about any of them."""


def proposals(commit: Commit) -> Iterator[Proposal]:
    """What a commit teaches, if anything: a fix that says what was wrong, or a change that says why."""
    subject, _, body = commit.message.partition("\n")
    subject = LINK.sub("", subject).strip()
    why = reasons(body)
    if len(commit.files) > MOST_FILES or TRIVIAL.search(subject):
        return
    if FIX.match(subject) and (why or len(subject) >= SHORTEST):
        yield _proposal("git-fixes", Kind.FIX, commit, subject, why or next(iter(_sentences(body)), "")[:LONGEST])
    elif why:
        yield _proposal("git-decisions", Kind.DECISION, commit, subject, why)


def reasons(body: str) -> str:
    """The sentences of a message that say why."""
    return " ".join(part for part in _sentences(body) if REASON.search(part))[:LONGEST]


def _sentences(body: str) -> list[str]:
    parts = (" ".join(part.split()) for part in SENTENCE.split(TRAILER.sub("", body)))
    return [part for part in parts if part]


def _proposal(detector: str, kind: Kind, commit: Commit, subject: str, why: str) -> Proposal:
    text = f"{subject.rstrip('.')}. {why}" if why else subject
    source = Source(
        channel=Channel.DERIVED, actor=commit.author, commit=commit.id, file=(*commit.files, "")[0], quote=subject
    )
    links = tuple(commit.files[:5])
    return Proposal(detector=detector, kind=kind, text=text, sources=(source,), tags=("git",), links=links)
