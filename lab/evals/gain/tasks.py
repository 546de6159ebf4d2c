"""The tasks: small repositories, a request, the fact that it needs, and a check that runs the result."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "tasks"
NOTES = tuple((Path(__file__).parent / "notes.txt").read_text().splitlines())
"""Notes about other matters, among which the fact stands."""
TEST_COMMAND = "python -m unittest discover -q -s tests"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Something a model is asked to do, which it can do only if it knows one fact that is not in the repository."""

    repository: str
    split: str
    """``tuning`` or ``held-out``; whole repositories are held out."""
    name: str
    family: str
    files: Mapping[str, str]
    file: str
    """The file that is to be changed."""
    prompt: str
    fact: str
    old: str
    """What was true before."""
    check: str
    """A program that fails unless the task was done right; the model never sees it."""
    run: str = TEST_COMMAND
    """What the action RUN runs."""
    truth: str = ""
    """Code in the file from which the fact can be read; only where the memory is stale."""
    old_check: str = ""
    """A program that passes only if the old fact was followed."""

    @property
    def id(self) -> str:
        """Return the name of the task with its repository."""
        return f"{self.repository}.{self.name}"

    def list_files(self, *, with_truth: bool) -> dict[str, str]:
        """Return the files of the repository, with or without the code that shows the fact."""
        files = {path: text.lstrip("\n") for path, text in self.files.items()}
        if with_truth:
            files[self.file] += f"\n{self.truth}"
        return files


def load_tasks() -> list[Task]:
    """Read the tasks of all repositories."""
    return [task for file in sorted(FOLDER.glob("*.toml")) for task in _read(file)]


def _read(file: Path) -> list[Task]:
    repository: dict[str, Any] = tomllib.loads(file.read_text())
    shared = {"repository": file.stem, "split": repository["split"], "files": repository["files"]}
    return [Task(**shared, **task) for task in repository["tasks"]]
