"""The carrier of a shared folder: each machine has its own view, where files arrive late, torn, twice or old."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from hivemind.sync.folders import Folder
from lab.evals.simulation.machines import Crash


@dataclass
class Carrier:
    """What every machine has written, and what has not arrived everywhere yet."""

    chance: random.Random
    counts: Counter[str]
    trouble: float = 0.0
    files: dict[str, list[bytes | None]] = field(default_factory=dict)
    """All versions of each file; None where it was deleted."""
    views: list["View"] = field(default_factory=list)

    def add_view(self, crashes: Callable[[], bool]) -> "View":
        """Connect another machine, which sees nothing yet."""
        view = View(self, crashes)
        view.waiting = set(self.files)
        self.views.append(view)
        return view

    def change(self, name: str, content: bytes | None, writer: "View") -> None:
        """Note a change, to be brought to the other machines."""
        self.files.setdefault(name, []).append(content)
        for view in self.views:
            if view is not writer:
                view.waiting.add(name)

    def damage(self) -> None:
        """Lose, tear or replace a file everywhere, as when somebody tidies the folder up or a disk fails."""
        names = sorted(self.current())
        epochs = [name for name in names if name.startswith("epochs/")]
        if names:
            name = self.chance.choice(self.chance.choice((names, epochs or names)))
            kind = self.chance.choice(("lost", "cut", "foreign"))
            content = self.current()[name]
            self.counts[f"files {kind}"] += 1
            self.counts["epochs damaged"] += name in epochs
            self._set(name, {"lost": None, "cut": content[: len(content) // 2], "foreign": b"[.ShellClassInfo]"}[kind])

    def add_foreign_files(self) -> None:
        """Add files as a NAS, a desktop and a program that synchronises do."""
        self.counts["foreign files"] += 1
        directories = sorted({name.partition("/")[0] for name in self.files})
        for directory in (*directories, "@eaDir", "lost+found"):
            name = self.chance.choice(("Thumbs.db", "desktop.ini", "1-Kopie (2)", "head.sync-conflict-1", "head~"))
            self._set(f"{directory}/{name}", b"[.ShellClassInfo]")

    def empty(self) -> None:
        """Empty the folder, as when a git repository is deleted and created again."""
        self.counts["folders emptied"] += 1
        for name in self.files:
            self._set(name, None)

    def delete(self, name: str) -> None:
        """Delete a file everywhere, as the person may."""
        self._set(name, None)

    def _set(self, name: str, content: bytes | None) -> None:
        self.files.setdefault(name, []).append(content)
        for view in self.views:
            view.waiting.discard(name)
            if content is None:
                view.files.pop(name, None)
            else:
                view.files[name] = content

    def current(self) -> dict[str, bytes]:
        """Return the newest version of every file."""
        return {name: versions[-1] for name, versions in self.files.items() if versions[-1] is not None}


class View(Folder):
    """The folder as one machine sees it."""

    def __init__(self, carrier: Carrier, crashes: Callable[[], bool]) -> None:
        super().__init__(Path())
        self._carrier, self._crashes = carrier, crashes
        self.files: dict[str, bytes] = {}
        self.waiting: set[str] = set()

    def list_names(self) -> list[str]:
        """Return the names of all files that are here."""
        return sorted(self.files)

    def read(self, name: str) -> bytes | None:
        """Return a file as far as it has arrived."""
        return self.files.get(name)

    def write(self, name: str, content: bytes) -> None:
        """Write a file, unless the machine crashes before or after."""
        self._may_crash()
        self.files[name] = content
        self._carrier.change(name, content, self)
        self._may_crash()

    def delete(self, name: str) -> None:
        """Delete a file, unless the machine crashes before or after."""
        self._may_crash()
        if self.files.pop(name, None) is not None:
            self._carrier.change(name, None, self)
        self._may_crash()

    def receive(self) -> None:
        """Let some of the waiting files arrive, in any order and not always whole."""
        chance, counts = self._carrier.chance, self._carrier.counts
        for name in sorted(self.waiting):
            if chance.random() < self._carrier.trouble:
                counts["files late"] += 1
                continue
            versions = self._carrier.files[name]
            content = versions[-1]
            self.waiting.discard(name)
            if content and chance.random() < self._carrier.trouble:
                counts["files torn"] += 1
                content = content[: chance.randrange(len(content))]
                self.waiting.add(name)
            elif len(versions) > 1 and chance.random() < self._carrier.trouble:
                counts["files old"] += 1
                content = chance.choice(versions)
                self.waiting.add(name)
            if content and chance.random() < self._carrier.trouble:
                counts["files doubled"] += 1
                self.files[f"{name} (conflicted copy)"] = content
            if content is None:
                self.files.pop(name, None)
            else:
                self.files[name] = content

    def _may_crash(self) -> None:
        if self._crashes():
            raise Crash
