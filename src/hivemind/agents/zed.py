"""Zed: the server in its settings and a skill; it has no hooks, and its threads are not read."""

from hivemind.agents.base import Payload, Told, no_transcripts, unreadable
from hivemind.agents.instructions import SKILL, TITLE_OF_RULE
from hivemind.agents.pieces import SERVER, Entry, Launch, OwnFile, Piece, Place, entry
from hivemind.model.session import Skipped

NAME = "zed"
TITLE = "Zed"
HOMES: tuple[str, ...] = (".config/zed", ".local/share/zed")
SAME_IDS = False
ANSWERS: dict[str, str] = {}


def decode(event: str, payload: Payload, at: str) -> Told:
    """Nothing: Zed runs no hooks."""
    yield Skipped(reason="Zed has no hooks")


def reply(event: str, context: str) -> str:
    """Nothing: Zed runs no hooks."""
    return ""


def pieces(place: Place, launch: Launch) -> tuple[Piece, ...]:
    """The server, and a skill, as nothing else reminds the model of it."""
    own = place.project / ".zed" if place.project else place.home / ".config" / "zed"
    return (
        Entry(path=own / "settings.json", keys=("context_servers", SERVER), value=entry(launch, env={})),
        OwnFile(path=place.root / ".agents" / "skills" / "hivemind" / "SKILL.md", text=SKILL, mark=TITLE_OF_RULE),
    )


transcripts, read_transcript = no_transcripts, unreadable
