"""The code of a tree that memories are tied to. It loads the parsers, so ``checkout`` imports it when needed."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from threading import Event

from hivemind.codebase import git, links, staleness, watcher
from hivemind.codebase.index import CodeIndex
from hivemind.codebase.mentions import looks_like_code
from hivemind.curate import anchor
from hivemind.model.claim import Claim, Proposal
from hivemind.model.code import Anchor, Staleness


class AnchoredCheckout:
    """The symbols of a tree, as memories name them and as they change."""

    def __init__(self, index: CodeIndex) -> None:
        self.index = index

    @classmethod
    def open(cls, root: Path, home: Path) -> "AnchoredCheckout":
        """The code of the tree at a place, by the index in the home directory."""
        return cls(CodeIndex.open(root, home / "index"))

    def close(self) -> None:
        """Close the index."""
        self.index.close()

    def anchors_of_claim(self, claim: Claim, commit: str, near: Collection[str]) -> tuple[Anchor, ...]:
        """The code that a claim is about; files ``near`` it decide between symbols of the same name."""
        return anchor.find_anchors(self.index, claim.links, claim.sources, claim.text, commit, near)

    def anchors_of_link(self, link: str, commit: str = "") -> list[Anchor]:
        """The code that a link means; nothing where it has no unique match."""
        return anchor.resolve_link(self.index, link, commit)

    def anchors_of_proposals(
        self, proposals: Sequence[Proposal], path_of: Callable[[str], str]
    ) -> Iterator[tuple[str, tuple[Anchor, ...]]]:
        """The id of each proposal's memory, and the code it is about: what was edited, else what it names."""
        commit = git.head(self.index.root)
        edits = anchor.collect_edits(self.index.root, proposals, path_of)
        for proposal in proposals:
            anchors = anchor.anchor_edited_symbols(self.index, edits[proposal.memory_id], commit)
            if not anchors and (proposal.links or looks_like_code(proposal.text)):
                anchors = anchor.find_anchors(self.index, proposal.links, (), proposal.text, commit)
            yield proposal.memory_id, anchors

    def distinct(self, anchors: Iterable[Anchor]) -> tuple[Anchor, ...]:
        """Each symbol once, by the newest anchor."""
        return anchor.deduplicate_anchors(anchors)

    def judge(self, anchors: Sequence[Anchor], commit: str = "", *, in_passing: bool = False) -> Sequence[Staleness]:
        """What became of each anchor's code."""
        return staleness.judge(self.index, anchors, commit, in_passing=in_passing)

    def has_changed_since(self, became: Staleness, commit: str) -> bool:
        """Whether code became stale by a change after this commit."""
        return staleness.changed_since(self.index, became, commit)

    def mismatch(self, link: str) -> str:
        """Why a link was not followed, and what it may have meant."""
        nearest = ", ".join(links.suggest_labels(self.index, link))
        count = len({place.label for place in links.find_places(self.index, link)})
        if count > 1:
            return f"no unique match for {link!r}: it fits {count} places; name one, such as {nearest}"
        hint = f"nearest: {nearest}" if nearest else "write it like auth/service.py::login"
        unseen = "" if self.index.is_built else "; after 'hivemind code index' every name is known"
        return f"no unique match for {link!r}: nothing here has that name; {hint}{unseen}"

    def watch(self, stop: Event, seen: Callable[[int], None]) -> None:
        """Follow the tree as it changes, until told to stop."""
        watcher.follow(self.index, stop, seen)

    def keep_warm(self, stop: Event) -> None:
        """Follow the tree as it changes, where it is known or small."""
        watcher.keep_warm(self.index, stop)

    def watch_trouble(self) -> tuple[str, str]:
        """Why the tree cannot be followed as it changes, and what to do; empty if it can."""
        return watcher.find_problem(self.index), watcher.REMEDY
