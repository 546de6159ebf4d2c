"""What a branch changes: its commits and files since it left another one, and the code of links before and after it.

Both sides are read from git, so that neither the working tree nor the index has to be of that branch.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path, PurePath

from hivemind.code import git
from hivemind.code.code_changes import assess_change, assess_loss, differs_in_code, find_in_place
from hivemind.code.grammars import find_language
from hivemind.code.moved_symbols import MAX_SEARCH_FILES, follow
from hivemind.code.parsing import outline
from hivemind.code.versions import compare_code, select_lines
from hivemind.errors import InvalidInput, Unavailable
from hivemind.model.code import Anchor, Staleness, Symbol
from hivemind.model.ids import Timestamp
from hivemind.model.timestamps import format_timestamp

DEFAULT_BRANCHES = ("origin/main", "origin/master", "main", "master")
"""Tried in this order where the remote does not say which branch is its default."""
HEAD = "HEAD"
_RANGE = re.compile(r"(?P<base>.*?)(?:\.\.\.?|…)(?P<tip>.*)")


@dataclass(frozen=True, kw_only=True)
class Branch:
    """A branch since it left another one."""

    root: Path
    base_name: str
    tip_name: str
    base: str
    """The last commit that both have."""
    tip: str
    started_at: Timestamp
    """When that commit was made."""
    commits: frozenset[str]
    """Its own commits."""
    other_commits: frozenset[str]
    """Commits of the other branch since then."""
    files: tuple[str, ...]
    """Paths that it changes, old and new ones."""
    moves: Mapping[str, str] = field(default_factory=dict)
    """Files that it moves."""

    @cached_property
    def _sources(self) -> dict[str, dict[str, bytes]]:
        return {self.base: {}, self.tip: {}}

    def judge(self, anchors: Sequence[Anchor], texts: Sequence[str]) -> list[Staleness | None]:
        """Judge how the branch changes the code of each anchor; None if it does not, or the code was not there before.

        The texts are what the memories of the anchors say.
        """
        paths = {anchor.path for anchor in anchors} & {*self.files}
        old_symbols = self._outline(self.base, paths)
        new_symbols = self._outline(self.tip, {*paths, *self.moves.values()})
        return [
            self._judge(anchor, text, old_symbols, new_symbols) if anchor.path in paths else None
            for anchor, text in zip(anchors, texts, strict=True)
        ]

    def _judge(
        self,
        anchor: Anchor,
        text: str,
        old_symbols: Mapping[str, Sequence[Symbol]],
        new_symbols: Mapping[str, Sequence[Symbol]],
    ) -> Staleness | None:
        old = find_in_place(anchor, old_symbols.get(anchor.path, ()))
        if old is None:
            return None
        before, in_place = Anchor.of(old, self.base), find_in_place(anchor, new_symbols.get(old.path, ()))
        # Somebody wrote or verified the memory after the change.
        if in_place and in_place.fingerprint.raw == anchor.symbol.fingerprint.raw:
            return None
        new = in_place or self._find_moved(old)
        if new is None:
            return assess_loss(before)
        if not differs_in_code(before, new):
            return assess_change(before, new, self.tip)
        difference = compare_code(old, self._read(self.base, old), new, self._read(self.tip, new))
        return assess_change(before, new, self.tip, text, difference, is_same=difference is None)

    def _find_moved(self, old: Symbol) -> Symbol | None:
        """Find where the branch moved a symbol."""
        changed_paths = [path for path in self.files if find_language(path)]
        if len(changed_paths) > MAX_SEARCH_FILES:
            # Of many files those first that have its name, or that of its file.
            named_paths = {*(git.find_files_with_word(self.root, old.name, commit=self.tip) or ())}
            file = PurePath(old.path).name
            changed_paths.sort(key=lambda path: path not in named_paths and PurePath(path).name != file)
        paths = [*dict.fromkeys([self.moves.get(old.path, old.path), *changed_paths])][:MAX_SEARCH_FILES]
        before, after = self._outline(self.base, [old.path, *paths]), self._outline(self.tip, paths)
        former_keys = {symbol.key for symbols in before.values() for symbol in symbols}
        return follow(old, [symbol for symbols in after.values() for symbol in symbols], former_keys, self.moves)

    def _outline(self, commit: str, paths: Iterable[str]) -> dict[str, Sequence[Symbol]]:
        sources = self._sources[commit]
        missing_paths = [path for path in dict.fromkeys(paths) if path not in sources]
        contents = git.read_blobs(self.root, [f"{commit}:{path}" for path in missing_paths]) if missing_paths else {}
        sources.update((name.partition(":")[2], content) for name, content in contents.items())
        return {path: outline(path, sources[path]).symbols for path in dict.fromkeys(paths) if path in sources}

    def _read(self, commit: str, symbol: Symbol) -> str:
        return select_lines(self._sources[commit][symbol.path], symbol.line, symbol.end_line)


def find_branch(root: Path, text: str) -> Branch:
    """Find the branch that a person names: ``main``, ``main...``, ``main..feature``; empty for the default branch.

    Two dots and three mean the same: what the second branch did since it left the first.
    """
    names = _RANGE.fullmatch(text.strip())
    base_name = (names["base"] if names else text.strip()) or _find_default_branch(root)
    tip_name = (names["tip"] if names else "") or HEAD
    other, tip = git.resolve_commit(root, base_name), git.resolve_commit(root, tip_name)
    base = git.run_or_empty(root, "merge-base", other, tip)
    if not base:
        remedy = "in a shallow clone, run: git fetch --unshallow"
        raise Unavailable(f"{base_name} and {tip_name} have no commit in common; {remedy}")
    files, moves = git.list_changes(root, base, tip)
    made_at = git.run_or_empty(root, "show", "--no-patch", "--format=%cI", base)
    return Branch(
        root=root, base_name=base_name, tip_name=tip_name, base=base, tip=tip,
        started_at=format_timestamp(datetime.fromisoformat(made_at)),
        commits=_list_commits(root, base, tip), other_commits=_list_commits(root, base, other),
        files=tuple(dict.fromkeys(files)), moves=moves,
    )  # fmt: skip


def _list_commits(root: Path, since: str, until: str) -> frozenset[str]:
    return frozenset(git.run_or_empty(root, "rev-list", f"{since}..{until}").split())


def _find_default_branch(root: Path) -> str:
    remote = git.run_or_empty(root, "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD")
    for name in filter(None, (remote, *DEFAULT_BRANCHES)):
        if git.run_or_empty(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"):
            return name
    raise InvalidInput("the default branch is not known; name it: hivemind diff BRANCH")
