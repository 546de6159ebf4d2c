"""Related files, callers and linked memories of code."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from hivemind import recall
from hivemind.app.answers import MOST_SESSIONS, Answers
from hivemind.app.context import Context, Progress
from hivemind.app.shared_sessions import shared_sessions
from hivemind.app.staleness import EVERY
from hivemind.codebase import addresses, links, related, snapshots
from hivemind.codebase.tree import stamp
from hivemind.model.code import Callers, RelatedFile, Symbol
from hivemind.model.memory import Memory
from hivemind.model.recall import Query
from hivemind.model.reports import AnchoredCode, RelatedContext
from hivemind.store.projections import memories
from hivemind.text.clean import validate_text

MOST_FILES = 10
"""Files that are shown with an answer about code."""
MOST_NEIGHBOURS = 5
"""Files that an agent is given with the files it asked about; each costs it tokens."""


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
            by_words = related.find_by_task(self._checkout.index, target, MOST_FILES)
            answer = recall.add_files(
                answer, replace(near, files=related.merge_rankings(near.files, by_words, MOST_FILES))
            )
        answer = self._answers.say_if_behind(answer)
        return RelatedContext(recall=self._answers.with_receipt(answer), callers=self._callers(symbols))

    def neighbours(self, files: tuple[str, ...]) -> tuple[RelatedFile, ...]:
        """Find the files most related to some files."""
        self._checkout.index.refresh_if_older(0.0)
        sessions_together = shared_sessions(self._context.store.db, self._context.repository, files)
        near = related.find_related(self._checkout.index, files, MOST_FILES, sessions_together)
        # To lie in the same folder is no reason to be told of it.
        return tuple(file for file in near if file.why != (related.Relation.SAME_FOLDER,))[:MOST_NEIGHBOURS]

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
        files = tuple(related.find_related(index, targets, MOST_FILES, sessions_together)) if targets else ()
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
        return related.find_callers(self._checkout.index, symbols[0]) if is_one else None
