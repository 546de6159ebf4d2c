"""What docs/how-to/hub/ starts a hub with is what the command takes."""

import re
from pathlib import Path

import pytest

from hivemind.entrypoints.cli.commands.hub import serve

RECIPES = Path(__file__).parents[2] / "docs" / "how-to"
KNOWN = {option for parameter in serve.params for option in parameter.opts} | {"--quiet", "--json"}


@pytest.mark.parametrize("recipe", ["hub/docker-compose.yml", "hub/hivemind-hub.service", "hub.md"])
def test_a_recipe_starts_a_hub_with_options_that_there_are(recipe: str) -> None:
    lines = [line for line in (RECIPES / recipe).read_text().splitlines() if "hivemind hub serve" in line]

    given = {option for line in lines for option in re.findall(r"--[a-z-]+", line)}

    assert given
    assert given <= KNOWN
