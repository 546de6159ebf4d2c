"""How a written name fits a place in the tree, in every language alike.

A name is split into words at any of the separators that languages use. Its last words must be the end of a symbol's
qualified name, and the words before them the end of the path of its file, or of the package that the file declares.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from hivemind.model.code import FILE, FOLDER

Words = tuple[str, ...]

MAX_OWN_WORDS = 6
"""Words that a symbol's own name may consist of, as that of a nested namespace does."""

PACKAGE_FILES = frozenset({"__init__", "index", "mod"})
"""Files that stand for their folder."""

SOURCE_FOLDERS = frozenset({"src", "lib", "app", "include", "main", "java", "kotlin", "scala"})
"""Folders that build systems put above or between packages, and that names may leave out."""

MIN_MATCHED_WORDS = 3
"""Words that must fit before those in front of them may name what no folder shows, such as a company's domain."""

_SEPARATOR = re.compile(r"::|->|[./\\:#]")
_RECEIVER = re.compile(r"\(\*?(\w+)\)(?=[.])")  # Go writes `pkg.(*Type).Method`
_ARGUMENTS = re.compile(r"\([^()]*\)$")
_TYPE_ARGUMENTS = re.compile(r"(?<=\w)(?:<[^<>]*>|\[[^\[\]]*\])(?=$|::|[.:#])")
_PACKAGE_LINE = re.compile(rb"^[ \t]*(?:package|namespace)[ \t]+([\w.\\:]+)", re.MULTILINE)
_ROOT_WORDS = frozenset({"", "@", "~", "*", "crate"})
"""What stands for the root in imports, beside nothing at all."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Fit:
    """How well a name fits a place; the smaller, the better."""

    unmatched_words: int = 0
    """Words in front that nothing in the tree shows."""
    has_gap: bool = False
    """The name leaves out a part in the middle, such as the class of a method."""
    is_partial: bool = False
    """The name leaves out a part in front."""


class CodePlace(NamedTuple):
    """Something in the tree that a name fits."""

    path: str
    qualified: str
    kind: str

    @property
    def label(self) -> str:
        """How people write it: `path::qualified`."""
        return f"{self.path}::{self.qualified}" if self.qualified else self.path


def simplify_name(name: str) -> str:
    """A name without what does not tell symbols apart: arguments, type arguments, the parentheses of a receiver."""
    return _TYPE_ARGUMENTS.sub("", _ARGUMENTS.sub("", _RECEIVER.sub(r"\1", name.strip())))


def split_name(name: str) -> Words:
    """The words of a name or path."""
    return tuple(word for word in _SEPARATOR.split(name) if word not in _ROOT_WORDS)


def iter_suffixes(name: str) -> Iterator[str]:
    """What a name ends with, the last word first: a symbol's own name may hold separators, as `Admin::User` does."""
    starts = [0, *(separator.end() for separator in _SEPARATOR.finditer(name))]
    yield from (name[start:] for start in starts[: -MAX_OWN_WORDS - 1 : -1] if name[start:])


def last_word(name: str) -> str:
    """The word by which a symbol is looked for; empty without any."""
    return ("", *split_name(simplify_name(name)))[-1]


def normalise_word(word: str) -> str:
    """A word of a path as names write it: PHP capitalises folders, Rust and Python turn hyphens into underscores."""
    return word.casefold().replace("-", "").replace("_", "")


def parse_package(source: bytes) -> Words:
    """The package or namespace that a file says it belongs to."""
    line = _PACKAGE_LINE.search(source)
    return split_name(line[1].decode("utf-8", "replace")) if line else ()


def fit_symbol(name: Words, path: str, qualified_name: str, root: str) -> Fit | None:
    """How well a name fits a symbol by the path of its file; nothing if it names something else."""
    symbol_words = split_name(qualified_name)
    length = _count_common_suffix(name, symbol_words)
    if not length:
        return None
    fit = _fit_path(name[: len(name) - length], path, root, symbol_words[-length:])
    if fit is None:
        return None
    # A name without any path leaves out the same of every symbol, so that none is preferred.
    is_bare = length == len(name)
    return replace(fit, has_gap=length < len(symbol_words) and not is_bare, is_partial=fit.is_partial or is_bare)


def fit_package(name: Words, package: Words, qualified_name: str) -> Fit | None:
    """How well a name fits a symbol by the package that its file declares; nothing if it names something else."""
    symbol_words = split_name(qualified_name)
    length = _count_common_suffix(name, symbol_words)
    leading = name[: len(name) - length]
    if not length or not leading or _count_common_suffix(leading, package) < len(leading):
        return None
    return Fit(has_gap=length < len(symbol_words), is_partial=len(leading) < len(package))


def fit_file(name: Words, path: str, root: str) -> Fit | None:
    """How well a name fits a file, with or without its suffix; nothing if it names something else."""
    return _fit_path(name, path, root) if name else None


def fit_folder(name: Words, folder: str, root: str) -> Fit | None:
    """How well a name fits a folder; nothing if it names something else."""
    return _fit_path(name, f"{folder}/", root) if name else None


def fit_paths(name: Words, paths: Sequence[str], root: str) -> dict[CodePlace, Fit]:
    """The files and folders that a name fits."""
    modules = [path for path in paths if not is_package_file(path)]
    files = {CodePlace(path, "", FILE): fit for path in modules if (fit := fit_file(name, path, root))}
    # Rust keeps a module's own code in `auth.rs` beside the folder `auth`.
    folder_paths = sorted(folders(paths) - {place.path.rpartition(".")[0] for place in files})
    return files | {CodePlace(path, "", FOLDER): fit for path in folder_paths if (fit := fit_folder(name, path, root))}


def select_best(fits: Mapping[CodePlace, Fit]) -> list[CodePlace]:
    """The places that a name fits best."""
    best_fit = min(fits.values(), default=None)
    return [place for place, fit in fits.items() if fit == best_fit]


def folders(paths: Iterable[str]) -> set[str]:
    """Every folder that holds one of the files, at any depth."""
    parents: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in parents:
            parents.add(folder)
            folder = folder.rpartition("/")[0]
    return parents


def is_package_file(path: str) -> bool:
    """Whether a file stands for its folder, such as `__init__.py`."""
    return path.rpartition("/")[2].partition(".")[0] in PACKAGE_FILES


def _fit_path(name: Words, path: str, root: str, symbol: Words = ()) -> Fit | None:
    """Match a name against the end of a path from right to left; the rest of the name belongs to this symbol."""
    folder, _, file = path.rpartition("/")
    folder_words, file_words = split_name(folder), split_name(file)
    remaining, match_count = list(name), len(symbol)
    has_gap, is_file_named = False, not file_words or is_package_file(path)
    for position, word in reversed([*enumerate(file_words)]):
        if remaining and normalise_word(remaining[-1]) == normalise_word(word):
            remaining.pop()
            match_count += 1
            is_file_named = is_file_named or position == 0
        elif position == 0 and symbol and normalise_word(symbol[0]) == normalise_word(word):
            # A class in a file of its name: the word counts for both.
            match_count += 1
            is_file_named = True
        elif position == 0 and not symbol and not is_file_named:
            return None
        elif 0 < position < len(file_words) - 1:
            has_gap = True
    for word in reversed(folder_words):
        if remaining and normalise_word(remaining[-1]) == normalise_word(word):
            remaining.pop()
            match_count += 1
        elif word not in SOURCE_FOLDERS:
            return None if remaining else Fit(has_gap=has_gap, is_partial=True)
    if not remaining or normalise_word(remaining[-1]) == normalise_word(root):
        return Fit(has_gap=has_gap, is_partial=not is_file_named)
    if match_count == len(symbol) or match_count < MIN_MATCHED_WORDS:
        return None
    return Fit(unmatched_words=len(remaining), has_gap=has_gap, is_partial=not is_file_named)


def _count_common_suffix(name: Words, symbol_words: Words) -> int:
    length = 0
    while length < min(len(name), len(symbol_words)) and name[-1 - length] == symbol_words[-1 - length]:
        length += 1
    return length
