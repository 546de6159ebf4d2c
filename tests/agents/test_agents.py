import pytest

from hivemind import agents
from hivemind.agents import (
    claude_code,
    cline,
    codex,
    continue_,
    copilot,
    cursor,
    gemini,
    opencode,
    qwen,
    windsurf,
    zed,
)
from hivemind.agents.agent import Agent
from hivemind.errors import InvalidInput

# That each module is an agent is checked where this is type-checked.
EVERY: tuple[Agent, ...] = (
    *(claude_code, codex, cursor, windsurf, gemini, copilot),
    *(opencode, qwen, cline, continue_, zed),
)


def test_every_agent_is_found_by_its_name() -> None:
    assert [agents.get_agent(name) for name in agents.NAMES] == list(EVERY)
    assert [agent.NAME for agent in EVERY] == list(agents.NAMES)


def test_a_name_nobody_has_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidInput, match="claude-code"):
        agents.get_agent("clippy")
