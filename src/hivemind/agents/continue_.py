"""Continue: Claude's hooks in settings of its own, the server in YAML, a rule for runs without hooks."""

from functools import partial

from hivemind.agents import claude_shape
from hivemind.agents.base import unreadable
from hivemind.agents.pieces import RULE, SERVER, Launch, OwnFile, Piece, Place, YamlItem

NAME = "continue"
TITLE = "Continue"
HOMES: tuple[str, ...] = (".continue",)
SAME_IDS = False
ANSWERS = claude_shape.ANSWERS
TRANSCRIPTS: tuple[str, ...] = ()

EVENTS = "SessionStart UserPromptSubmit PostToolUse PostToolUseFailure Stop SessionEnd"

decode = partial(claude_shape.decode, NAME)
reply = claude_shape.reply


def pieces(place: Place, launch: Launch) -> tuple[Piece, ...]:
    """The server, the hooks and a rule; in a project the server has a file to itself."""
    own = place.root / ".continue"
    servers = own / "mcpServers" / "hivemind.yaml" if place.project else own / "config.yaml"
    item = {"name": SERVER, **launch.entry()}
    return (
        YamlItem(path=servers, key="mcpServers", fields=item, fresh="name: Local\nversion: 0.0.1\nschema: v1\n"),
        claude_shape.hooks(own / "settings.json", NAME, launch, EVENTS),
        OwnFile(path=own / "rules" / "hivemind.md", text=f"{RULE}\n"),
    )


read_transcript = unreadable
