"""Words in the place of an id: a person at a terminal picks among the closest memories, or sessions."""

import re
import sys
from collections.abc import Mapping
from contextlib import suppress

import click

from hivemind.agents.callers import is_agent_calling
from hivemind.cli.framework import get_store_name, wants
from hivemind.cli.output import wrap
from hivemind.errors import NotFound
from hivemind.hivemind import Hivemind
from hivemind.model.ids import shorten_id, shorten_session_ids
from hivemind.model.memory import Memory, Status
from hivemind.model.recall import SessionHit
from hivemind.model.timestamps import format_date
from hivemind.text.clean import first_line
from hivemind.text.fence import quote_line

ID = re.compile(r"[0-9a-fA-F-]+")
SESSION_ID = re.compile(rf"{ID.pattern}|\S*\d\S*")
"""Agents choose the ids of their sessions; nearly all have a digit."""
FINDABLE = tuple(status for status in Status if status is not Status.ERASED)
"""``restore`` is about retracted memories, ``approve`` about proposals."""


def resolve_memory(text: str, *, everywhere: bool) -> str:
    """Return an id as it is, and for words the id of the memory that the person picks."""
    if not text or ID.fullmatch(text):
        return text
    if is_agent_calling():
        raise NotFound(f"{text!r} is not the id of a memory; 'hivemind recall' shows ids")
    with Hivemind.open(get_store_name()) as mind:
        hits = mind.browse.search(text, statuses=FINDABLE, everywhere=everywhere).hits
    return _pick("memory", text, {hit.memory.id: _describe_memory(hit.memory) for hit in hits})


def resolve_memories(texts: tuple[str, ...], *, everywhere: bool) -> tuple[str, ...]:
    """Return ids as they are; without any id among them, all words together describe one memory."""
    if any(map(ID.fullmatch, texts)):
        return resolve_each_memory(texts, everywhere=everywhere)
    return (resolve_memory(" ".join(texts), everywhere=everywhere),) if texts else ()


def resolve_each_memory(texts: tuple[str, ...], *, everywhere: bool) -> tuple[str, ...]:
    """Return ids as they are, and for each of the other texts the id of the memory that the person picks."""
    return tuple(resolve_memory(text, everywhere=everywhere) for text in texts)


def resolve_session(text: str | None, *, everywhere: bool) -> str:
    """Return the id of a session as it is, and for words the id of the session that the person picks."""
    if not text or SESSION_ID.fullmatch(text) or is_agent_calling():
        return text or ""
    with Hivemind.open(get_store_name()) as mind:
        with suppress(NotFound):
            return mind.sessions.show(text, everywhere=everywhere)[0].id
        hits = mind.browse.search(text, everywhere=everywhere).session_hits
    short_ids = shorten_session_ids([hit.session_id for hit in hits])
    lines: dict[str, str] = {
        hit.session_id: _describe_session(short_id, hit) for short_id, hit in zip(short_ids, hits, strict=True)
    }
    return _pick("session", text, lines)


def _pick(what: str, text: str, candidates: Mapping[str, str]) -> str:
    """Let the person choose among descriptions by id; Enter chooses none."""
    if not candidates:
        command = "hivemind session" if what == "session" else "hivemind list"
        raise NotFound(f"no {what} is like {text!r}; '{command}' shows what there is")
    if wants("json") or not (sys.stdin.isatty() and sys.stderr.isatty()):
        lines = "\n".join(f"  {description}" for description in candidates.values())
        raise NotFound(f"{text!r} is not the id of a {what}. Closest:\n{lines}")
    click.echo(wrap(quote_line(f"Which {what} is {text!r}?")), err=True)
    for number, description in enumerate(candidates.values(), start=1):
        click.echo(wrap(description, f"{number:>3}  ", " " * 15), err=True)
    choice = click.prompt(
        "Number (Enter: none)", default=0, show_default=False, type=click.IntRange(0, len(candidates)), err=True
    )
    if not choice:
        raise click.Abort
    return [*candidates][choice - 1]


def _describe_memory(memory: Memory) -> str:
    status = "" if memory.status is Status.ACTIVE else f" ({memory.status})"
    return f"{shorten_id(memory.id)}  {quote_line(first_line(memory.text, 90))}{status}"


def _describe_session(short_id: str, hit: SessionHit) -> str:
    text = hit.conclusions[0].text if hit.conclusions else hit.text
    return quote_line(f"{short_id}  {format_date(hit.at)} {hit.agent}: {first_line(text, 90)}")
