"""Find the code of an anchor as it was, and compare it with the code of today."""

import re
from collections.abc import Callable, Iterable, Sequence

from hivemind.codebase import git, tree
from hivemind.codebase.comparison import CodeDifference, Version, compare_versions, find_version
from hivemind.codebase.fingerprint import digest
from hivemind.codebase.index import CodeIndex
from hivemind.codebase.symbols import ParsedFile, outline, parse_file
from hivemind.errors import Unavailable
from hivemind.model.code import Anchor, Symbol

MAX_LATER_COMMITS = 5
"""Commits after that of an anchor in which its code is searched for, if it was not committed yet."""


SEARCH_SECONDS = 0.5
"""How long git may search the tree for a name that may have been replaced everywhere."""

MAX_DEFINITIONS = 4
"""Definitions of one name that are looked at; a name with more says little."""

PARSED_BYTES_PER_SECOND = 3_000_000
"""How fast files are parsed, for a guess of what an answer would take."""

MAX_PARSED_FILES = 16
"""Syntax trees that are kept; one takes a few megabytes, and anchors in one file mostly follow each other."""


HasTime = Callable[[float], bool]
"""Whether somebody who waits for an answer has so many seconds left."""


def always(seconds: float) -> bool:
    """Somebody who has all the time that it takes."""
    return True


class Versions:
    """The old code of some anchors, which git has, beside the code of the working tree."""

    def __init__(self, index: CodeIndex, anchors: Sequence[Anchor], has_time: HasTime = always) -> None:
        self._index = index
        self._has_time = has_time
        # One call of git for all anchors.
        self._blobs = self._read_blobs(
            _blob_name(anchor) for anchor in anchors if git.COMMIT_ID.fullmatch(anchor.commit)
        )
        self._files: dict[tuple[str, bytes], ParsedFile | None] = {}

    def compare(self, anchor: Anchor, new: Symbol) -> CodeDifference | None:
        """What differs between an anchor's code and a symbol of today; None if the old code is not available."""
        content = tree.read(self._index.root, new.path)
        size = len(content[1] if content else b"") + len(self._blobs.get(_blob_name(anchor), b""))
        if not self._has_time(size / PARSED_BYTES_PER_SECOND):
            self._index.is_behind = True
            return None
        old_version = self._find_old(anchor)
        file = self._parse(new.path, content[1]) if content else None
        new_version = _find(file, new.qualified, new.family, new.fingerprint.raw) if file else None
        if old_version is None or new_version is None:
            return None

        def was_renamed(old_name: str, new_name: str) -> bool:
            return self._was_renamed(anchor, old_version, new_version, old_name, new_name)

        return compare_versions(old_version, new_version, was_renamed)

    def _find_old(self, anchor: Anchor) -> Version | None:
        source = self._blobs.get(_blob_name(anchor))
        if source is not None and (version := self._find_in(source, anchor)):
            return version
        # The file had uncommitted changes when the anchor was made; a later commit may have them.
        later_sources = self._read_later(anchor) if git.COMMIT_ID.fullmatch(anchor.commit) else ()
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

    def _was_renamed(self, anchor: Anchor, old: Version, new: Version, old_name: str, new_name: str) -> bool:
        """Whether a definition got another name, or a name was replaced by another one in the whole tree."""
        if self._was_definition_renamed(anchor, old_name, new_name):
            return True
        if _occurs(new_name, old.file.source) or _occurs(old_name, new.file.source):
            return False
        places = self._index.find_by_name(new_name) if self._index.is_built else []
        if self._index.find_by_name(old_name, limit=1) or not git.COMMIT_ID.fullmatch(anchor.commit):
            return False
        if places:
            names = [f"{anchor.commit}:{path}" for path in {symbol.path for symbol in places}]
            # A name that existed already is another symbol, to which the code switched.
            return not any(_occurs(new_name, source) for source in self._read_blobs(names).values())
        return self._was_replaced(anchor.commit, new, old_name, new_name)

    def _was_definition_renamed(self, anchor: Anchor, old_name: str, new_name: str) -> bool:
        """Whether a definition of the new name had the old one at the anchor's commit, with the same body."""
        if not self._index.is_built or not git.COMMIT_ID.fullmatch(anchor.commit):
            return False
        new_symbols = self._index.find_by_name(new_name, limit=MAX_DEFINITIONS)
        paths = {symbol.path for symbol in new_symbols}
        blobs = self._read_blobs(f"{anchor.commit}:{path}" for path in paths)
        for path in paths:
            source = blobs.get(f"{anchor.commit}:{path}", b"")
            old_symbols = outline(path, source).symbols if _occurs(old_name, source) else ()
            new_file_symbols = self._index.symbols_of(path) if old_symbols else []
            if was_renamed_in_file(old_symbols, new_file_symbols, old_name, new_name):
                return True
        return False

    def _was_replaced(self, commit: str, new: Version, old_name: str, new_name: str) -> bool:
        """Whether a name that is no symbol, such as that of a field, was replaced by another one in all files."""
        start, end = new.definition.start, new.definition.end
        outside = new.file.source[:start] + new.file.source[end:]
        root = self._index.root
        # In the order of cost; a name that occurs here alone may be anything.
        return (
            git.contains_word(root, old_name, SEARCH_SECONDS) is False
            and (_occurs(new_name, outside) or len(git.find_files_with_word(root, new_name, SEARCH_SECONDS)) > 1)
            and git.contains_word(root, new_name, SEARCH_SECONDS, commit) is False
        )


def was_renamed_in_file(old: Iterable[Symbol], new: Iterable[Symbol], old_name: str, new_name: str) -> bool:
    """Whether a definition of a file has the same place and body as before, and another name."""
    old_places, new_places = ({symbol.qualified: symbol for symbol in symbols} for symbols in (old, new))
    for place, symbol in old_places.items():
        target = place.removesuffix(old_name) + new_name
        # Neither a second definition beside the old one, nor one that existed before.
        if symbol.name != old_name or place in new_places or target in old_places or target not in new_places:
            continue
        renamed_symbol = new_places[target]
        if renamed_symbol.family == symbol.family and renamed_symbol.fingerprint.body == symbol.fingerprint.body:
            return True
    return False


def _occurs(name: str, source: bytes) -> bool:
    return re.search(rb"(?<![\w$])" + re.escape(name.encode()) + rb"(?![\w$])", source) is not None


def _blob_name(anchor: Anchor) -> str:
    return f"{anchor.commit}:{anchor.path}"


def _find(file: ParsedFile, qualified: str, family: str, raw: str) -> Version | None:
    return find_version(file, qualified, family, lambda source: digest(source) == raw)
