"""Writes reviewed procedures as skills, the folders with a SKILL.md that agents read, and tells whose they are."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from hivemind.errors import InvalidInput
from hivemind.model.ids import shorten_id
from hivemind.model.memory import Kind, Memory, Source
from hivemind.model.timestamps import format_date
from hivemind.text.clean import first_line, neutralise
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
