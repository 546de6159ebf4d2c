"""Answers about code: memories linked to it, the files near it, and sessions that touched these files."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace

from hivemind.code import lazy_modules
from hivemind.code.code_names import find_named_files, list_parent_folders
from hivemind.code.shared_sessions import find_shared_sessions, find_touched_together
from hivemind.code.staleness import Judge, find_anchored_memories, judge_hits
from hivemind.code.working_tree import stamp
from hivemind.context import Context, Progress
from hivemind.model.code import RelatedFile, SharedSession, Symbol
from hivemind.model.dataclass import dataclass
from hivemind.model.memory import Memory
from hivemind.model.recall import Hit, Query, Recall, RelatedContext, Signal
from hivemind.recall.conflicting_hits import arrange_hits, join_sides, sort_hits
from hivemind.recall.ranking import build_labels
from hivemind.recall.rendering import count_tokens, fit, render, render_nearby
from hivemind.store.database import Database
from hivemind.store.projections import memories
from hivemind.text.clean import validate_text

MOST_FILES = 10
"""Files that are shown with an answer about code."""
MOST_FILES_BESIDE, MOST_SESSIONS = 5, 3
"""Files, and sessions that touched them, in an answer to a question that names a part of the tree."""
SYMBOL_SCORE, FILE_SCORE, NEAR_SCORE = 1.0, 0.8, 0.5
"""Of a memory about the symbol itself, about its file, and about the file closest to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearby:
    """Code that somebody asks about, and the files related to it."""

    symbols: tuple[Symbol, ...]
    inside: tuple[str, ...]
    """The files and folders in question, or that contain the code in question."""
    files: tuple[RelatedFile, ...] = ()
    sessions: tuple[SharedSession, ...] = ()
    """Sessions that touched its files together with others."""


def find_related(
    context: Context,
    target: str,
    limit: int,
    progress: Progress,
    search: Callable[[Query], Recall],
    add_sessions: Callable[[Recall], Recall],
) -> RelatedContext:
    """Find memories, files and callers related to a file, folder, module or symbol, without a receipt.

    For a task in words these are the memories and sessions that a recall finds, and files that have its words.
    """
    index = context.checkout.index
    index.refresh_on_request(progress)
    symbols = tuple(lazy_modules.links.find_all_symbols(index, context.checkout.complete_link(target)))
    if symbols:
        near = _collect_files(context, [symbol.path for symbol in symbols])
        former_paths = _find_moved_into(context, {*near.inside, *(file.path for file in near.files)})
        near = replace(near, symbols=symbols, inside=(*near.inside, *former_paths))
        query = context.query(target, limit=limit)
        answer = _answer_about_code(context.store.db, query, near, context.checkout.try_to_judge)
    else:
        answer = search(context.query(validate_text(target, "the target"), limit=limit))
        near = _collect_files(context, [anchor.path for hit in answer.answers for anchor in hit.memory.anchors])
        # Files of memories come first: others may have words of the task by chance.
        by_words = lazy_modules.related_files.find_by_task(index, target, MOST_FILES)
        others = [file for file in by_words if file.path not in {near_file.path for near_file in near.files}]
        answer = add_sessions(_add_files(answer, replace(near, files=(*near.files, *others)[:MOST_FILES])))
    # Of a single symbol; for a file, related files say more.
    is_one_symbol = len(symbols) == 1 and symbols[0].qualified
    callers = lazy_modules.related_files.find_callers(index, symbols[0]) if is_one_symbol else None
    return RelatedContext(recall=answer, callers=callers)


def add_named_code(context: Context, answer: Recall, make_judge: Callable[[], Judge]) -> Recall:
    """Add the memories linked to the files, modules and folders that the question names, and the files near them."""
    query = answer.query
    # Today's tree says nothing about what was believed then.
    is_about_today = context.checkout.exists and not query.as_of and not query.true_at
    # Files that the question names by path, module or folder; most questions name none.
    inside = find_named_files(context.checkout.root, query.text) if is_about_today else ()
    if not inside:
        return answer
    sessions_together = find_shared_sessions(context.store.db, context.repository, inside)
    files = find_touched_together(sessions_together, inside, MOST_FILES_BESIDE)
    near = Nearby(symbols=(), inside=inside, files=files, sessions=sessions_together[:MOST_SESSIONS])
    with context.store.db.reading():
        return _add_linked_memories(context.store.db, answer, near, make_judge())


def _collect_files(context: Context, paths: Iterable[str]) -> Nearby:
    """Collect the files related to files or folders, and the sessions that touched them together."""
    index, targets = context.checkout.index, tuple(dict.fromkeys(paths))
    inside = (*targets, *(file for path in targets for file in index.list_paths_in(path)))
    sessions_together = find_shared_sessions(context.store.db, context.repository, inside)
    files = (
        tuple(lazy_modules.related_files.find_related(index, targets, MOST_FILES, sessions_together)) if targets else ()
    )
    # What is known about a package holds for each of its files.
    around = (*inside, *sorted(list_parent_folders(targets)))
    return Nearby(symbols=(), inside=around, files=tuple(files), sessions=sessions_together[:MOST_SESSIONS])


def _find_moved_into(context: Context, paths: Collection[str]) -> list[str]:
    """Find deleted files whose anchored code moved to one of these."""
    anchors = [anchor for memory in find_anchored_memories(context) for anchor in memory.anchors]
    missing_paths = {
        path for path in {anchor.path for anchor in anchors} if not stamp(context.checkout.index.root, path)
    }
    judgements = context.checkout.try_to_judge([anchor for anchor in anchors if anchor.path in missing_paths])
    moved_paths = (judged.anchor.path for judged in judgements if judged.now and judged.now.path in paths)
    return [*dict.fromkeys(moved_paths)]


def _answer_about_code(db: Database, query: Query, near: Nearby, judge: Judge) -> Recall:
    """Return the memories about some code and the files near it that fit the budget."""
    matches = judge_hits(join_sides(db, _load_hits(db, query, near), query), query, judge)
    near = _drop_if_too_long(near, query.max_tokens)
    room = replace(query, max_tokens=query.max_tokens - _count_tokens(near))
    hits = arrange_hits(matches, room)
    return _attach(near, Recall(query=query, hits=hits, text=""))


def _add_files(recall: Recall, near: Nearby) -> Recall:
    """Add the files near the code in question to an answer, where the budget allows."""
    near = _drop_if_too_long(near, recall.query.max_tokens)
    hits = fit(recall.hits, recall.query.limit, recall.query.max_tokens - _count_tokens(near))
    return _attach(near, replace(recall, hits=hits))


def _add_linked_memories(db: Database, recall: Recall, near: Nearby, judge: Judge) -> Recall:
    """Add the memories linked to the code that the question names, and the files near that code, to an answer."""
    query, answers = recall.query, recall.answers
    answer_ids = {hit.memory.id for hit in answers}
    matches = join_sides(db, _load_hits(db, query, replace(near, files=())), query)
    # Half of the places at most, so that a file with many memories does not displace the answers.
    linked_hits = [hit for hit in matches if hit.memory.id not in answer_ids][: max(1, query.limit // 2)]
    first_hits = (*answers[: query.limit - len(linked_hits)], *sort_hits(judge_hits(linked_hits, query, judge)))
    first_ids = {hit.memory.id for hit in first_hits}
    closest = [hit for hit in recall.hits if not hit.is_sure and hit.memory.id not in first_ids]
    # Not by score: a link and a match have no common scale.
    hits = sorted((*first_hits, *closest), key=lambda hit: (not hit.is_sure, not hit.is_valid))
    return _add_files(replace(recall, hits=tuple(hits[: query.limit])), near)


def _count_tokens(near: Nearby) -> int:
    """Count the tokens that the files and sessions cost in an answer."""
    return count_tokens("\n".join(render_nearby(near.files, near.sessions)))


def _drop_if_too_long(near: Nearby, max_tokens: int) -> Nearby:
    """Drop files and sessions that would leave less than half of the tokens for memories."""
    return near if _count_tokens(near) <= max_tokens // 2 else replace(near, files=(), sessions=())


def _attach(near: Nearby, recall: Recall) -> Recall:
    """Add files and sessions to an answer and render it."""
    text = render(recall.hits, near.files, near.sessions)
    return replace(recall, text=text, files=near.files, sessions=near.sessions)


def _load_hits(db: Database, query: Query, near: Nearby) -> Iterator[Hit]:
    """Yield memories about the code, then about its files, then about files near it; the newest first among equals."""
    paths = (*near.inside, *(file.path for file in near.files))
    hits = [_make_hit(memory, query, near) for memory in memories.find_anchored(db, query, paths)]
    yield from sorted(hits, key=lambda hit: -hit.score)


def _make_hit(memory: Memory, query: Query, near: Nearby) -> Hit:
    signal = _score(memory, near)
    is_valid = query.is_valid(memory)
    return Hit(
        memory=memory, passage=memory.text, score=signal.score, signals=(signal,), labels=build_labels(memory, query),
        is_sure=is_valid, is_valid=is_valid,
    )  # fmt: skip


def _score(memory: Memory, near: Nearby) -> Signal:
    anchor_labels = {anchor.label for anchor in memory.anchors}
    for symbol in near.symbols:
        if symbol.label in anchor_labels:
            return Signal(name="place", score=SYMBOL_SCORE, why=f"is about {symbol.label}")
    paths = [anchor.path for anchor in memory.anchors]
    for path in paths:
        if path in near.inside:
            return Signal(name="place", score=FILE_SCORE, why=f"is about {path}")
    # Weights are comparable within one answer only, so the score is relative to the largest of them.
    largest_weight = max(file.weight for file in near.files)
    closest = max((file for file in near.files if file.path in paths), key=lambda file: file.weight)
    why = f"is about {closest.path} ({', '.join(closest.why)})"
    return Signal(name="place", score=round(NEAR_SCORE * closest.weight / largest_weight, 4), why=why)
