"""Continue: Claude Code's hooks in its own settings, the server in YAML, a rule for runs without hooks."""

from hivemind.agents.agent import Agent
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
from hivemind.agents.slash_commands import build_command_files

NAME = "continue"
EVENTS = "SessionStart UserPromptSubmit PostToolUse PostToolUseFailure Stop SessionEnd"


def build_pieces(target: InstallTarget, launch: Launch) -> tuple[Piece, ...]:
    """Return the server, the hooks and a rule; in a project the server has its own file."""
    directory = target.root / ".continue"
    servers = directory / "mcpServers" / "hivemind.yaml" if target.project else directory / "config.yaml"
    item = {"name": SERVER, **launch.build_server_entry()}
    return (
        YamlItem(
            path=servers, key="mcpServers", fields=item, new_file_text="name: Local\nversion: 0.0.1\nschema: v1\n"
        ),
        build_claude_hooks(directory / "settings.json", NAME, launch, EVENTS),
        OwnFile(path=directory / "rules" / "hivemind.md", text=f"{RULE}\n"),
        *build_command_files(directory / "prompts", ["name", "description", "invokable"]),
    )


AGENT = Agent(name=NAME, title="Continue", homes=(".continue",), programs=("cn",), build_pieces=build_pieces)
