"""Related files, callers and linked memories of code. This loads the parsers, so ``code`` imports it when needed."""

from collections.abc import Collection, Iterable
from dataclasses import replace

from hivemind.code import code_names, links, related_files
from hivemind.code.app_staleness import anchored_memories
from hivemind.code.shared_sessions import find_shared_sessions
from hivemind.code.working_tree import stamp
from hivemind.context import Context, Progress
from hivemind.model.code import RelatedFile
from hivemind.model.reports import RelatedContext
from hivemind.recall.answer import MOST_SESSIONS, Answers, add_files, answer_about_code, say_if_behind
from hivemind.recall.nearby import Nearby
from hivemind.recall.session_receipts import SessionReceipts
from hivemind.text.clean import validate_text

MOST_FILES = 10
"""Files that are shown with an answer about code."""
MOST_NEIGHBOURS = 5
"""Files that an agent is given with the files it asked about; each costs it tokens."""


def find_related(context: Context, target: str, limit: int, progress: Progress) -> RelatedContext:
    """Find memories, files and callers related to a file, folder, module, symbol or task."""
    index = context.checkout.index
    index.refresh_on_request(progress)
    symbols = tuple(links.find_all(index, target))
    if symbols:
        near = _collect_files(context, [symbol.path for symbol in symbols])
        former_paths = _find_moved_into(context, {*near.inside, *(file.path for file in near.files)})
        near = replace(near, symbols=symbols, inside=(*near.inside, *former_paths))
        query = context.query(target, limit=limit)
        answer = answer_about_code(context.store.db, query, near, context.checkout.staleness_of)
    else:
        answer = Answers(context).search(context.query(validate_text(target, "the target"), limit=limit))
        near = _collect_files(context, [anchor.path for hit in answer.answers for anchor in hit.memory.anchors])
        by_words = related_files.find_by_task(index, target, MOST_FILES)
        answer = add_files(answer, replace(near, files=related_files.merge_rankings(near.files, by_words, MOST_FILES)))
    # Of a single symbol; for a file, related files say more.
    callers = related_files.find_callers(index, symbols[0]) if len(symbols) == 1 and symbols[0].qualified else None
    return RelatedContext(recall=SessionReceipts(context).record(say_if_behind(context, answer)), callers=callers)


def find_neighbours(context: Context, files: tuple[str, ...]) -> tuple[RelatedFile, ...]:
    """Find the files most related to some files."""
    context.checkout.index.refresh_if_older(0.0)
    sessions_together = find_shared_sessions(context.store.db, context.repository, files)
    near = related_files.find_related(context.checkout.index, files, MOST_FILES, sessions_together)
    # To lie in the same folder is no reason to be told of it.
    return tuple(file for file in near if file.why != (related_files.Relation.SAME_FOLDER,))[:MOST_NEIGHBOURS]


def _collect_files(context: Context, paths: Iterable[str]) -> Nearby:
    """Collect the files related to files or folders, and the sessions that touched them together."""
    index, targets = context.checkout.index, tuple(dict.fromkeys(paths))
    inside = (*targets, *(file for path in targets for file in index.paths_in(path)))
    sessions_together = find_shared_sessions(context.store.db, context.repository, inside)
    files = tuple(related_files.find_related(index, targets, MOST_FILES, sessions_together)) if targets else ()
    # What is known about a package holds for each of its files.
    around = (*inside, *sorted(code_names.parent_folders(targets)))
    return Nearby(symbols=(), inside=around, files=files, sessions=sessions_together[:MOST_SESSIONS])


def _find_moved_into(context: Context, paths: Collection[str]) -> list[str]:
    """Find deleted files whose anchored code moved to one of these."""
    anchors = [anchor for memory in anchored_memories(context) for anchor in memory.anchors]
    missing_paths = {
        path for path in {anchor.path for anchor in anchors} if not stamp(context.checkout.index.root, path)
    }
    judgements = context.checkout.staleness_of([anchor for anchor in anchors if anchor.path in missing_paths])
    moved_paths = (judged.anchor.path for judged in judgements if judged.now and judged.now.path in paths)
    return [*dict.fromkeys(moved_paths)]
