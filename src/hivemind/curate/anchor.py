"""What code a memory is about: what its writer linked, where it is written, else what its text names."""

from collections.abc import Iterable, Sequence

from hivemind.codebase.index import Index
from hivemind.codebase.links import mentions, resolve
from hivemind.codebase.tree import stamp
from hivemind.model.code import Anchor

PATIENCE_SECONDS = 10.0
"""How old a look at the whole tree may be before a name is looked up in it."""


def anchors(index: Index, links: Sequence[str], sources: Sequence[str], text: str, commit: str) -> tuple[Anchor, ...]:
    """Every hold a memory has on code as it is now; what is said outright makes guessing from the text needless."""
    files = [source for source in sources if stamp(index.root, source.partition(":")[0])]
    said = [anchor for link in (*links, *files) for anchor in linked(index, link, commit)]
    if said:
        return distinct(said)
    index.refresh_if_older(PATIENCE_SECONDS)
    return distinct(mentions(index, text, commit))


def linked(index: Index, link: str, commit: str = "") -> list[Anchor]:
    """All that a link could mean, or nothing."""
    found = resolve(index, link, commit)
    if not found:
        index.refresh_if_older(PATIENCE_SECONDS)
        found = resolve(index, link, commit)
    return found


def distinct(found: Iterable[Anchor]) -> tuple[Anchor, ...]:
    """Each symbol once, by the newest hold on it."""
    return tuple({anchor.symbol.key: anchor for anchor in found}.values())
