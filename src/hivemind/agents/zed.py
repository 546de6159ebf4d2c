"""Zed: the server in its settings and a skill; it has no hooks, and its threads are not read."""

from hivemind.agents import claude_shape
from hivemind.agents.base import Payload, Told, answering, unreadable
from hivemind.agents.pieces import RULE, Launch, OwnFile, Piece, Place, Server
from hivemind.model.session import Skipped

NAME = "zed"
TITLE = "Zed"
HOMES: tuple[str, ...] = (".config/zed", ".local/share/zed")
SAME_IDS = False
ANSWERS: dict[str, str] = {}
TRANSCRIPTS: tuple[str, ...] = ()

SKILL = (
    "---\n"
    "name: hivemind\n"
    "description: Recall and keep what is known about this project across sessions. Use before starting on a "
    "task, when asked what was decided or done before, and when something worth knowing was learned.\n"
    "---\n\n"
    f"{RULE}\n"
)


def decode(event: str, payload: Payload, at: str) -> Told:
    """Nothing: Zed runs no hooks."""
    yield Skipped(reason="Zed has no hooks")


reply = answering(ANSWERS, claude_shape.form)


def pieces(place: Place, launch: Launch) -> tuple[Piece, ...]:
    """The server, and a skill, as nothing else reminds the model of it."""
    own = place.project / ".zed" if place.project else place.home / ".config" / "zed"
    return (
        Server(path=own / "settings.json", value=launch.entry(env={}), under="context_servers"),
        OwnFile(path=place.root / ".agents" / "skills" / "hivemind" / "SKILL.md", text=SKILL),
    )


read_transcript = unreadable
