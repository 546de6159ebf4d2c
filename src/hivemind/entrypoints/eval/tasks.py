"""The five tasks: what is asked, what memory was told before, and the check that runs afterwards."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from hivemind.formats.codec import from_plain
from hivemind.model.memory import Kind
from hivemind.model.scope import Scope

PLANTED = ("absent", "superseded", "contradictory", "adjacent")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A note, and what became of it."""

    text: str
    kind: Kind
    condition: str = ""
    """The one it is planted in; without any, memory is told it in all others."""
    by_agent: bool = False
    scope: Scope = Scope.PROJECT
    elsewhere: bool = False
    """Said in another project."""
    late: bool = False
    """Said after the code had moved on."""
    replaces: bool = False
    """Takes the place of the note before it."""
    erased: bool = False
    """Erased again; afterwards a session tries to keep it once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Something an agent is asked to do."""

    name: str
    title: str
    prompt: str
    check: str
    """Python that fails unless the task was done right; the agent never sees it."""
    notes: tuple[Told, ...]
    stale_path: str = ""
    """An edit here is what a recipe would ask for that has gone stale."""
    erased_value: str = ""

    def told(self, condition: str) -> tuple[Told, ...]:
        """What memory was told in a condition."""
        planted = condition if condition in PLANTED else ""
        return tuple(note for note in self.notes if note.condition == planted)


WRITTEN = tomllib.loads((Path(__file__).parent / "tasks.toml").read_text())
COMMON = tuple(from_plain(Told, note) for note in WRITTEN["common"])
"""What memory knows besides, in every condition that has one."""
TASKS = {name: from_plain(Task, {"name": name, **task}) for name, task in WRITTEN["tasks"].items()}
