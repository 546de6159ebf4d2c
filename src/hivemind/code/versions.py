"""Read code as it was, to show it or to compare it with the code of today."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from hivemind.code import git, working_tree
from hivemind.code.comparison import CodeDifference, Version, compare_versions, find_version
from hivemind.code.index import CodeIndex
from hivemind.code.parsing import outline, parse_file
from hivemind.errors import InvalidInput, NotFound, Unavailable
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
        self._parse = lru_cache(MAX_PARSED_FILES)(parse_file)

    def compare(self, anchor: Anchor, new: Symbol) -> CodeDifference | None:
        """What differs between an anchor's code and a symbol of today; None if the old code is not available."""
        content = working_tree.read(self._index.root, new.path)
        size = len(content[1] if content else b"") + len(self._blobs.get(_blob_name(anchor), b""))
        if not self._has_time(size / PARSED_BYTES_PER_SECOND):
            self._index.is_behind = True
            return None
        old_version = self._find_old(anchor)
        file = self._parse(new.path, content[1]) if content else None
        new_version = find_version(file, new.qualified, new.family, new.fingerprint.raw) if file else None
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
        return find_version(file, symbol.qualified, symbol.family, symbol.fingerprint.raw) if file else None

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
            git.find_files_with_word(root, old_name, SEARCH_SECONDS) == []
            and (_occurs(new_name, outside) or len(git.find_files_with_word(root, new_name, SEARCH_SECONDS) or ()) > 1)
            and git.find_files_with_word(root, new_name, SEARCH_SECONDS, commit) == []
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


def read_file(root: Path, path: str, commit: str = "") -> str:
    """Read a file at a commit, by default the checked-out one; uncommitted content is never shown."""
    if commit and not git.COMMIT_ID.fullmatch(commit):
        raise InvalidInput(f"{commit!r} is not a commit; give its hexadecimal id")
    commit = commit or git.head(root)
    content = _read_at_commit(root, path, commit) if commit else None
    if content is None:
        raise NotFound(f"there is no file {path!r} at {commit[:8] or 'any commit'} here")
    return content.decode("utf-8", "replace")


def read_old_code(root: Path, anchor: Anchor) -> str:
    """The anchor's code at the commit of the anchor; empty if git does not have it."""
    source = _read_at_commit(root, anchor.path, anchor.commit) if git.COMMIT_ID.fullmatch(anchor.commit) else None
    if source is None:
        return ""
    matches = [symbol for symbol in outline(anchor.path, source).symbols if symbol.qualified == anchor.qualified]
    return _select_lines(source, matches[0].line, matches[0].end_line) if matches else ""


def read_current_code(root: Path, anchor: Anchor | None) -> str:
    """The anchor's code in the working tree; empty if it is gone."""
    content = working_tree.read(root, anchor.path) if anchor else None
    return _select_lines(content[1], anchor.line, anchor.end_line) if anchor and content else ""


def _read_at_commit(root: Path, path: str, commit: str) -> bytes | None:
    if path.startswith(("/", "./", "../")):  # git would resolve these from the current folder
        return None
    name = f"{commit}:{path}"
    return git.read_blobs(root, [name]).get(name)


def _select_lines(source: bytes, first: int, last: int) -> str:
    return "\n".join(source.decode("utf-8", "replace").splitlines()[first - 1 : last])
