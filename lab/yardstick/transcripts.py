"""Read and write transcripts of Claude Code: the talk of a session, without the output of its tools."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple


class Message(NamedTuple):
    """What a person or an agent said."""

    role: str
    """``user`` or ``assistant``."""
    text: str


def read_messages(path: Path) -> list[Message]:
    """Read the talk of a transcript, consecutive messages of one side together."""
    messages: list[Message] = []
    for line in path.read_text("utf-8").splitlines():
        entry = json.loads(line)
        content = entry["message"]["content"]
        text = content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
        if messages and messages[-1].role == entry["type"]:
            messages[-1] = Message(entry["type"], f"{messages[-1].text}\n\n{text}")
        elif text.strip():
            messages.append(Message(entry["type"], text))
    return messages


def list_exchanges(messages: Iterable[Message]) -> Iterator[str]:
    """Yield each prompt with the reply that follows it."""
    prompt = ""
    for message in messages:
        if message.role == "user":
            if prompt:
                yield prompt
            prompt = message.text
        else:
            yield f"{prompt}\n\n{message.text}".strip()
            prompt = ""
    if prompt:
        yield prompt


def write_transcript(path: Path, messages: Iterable[Message], *, cwd: Path, begin: str) -> None:
    """Write messages as Claude Code does; they are a second apart."""
    path.parent.mkdir(parents=True, exist_ok=True)
    parent = None
    with path.open("w", encoding="utf-8") as file:
        for number, message in enumerate(messages):
            own_id = f"{path.stem}-{number}"
            content = message.text if message.role == "user" else [{"type": "text", "text": message.text}]
            seconds = number % 3600
            entry = {
                "type": message.role, "uuid": own_id, "parentUuid": parent, "sessionId": path.stem, "cwd": str(cwd),
                "timestamp": f"{begin[:14]}{seconds // 60:02}:{seconds % 60:02}.000Z", "version": "2.1.0",
                "isSidechain": False, "userType": "external",
                "message": {"role": message.role, "content": content},
            }  # fmt: skip
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")
            parent = own_id
