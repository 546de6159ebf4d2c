"""Find the code of an anchor as it was, and compare it with the code of today."""

from collections.abc import Iterable, Sequence

from hivemind.codebase import git, tree
from hivemind.codebase.comparison import CodeDifference, Version, compare_versions, find_version
from hivemind.codebase.fingerprint import digest
from hivemind.codebase.index import CodeIndex
from hivemind.codebase.snapshots import COMMIT_ID
from hivemind.codebase.symbols import ParsedFile, parse_file
from hivemind.errors import Unavailable
from hivemind.model.code import Anchor, Symbol

MAX_LATER_COMMITS = 5
"""Commits after that of an anchor in which its code is searched for, if it was not committed yet."""


MAX_PARSED_FILES = 16
"""Syntax trees that are kept; one takes a few megabytes, and anchors in one file mostly follow each other."""


class Versions:
    """The old code of some anchors, which git has, beside the code of the working tree."""

    def __init__(self, index: CodeIndex, anchors: Sequence[Anchor]) -> None:
        self._index = index
        # One call of git for all anchors.
        self._blobs = self._read_blobs(_blob_name(anchor) for anchor in anchors if COMMIT_ID.fullmatch(anchor.commit))
        self._files: dict[tuple[str, bytes], ParsedFile | None] = {}

    def compare(self, anchor: Anchor, new: Symbol) -> CodeDifference | None:
        """What differs between an anchor's code and a symbol of today; None if the old code is not available."""
        old_version = self._find_old(anchor)
        content = tree.read(self._index.root, new.path)
        file = self._parse(new.path, content[1]) if content else None
        new_version = _find(file, new.qualified, new.family, new.fingerprint.raw) if file else None
        if old_version is None or new_version is None:
            return None

        def was_renamed(old_name: str, new_name: str) -> bool:
            return self._was_renamed(anchor, old_version.file.source, old_name, new_name)

        return compare_versions(old_version, new_version, was_renamed)

    def _find_old(self, anchor: Anchor) -> Version | None:
        source = self._blobs.get(_blob_name(anchor))
        if source is not None and (version := self._find_in(source, anchor)):
            return version
        # The file had uncommitted changes when the anchor was made; a later commit may have them.
        later_sources = self._read_later(anchor) if COMMIT_ID.fullmatch(anchor.commit) else ()
        return next((version for source in later_sources if (version := self._find_in(source, anchor))), None)

    def _find_in(self, source: bytes, anchor: Anchor) -> Version | None:
        file = self._parse(anchor.path, source)
        symbol = anchor.symbol
        return _find(file, symbol.qualified, symbol.family, symbol.fingerprint.raw) if file else None

    def _read_later(self, anchor: Anchor) -> Iterable[bytes]:
        # Oldest first: the commit that follows the anchor most likely has its code.
        revisions = ("--reverse", f"{anchor.commit}..HEAD", "--", f":(literal){anchor.path}")
        commits = git.run_or_empty(self._index.root, "rev-list", *revisions).split()[:MAX_LATER_COMMITS]
        return self._read_blobs(f"{commit}:{anchor.path}" for commit in commits).values()

    def _read_blobs(self, names: Iterable[str]) -> dict[str, bytes]:
        unique_names = [*dict.fromkeys(names)]
        try:
            return git.read_blobs(self._index.root, unique_names) if unique_names else {}
        except Unavailable:  # there is no git here
            return {}

    def _parse(self, path: str, source: bytes) -> ParsedFile | None:
        key = (path, source)
        file = self._files.pop(key) if key in self._files else parse_file(path, source)
        # The last used is put at the end; the first one goes.
        self._files[key] = file
        if len(self._files) > MAX_PARSED_FILES:
            del self._files[next(iter(self._files))]
        return file

    def _was_renamed(self, anchor: Anchor, old_source: bytes, old_name: str, new_name: str) -> bool:
        """Whether a symbol of this name is gone from the tree, and one of the new name appeared."""
        places = self._index.find_by_name(new_name) if self._index.is_built else []
        if not places or self._index.find_by_name(old_name, limit=1) or new_name.encode() in old_source:
            return False
        names = [f"{anchor.commit}:{path}" for path in {symbol.path for symbol in places}]
        sources = self._read_blobs(names).values() if COMMIT_ID.fullmatch(anchor.commit) else []
        # A name that existed already is another symbol, to which the code switched.
        return not any(new_name.encode() in source for source in sources)


def _blob_name(anchor: Anchor) -> str:
    return f"{anchor.commit}:{anchor.path}"


def _find(file: ParsedFile, qualified: str, family: str, raw: str) -> Version | None:
    return find_version(file, qualified, family, lambda source: digest(source) == raw)
