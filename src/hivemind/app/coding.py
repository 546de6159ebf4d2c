"""The verbs about code: what memories are tied to, what is in doubt, what bears on what."""

from collections.abc import Callable, Collection, Sequence
from contextlib import closing, suppress
from pathlib import Path
from threading import Event as Stop
from threading import Thread

from hivemind import recall
from hivemind.app.core import Progress, index_at, is_under_git, quietly
from hivemind.app.reading import Reading
from hivemind.errors import HivemindError, InvalidInput, NotFound
from hivemind.model.code import Anchor, Callers, Related, Symbol
from hivemind.model.events import MemoryAnchored
from hivemind.model.memory import Memory, Status
from hivemind.model.recall import Query
from hivemind.model.reports import Doubt, Indexed, Relevant
from hivemind.model.text import checked_label
from hivemind.store.checkup import Finding
from hivemind.store.projections import memories

EVERY = 100_000
"""More memories than are tied to one repository."""
NEAR = 10
"""Files that are shown as bearing on something."""
PATIENCE_SECONDS = 10.0
WARM_AFTER_SECONDS = 2.0


class Coding(Reading):
    """What can be asked about code and memories together."""

    def link(self, memory: str, links: Sequence[str], *, instead: bool = False) -> Memory:
        """Tie a memory to code, beside what it is tied to or instead of that."""
        from hivemind.curate import anchor

        known = self._to_change(memory)
        if not self._is_of_here(known):
            raise InvalidInput(f"{known.id[:8]} does not belong to this repository; link it where it does")
        commit = self._head()
        found = [one for written in links for one in self._meant(checked_label(written, "a link"), commit)]
        anchors = anchor.distinct([*(() if instead else known.anchors), *found])
        self._record([self._pen.about(known, MemoryAnchored(memory_id=known.id, anchors=anchors))])
        return memories.get(self._store.db, known.id)

    def stale(self, *, since: str = "") -> tuple[Doubt, ...]:
        """The memories that the code at hand puts in doubt, and why; with ``since``, only by changes after that."""
        from hivemind.codebase import git, staleness

        commit = git.commit(self._index.root, since) if since else ""
        standing = (Status.ACTIVE, Status.DISPUTED, Status.PROPOSED)
        query = self._query(limit=EVERY, statuses=standing)
        found = [one for one in memories.anchored(self._store.db, query) if self._is_of_here(one)]
        if not found:
            return ()
        judged = iter(staleness.judge(self._index, [anchor for one in found for anchor in one.anchors]))
        doubts = []
        for memory in found:
            became = [one for one in (next(judged) for _ in memory.anchors) if one.must_verify]
            if commit:
                became = [one for one in became if staleness.changed_since(self._index, one, commit)]
            if became:
                doubts.append(Doubt(memory=memory, became=tuple(became)))
        return tuple(doubts)

    def related(self, target: str, *, limit: int = 10, progress: Progress = quietly) -> Relevant:
        """What bears on a file, folder, symbol or task: memories, past fixes, files edited together, callers."""
        from hivemind.codebase import graph, links

        self._look(progress)
        symbols = links.find(self._index, target)
        inside = tuple(symbol.path for symbol in symbols) or tuple(self._index.paths_in(target))
        answered = None
        if not inside:
            answered = self.recall(target, limit=limit)
            inside = tuple(anchor.path for hit in answered.hits for anchor in hit.memory.anchors)
        files = graph.related(self._index, tuple(dict.fromkeys(inside)) if symbols or answered else (target,), NEAR)
        if answered is None:
            query = self._query(target, limit=limit)
            reach = {*inside, *(one.path for one in files)}
            near = recall.Nearby(
                symbols=tuple(symbols), inside=(*inside, *self._left_for(query, reach)), files=tuple(files)
            )  # fmt: skip
            answered = self._with_receipt(recall.about(self._store.db, query, near, self._became))
        return Relevant(recall=answered, files=tuple(files), callers=self._callers(symbols))

    def neighbours(self, files: Sequence[str], *, limit: int = 5) -> tuple[Related, ...]:
        """The files that bear most on some: edited together, importing or imported."""
        from hivemind.codebase import graph

        inside = [_relative(Path(self.repository.root), file) for file in files]
        known = tuple(filter(None, inside)) if self.repository.root else ()
        if known:
            self._look(quietly)
        near = graph.related(self._index, known, NEAR) if known else []
        # To lie in the same folder is no reason to be told of it.
        return tuple(one for one in near if one.why != ("same folder",))[:limit]

    def symbols(self, path: str) -> tuple[Symbol, ...]:
        """What we see in a file, the file itself first."""
        inside = _relative(Path(self.repository.root), path)
        found = tuple(self._index.symbols_of(inside)) if inside else ()
        if not found:
            raise NotFound(f"there is no file {path!r} in this working tree")
        return found

    def index(self, progress: Progress = quietly) -> Indexed:
        """Look at the whole working tree, so that names and moves are found in it."""
        changed = self._index.refresh(progress)
        files, symbols = self._index.size()
        return Indexed(files=files, symbols=symbols, changed=changed)

    def watch(self, stop: Stop, seen: Callable[[int], None] = lambda changed: None) -> None:
        """Follow the working tree as it changes, until told to stop; nothing is wrong without it, only slower."""
        from hivemind.codebase import watching

        watching.follow(self._index, stop, seen)

    def keep_warm(self) -> Callable[[], None]:
        """Follow the working tree in the background, where it is known or small; returns how to stop that.

        Nothing is wrong where this fails: the doctor says why, and files are looked at when asked about.
        """
        if not is_under_git(self.repository):
            return lambda: None
        stop = Stop()
        root, home = self.repository.root, self._settings.home

        def follow() -> None:
            # The first answer comes first.
            if not stop.wait(WARM_AFTER_SECONDS):
                from hivemind.codebase import watching

                with suppress(HivemindError), closing(index_at(root, home)) as index:
                    watching.keep_warm(index, stop)

        thread = Thread(target=follow, name="hivemind-watch", daemon=True)
        thread.start()

        def end() -> None:
            stop.set()
            thread.join(timeout=1)

        return end

    def code_health(self) -> Finding:
        """Whether the working tree can be followed as it changes."""
        from hivemind.codebase import watching

        if not is_under_git(self.repository):
            return Finding(what="code", is_well=True, detail="no git repository here, so nothing is followed")
        try:
            files, symbols = self._index.size()
            trouble = watching.trouble(self._index)
        except HivemindError as error:
            return Finding(what="code", is_well=False, detail=str(error), remedy="hivemind index")
        seen = f"{symbols:,} symbols in {files:,} files are known"
        if trouble:
            detail = f"{seen}; changes are seen only when asked about, because {trouble}"
            return Finding(what="code", is_well=True, detail=detail, remedy=watching.REMEDY)
        return Finding(what="code", is_well=True, detail=f"{seen}; changes can be followed")

    def _look(self, progress: Progress) -> None:
        if self._index.is_built:
            self._index.refresh_if_older(PATIENCE_SECONDS)
        else:
            self._index.refresh(progress)

    def _left_for(self, query: Query, reach: Collection[str]) -> list[str]:
        """Files that are gone and whose code, as far as memories are about it, went to one of these."""
        from hivemind.codebase.tree import stamp

        tied = [one for one in memories.anchored(self._store.db, query) if self._is_of_here(one)]
        every = [anchor for one in tied for anchor in one.anchors]
        gone = {path for path in {anchor.path for anchor in every} if not stamp(self._index.root, path)}
        became = self._became([anchor for anchor in every if anchor.path in gone]) if gone else ()
        return [*dict.fromkeys(one.anchor.path for one in became if one.now and one.now.path in reach)]

    def _meant(self, link: str, commit: str) -> list[Anchor]:
        from hivemind.curate import anchor

        found = anchor.linked(self._index, link, commit)
        if not found:
            raise InvalidInput(f"{link!r} fits nothing here, or too much; {self._hint(link)}")
        return found

    def _hint(self, link: str) -> str:
        there = [one.qualified for one in self._index.symbols_of(link.partition("::")[0])[1:]]
        if there:
            return f"that file has {', '.join(there[:NEAR])}{' …' if len(there) > NEAR else ''}"
        unseen = "" if self._index.is_built else "; names are known after 'hivemind index'"
        return f"write it like 'auth/service.py::login'{unseen}"

    def _callers(self, symbols: Sequence[Symbol]) -> Callers | None:
        """Of a symbol; of a file or of several the files that import them say more."""
        from hivemind.codebase import graph

        return graph.callers(self._index, symbols[0]) if len(symbols) == 1 and symbols[0].qualified else None


def _relative(root: Path, path: str) -> str:
    """A path in the working tree, from where the caller stands or from its root; empty if it leads out."""
    place = next((one for one in (Path.cwd() / path, root / path) if one.is_file()), root / path)
    resolved, base = place.resolve(), root.resolve()
    return resolved.relative_to(base).as_posix() if resolved.is_relative_to(base) else ""
