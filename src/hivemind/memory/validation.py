"""Checks claims, tells their kinds from their words, and turns them into the facts that are recorded."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from hivemind.errors import InvalidInput
from hivemind.memory.grammar import word_set
from hivemind.memory.statements import LONGEST_TEXT, MOST_SENTENCES, SENTENCE_END
from hivemind.model.claim import Claim
from hivemind.model.events import MemoryRemembered
from hivemind.model.ids import MemoryId, new_memory_id
from hivemind.model.memory import Channel, Kind, Source, Writer
from hivemind.model.metadata import validate_metadata
from hivemind.model.scope import Scope
from hivemind.model.timestamps import parse_date, parse_deadline
from hivemind.text.clean import check_text, list_texts, parse_tags, validate_label, validate_text


def read_claim(claim: Claim) -> Claim:
    """Return a claim with its values as the rest of the program expects them, whatever a caller's program gave."""
    text = validate_text(claim.text)
    return replace(
        claim,
        text=text,
        scope=Scope.parse(claim.scope),
        kind=Kind.parse(claim.kind) if claim.kind else tell_kind(text),
        tags=parse_tags(claim.tags),
        replaces=list_texts(claim.replaces, "id"),
        links=list_texts(claim.links, "link"),
        sources=list_texts(claim.sources, "source"),
    )


def make_fact(
    claim: Claim, *, writer: Writer, owner: str, now: datetime, commit: str, replaces: list[MemoryId]
) -> MemoryRemembered:
    """Make the fact that a claim is recorded as, or raise InvalidInput with what is wrong."""
    return MemoryRemembered(
        memory_id=new_memory_id(),
        kind=claim.kind or tell_kind(claim.text),
        text=validate_text(claim.text),
        owner=owner,
        tags=parse_tags(claim.tags),
        sources=(_make_speaker_source(claim, writer), *(_make_file_source(text, commit) for text in claim.sources)),
        links=tuple(check_link(text) for text in claim.links),
        subject=validate_label(claim.subject, "the subject") if claim.subject else "",
        confidence=check_confidence(claim.confidence),
        valid_from=parse_date(claim.valid_from) if claim.valid_from else "",
        valid_to=parse_date(claim.valid_to) if claim.valid_to else "",
        expires_at=parse_deadline(claim.expires, now) if claim.expires else "",
        verify_by=parse_deadline(claim.verify_by, now) if claim.verify_by else "",
        supersedes=tuple(replaces),
        trace=claim.trace,
        proposed=claim.propose,
        metadata=validate_metadata(claim.metadata),
    )


KINDS = {kind.value: kind for kind in Kind} | {"architecture": Kind.DECISION}
"""Kinds by a part of another program's word for them: ``error_fix`` is a fix."""
MEMORY_TYPE = "memory_type"
"""The metadata key that keeps the other program's word unchanged."""
ALIASES = {"content": "text", "type": MEMORY_TYPE, "repository": "repo"}


def parse_claim(item: object, place: int, root: str = "") -> Claim:
    """Make a claim from a text or a program's dictionary; errors name the item's position and the key."""
    if isinstance(item, str):
        item = {"text": item}
    if not isinstance(item, Mapping):
        raise InvalidInput(f"items[{place}] is {item!r}; give a text, a dictionary or a Claim")
    fields: dict[str, Any] = {}
    for key, value in item.items():
        name = ALIASES.get(key, key)
        if name not in READERS or name in fields:
            problem = "is given twice" if name in fields else f"is not a key; use {', '.join((*ALIASES, *READERS))}"
            raise InvalidInput(f"items[{place}][{key!r}] {problem}")
        if value is None:
            continue
        try:
            fields[name] = READERS[name](value)
        except InvalidInput as error:
            raise InvalidInput(f"items[{place}][{key!r}]: {error}") from None
    if "text" not in fields:
        raise InvalidInput(f"items[{place}] has no 'content'; add the text of the memory")
    # An absolute path would mean nothing on another machine.
    file, memory_type = _make_relative(fields.pop("file_path", ""), root), fields.pop(MEMORY_TYPE, "")
    timestamp, metadata = fields.pop("timestamp", ""), dict(fields.pop("metadata", {}))
    return Claim(
        **fields,
        kind=guess_kind(memory_type),
        valid_from=timestamp,
        sources=[file] if file else (),
        links=[file] if _is_link(file) else (),
        metadata=metadata | ({MEMORY_TYPE: memory_type} if memory_type else {}),
    )


def guess_kind(memory_type: str) -> Kind | None:
    """Return the kind that fits another program's word best, if one does."""
    parts = re.split(r"[\W_]+", memory_type.lower())
    return next((KINDS[part] for part in reversed(parts) if part in KINDS), None)


def _check_label(value: str) -> str:
    return validate_label(value, "the value")


def _parse_time(value: Any) -> str:
    """Parse a date or time given as text, as a Python date, or as seconds since 1970."""
    match value:
        case bool():
            # A bool is an int in Python; without this case True would be one second after 1970.
            raise InvalidInput(f"{value!r} is not a time")
        case date():
            return parse_date(value.isoformat())
        case int() | float():
            try:
                return parse_date(datetime.fromtimestamp(value, UTC).isoformat())
            except (ValueError, OverflowError, OSError):
                raise InvalidInput(f"{value!r} is not a time in seconds since 1970") from None
        case _:
            return parse_date(check_text(value, "the time"))


READERS: dict[str, Callable[[Any], Any]] = {
    "text": lambda value: validate_text(value, "the value"),
    MEMORY_TYPE: _check_label,
    "repo": _check_label,
    "file_path": lambda value: _check_label(os.fspath(value) if isinstance(value, os.PathLike) else value),
    "session_id": _check_label,
    "timestamp": _parse_time,
    "tags": parse_tags,
    "scope": Scope.parse,
    "metadata": validate_metadata,
}
"""The keys of a dictionary that becomes a claim, and the function that checks each value."""


def _make_relative(file: str, root: str) -> str:
    """Make a path relative to the repository; one outside stays unchanged."""
    is_inside = bool(root) and Path(file).is_absolute() and Path(file).is_relative_to(root)
    return Path(file).relative_to(root).as_posix() if is_inside else file


def _is_link(file: str) -> bool:
    """Whether a path can be a link: it lies in the repository and names no lines."""
    return bool(file) and not Path(file).is_absolute() and ".." not in file.split("/") and ":" not in file


def check_link(text: str) -> str:
    """Return a link into the repository's code, or raise InvalidInput if it points elsewhere."""
    name = validate_label(text, "a link")
    if name.startswith("/") or ".." in name.split("::")[0].split("/"):
        raise InvalidInput(f"{name!r} does not point into the repository; write it like 'auth/service.py::login'")
    return name


def check_confidence(value: float) -> float:
    """Return a confidence, or raise InvalidInput if it is not between 0 and 1."""
    if not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"{value!r} is not a confidence; give a number from 0 to 1")
    return value


def _make_speaker_source(claim: Claim, writer: Writer) -> Source:
    session = claim.session_id or writer.session_id
    return Source(channel=writer.channel, actor=writer.actor, model=writer.model, session_id=session)


def _make_file_source(text: str, commit: str) -> Source:
    file, _, lines = validate_label(text, "the source").partition(":")
    return Source(channel=Channel.FILE, file=file, lines=lines, commit=commit)


FILLERS = word_set(
    "please pls and but also so no, nope ok okay yes hey oh well again btw then just actually right sure note that fyi"
    " personally remember important reminder now"
)
"""Words that people put before what they mean."""

# Strings, compiled when first used: most commands tell no kind. The first that fits decides.
KIND_PATTERNS: dict[Kind, str] = {
    Kind.PREFERENCE: r"\b(?:i|i'd|id) (?:\S+ ){0,2}"
    r"(?:prefer|hate|dislike|like|love|want(?! to use)|rather|enjoy|stand)\b"
    r"|\bmy preference\b|\bnot a fan\b|\bask me\b",
    Kind.DECISION: r"\b(?:decided|agreed (?:to|on|that)|settled on|opted|in favou?r of|adr[ -]?\d+)\b"
    r"|\bi (?:chose|picked|want to use)\b|\bwe(?:'ll| will) (?:use|need|focus|stay)\b"
    r"|\b(?:we|team)(?:'re| are|'ve| have|'ll| will)? (?:all )?(?:not )?(?:going (?:to|with)|go|went with"
    r"|chose|chosen|picked|switch(?:ed)?|moved|migrated?|drop(?:ped)?|removed|replaced|adopt(?:ed)?|keep|stick)\b"
    r"|\A(?:going with|went with|picked|chose|switched|moved|migrated|dropped|replaced|let'?s)\b",
    Kind.PROCEDURE: r"\A(?:run|call|execute) (?:\S+ )+?(?:to|for|if|when|after|and|then)\b"
    r"|\A(?:run|execute) (?:`[^`]+`|\S*[/.]\S+|\S+ \S+)\Z"
    r"|\A(?:in order )?to [^.:]{3,60}?(?:,|:| then)? ?(?:run|call|use|do|execute|type|start)\b"
    r"|\A(?:in order )?to [^.:,]{3,60}:|\Ahow to\b|\bsteps?:|\A(?:use|with) `[^`]+` to\b"
    r"|\A(?:first|step 1)\b.*\bthen\b|\A(?:when|if|once|for an?|after)\b[^.]{3,60}?\b(?:run|call|execute)\b"
    r"|\A(?:you can )?(?:re)?(?:run|start|stop|build|install|deploy|reset|generate|test|serve|launch|load|seed)\b"
    r"[^,.]{2,60} (?:with|via|using|by) \S",
    Kind.REQUIREMENT: r"\b(?:requirements?|req-\d+|shall|acceptance criteria)\b"
    r"|\bmust (?:support|handle|work|respond|answer|be able|comply|finish)\b",
    Kind.CONVENTION: r"\A(?:never(?! ?mind)|always|do not|don'?t|avoid|stop|only|keep|prefer|use|every|no|make sure"
    r"|ensure|from now on|going forward|in (?:the )?future|as a rule)\b"
    r"|\b(?:must|should|shouldn'?t|mustn'?t|ought|have to)\b|\b(?:we|you|please) (?:always|never|only|don'?t|do not)\b"
    r"|\b(?:from now on|going forward|by convention)\b|\balways\W*\Z|\b(?:are|is) (?:forbidden|not allowed|banned)\b"
    r"|\b(?:all|every|each) \S+(?: \S+)? needs?\b|\A(?:when|if|before|after|whenever) (?:you|an?|each)\b[^,]+, \S",
}


def tell_kind(text: str) -> Kind:
    """Return the kind that the words of a short note tell; a fact if none of its sentences tells another."""
    if len(text) > LONGEST_TEXT:
        return Kind.FACT
    sentences = re.split(SENTENCE_END, text.replace("’", "'"))[:MOST_SENTENCES]
    kinds = (_tell_kind_of_sentence(_drop_fillers(sentence)) for sentence in sentences)
    return next((kind for kind in kinds if kind is not Kind.FACT), Kind.FACT)


def _tell_kind_of_sentence(sentence: str) -> Kind:
    # A question tells nothing by itself.
    if sentence.endswith("?"):
        return Kind.FACT
    return next((kind for kind, pattern in KIND_PATTERNS.items() if re.search(pattern, sentence)), Kind.FACT)


def _drop_fillers(sentence: str) -> str:
    words = sentence.lower().split()
    while words and words[0].strip(",:;.-") in FILLERS:
        words.pop(0)
    return " ".join(words)
