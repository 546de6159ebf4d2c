"""The five tasks: the prompt, the notes that memory has, and the check of the result."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from hivemind.model.codec import from_plain
from hivemind.model.memory import Kind
from hivemind.model.scope import Scope

PLANTED = ("absent", "superseded", "contradictory", "adjacent")
"""Conditions with notes of their own, instead of the notes that help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskNote:
    """A note that is stored before a task begins."""

    text: str
    kind: Kind
    condition: str = ""
    """The condition that has this note; empty for all that have no notes of their own."""
    by_agent: bool = False
    scope: Scope = Scope.PROJECT
    is_elsewhere: bool = False
    """Whether it was said in another project."""
    is_late: bool = False
    """Whether it was said after the code had changed."""
    is_replacement: bool = False
    """Whether it supersedes the note before it."""
    is_erased: bool = False
    """Whether it was erased; a later session then tries to store it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Something an agent is asked to do."""

    name: str
    title: str
    prompt: str
    check: str
    """A Python program that fails unless the task was done right; the agent never sees it."""
    notes: tuple[TaskNote, ...]
    stale_path: str = ""
    """The file that only an agent with a stale note would edit."""
    erased_value: str = ""

    def select_notes(self, condition: str) -> tuple[TaskNote, ...]:
        """Return the notes that memory has in a condition."""
        group = condition if condition in PLANTED else ""
        return tuple(note for note in self.notes if note.condition == group)


TASK_FILE = tomllib.loads((Path(__file__).parent / "tasks.toml").read_text("utf-8"))
COMMON_NOTES = tuple(from_plain(TaskNote, note) for note in TASK_FILE["common"])
"""Notes unrelated to any task, so that search has something to choose from."""
TASKS = {name: from_plain(Task, {"name": name, **task}) for name, task in TASK_FILE["tasks"].items()}
