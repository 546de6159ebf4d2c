"""Members of a team, each with a home and a clone of their own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hivemind import Hivemind
from hivemind.model.scope import Repository
from tests.hub.serving import Served

REPOSITORY = Repository(id="remote:example.org/acme/api", root="/nowhere/api")
Opened = Callable[[str], Hivemind]


def remember(served: Served, token: str, text: str) -> str:
    """The id of a new memory of the team, stored over HTTP."""
    answer = served.ask("POST", "/v1/memories", token, {"text": text, "repo": REPOSITORY.id})
    assert answer.status == 200, answer.body
    return str(answer.body["id"])


@dataclass
class Run:
    """Runs commands as somebody."""

    clone: Path
    environment: dict[str, str]

    def __call__(self, *arguments: str, codes: tuple[int, ...] = (0,)) -> Any:
        """What a command printed as JSON, or what it complained about."""
        done = self.plainly("-m", "hivemind", *arguments, "--json")
        assert done.returncode in codes, done.stderr
        return json.loads(done.stdout) if done.stdout else done.stderr

    def plainly(self, *line: str, given: str = "") -> "subprocess.CompletedProcess[str]":
        """Python, run as they would."""
        return subprocess.run(
            [sys.executable, *line], cwd=self.clone, env=self.environment, capture_output=True, text=True, check=False,
            input=given,
        )  # fmt: skip


@dataclass
class Person:
    """Somebody by their name."""

    directory: Path
    make_repository: Callable[..., Path]
    more: dict[str, str] = field(default_factory=dict)

    def __call__(self, name: str) -> Run:
        """Somebody, at work in their clone."""
        clone = self.make_repository(f"{name}/api", remote="https://github.com/acme/api.git")
        home = str(self.directory / name / "home")
        return Run(clone, {**os.environ, "HIVEMIND_HOME": home, "HIVEMIND_PERSON": name, **self.more})
