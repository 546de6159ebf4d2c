"""A small working tree under git, to be changed and judged."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

from hivemind.code import git
from hivemind.code.code_changes import judge
from hivemind.code.index import CodeIndex
from hivemind.code.links import find_symbols
from hivemind.model.code import Anchor, Staleness


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    root: Path
    cache: Path
    index: CodeIndex

    def write(self, path: str, text: str) -> None:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(dedent(text).lstrip("\n"), encoding="utf-8")

    def read(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8")

    def replace(self, path: str, old: str, new: str) -> None:
        text = self.read(path)
        assert old in text
        self.write(path, text.replace(old, new))

    def remove(self, path: str) -> None:
        (self.root / path).unlink()

    def git(self, *arguments: str) -> str:
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false")
        command = ["git", *who, "-C", str(self.root), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "change")
        return self.git("rev-parse", "HEAD")

    def anchor(self, link: str) -> Anchor:
        (found,) = find_symbols(self.index, link)
        return Anchor.of(found, git.read_head(self.root))

    def judge(self, anchor: Anchor) -> Staleness:
        (found,) = judge(self.index, [anchor])
        return found


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    root = tmp_path / "tree"
    root.mkdir()
    with CodeIndex.open(root, tmp_path / "cache") as index:
        made = Workspace(root=root, cache=tmp_path / "cache", index=index)
        made.git("init", "-q", "-b", "main")
        yield made
