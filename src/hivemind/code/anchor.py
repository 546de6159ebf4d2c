"""Finds the code that a memory is about: its links and source files, otherwise the symbols its text names."""

import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from hivemind.code import git, working_tree
from hivemind.code.addresses import last_word
from hivemind.code.index import CodeIndex
from hivemind.code.links import MAX_ANCHORS, MAX_MENTION_MATCHES, find, find_edited_symbols, find_mentions, find_path
from hivemind.code.mentions import find_names, find_paths, looks_like_code
from hivemind.code.parsing import outline
from hivemind.model.claim import Proposal
from hivemind.model.code import Anchor, Symbol

MAX_SEARCHED_NAMES = 3
"""Names of a text that git searches for in a tree that is not indexed yet, while somebody waits."""
MOST_LOST_NAMES = 5
"""Names of a text that are looked for in the past; each costs two searches by git."""


class Edit(NamedTuple):
    """An edit of a file, and git's object name for the content after it."""

    path: str
    diff: str
    content: str = ""


def find_anchors(
    index: CodeIndex,
    links: Sequence[str],
    sources: Sequence[str],
    text: str,
    commit: str,
    near: Collection[str] = (),
    asked_at: float = math.inf,
) -> tuple[Anchor, ...]:
    """Find the anchors of a memory in the current code; its text is only searched if links and files give none.

    Whoever finds the anchors of many gives the time at which they began, and the tree is looked at once.
    """
    files = [source for source in sources if working_tree.stamp(index.root, source.partition(":")[0])]
    stated_anchors = [anchor for link in (*links, *files) for anchor in resolve_link(index, link, commit, asked_at)]
    if stated_anchors:
        return deduplicate_anchors(stated_anchors)
    _refresh(index, asked_at)
    anchors = find_mentions(index, text, commit, near) if index.is_built else []
    if not anchors and index.may_lack_names:
        for name in islice(find_names(text), MAX_SEARCHED_NAMES):
            index.index_files_containing(last_word(name))
        anchors = find_mentions(index, text, commit, near)
    return deduplicate_anchors(anchors)


def _refresh(index: CodeIndex, asked_at: float) -> None:
    # People and agents write about code that they changed a moment ago.
    index.refresh_if_older(max(0.0, time.time() - asked_at))


def anchor_proposals(
    index: CodeIndex, proposals: Sequence[Proposal], path_of: Callable[[str], str]
) -> Iterator[tuple[str, tuple[Anchor, ...]]]:
    """Yield the memory id and the anchors of each proposal: the edited code, else the code that its text names."""
    commit, asked_at = git.head(index.root), time.time()
    edits = _collect_edits(index.root, proposals, path_of)
    for proposal in proposals:
        anchors = _anchor_edited_symbols(index, edits[proposal.memory_id], commit)
        if not anchors and (proposal.links or looks_like_code(proposal.text)):
            named_anchors = find_anchors(index, proposal.links, (), proposal.text, commit, asked_at=asked_at)
            anchors = _anchor_as_said(index, proposal, named_anchors)
        yield proposal.memory_id, anchors


def _collect_edits(
    root: Path, proposals: Sequence[Proposal], make_relative: Callable[[str], str]
) -> dict[str, list[Edit]]:
    """Collect the edits, in a session or by a commit, that proposals are based on, by memory id."""
    proposals_by_commit = {proposal.sources[0].commit: proposal for proposal in proposals if proposal.sources[0].commit}
    edits_by_memory: dict[str, list[Edit]] = {
        proposal.memory_id: [
            Edit(path, step.diff, step.after) for step in proposal.edits if (path := make_relative(step.file))
        ]
        for proposal in proposals
    }
    for commit, path, diff in git.read_patches(root, proposals_by_commit) if proposals_by_commit else ():
        if path in proposals_by_commit[commit].links:
            edits_by_memory[proposals_by_commit[commit].memory_id].append(Edit(path, diff, f"{commit}:{path}"))
    return edits_by_memory


def _anchor_edited_symbols(index: CodeIndex, edits: Iterable[Edit], commit: str) -> tuple[Anchor, ...]:
    """Anchor the symbols that were edited and still exist, as they were after the edit if git has that content."""
    by_path: dict[str, list[Edit]] = {}
    for edit in edits:
        by_path.setdefault(edit.path, []).append(edit)
    contents = git.read_blobs(
        index.root, [file_edits[-1].content for file_edits in by_path.values() if file_edits[-1].content]
    )
    return deduplicate_anchors(
        anchor
        for path, file_edits in by_path.items()
        for anchor in _anchor_edited_file(index, path, file_edits, contents, commit)
    )


def _anchor_edited_file(
    index: CodeIndex, path: str, edits: Sequence[Edit], contents: Mapping[str, bytes], commit: str
) -> Iterator[Anchor]:
    current_symbols = {symbol.key: symbol for symbol in index.symbols_of(path)}
    current_file = working_tree.read(index.root, path)
    if not current_symbols or current_file is None:
        return
    source = contents.get(edits[-1].content, current_file[1])
    symbols_after_edit = [*current_symbols.values()] if source == current_file[1] else outline(path, source).symbols
    for symbol in find_edited_symbols(symbols_after_edit, source, [edit.diff for edit in edits]):
        # A symbol that changed since the edit was not read in its current form, so no commit is recorded for it.
        if symbol.key in current_symbols:
            yield Anchor.of(symbol, commit if symbol.fingerprint == current_symbols[symbol.key].fingerprint else "")


def _anchor_as_said(index: CodeIndex, proposal: Proposal, anchors: Sequence[Anchor]) -> tuple[Anchor, ...]:
    """Return anchors with the code as it was when the proposal was said, and add code that is gone since."""
    commit = git.find_commit_before(index.root, proposal.said_at) if proposal.said_at else ""
    if not commit or commit == git.head(index.root):
        return tuple(anchors)
    named_paths = {path.partition(":")[0] for path in find_paths(proposal.text)}
    lost_names = _find_lost_names(index, proposal.text, commit, {anchor.symbol.name for anchor in anchors})
    paths = {anchor.path for anchor in anchors}.union(named_paths, *lost_names.values())
    outlines = _read_past_outlines(index.root, commit, paths)
    past_symbols = {symbol.key: symbol for symbols in outlines.values() for symbol in symbols}
    as_said = [_date_anchor(anchor, past_symbols.get(anchor.symbol.key)) for anchor in anchors]
    lost_symbols = [symbol for symbol in past_symbols.values() if symbol.path in lost_names.get(symbol.name, ())]
    lost_symbols += [
        symbols[0] for path, symbols in outlines.items() if symbols and not working_tree.stamp(index.root, path)
    ]
    return deduplicate_anchors([*as_said, *(Anchor.of(symbol) for symbol in lost_symbols)])[:MAX_ANCHORS]


def _read_past_outlines(root: Path, commit: str, paths: Iterable[str]) -> dict[str, Sequence[Symbol]]:
    """Read the symbols of files as they were at a commit, the file itself first."""
    contents = git.read_blobs(root, [f"{commit}:{path}" for path in paths])
    by_path = {name.removeprefix(f"{commit}:"): content for name, content in contents.items()}
    return {path: outline(path, content).symbols for path, content in by_path.items()}


def _date_anchor(anchor: Anchor, past: Symbol | None) -> Anchor:
    # Without a commit: what changed since was not read in its current form.
    is_changed = past is not None and str(past.fingerprint) != anchor.fingerprint
    return Anchor.of(past) if past and is_changed else anchor


def _find_lost_names(index: CodeIndex, text: str, commit: str, current: Collection[str]) -> dict[str, list[str]]:
    """Find names in a text that no file contains any more, and the files of that commit that did."""
    names = (last_word(name) for name in islice(find_names(text), MOST_LOST_NAMES))
    missing_names = [name for name in names if name not in current and not git.find_files_with_word(index.root, name)]
    found = {name: git.find_files_with_word(index.root, name, commit=commit) or [] for name in missing_names}
    # A name in many files is a common word.
    return {name: files for name, files in found.items() if len(files) <= MAX_MENTION_MATCHES}


def resolve_link(index: CodeIndex, link: str, commit: str = "", asked_at: float = math.inf) -> list[Anchor]:
    """Resolve a link to anchors; empty if it has no unique match."""
    symbols = find_path(index, link.strip())
    if symbols is None:
        symbols = find(index, link) if index.is_built else []
    # Refresh only if the index has no match, because a refresh looks at the whole tree.
    if not symbols:
        _refresh(index, asked_at)
        index.index_files_containing(last_word(link))
        symbols = find(index, link)
    return [Anchor.of(symbol, commit) for symbol in symbols]


def deduplicate_anchors(anchors: Iterable[Anchor]) -> tuple[Anchor, ...]:
    """Keep one anchor per symbol, the last one."""
    return tuple({anchor.symbol.key: anchor for anchor in anchors}.values())
