"""What packaging/hub/ starts a hub with is what the commands take."""

import re
from pathlib import Path

import pytest

from hivemind.cli.commands.hub import serve, worker

ROOT = Path(__file__).parents[2]
KNOWN = {option for command in (serve, worker) for parameter in command.params for option in parameter.opts}
OF_OTHERS = {"--from", "--to"}
"""Options of the proxy."""


@pytest.mark.parametrize("recipe", ["packaging/hub/docker-compose.yml", "packaging/hub/kubernetes.yaml"])
def test_containers_start_with_options_that_there_are(recipe: str) -> None:
    lines = [line for line in (ROOT / recipe).read_text().splitlines() if not line.lstrip().startswith("#")]

    options = set(re.findall(r"--[a-z][a-z-]*", "\n".join(lines))) - OF_OTHERS

    assert {"--proxy", "--public-url", "--receipt-days"} <= options
    assert options <= KNOWN


@pytest.mark.parametrize(
    "recipe", ["packaging/hub/hivemind-hub.service", "docs/how-to/team.md", "docs/how-to/large-hub.md"]
)
def test_a_recipe_starts_a_hub_with_options_that_there_are(recipe: str) -> None:
    lines = [line for line in (ROOT / recipe).read_text().splitlines() if "hivemind hub serve" in line]

    options = {option for line in lines for option in re.findall(r"--[a-z-]+", line)}

    assert options
    assert options <= KNOWN
