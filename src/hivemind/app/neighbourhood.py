"""Related files, callers and linked memories of code."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import zip_longest

from hivemind import recall
from hivemind.app.answers import MOST_SESSIONS, Answers
from hivemind.app.context import Context, Progress
from hivemind.app.shared_sessions import shared_sessions
from hivemind.app.staleness import EVERY
from hivemind.codebase import addresses, graph, links, snapshots
from hivemind.codebase.tree import stamp
from hivemind.errors import NotFound
from hivemind.model.code import Callers, RelatedFile, Staleness, Symbol
from hivemind.model.memory import CURRENT_STATUSES, Memory
from hivemind.model.recall import Query
from hivemind.model.reports import AnchoredCode, CodeSurroundings, LinkedMemory, RelatedContext
from hivemind.store.projections import memories
from hivemind.text.clean import validate_text

MOST_FILES = 10
"""Files that are shown with an answer about code."""
MOST_RELATED = 12
"""Files that are shown beside a file in the viewer."""
MOST_NEIGHBOURS = 5
"""Files that an agent is given with the files it asked about; each costs it tokens."""
MOST_CHILDREN = 2_000
"""Parts of a folder that are shown."""


class Neighbourhood:
    """Finds what is related to code in one working tree."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._checkout = context.checkout
        self._answers = Answers(context)

    def find_related(self, target: str, limit: int, progress: Progress) -> RelatedContext:
        """Find memories, files and callers related to a file, folder, module, symbol or task."""
        context = self._context
        self._checkout.index.refresh_on_request(progress)
        symbols = tuple(links.find_all(self._checkout.index, target))
        if symbols:
            near = self._around(target, symbols)
            query = context.query(target, limit=limit)
            answer = recall.answer_about_code(context.store.db, query, near, self._checkout.staleness_of)
        else:
            answer = self._answers.search(context.query(validate_text(target, "the target"), limit=limit))
            near = self._around_files([anchor.path for hit in answer.answers for anchor in hit.memory.anchors])
            by_words = graph.find_by_task(self._checkout.index, target, MOST_FILES)
            answer = recall.add_files(
                answer, replace(near, files=graph.merge_rankings(near.files, by_words, MOST_FILES))
            )
        answer = self._answers.say_if_behind(answer)
        return RelatedContext(recall=self._answers.with_receipt(answer), callers=self._callers(symbols))

    def neighbours(self, files: tuple[str, ...]) -> tuple[RelatedFile, ...]:
        """Find the files most related to some files."""
        self._checkout.index.refresh_if_older(0.0)
        sessions_together = shared_sessions(self._context.store.db, self._context.repository, files)
        near = graph.find_related(self._checkout.index, files, MOST_FILES, sessions_together)
        # To lie in the same folder is no reason to be told of it.
        return tuple(file for file in near if file.why != (graph.Relation.SAME_FOLDER,))[:MOST_NEIGHBOURS]

    def behind(self, memory: Memory) -> tuple[AnchoredCode, ...]:
        """Return the code of a memory's anchors, then and now."""
        root = self._checkout.index.root
        return tuple(
            AnchoredCode(
                staleness=staleness,
                then=snapshots.read_old_code(root, staleness.anchor),
                now=snapshots.read_current_code(root, staleness.now),
            )
            for staleness in self._checkout.staleness_of(memory.anchors)
        )

    def file_at(self, path: str, commit: str) -> str:
        """Read a file at a commit, or at the one checked out."""
        return snapshots.read_file(self._checkout.root, path, commit)

    def near(self, target: str) -> CodeSurroundings:
        """Return the contents, related files and linked memories of a file or folder."""
        index = self._checkout.index
        index.refresh_on_request()
        self._context.index_if_behind()
        # Every file has at least one symbol, the file itself.
        is_file = bool(target) and bool(index.symbols_of(target))
        children = () if is_file else tuple(graph.list_children(index, target)[:MOST_CHILDREN])
        if target and not is_file and not children:
            raise NotFound(f"there is nothing called {target!r} in this working tree")
        related_files = tuple(graph.find_related(index, (target,), MOST_RELATED)) if is_file else ()
        return CodeSurroundings(
            target=target,
            is_file=is_file,
            children=children,
            symbols=tuple(index.symbols_of(target)[1:]) if is_file else (),
            related=related_files,
            ties=self._ties(target, is_file=is_file, related_files=related_files),
            is_behind=index.is_behind,
        )

    def _ties(self, target: str, *, is_file: bool, related_files: Sequence[RelatedFile]) -> tuple[LinkedMemory, ...]:
        """Find memories linked to a file, its related files or a folder, each with its staleness."""
        paths = [target, *(file.path for file in related_files)] if is_file else []
        folder = f"{target}/" if target and not is_file else ""
        query = self._context.query(limit=EVERY, statuses=CURRENT_STATUSES)
        ties = [
            (memory, anchor)
            for memory in self._find_anchored(query, paths)
            for anchor in memory.anchors
            if (anchor.path in paths if is_file else anchor.path.startswith(folder))
        ]
        anchors = [anchor for _, anchor in ties]
        judgements: Sequence[Staleness | None] = self._checkout.staleness_of(anchors) if anchors else ()
        return tuple(
            LinkedMemory(memory=memory, path=anchor.path, symbol=anchor.qualified, staleness=staleness)
            for (memory, anchor), staleness in zip_longest(ties, judgements)
        )

    def _find_anchored(self, query: Query, paths: Collection[str] = ()) -> list[Memory]:
        """Find memories of this tree that are linked to code, or to these paths."""
        candidates = memories.find_anchored(self._context.store.db, query, paths)
        return [memory for memory in candidates if self._checkout.owns(memory)]

    def _around(self, target: str, symbols: tuple[Symbol, ...]) -> recall.Nearby:
        """Collect the files related to symbols, including deleted files whose code moved here."""
        near = self._around_files([symbol.path for symbol in symbols])
        reach = {*near.inside, *(file.path for file in near.files)}
        former_paths = self._moved_into(reach, self._context.query(target, limit=EVERY))
        return replace(near, symbols=symbols, inside=(*near.inside, *former_paths))

    def _around_files(self, paths: Iterable[str]) -> recall.Nearby:
        """Collect the files related to files or folders, and the sessions that touched them together."""
        index, targets = self._checkout.index, tuple(dict.fromkeys(paths))
        inside = (*targets, *(file for path in targets for file in index.paths_in(path)))
        sessions_together = shared_sessions(self._context.store.db, self._context.repository, inside)
        files = tuple(graph.find_related(index, targets, MOST_FILES, sessions_together)) if targets else ()
        # What is known about a package holds for each of its files.
        around = (*inside, *sorted(addresses.parent_folders(targets)))
        return recall.Nearby(symbols=(), inside=around, files=files, sessions=sessions_together[:MOST_SESSIONS])

    def _moved_into(self, paths: Collection[str], query: Query) -> list[str]:
        """Find deleted files whose anchored code moved to one of these."""
        anchors = [anchor for memory in self._find_anchored(query) for anchor in memory.anchors]
        root = self._checkout.index.root
        missing_paths = {path for path in {anchor.path for anchor in anchors} if not stamp(root, path)}
        judgements = (
            self._checkout.staleness_of([anchor for anchor in anchors if anchor.path in missing_paths])
            if missing_paths
            else ()
        )
        return [
            *dict.fromkeys(
                staleness.anchor.path for staleness in judgements if staleness.now and staleness.now.path in paths
            )
        ]

    def _callers(self, symbols: Sequence[Symbol]) -> Callers | None:
        """Find the callers of a single symbol; for a file, its importers say more."""
        is_one = len(symbols) == 1 and symbols[0].qualified
        return graph.find_callers(self._checkout.index, symbols[0]) if is_one else None
