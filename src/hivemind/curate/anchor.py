"""What code a memory is about: what its writer linked, where it is written, else what its text names."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from hivemind.codebase import git, tree
from hivemind.codebase.addresses import last_word
from hivemind.codebase.index import Index
from hivemind.codebase.links import edited as edited_in
from hivemind.codebase.links import find, find_path, mentions
from hivemind.codebase.symbols import outline
from hivemind.model.code import Anchor
from hivemind.model.proposal import Proposal

PATIENCE_SECONDS = 10.0
"""How old a look at the whole tree may be before a name is looked up in it."""


class Edit(NamedTuple):
    """What was done to a file, and git's name for what it held then."""

    path: str
    diff: str
    content: str = ""


def anchors(
    index: Index, links: Sequence[str], sources: Sequence[str], text: str, commit: str, near: Collection[str] = ()
) -> tuple[Anchor, ...]:
    """Every hold a memory has on code as it is now; what is said outright makes guessing from the text needless."""
    files = [source for source in sources if tree.stamp(index.root, source.partition(":")[0])]
    said = [anchor for link in (*links, *files) for anchor in linked(index, link, commit)]
    if said:
        return distinct(said)
    index.refresh_if_older(PATIENCE_SECONDS)
    return distinct(mentions(index, text, commit, near))


def edits(root: Path, proposals: Sequence[Proposal], named: Callable[[str], str]) -> dict[str, list[Edit]]:
    """What proposals rest on that was done to files, in a session or by a commit; by the id of their memory."""
    commits = {one.sources[0].commit: one for one in proposals if one.sources[0].commit}
    found: dict[str, list[Edit]] = {
        one.memory_id: [Edit(path, seen.diff, seen.after) for seen in one.edits if (path := named(seen.file))]
        for one in proposals
    }
    for commit, path, diff in git.patches(root, commits) if commits else ():
        if path in commits[commit].links:
            found[commits[commit].memory_id].append(Edit(path, diff, f"{commit}:{path}"))
    return found


def edited(index: Index, edits: Iterable[Edit], commit: str) -> tuple[Anchor, ...]:
    """The symbols that edits were made in, as these left them where git kept that, as long as they are still there."""
    by_path: dict[str, list[Edit]] = {}
    for edit in edits:
        by_path.setdefault(edit.path, []).append(edit)
    kept = git.contents(index.root, [done[-1].content for done in by_path.values() if done[-1].content])
    return distinct(anchor for path, done in by_path.items() for anchor in _left(index, path, done, kept, commit))


def _left(index: Index, path: str, done: Sequence[Edit], kept: Mapping[str, bytes], commit: str) -> Iterator[Anchor]:
    now = {symbol.key: symbol for symbol in index.symbols_of(path)}
    read = tree.read(index.root, path)
    if not now or read is None:
        return
    source = kept.get(done[-1].content, read[1])
    then = [*now.values()] if source == read[1] else outline(path, source).symbols
    for symbol in edited_in(then, source, [edit.diff for edit in done]):
        # What has changed since then was not looked at today, and no commit says how it was.
        if symbol.key in now:
            yield Anchor.of(symbol, commit if symbol.fingerprint == now[symbol.key].fingerprint else "")


def linked(index: Index, link: str, commit: str = "") -> list[Anchor]:
    """What a link means, or nothing where it has no unique match."""
    found = find_path(index, link.strip())
    if found is None:
        found = find(index, link) if index.is_built else []
    if not found:
        index.refresh_if_older(PATIENCE_SECONDS)
        index.look_for(last_word(link))
        found = find(index, link)
    return [Anchor.of(symbol, commit) for symbol in found]


def distinct(found: Iterable[Anchor]) -> tuple[Anchor, ...]:
    """Each symbol once, by the newest hold on it."""
    return tuple({anchor.symbol.key: anchor for anchor in found}.values())
