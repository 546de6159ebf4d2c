"""The parts of the yardstick; each module has ``measure``, and a page beside it that says what it measures."""

import os
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from lab.yardstick.adapter import Adapter, NotOffered, NotRun

T = TypeVar("T")
PARTS = ("experience", "notes", "change", "contradiction", "forgetting", "hearing", "walls", "cost")
Figures = dict[str, Any]
"""Values by the name of the measure: a number, ``{"count", "of"}``, or ``{"not offered" or "not run": reason}``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a part works with."""

    adapter: Adapter
    folder: Path
    """An empty folder for stores and repositories."""
    material: Path | None
    """What ``fetch`` wrote."""
    part: str = "test"
    """``test`` or ``development``."""
    most_cases: int | None = None
    """At most so many cases of each kind, for a quick look; the result says so."""

    sizes: tuple[int, ...] = (1_000, 10_000)
    """How many notes the stores have whose cost is measured."""

    def cut(self, cases: Iterable[T]) -> list[T]:
        """Return the cases that are to be tried."""
        return list(cases)[: self.most_cases]

    def need(self, name: str) -> Path:
        """Return a path below the material that was fetched."""
        if self.material is None or not (self.material / name).exists():
            raise NotRun(f"needs {name}: `python -m lab.yardstick fetch FOLDER`, then `--material FOLDER`")
        return self.material / name

    @contextmanager
    def open_store(self, name: str) -> Iterator[Path]:
        """Open a store of its own and yield its folder."""
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        self.adapter.open(folder)
        try:
            yield folder
        finally:
            self.adapter.close()

    def make_repo(self, name: str) -> Path:
        """Make a git repository with one commit."""
        repo = self.folder / "repos" / name
        repo.mkdir(parents=True)
        commit(repo, "init", "-q")
        commit(repo, "remote", "add", "origin", f"https://git.example.org/team/{name}.git")
        (repo / "README.md").write_text(f"# {name}\n")
        commit(repo, "add", "-A")
        commit(repo, "commit", "-qm", "Begin")
        return repo


def commit(repo: Path, *arguments: str) -> None:
    """Run git in a repository, with an author."""
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=repo, check=True, capture_output=True)


def list_files(folder: Path) -> Iterator[Path]:
    """Yield the files of a store; what is linked, such as a model, does not belong to it."""
    for root, _, names in os.walk(folder):
        yield from (
            Path(root) / name
            for name in names
            if (Path(root) / name).is_file() and not (Path(root) / name).is_symlink()
        )


def try_out(work: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a call returns, or why there is nothing."""
    try:
        return work(*arguments)
    except NotOffered as absent:
        return {"not offered": str(absent)}
    except NotRun as missing:
        return {"not run": str(missing)}


def is_absent(value: Any) -> bool:
    """Whether a value says that there is none."""
    return isinstance(value, dict) and ("not offered" in value or "not run" in value)


def count(flags: Iterable[bool]) -> dict[str, int]:
    """Count what is so, of how many."""
    values = list(flags)
    return {"count": sum(values), "of": len(values)}


def average(values: Iterable[float], digits: int = 1) -> float | None:
    """Return the mean, or nothing without values."""
    numbers = list(values)
    return round(sum(numbers) / len(numbers), digits) if numbers else None
