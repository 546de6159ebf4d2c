import pytest

from hivemind.agents import callers
from hivemind.agents.agent import get_agent
from hivemind.errors import InvalidInput


def test_every_agent_is_found_by_its_name() -> None:
    assert [get_agent(name).name for name in callers.NAMES] == list(callers.NAMES)


def test_a_name_nobody_has_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidInput, match="claude-code"):
        get_agent("clippy")
