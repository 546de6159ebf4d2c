"""Continue: Claude Code's hooks in its own settings, the server in YAML, a rule for runs without hooks."""

from functools import partial

from hivemind.agents.agent import make_reply, skip_transcript
from hivemind.agents.config_entries import (
    RULE,
    SERVER,
    InstallTarget,
    Launch,
    OwnFile,
    Piece,
    YamlItem,
    build_claude_hooks,
)
from hivemind.agents.decoder import decode_hook
from hivemind.agents.slash_commands import build_command_files

NAME = "continue"
TITLE = "Continue"
HOMES: tuple[str, ...] = (".continue",)
PROGRAMS: tuple[str, ...] = ("cn",)
SAME_IDS = False
ANSWERS = {"SessionStart": "brief", "UserPromptSubmit": "recall"}
TRANSCRIPTS: tuple[str, ...] = ()

EVENTS = "SessionStart UserPromptSubmit PostToolUse PostToolUseFailure Stop SessionEnd"

decode = partial(decode_hook, NAME)
reply = make_reply(ANSWERS)


def build_pieces(target: InstallTarget, launch: Launch) -> tuple[Piece, ...]:
    """Return the server, the hooks and a rule; in a project the server has its own file."""
    directory = target.root / ".continue"
    servers = directory / "mcpServers" / "hivemind.yaml" if target.project else directory / "config.yaml"
    item = {"name": SERVER, **launch.server_entry()}
    return (
        YamlItem(
            path=servers, key="mcpServers", fields=item, new_file_text="name: Local\nversion: 0.0.1\nschema: v1\n"
        ),
        build_claude_hooks(directory / "settings.json", NAME, launch, EVENTS),
        OwnFile(path=directory / "rules" / "hivemind.md", text=f"{RULE}\n"),
        *build_command_files(directory / "prompts", ["name", "description", "invokable"]),
    )


read_transcript = skip_transcript
