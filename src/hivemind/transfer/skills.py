"""Skills written from reviewed procedures, the folders with a SKILL.md that agents read: planning and checking them."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from hivemind.agents.file_changes import FileChange, read_file
from hivemind.context import Context
from hivemind.errors import InvalidInput, NotFound
from hivemind.model.ids import shorten_id
from hivemind.model.memory import Kind, Memory, Source, Status
from hivemind.model.timestamps import format_date
from hivemind.store.integrity import Finding
from hivemind.text.clean import first_line, neutralise, plural
from hivemind.text.untrusted import Unreadable, read_limited
from hivemind.transfer.rules_files import check_reviewed

FOLDERS = (".agents/skills", ".claude/skills")
"""The first reaches all agents that read skills but Claude Code, the second Claude Code."""
FILE = "SKILL.md"
OWN_SKILL = re.compile(r"<!-- hivemind: written from memory (?P<id>[0-9a-f]+), version (?P<version>\d+)\b[^>]*-->")
MAX_NAME_WORDS, LONGEST_NAME, LONGEST_DESCRIPTION = 4, 64, 200
"""Agents list the names and descriptions of all skills in every session, so both are short; the standard allows
names of 64 characters."""
LARGEST_FILE = 1024 * 1024


def plan_skill(context: Context, memory_id: str) -> tuple[FileChange, ...]:
    """Plan the files that make a procedure a skill in this repository; empty if they are there already."""
    memory = context.find_memory(memory_id)
    root = context.checkout.root
    # A skill keeps its name when the text changes, or the old one would stay beside the new one.
    names = [file.parent.name for file, _, origin in find_skills(root) if origin["id"] == memory.id]
    name = names[0] if names else name_skill(memory)
    text = render_skill(memory, name)
    changes = []
    # The same text for all agents, because the format of skills is a standard that they share.
    for folder in FOLDERS:
        path = root / folder / name / FILE
        before = read_file(path)
        origin = OWN_SKILL.search(before or "")
        if before and not (origin and origin["id"] == memory.id):
            raise InvalidInput(
                f"{path.relative_to(root)} is a skill of its own; rename it, or give the memory another subject"
            )
        # A link in the repository must not make us write outside of it.
        if not path.resolve().is_relative_to(root.resolve()):
            raise InvalidInput(f"{path.relative_to(root)} leads out of the repository; remove the link")
        if before != text:
            changes.append(FileChange(path=path, before=before, after=text))
    return tuple(changes)


def examine_skills(context: Context) -> Iterator[Finding]:
    """Report skills of this repository whose memory was changed, withdrawn or put in doubt by the code."""
    # By name, because a skill is one file for Claude Code and one for the other agents.
    names = set[str]()
    problems: dict[str, tuple[str, str]] = {}
    for file, text, origin in find_skills(context.checkout.root):
        name = file.parent.name
        names.add(name)
        if problem := _find_problem(context, name, text, origin["id"]):
            problems[name] = problem
    if problems:
        details = "; ".join(f"{name}: {detail}" for name, (detail, _) in problems.items())
        remedies = "; ".join(remedy for _, remedy in problems.values())
        yield Finding(what="skills", is_well=False, detail=details, remedy=remedies)
    elif names:
        yield Finding(what="skills", is_well=True, detail=f"{plural(len(names), 'skill')} as in memory")


def _find_problem(context: Context, name: str, text: str, memory_id: str) -> tuple[str, str] | None:
    """Return what is wrong with a skill, and what to do about it; None if nothing is."""
    short_id = shorten_id(memory_id)
    try:
        memory = context.find_memory(memory_id)
    except NotFound:
        folders = " and ".join(f"{folder}/{name}" for folder in FOLDERS)
        return f"its memory {short_id} is gone", f"delete {folders}"
    if memory.status is not Status.ACTIVE:
        return f"its memory {short_id} is {memory.status}", f"hivemind explain {short_id}"
    texts = [memory.text] * len(memory.anchors)
    if any(staleness.must_verify for staleness in context.checkout.judge(memory.anchors, texts)):
        return f"the code of its memory {short_id} has changed", f"hivemind verify {short_id}, or edit it"
    try:
        is_current = text == render_skill(memory, name)
    except InvalidInput:
        # A revision by an agent lowers the trust, or the kind was changed.
        return f"its memory {short_id} is no longer a reviewed procedure", f"hivemind approve {short_id}"
    promote = f"hivemind review promote {short_id} --skill"
    return None if is_current else (f"it differs from its memory {short_id}", promote)


def name_skill(memory: Memory) -> str:
    """Return a name for a memory's skill: its subject, else the first words of its text."""
    words = re.findall(r"[a-z0-9]+", (memory.subject or memory.text).lower())
    # A text without Latin letters has no such words.
    return "-".join(words[:MAX_NAME_WORDS])[:LONGEST_NAME].strip("-") or f"memory-{shorten_id(memory.id)}"


def render_skill(memory: Memory, name: str) -> str:
    """Return the text of a skill: name, description, procedure, and where it comes from."""
    # A skill is followed without a question, so it needs more than a detector's word.
    check_reviewed(memory)
    if memory.kind is not Kind.PROCEDURE:
        raise InvalidInput(
            f"{shorten_id(memory.id)} is a {memory.kind}; only a procedure becomes a skill. For other kinds:"
            f" hivemind review promote {shorten_id(memory.id)}"
        )
    text = neutralise(memory.text).strip()
    # A JSON string is a valid YAML string.
    description = json.dumps(first_line(text, LONGEST_DESCRIPTION), ensure_ascii=False)
    sources = "; ".join(filter(None, map(_format_source, memory.sources)))
    approval = f"{memory.author}, {format_date(memory.revised_at)}"
    return (
        f"---\nname: {name}\ndescription: {description}\n---\n\n{text}\n\n"
        f"<!-- hivemind: written from memory {memory.id}, version {memory.version} ({_escape(approval)}) -->\n"
        f"<!-- Sources: {_escape(sources) or 'none named'}. All of them: hivemind explain {shorten_id(memory.id)} -->\n"
    )


def find_skills(root: Path) -> Iterator[tuple[Path, str, re.Match[str]]]:
    """Yield the skills of a repository that were written from memories: file, text and the line that says so."""
    for folder in FOLDERS:
        for file in sorted((root / folder).glob(f"*/{FILE}")):
            # A symbolic link may lead out of the repository, and a large file is no skill.
            with suppress(OSError, Unreadable):
                text = read_limited(file, LARGEST_FILE, within=root).decode("utf-8", "replace")
                if origin := OWN_SKILL.search(text):
                    yield file, text, origin


def _format_source(source: Source) -> str:
    place = source.file + (f":{source.lines}" if source.lines else "")
    commit = f"at {source.commit[:8]}" if source.commit else ""
    session = f"session {source.session_id[:12]}" if source.session_id else ""
    return " ".join(filter(None, [source.actor, place, commit, session]))


def _escape(text: str) -> str:
    """Keep a text from ending the comment it stands in."""
    return neutralise(text).replace("\n", " ").replace("--", "- -").replace(">", "")
