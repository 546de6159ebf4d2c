"""The verbs about code: what memories are tied to, what is in doubt, what bears on what."""

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from threading import Event as Stop
from threading import Thread

from hivemind import recall
from hivemind.app.core import Progress, index_at, is_under_git, quietly
from hivemind.app.reading import MOST_SESSIONS, Reading
from hivemind.app.shared_sessions import shared_sessions
from hivemind.codebase import addresses
from hivemind.errors import HivemindError, InvalidInput, NotFound
from hivemind.model.code import Anchor, Callers, Related, Symbol
from hivemind.model.events import MemoryAnchored
from hivemind.model.memory import Memory, Status
from hivemind.model.recall import Query
from hivemind.model.reports import Doubt, Indexed, Relevant
from hivemind.model.text import checked, checked_label
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
        """What bears on a file, folder, module, symbol or task: memories, files and why, callers."""
        from hivemind.codebase import links

        self._look(progress)
        symbols = tuple(links.find_all(self._index, target))
        if symbols:
            near = self._near(target, symbols)
            answered = recall.about(self._store.db, self._query(target, limit=limit), near, self._became)
        else:
            found = self._answer(self._query(checked(target, "the target"), limit=limit))
            near = self._near_files([anchor.path for hit in found.answers for anchor in hit.memory.anchors])
            answered = recall.with_files(found, near)
        return Relevant(recall=self._with_receipt(answered), callers=self._callers(symbols))

    def neighbours(self, files: Sequence[str], *, limit: int = 5) -> tuple[Related, ...]:
        """The files that bear most on some: edited together, importing or imported."""
        from hivemind.codebase import graph

        inside = [_relative(Path(self.repository.root), file) for file in files]
        known = tuple(filter(None, inside)) if self.repository.root else ()
        if not known:
            return ()
        self._look(quietly)
        near = graph.related(self._index, known, NEAR, shared_sessions(self._store.db, self.repository, known))
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

    def _near(self, target: str, symbols: tuple[Symbol, ...]) -> recall.Nearby:
        """What lies around symbols, files or folders, with files that are gone and whose code came here."""
        near = self._near_files([symbol.path for symbol in symbols])
        reach = {*near.inside, *(file.path for file in near.files)}
        left = self._left_for(self._query(target, limit=EVERY), reach)
        return replace(near, symbols=symbols, inside=(*near.inside, *left))

    def _near_files(self, paths: Iterable[str]) -> recall.Nearby:
        """The files that bear on some files or folders, and the sessions that touched them together."""
        from hivemind.codebase import graph

        targets = tuple(dict.fromkeys(paths))
        inside = (*targets, *(file for path in targets for file in self._index.paths_in(path)))
        shared = shared_sessions(self._store.db, self.repository, inside)
        files = tuple(graph.related(self._index, targets, NEAR, shared)) if targets else ()
        # What is known about a package holds for each of its files.
        around = (*inside, *sorted(addresses.folders(targets)))
        return recall.Nearby(symbols=(), inside=around, files=files, sessions=shared[:MOST_SESSIONS])

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
            raise InvalidInput(self._no_match(link))
        return found

    def _callers(self, symbols: Sequence[Symbol]) -> Callers | None:
        """Of a symbol; of a file or of several the files that import them say more."""
        from hivemind.codebase import graph

        return graph.callers(self._index, symbols[0]) if len(symbols) == 1 and symbols[0].qualified else None


def _relative(root: Path, path: str) -> str:
    """A path in the working tree, from where the caller stands or from its root; empty if it leads out."""
    place = next((one for one in (Path.cwd() / path, root / path) if one.is_file()), root / path)
    resolved, base = place.resolve(), root.resolve()
    return resolved.relative_to(base).as_posix() if resolved.is_relative_to(base) else ""
