"""A store such as a few weeks of work leave behind."""

import json
import random
import string
from pathlib import Path

from hivemind import Hivemind
from hivemind.model.memory import Channel, Writer
from hivemind.sessions import spool
from hivemind.settings import Settings

OBSERVED_AT = "2026-01-01T10:00:00.{:06d}Z"


def opened(home: Path, name: str = "ada", directory: Path | None = None) -> Hivemind:
    """The store in a home, for a person."""
    writer = Writer(actor=name, channel=Channel.PERSON)
    settings = Settings(home=home, person=name)
    return Hivemind.open(directory=directory or home.parent, settings=settings, writer=writer)


def lived_in(home: Path, memories: int, seed: int = 1) -> None:
    """Memories, revisions, recalls, erasures, observations and vectors, as many as asked."""
    chance = random.Random(seed)
    words = ["".join(chance.choices(string.ascii_lowercase, k=chance.randint(3, 9))) for _ in range(1500)]

    def said(length: int) -> str:
        return " ".join(chance.choices(words, k=length))

    home.mkdir(parents=True, exist_ok=True)
    for number in range(memories):
        told = {
            "session_id": f"s{number // 50}", "cwd": str(home), "tool_name": "Bash", "tool_use_id": f"t{number}",
            "tool_input": {"command": said(5)}, "tool_response": {"stdout": said(60), "stderr": ""},
        }  # fmt: skip
        spool.append(str(home), "claude-code", "PostToolUse", OBSERVED_AT.format(number), json.dumps(told))
    with opened(home) as mind:
        kept = [mind.remember(said(chance.randint(6, 40))).id for _ in range(memories)]
        for one in kept[::10]:
            mind.edit(one, said(20))
        for _ in kept[::25]:
            mind.recall(said(4))
        for one in kept[1::40]:
            mind.erase(one)
        mind.maintenance.catch_up()
