"""Read what people typed out of public histories of coding agents, from bare clones of their repositories."""

import argparse
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hivemind.text.prose import split_prompt
from lab.training.lasting.split import choose_split

PATHS = ("*aider.chat.history.md", "*specstory/history/*.md", "*rollout-*.jsonl", "*/full.jsonl", "*/prompt.txt")
NOT_TYPED = re.compile(
    r"\s*(?:<(?!http)|\[Request interrupted|Caveat:|Base directory for this skill|This session is being continued"
    r"|\[\[ ##|# AGENTS\.md instructions|## Context from my IDE|You are (?:a|an|the) |Stop hook feedback"
    r"|Implement the following plan:|A conversation with an AI)",
)
"""Openings of text that a client or another agent wrote in the person's place."""
CLIENT_TEXT = re.compile(
    r"<(system-reminder|ide_\w+|command-\w+|local-command-\w+|environment_context|user_instructions|task-notification"
    r"|teammate-message|attached_files|open_and_recently_viewed_files|user_info|additional_data)\b[^>]*>.*?</\1>",
    re.DOTALL,
)
LONGEST_PROMPT = 6000


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One thing a person typed, and the end of what the agent said before."""

    repository: str
    commit: str
    path: str
    session: str
    index: int
    prompt: str
    reply: str


def main() -> None:
    """Write every sentence of every turn as a line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mirrors", type=Path, help="folder with OWNER+NAME/repo bare clones")
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    with arguments.output.open("w", encoding="utf-8") as output:
        for folder in sorted(arguments.mirrors.glob("*+*")):
            repository = folder.name.replace("+", "/", 1)
            seen: set[str] = set()
            count = 0
            for turn in read_repository(folder / "repo", repository):
                key = " ".join(turn.prompt.split()).lower()
                if key in seen:
                    continue
                seen.add(key)
                for line in make_lines(turn):
                    output.write(json.dumps(line, ensure_ascii=False) + "\n")
                    count += 1
            if count:
                print(choose_split(repository), repository, len(seen), count, sep="\t", file=sys.stderr)


def make_lines(turn: Turn) -> Iterator[dict[str, Any]]:
    """Yield the sentences of a turn, each with what stands before it."""
    sentences = list(split_prompt(turn.prompt))
    previous = ""
    for position, sentence in enumerate(sentences):
        place = f"{turn.repository}:{turn.path}:{turn.session}:{turn.index}:{sentence.begin}:{sentence.text}"
        yield {
            "id": hashlib.sha256(place.encode()).hexdigest()[:12],
            "split": choose_split(turn.repository),
            **{key: value for key, value in asdict(turn).items() if key not in ("prompt", "reply")},
            "begin": sentence.begin,
            "end": sentence.end,
            "text": sentence.text,
            "previous": previous,
            "following": sentences[position + 1].text if position + 1 < len(sentences) else "",
            "reply": turn.reply,
            "position": position,
            "sentences": len(sentences),
            "length": len(turn.prompt),
        }
        previous = sentence.text


def read_repository(git_directory: Path, repository: str) -> Iterator[Turn]:
    """Yield what people typed in a repository's histories."""
    for commit, path in list_files(git_directory):
        for index, (session, prompt, reply) in enumerate(read_file(path, show(git_directory, commit, path))):
            cleaned = CLIENT_TEXT.sub("", prompt).strip()
            if cleaned and not NOT_TYPED.match(cleaned) and len(cleaned) <= LONGEST_PROMPT:
                yield Turn(
                    repository=repository,
                    commit=commit,
                    path=path,
                    session=session,
                    index=index,
                    prompt=cleaned,
                    reply=find_last_sentence(reply),
                )


def find_last_sentence(reply: str) -> str:
    """Return the last sentence of a reply, at most 300 characters of it."""
    sentences = list(split_prompt(reply[-2000:]))
    return sentences[-1].text[-300:] if sentences else ""


def list_files(git_directory: Path) -> Iterator[tuple[str, str]]:
    """Yield each history with the newest commit that has it; ``prompt.txt`` only where the transcript is missing."""
    options = ("--all", "--format=commit %H", "--name-status", "--no-renames", "--diff-filter=AM")
    out = run_git(git_directory, "log", *options, "--", *PATHS)
    newest: dict[str, str] = {}
    commit = ""
    for line in out.splitlines():
        if line.startswith("commit "):
            commit = line.removeprefix("commit ")
        elif line:
            newest.setdefault(line.partition("\t")[2].strip('"'), commit)
    for path, commit in sorted(newest.items()):
        if not path.endswith("/prompt.txt"):
            if show(git_directory, commit, path):
                yield commit, path
            else:
                prompts = path.rpartition("/")[0] + "/prompt.txt"
                if prompts in newest:
                    yield newest[prompts], prompts


def show(git_directory: Path, commit: str, path: str) -> str:
    """Return a file at a commit; empty if the clone does not have it."""
    return run_git(git_directory, "show", f"{commit}:{path}")


def run_git(git_directory: Path, *arguments: str) -> str:
    """Run git and return what it prints; empty if it fails."""
    command = ["git", f"--git-dir={git_directory}", "-c", "core.quotepath=off", *arguments]
    done = subprocess.run(command, capture_output=True, check=False)
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""


def read_file(path: str, text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the session, the prompt and the reply before it of each turn."""
    if path.endswith("aider.chat.history.md"):
        yield from read_aider(text)
    elif path.endswith(".md"):
        yield from read_specstory(text)
    elif path.endswith("prompt.txt"):
        yield from (("", prompt, "") for prompt in text.split("\n\n---\n\n"))
    elif text.lstrip().startswith("{\n") or text.lstrip().startswith('{"info"'):
        yield from read_opencode(text)
    else:
        yield from read_lines(text)


def read_aider(text: str) -> Iterator[tuple[str, str, str]]:
    """Lines with ``####`` were typed, lines with ``>`` are the client's."""
    prompt: list[str] = []
    reply: list[str] = []
    for line in text.splitlines():
        if line.startswith("#### "):
            prompt.append(line[5:].rstrip())
            continue
        if prompt:
            typed = "\n".join(prompt)
            if not typed.startswith("/"):
                yield "", typed, "\n".join(reply)
            elif typed.split(" ", 1)[0] in ("/ask", "/architect", "/code") and " " in typed:
                yield "", typed.split(" ", 1)[1], "\n".join(reply)
            prompt, reply = [], []
        if not line.startswith(">"):
            reply.append(line)


def read_specstory(text: str) -> Iterator[tuple[str, str, str]]:
    """Turns are headed by ``_**User**_`` and ``_**Assistant**_``, with a time in newer versions."""
    reply = ""
    parts = re.split(r"^_\*\*(User|Assistant|Agent)?[^\n]*\*\*_\s*$", text, flags=re.MULTILINE)
    for speaker, turn in zip(parts[1::2], parts[2::2], strict=False):
        body = re.sub(r"\n---\s*\Z", "", turn.strip())
        if speaker == "User":
            yield "", body, reply
            reply = ""
        else:
            reply = body or reply


def read_opencode(text: str) -> Iterator[tuple[str, str, str]]:
    """One JSON object with messages and their parts."""
    try:
        session = json.loads(text)
    except ValueError:
        return
    reply = ""
    for message in session.get("messages", []):
        role = message.get("info", message).get("role") or message.get("type")
        parts = message.get("parts") or [{"type": "text", "text": message.get("content", "")}]
        typed = [part for part in parts if part.get("type") == "text" and not part.get("synthetic")]
        words = "\n".join(str(part.get("text", "")) for part in typed)
        if role == "user":
            yield session.get("info", {}).get("id", ""), words, reply
        elif words.strip():
            reply = words


def read_lines(text: str) -> Iterator[tuple[str, str, str]]:
    """One JSON object a line: Claude Code, Codex or Copilot CLI."""
    reply = session = ""
    for line in text.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if not isinstance(entry, dict):
            continue
        session = entry.get("sessionId") or session
        payload = entry.get("payload") or {}
        if entry.get("type") == "event_msg" and payload.get("type") in ("user_message", "agent_message"):
            role, words = payload["type"].partition("_")[0], str(payload.get("message", ""))
        elif entry.get("type") in ("user.message", "assistant.message"):
            data = entry.get("data", {})
            role, words = entry["type"].partition(".")[0], str(data.get("content", ""))
        elif entry.get("type") in ("user", "assistant") and "message" in entry:
            if any(entry.get(mark) for mark in ("isMeta", "isSidechain", "isCompactSummary", "agentName")):
                continue
            role, words = entry["type"], flatten(entry["message"].get("content"))
        else:
            continue
        if role == "user" and words.strip():
            yield session, words, reply
            reply = ""
        elif words.strip():
            reply = words


def flatten(content: Any) -> str:
    """Return the text of a message; empty if it is the result of a tool."""
    if isinstance(content, str):
        return content
    parts = [part for part in content or [] if isinstance(part, dict)]
    if any(part.get("type") == "tool_result" for part in parts):
        return ""
    return "\n".join(str(part.get("text", "")) for part in parts if part.get("type") == "text")


if __name__ == "__main__":
    main()
