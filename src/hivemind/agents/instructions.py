"""What we tell the model in agents whose hooks cannot: that there is a memory, and when to use it."""

TITLE_OF_RULE = "## Memory (hivemind)"
RULE = (
    f"{TITLE_OF_RULE}\n"
    "This project has a memory across sessions and agents, served by the MCP server `hivemind`.\n"
    "Before you start on a task, call its `context` tool: conventions, decisions, known fixes.\n"
    "When you learn something that will matter next time, or are corrected, call `remember`."
)

SKILL = (
    "---\n"
    "name: hivemind\n"
    "description: Recall and keep what is known about this project across sessions. Use before starting on a "
    "task, when asked what was decided or done before, and when something worth knowing was learned.\n"
    "---\n\n"
    f"{RULE}\n"
)
