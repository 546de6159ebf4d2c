"""Read histories of sessions that people publish: SpecStory, aider, and transcripts of Claude Code kept by Entire."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import zip_longest
from typing import NamedTuple

from lab.yardstick.adapter import Turn

REPLY_CHARACTERS = 1500
"""How much of the end of a reply is kept; only its last sentence is judged."""
CHECKSUM_DIGITS = 12

SPECSTORY_HEADING = re.compile(
    r"^_\*\*(User|Agent|Assistant)\b[^\n]*\*\*_\s*$|^\*\*(User|Agent|Assistant)\*\*\s*$", re.MULTILINE
)
SPECSTORY_RULE = re.compile(r"\n---\s*\Z")
ADDED_BY_CLIENT = re.compile(
    r"<(ide_\w+|system-reminder|command-\w+|local-command-\w+|environment_context|user_info|attached_files"
    r"|open_and_recently_viewed_files)\b.*?</\1>",
    re.DOTALL,
)
REQUEST = re.compile(r"<user_query>(.*?)</user_query>|## My request for Codex:\s*(.*)\Z", re.DOTALL)
"""Where a client puts what the person typed among other text."""
NOT_SPOKEN = re.compile(
    r"<think>.*?</think>|<details>.*?</details>|<tool-use.*?</tool-use>|</?(?:details|summary|think|tool-use)[^>]*>",
    re.DOTALL,
)
"""Reasoning and calls of tools in a reply."""


class Speaker(Enum):
    """Who wrote a part of a history; a break starts a new session in the same file."""

    PERSON = "person"
    AGENT = "agent"
    BREAK = "break"


class Part(NamedTuple):
    """What somebody wrote in a history, up to where the other one goes on."""

    speaker: Speaker
    text: str


def compute_checksum(prompt: str) -> str:
    """Return the first digits of the SHA-256 of a prompt."""
    return hashlib.sha256(prompt.encode("utf-8", "replace")).hexdigest()[:CHECKSUM_DIGITS]


def parse_history(path: str, text: str) -> Iterator[Part]:
    """Yield the parts of a history as SpecStory, aider or Entire wrote it."""
    if path.endswith(".jsonl"):
        return parse_transcript(text)
    return parse_aider(text) if path.endswith(".aider.chat.history.md") else parse_specstory(text)


def parse_specstory(text: str) -> Iterator[Part]:
    """Yield the parts of a Markdown file in ``.specstory/history``."""
    headings = list(SPECSTORY_HEADING.finditer(text))
    for heading, following in zip_longest(headings, headings[1:]):
        end = following.start() if following else len(text)
        body = SPECSTORY_RULE.sub("", text[heading.end() : end].rstrip()).strip()
        yield Part(Speaker.PERSON if "User" in heading.groups() else Speaker.AGENT, body)


def parse_aider(text: str) -> Iterator[Part]:
    """Yield the parts of ``.aider.chat.history.md``, in which lines that the person typed begin with hashes."""
    prompt: list[str] = []
    for line in text.splitlines():
        if line.startswith("#### "):
            prompt.append(line.removeprefix("#### ").rstrip())
            continue
        if prompt:
            yield Part(Speaker.PERSON, "\n".join(prompt))
            prompt = []
        if line.startswith("# aider chat started"):
            yield Part(Speaker.BREAK, "")
        elif not line.startswith("> "):
            yield Part(Speaker.AGENT, line)
    if prompt:
        yield Part(Speaker.PERSON, "\n".join(prompt))


def parse_transcript(text: str) -> Iterator[Part]:
    """Yield the parts of a transcript of Claude Code, as Entire keeps it."""
    for line in text.splitlines():
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            # A line that was torn when it was saved.
            continue
        message = entry.get("message") if isinstance(entry, dict) else None
        if not isinstance(message, dict) or entry.get("isSidechain") or entry.get("isMeta"):
            continue
        content = message.get("content") or []
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        said = "\n".join(block["text"] for block in blocks if block["type"] == "text")
        if entry.get("type") == "user" and all(block["type"] != "tool_result" for block in blocks):
            yield Part(Speaker.PERSON, said)
        elif entry.get("type") == "assistant" and said.strip():
            yield Part(Speaker.AGENT, said)


def pair_turns(parts: Iterable[Part]) -> Iterator[Turn]:
    """Yield each prompt, without what the client added, with the end of the reply before it."""
    replies: list[str] = []
    for part in parts:
        match part.speaker:
            case Speaker.AGENT:
                replies.append(NOT_SPOKEN.sub("", part.text).strip())
            case Speaker.BREAK:
                replies = []
            case Speaker.PERSON:
                yield Turn(clean_prompt(part.text), "\n".join(replies)[-REPLY_CHARACTERS:].strip())
                replies = []


def clean_prompt(text: str) -> str:
    """Return what the person typed, without the blocks that a client put around it."""
    prompt = ADDED_BY_CLIENT.sub("", text).strip()
    request = REQUEST.search(prompt)
    return (request[1] or request[2] or "").strip() if request else prompt
