"""Anchors of memories in the code of a tree. This loads the parsers, so ``checkout`` imports it only when needed."""

import math
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event

from hivemind.app.low_priority import used_cpu_seconds
from hivemind.codebase import git, links, staleness, tree, watcher
from hivemind.codebase.index import CodeIndex
from hivemind.codebase.mentions import looks_like_code
from hivemind.curate import anchor
from hivemind.model.claim import Claim, Proposal
from hivemind.model.code import Anchor, Staleness, SymbolChange

ANCHORS_AT_ONCE = 1
"""Anchors that are judged between two looks at the clock."""
CHEAP_SECONDS = 0.01
"""What seems to take no longer is done for the first anchor whatever the clock says: a slow machine never would."""

MISSING_TEXT = "no longer in its place; it is being searched for"

CHANGED_LINE = re.compile(r"^[+-]", re.MULTILINE)
"""The sign of a line in a diff that an edit adds or removes."""


class AnchoredCheckout:
    """The indexed code of a tree: finds anchors and judges their staleness."""

    def __init__(self, index: CodeIndex) -> None:
        self.index = index

    @classmethod
    def open(cls, root: Path, home: Path, *, is_hurried: bool = False) -> "AnchoredCheckout":
        """Open the code index of a tree, which is stored in the home directory."""
        return cls(CodeIndex.open(root, home / "index", is_hurried=is_hurried))

    def close(self) -> None:
        """Close the index."""
        self.index.close()

    def anchors_of_claim(self, claim: Claim, commit: str, near: Collection[str], asked_at: float) -> tuple[Anchor, ...]:
        """Find the code that a claim is about; files in ``near`` are preferred among symbols of the same name."""
        return anchor.find_anchors(self.index, claim.links, claim.sources, claim.text, commit, near, asked_at)

    def anchors_of_link(self, link: str, commit: str = "") -> list[Anchor]:
        """Find the code that a link names; empty if there is no unique match."""
        return anchor.resolve_link(self.index, link, commit)

    def anchors_of_proposals(
        self, proposals: Sequence[Proposal], path_of: Callable[[str], str]
    ) -> Iterator[tuple[str, tuple[Anchor, ...]]]:
        """Yield the memory id and the anchors of each proposal: the edited code, else the code that its text names."""
        commit, asked_at = git.head(self.index.root), time.time()
        edits = anchor.collect_edits(self.index.root, proposals, path_of)
        for proposal in proposals:
            anchors = anchor.anchor_edited_symbols(self.index, edits[proposal.memory_id], commit)
            if not anchors and (proposal.links or looks_like_code(proposal.text)):
                named_anchors = anchor.find_anchors(
                    self.index, proposal.links, (), proposal.text, commit, asked_at=asked_at
                )
                anchors = anchor.anchor_as_said(self.index, proposal, named_anchors)
            yield proposal.memory_id, anchors

    def edited_symbols(self, path: str, diffs: Sequence[str]) -> set[str]:
        """Return the qualified names of the symbols that edits change; empty if they change none, or it is unclear."""
        file = tree.read(self.index.root, path)
        symbols = self.index.symbols_of(path) if file else []
        if not file or not symbols:
            return set()
        # Turned round first: before an edit the file still has the lines that the edit removes.
        backwards = [CHANGED_LINE.sub(lambda sign: "-" if sign[0] == "+" else "+", diff) for diff in diffs]
        for directed_diffs in (backwards, diffs):
            edited_symbols = links.find_edited_symbols(symbols, file[1], directed_diffs)
            if names := {symbol.qualified for symbol in edited_symbols} - {""}:
                return names
        return set()

    def distinct(self, anchors: Iterable[Anchor]) -> tuple[Anchor, ...]:
        """Keep one anchor per symbol, the newest."""
        return anchor.deduplicate_anchors(anchors)

    def judge(
        self, anchors: Sequence[Anchor], commit: str = "", *, in_passing: bool = False, deadline: float = math.inf
    ) -> Sequence[Staleness]:
        """Judge how the code of each anchor changed, of as many as can be judged before the deadline in CPU time."""
        judgements: list[Staleness] = []

        def has_time(seconds: float) -> bool:
            is_cheap = not judgements and seconds <= CHEAP_SECONDS
            return is_cheap or used_cpu_seconds() + seconds < deadline

        while len(judgements) < len(anchors) and has_time(0.0):
            page = anchors[len(judgements) : len(judgements) + ANCHORS_AT_ONCE] if deadline < math.inf else anchors
            judgements += staleness.judge(self.index, page, commit, in_passing=in_passing, has_time=has_time)
        if len(judgements) < len(anchors):
            self.index.is_behind = True
        return [self._correct_gone(judgement) for judgement in judgements]

    def _correct_gone(self, judgement: Staleness) -> Staleness:
        # As long as the tree is not read, a symbol that is not in its place may be in any other.
        if judgement.change is not SymbolChange.GONE or not self.index.is_behind:
            return judgement
        return replace(judgement, change=SymbolChange.MISSING, edit=SymbolChange.MISSING, text=MISSING_TEXT)

    def has_changed_since(self, code_staleness: Staleness, commit: str) -> bool:
        """Whether code became stale by a change after this commit."""
        return staleness.changed_since(self.index, code_staleness, commit)

    def mismatch(self, link: str) -> str:
        """Explain why a link has no unique match, with suggestions."""
        nearest = ", ".join(links.suggest_labels(self.index, link))
        count = len({place.label for place in links.find_places(self.index, link)})
        if count > 1:
            return f"no unique match for {link!r}: it fits {count} places; name one, such as {nearest}"
        hint = f"nearest: {nearest}" if nearest else "write it like auth/service.py::login"
        unseen = "" if self.index.is_built else "; after 'hivemind code index' every name is known"
        return f"no unique match for {link!r}: nothing here has that name; {hint}{unseen}"

    def describe_ambiguity(self, text: str) -> str:
        """Say which name in a text fits too many places to be linked; empty if none does."""
        name, labels = links.find_ambiguous_name(self.index, text)
        return f"{name} fits {len(labels)} places, such as {labels[0]}" if labels else ""

    def watch(self, stop: Event, on_change: Callable[[int], None]) -> None:
        """Update the index whenever the tree changes, until stopped."""
        watcher.follow(self.index, stop, on_change)

    def keep_warm(self, stop: Event) -> None:
        """Update the index whenever the tree changes, if the tree is indexed already or small."""
        watcher.keep_warm(self.index, stop)

    def watch_trouble(self) -> tuple[str, str]:
        """Explain why the tree cannot be watched, and what to do; empty if it can."""
        return watcher.find_problem(self.index), watcher.REMEDY
