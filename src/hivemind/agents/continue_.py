"""Continue: Claude's hooks in settings of its own, the server in YAML, a rule for runs without hooks."""

from functools import partial

from hivemind.agents import claude_shape
from hivemind.agents.base import no_transcripts, unreadable
from hivemind.agents.instructions import RULE, TITLE_OF_RULE
from hivemind.agents.pieces import SERVER, Hooks, Launch, OwnFile, Piece, Place, YamlItem, entry

NAME = "continue"
TITLE = "Continue"
HOMES: tuple[str, ...] = (".continue",)
SAME_IDS = False
ANSWERS = claude_shape.ANSWERS

TIMEOUT_SECONDS = {
    "SessionStart": 15,
    "UserPromptSubmit": 10,
    "PostToolUse": 10,
    "PostToolUseFailure": 10,
    "Stop": 10,
    "SessionEnd": 5,
}


decode = partial(claude_shape.decode, NAME)
reply = claude_shape.reply


def pieces(place: Place, launch: Launch) -> tuple[Piece, ...]:
    """The server, the hooks and a rule; in a project the server has a file to itself."""
    own = place.root / ".continue"
    servers = own / "mcpServers" / "hivemind.yaml" if place.project else own / "config.yaml"
    item = {"name": SERVER, **entry(launch)}
    return (
        YamlItem(path=servers, key="mcpServers", fields=item, fresh="name: Local\nversion: 0.0.1\nschema: v1\n"),
        Hooks(path=own / "settings.json", agent=NAME, entries=claude_shape.groups(NAME, launch, TIMEOUT_SECONDS)),
        OwnFile(path=own / "rules" / "hivemind.md", text=f"{RULE}\n", mark=TITLE_OF_RULE),
    )


transcripts, read_transcript = no_transcripts, unreadable
