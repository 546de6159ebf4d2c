"""From what somebody says to the fact that is recorded: checked once, here."""

from datetime import datetime

from hivemind.errors import InvalidInput
from hivemind.model.claim import Claim
from hivemind.model.events import MemoryRemembered
from hivemind.model.ids import MemoryId, memory_id
from hivemind.model.memory import Channel, Source
from hivemind.model.moments import parse_date, parse_deadline
from hivemind.model.text import checked, checked_label, tags
from hivemind.model.writer import Writer


def stated(
    claim: Claim, *, writer: Writer, owner: str, now: datetime, commit: str, replaces: list[MemoryId]
) -> MemoryRemembered:
    """The fact that a claim was made, or an error that says what is wrong with it."""
    return MemoryRemembered(
        memory_id=memory_id(),
        kind=claim.kind,
        text=checked(claim.text),
        owner=owner,
        tags=tags(claim.tags),
        sources=(_speaker(claim, writer), *(_file(written, commit) for written in claim.sources)),
        links=tuple(link(written) for written in claim.links),
        subject=checked_label(claim.subject, "the subject") if claim.subject else "",
        confidence=confidence(claim.confidence),
        valid_from=parse_date(claim.valid_from) if claim.valid_from else "",
        valid_to=parse_date(claim.valid_to) if claim.valid_to else "",
        expires_at=parse_deadline(claim.expires, now) if claim.expires else "",
        verify_by=parse_deadline(claim.verify_by, now) if claim.verify_by else "",
        supersedes=tuple(replaces),
        trace=claim.trace,
        proposed=claim.propose,
    )


def link(written: str) -> str:
    """A pointer into the repository's code, and nowhere else."""
    name = checked_label(written, "a link")
    if name.startswith("/") or ".." in name.split("::")[0].split("/"):
        raise InvalidInput(f"{name!r} does not point into the repository; write it like 'auth/service.py::login'")
    return name


def confidence(value: float) -> float:
    """How sure the speaker is."""
    if not 0 <= value <= 1:
        raise InvalidInput(f"{value} is not a confidence; give a number from 0 to 1")
    return value


def _speaker(claim: Claim, writer: Writer) -> Source:
    session = claim.session_id or writer.session_id
    return Source(channel=writer.channel, actor=writer.actor, model=writer.model, session_id=session)


def _file(written: str, commit: str) -> Source:
    file, _, lines = checked_label(written, "the source").partition(":")
    return Source(channel=Channel.FILE, file=file, lines=lines, commit=commit)
