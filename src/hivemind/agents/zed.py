"""Zed: the server in its settings, and a skill; it has no hooks, and its threads are not read."""

from hivemind.agents.agent import make_reply, skip_transcript
from hivemind.agents.config_entries import RULE, InstallTarget, Launch, OwnFile, Piece, ServerEntry
from hivemind.agents.json_input import Observations, Payload
from hivemind.model.session import SkippedInput

NAME = "zed"
TITLE = "Zed"
HOMES: tuple[str, ...] = (".config/zed", ".local/share/zed")
# Not "zed" itself: on many servers that is the event daemon of ZFS.
PROGRAMS: tuple[str, ...] = ("zeditor",)
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


def decode(event: str, payload: Payload, at: str) -> Observations:
    """Skip any payload: Zed has no hooks."""
    yield SkippedInput(reason="Zed has no hooks")


reply = make_reply(ANSWERS)


def build_pieces(target: InstallTarget, launch: Launch) -> tuple[Piece, ...]:
    """Return the server, and a skill, as no hook can remind the model of it."""
    directory = target.project / ".zed" if target.project else target.home / ".config" / "zed"
    return (
        ServerEntry(path=directory / "settings.json", value=launch.server_entry(env={}), under="context_servers"),
        OwnFile(path=target.root / ".agents" / "skills" / "hivemind" / "SKILL.md", text=SKILL),
    )


read_transcript = skip_transcript
