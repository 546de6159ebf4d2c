"""Zed: the server in its settings, and a skill; it has no hooks, and its threads are not read."""

from hivemind.agents.agent import Agent
from hivemind.agents.config_entries import RULE, SERVER, InstallTarget, JsonEntry, Launch, OwnFile, Piece

KEYS = ("context_servers", SERVER)
SKILL = (
    "---\n"
    "name: hivemind\n"
    "description: Recall and keep what is known about this project across sessions. Use before starting on a task, "
    "when a plan is approved, when a command or test fails, when the user corrects you or states a rule, and when "
    "asked what was decided or done before.\n"
    "---\n\n"
    f"{RULE}\n"
)


def build_pieces(target: InstallTarget, launch: Launch) -> tuple[Piece, ...]:
    """Return the server, and a skill, as no hook can remind the model of it."""
    directory = target.project / ".zed" if target.project else target.home / ".config" / "zed"
    return (
        JsonEntry(path=directory / "settings.json", value=launch.build_server_entry(env={}), keys=KEYS),
        OwnFile(path=target.root / ".agents" / "skills" / "hivemind" / "SKILL.md", text=SKILL),
    )


AGENT = Agent(
    name="zed",
    title="Zed",
    homes=(".config/zed", ".local/share/zed"),
    # Not "zed" itself: on many servers that is the event daemon of ZFS.
    programs=("zeditor",),
    build_pieces=build_pieces,
)
