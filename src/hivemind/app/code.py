"""Memories and code together: what memories are tied to, what became of it, what lies near it."""

from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from functools import cached_property
from pathlib import Path
from threading import Event as Stop
from threading import Thread
from typing import TYPE_CHECKING

from hivemind.app.context import Context, Progress, quietly
from hivemind.app.staleness import stale_memories
from hivemind.errors import HivemindError, InvalidInput, NotFound
from hivemind.model.code import Anchor, RelatedFile, Symbol
from hivemind.model.events import MemoryAnchored
from hivemind.model.memory import Memory
from hivemind.model.reports import AnchoredCode, CodeSurroundings, IndexReport, RelatedContext, StaleMemory
from hivemind.store.integrity import Finding
from hivemind.text.clean import plural, validate_label

if TYPE_CHECKING:
    from hivemind.app.answers import Answers
    from hivemind.app.neighbourhood import Neighbourhood

WARM_AFTER_SECONDS = 2.0


class Code:
    """What can be asked about code and memories together."""

    def __init__(self, context: Context, answers: "Callable[[], Answers]") -> None:
        self._context = context
        self._checkout = context.checkout
        self._answers = answers

    def link(self, memory: str, links: Sequence[str], *, instead: bool = False) -> Memory:
        """Tie a memory to code, beside what it is tied to or instead of that."""
        context, checkout = self._context, self._checkout
        linked = context.memory_to_change(memory)
        if not checkout.owns(linked):
            raise InvalidInput(f"{linked.id[:8]} does not belong to this repository; link it where it does")
        commit = checkout.head()
        new = [anchor for link in links for anchor in self._anchors_of(validate_label(link, "a link"), commit)]
        anchors = checkout.code.distinct([*(() if instead else linked.anchors), *new])
        return context.change(
            linked, [context.factory.about(linked, MemoryAnchored(memory_id=linked.id, anchors=anchors))]
        )

    def _anchors_of(self, link: str, commit: str) -> list[Anchor]:
        anchors = self._checkout.code.anchors_of_link(link, commit)
        if not anchors:
            raise InvalidInput(self._checkout.code.mismatch(link))
        return anchors

    def stale(self, *, since: str = "") -> tuple[StaleMemory, ...]:
        """The memories that the code at hand puts in doubt, and why; with ``since``, only by changes after that."""
        return stale_memories(self._context, since)

    def behind(self, memory: Memory) -> tuple[AnchoredCode, ...]:
        """The code a memory is tied to: what became of it, as it was and as it is; nothing for code elsewhere."""
        return self._neighbourhood.behind(memory) if memory.anchors and self._checkout.owns(memory) else ()

    def related(self, target: str, *, limit: int = 10, progress: Progress = quietly) -> RelatedContext:
        """What bears on a file, folder, module, symbol or task: memories, files and why, callers."""
        return self._neighbourhood.related(target, limit, progress)

    def neighbours(self, files: Sequence[str], *, limit: int = 5) -> tuple[RelatedFile, ...]:
        """The files that bear most on some: edited together, importing or imported."""
        inside = tuple(filter(None, (self._path_in_tree(file) for file in files))) if self._checkout.exists else ()
        return self._neighbourhood.neighbours(inside, limit) if inside else ()

    def near(self, target: str = "", *, limit: int = 12) -> CodeSurroundings:
        """What lies around a file or folder: its parts, the files that bear on it, and the memories tied to them."""
        return self._neighbourhood.near(target, limit)

    def file_at(self, path: str, commit: str = "") -> str:
        """A file of the repository at a commit, or at the one checked out."""
        return self._neighbourhood.file_at(path, commit)

    def symbols(self, path: str) -> tuple[Symbol, ...]:
        """The symbols of a file, the file itself first."""
        inside = self._path_in_tree(path)
        symbols = tuple(self._checkout.index.symbols_of(inside)) if inside else ()
        if not symbols:
            raise NotFound(f"there is no file {path!r} in this working tree")
        return symbols

    def index(self, progress: Progress = quietly) -> IndexReport:
        """Index the whole working tree, so that names and moves are found in it."""
        changed = self._checkout.index.refresh(progress)
        files, symbols = self._checkout.index.count_files_and_symbols()
        return IndexReport(files=files, symbols=symbols, changed=changed)

    def watch(self, stop: Stop, seen: Callable[[int], None] = lambda changed: None) -> None:
        """Follow the working tree as it changes, until told to stop; nothing is wrong without it, only slower."""
        self._checkout.code.watch(stop, seen)

    def keep_warm(self) -> Callable[[], None]:
        """Follow the working tree in the background, where it is known or small; returns how to stop that.

        Nothing is wrong where this fails: the doctor says why, and files are looked at when asked about.
        """
        if not self._checkout.is_under_git:
            return lambda: None
        stop = Stop()

        def follow() -> None:
            # The first answer comes first.
            if not stop.wait(WARM_AFTER_SECONDS):
                # A connection of its own, because this is another thread.
                with suppress(HivemindError), closing(self._checkout.open_again()) as code:
                    code.keep_warm(stop)

        thread = Thread(target=follow, name="hivemind-watch", daemon=True)
        thread.start()

        def end() -> None:
            stop.set()
            thread.join(timeout=1)

        return end

    def health(self) -> Finding:
        """Whether the working tree can be followed as it changes."""
        if not self._checkout.is_under_git:
            return Finding(what="code", is_well=True, detail="no git repository here, so nothing is followed")
        try:
            files, symbols = self._checkout.index.count_files_and_symbols()
            trouble, remedy = self._checkout.code.watch_trouble()
        except HivemindError as error:
            return Finding(what="code", is_well=False, detail=str(error), remedy="hivemind code index")
        seen = f"{plural(symbols, 'symbol')} in {plural(files, 'file')}"
        if trouble:
            detail = f"{seen}; changes are noticed only when asked about, because {trouble}"
            return Finding(what="code", is_well=True, detail=detail, remedy=remedy)
        return Finding(what="code", is_well=True, detail=f"{seen}; changes can be followed")

    def _path_in_tree(self, path: str) -> str:
        """A path in the working tree, from where the caller stands or from its root; empty if it leads out."""
        root = self._checkout.root
        place = next((one for one in (Path.cwd() / path, root / path) if one.is_file()), root / path)
        resolved, base = place.resolve(), root.resolve()
        return resolved.relative_to(base).as_posix() if resolved.is_relative_to(base) else ""

    @cached_property
    def _neighbourhood(self) -> "Neighbourhood":
        # It loads the parsers, which a server must not wait for before its first answer.
        from hivemind.app.neighbourhood import Neighbourhood

        return Neighbourhood(self._context, self._answers())
