import pytest

from hivemind import agents
from hivemind.errors import InvalidInput


def test_every_agent_is_found_by_its_name() -> None:
    assert [agents.get_agent(name).name for name in agents.NAMES] == list(agents.NAMES)


def test_a_name_nobody_has_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidInput, match="claude-code"):
        agents.get_agent("clippy")
