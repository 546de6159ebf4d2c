"""Names of code: find them in text, split them into words, and match them against files, folders and symbols.

This needs neither parsers nor an index, because it runs at every recall. The rules are the same for every language: a
name is split into words at any of the separators that languages use. Its last words must be the end of a symbol's
qualified name, and the words before them the end of the path of its file, or of the package that the file declares.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from hivemind.code import git
from hivemind.model.code import FILE, FOLDER
from hivemind.text.clean import count_equal

Words = tuple[str, ...]

MAX_OWN_WORDS = 6
"""Maximum number of words in a symbol's own name; a nested namespace such as `Admin::User` has several."""

PACKAGE_FILES = frozenset({"__init__", "index", "mod"})
"""Stems of files that represent their folder: Python, JavaScript and Rust."""

SOURCE_FOLDERS = frozenset({"src", "lib", "app", "include", "main", "java", "kotlin", "scala"})
"""Folders that build systems put above or between packages; names may leave them out."""

MIN_MATCHED_WORDS = 3
"""Words that must match before leading words may be ignored; a company's domain (`com.acme`) has no folder."""

_SEPARATOR = re.compile(r"::|->|[./\\:#]")
_RECEIVER = re.compile(r"\(\*?(\w+)\)(?=[.])")  # Go writes `pkg.(*Type).Method`
_ARGUMENTS = re.compile(r"\([^()]*\)$")
_TYPE_ARGUMENTS = re.compile(r"(?<=\w)(?:<[^<>]*>|\[[^\[\]]*\])(?=$|::|[.:#])")
_PACKAGE_LINE = re.compile(rb"^[ \t]*(?:package|namespace)[ \t]+([\w.\\:]+)", re.MULTILINE)
_ROOT_WORDS = frozenset({"", "@", "~", "*", "crate"})
"""Words that mean the root of the tree in imports: `@/auth`, `~/auth`, `crate::auth`."""

MAX_TEXT = 20_000
"""Characters of a text that are searched."""

MAX_NAME = 300
"""Characters of a path or name. Longer runs are encoded data, and patterns take the square of their length."""

MIN_NAME = 3

MAX_PLACES_PER_NAME = 3
"""A name that fits more places equally well is ignored."""

MAX_FILES = 2_000

_SCOPE = re.compile(r"::|(?<=\w)#|->")
_BACKTICKS = re.compile(r"`([^`\n]{2,200})`")
_WORD = r"[A-Za-z_$][\w$]*"
_JOINT = r"(?:\.#?|::|#|->)"  # JavaScript writes `Client.#refresh` for what is private
_MARK = r"(?:[!?](?![\w.=!?]))?"  # Ruby ends names of methods with it
_MARK_IN_SENTENCE = rf"(?:(?!.\s*\Z|.\s+[A-Z]){_MARK})?"  # and people their sentences
_QUALIFIED_NAME = re.compile(rf"#?{_WORD}(?:{_JOINT}{_WORD})*{_MARK}")
_LINK = re.compile(rf"[\w./\\@+-]+\.\w+::[\w.:]+{_MARK_IN_SENTENCE}")
_PATH = re.compile(
    r"(?<![\w:/])(?:[\w@+.-]+/)*[\w@+-][\w@+.-]*\.\w{1,8}(?::\d+(?:-\d+)?)?(?![\w/])|(?:[\w@+.-]+/)+[\w@+.-]+"
)
_CALL = re.compile(rf"(?<![\w$.])({_QUALIFIED_NAME.pattern})\(\)?")
# Longest first: `TypeAdapter.validate_python` is one name and not two.
_CODELIKE = re.compile(
    r"(?<![\w$.])(?:"
    rf"{_WORD}(?:{_JOINT}{_WORD})+"  # Class.method, Type::method, pkg.Symbol
    r"|_+[A-Za-z]\w*"  # _private
    r"|[a-z]+(?:_[a-z0-9]+)+_*"  # snake_case
    r"|[A-Za-z]+[a-z0-9]+(?:[A-Z][a-z0-9]*)+"  # CamelCase
    r"|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+"  # UPPER_CASE
    rf")(?!\w){_MARK_IN_SENTENCE}"
)
_PLAIN_CODE = re.compile(
    r"(?<![\w$./-])(?:_*[A-Za-z]\w*_\w+"  # snake_case
    r"|[a-z]{3,}(?:[A-Z][a-z0-9]+)+"  # camelCase; names of products begin with a capital, or one or two small letters
    rf"|{_WORD}(?:::|\.?#|->){_WORD}"  # Type::method
    r"|[A-Za-z]\w{2,}\.[a-z]\w{4,}"  # Class.method; suffixes of files and domains are shorter
    r")(?![\w/])"
)
_NOUN = r"(?:module|package|namespace|crate|folder|directory|file)s?\b"
_NAME = r"[`'\"]?([\w@][\w@./\\:#-]*\w|\w)[`'\"]?"
_PLACES = (
    re.compile(rf"{_NAME}\s+{_NOUN}", re.IGNORECASE),  # the auth module
    re.compile(rf"\b{_NOUN}\s+{_NAME}", re.IGNORECASE),  # the module auth
)

# Behind a character of the run there is no second look, which keeps the time linear.
_ENCODED_DATA = re.compile(rf"(?<![\w./\\@+:#$>-])[\w./\\@+:#$>-]{{{MAX_NAME + 1},}}")


class Fit(NamedTuple):
    """How well a name fits a place; smaller is better.

    The order of the fields is the order of comparison.
    """

    unmatched_words: int = 0
    """Number of leading words that match nothing in the tree."""
    has_gap: bool = False
    """The name leaves out a part in the middle, such as the class of a method."""
    is_partial: bool = False
    """The name leaves out leading parts."""


class CodePlace(NamedTuple):
    """A file, folder or symbol that a name fits."""

    path: str
    qualified: str
    kind: str

    @property
    def label(self) -> str:
        """The place as people write it: `path::qualified`."""
        return f"{self.path}::{self.qualified}" if self.qualified else self.path


def find_place_names(text: str) -> list[str]:
    """Names that a text calls a module, package, folder or file: `the auth module`."""
    readable_text = _cut(text)
    return [name for pattern in _PLACES for name in pattern.findall(readable_text)]


def find_addresses(text: str) -> list[str]:
    """Paths, links and dotted names in a text."""
    dotted_names = [name for name in _CODELIKE.findall(_cut(text)) if "." in name]
    return [*dict.fromkeys((*find_links(text), *find_paths(text), *dotted_names))]


def looks_like_code(text: str) -> bool:
    """Whether a text contains anything written like code; if not, it names no symbol."""
    readable_text = _cut(text)
    return any(pattern.search(readable_text) for pattern in (_BACKTICKS, _LINK, _PATH, _CALL, _CODELIKE))


def surely_names_code(text: str) -> bool:
    """Whether a text names code beyond doubt; `TypeScript` and `Next.js` look like code, but are products."""
    readable_text = _cut(text)
    return any(pattern.search(readable_text) for pattern in (_BACKTICKS, _LINK, _CALL, _PLAIN_CODE))


def find_links(text: str) -> list[str]:
    """Links in a text: `path::symbol`."""
    return _LINK.findall(_cut(text))


def find_paths(text: str) -> list[str]:
    """File paths in a text, some with lines: `auth/service.py:10-20`."""
    return _PATH.findall(_cut(text))


def find_names(text: str) -> Iterator[str]:
    """Yield names in a text that are written like code: quoted, called, dotted or in a code-like case."""
    text = _cut(text)
    unique_names = set()
    quoted_words = (word for snippet in _BACKTICKS.findall(text) for word in _QUALIFIED_NAME.findall(snippet))
    for name in (*quoted_words, *_CALL.findall(text), *_CODELIKE.findall(text)):
        dotted_name = to_dotted(name)
        if dotted_name not in unique_names and len(dotted_name) >= MIN_NAME:
            unique_names.add(dotted_name)
            yield dotted_name


def to_dotted(name: str) -> str:
    """A qualified name with dots as separators, as the index stores it."""
    return _SCOPE.sub(".", name).removesuffix("()").strip(". ")


def _cut(text: str) -> str:
    """The part of a text that is searched for names, without encoded data."""
    return _ENCODED_DATA.sub(" ", text[:MAX_TEXT])


def find_named_files(root: Path, text: str) -> tuple[str, ...]:
    """The files that a question names, those inside named modules and folders, and the folders around them."""
    names = [*find_place_names(text), *(name for name in find_addresses(text) if _may_be_here(root, name))]
    paths = git.list_files(root) if names else None
    places = [place for name in dict.fromkeys(names) for place in _find_places(name, paths or (), root.name)]
    return tuple(dict.fromkeys(path for place in places for path in _expand_place(place, paths or ())))[:MAX_FILES]


def _may_be_here(root: Path, name: str) -> bool:
    """Whether a name begins with a folder of the tree; `CI/CD` and `Next.js` then cost no call of git."""
    first_words = split_name(name)[:1]
    return bool(first_words) and any((folder / first_words[0]).is_dir() for folder in (root, root / "src"))


def _find_places(name: str, paths: Sequence[str], root: str) -> list[CodePlace]:
    words = split_name(simplify_name(name.partition("::")[0]))
    word = normalise_word(words[-1]) if words else ""
    candidates = [path for path in paths if word in normalise_word(path)] if word else []
    best = select_best(fit_paths(words, candidates, root))
    return best if len(best) <= MAX_PLACES_PER_NAME else []


def _expand_place(place: CodePlace, paths: Sequence[str]) -> list[str]:
    # A memory about a package also applies to each of its files, so the folders above are included.
    around = [place.path, *sorted(list_parent_folders([place.path]))]
    return [*around, *(path for path in paths if place.kind == FOLDER and path.startswith(f"{place.path}/"))]


def simplify_name(name: str) -> str:
    """Remove arguments, type arguments and receiver parentheses, which do not distinguish symbols."""
    return _TYPE_ARGUMENTS.sub("", _ARGUMENTS.sub("", _RECEIVER.sub(r"\1", name.strip())))


def split_name(name: str) -> Words:
    """Split a name or path into words."""
    return tuple(word for word in _SEPARATOR.split(name) if word not in _ROOT_WORDS)


def iterate_suffixes(name: str) -> Iterator[str]:
    """Yield the suffixes of a name, shortest first: a symbol's own name may contain separators (`Admin::User`)."""
    starts = [0, *(separator.end() for separator in _SEPARATOR.finditer(name))]
    yield from (name[start:] for start in starts[: -MAX_OWN_WORDS - 1 : -1] if name[start:])


def get_last_word(name: str) -> str:
    """The last word of a name, by which its symbol is looked up; empty if there is none."""
    return ("", *split_name(simplify_name(name)))[-1]


def normalise_word(word: str) -> str:
    """Fold case, hyphens and underscores: PHP capitalises folders, Rust and Python turn hyphens into underscores."""
    return word.casefold().replace("-", "").replace("_", "")


def parse_package(source: bytes) -> Words:
    """The package or namespace that a file declares; empty if none."""
    line = _PACKAGE_LINE.search(source)
    return split_name(line[1].decode("utf-8", "replace")) if line else ()


def fit_symbol(name: Words, path: str, qualified_name: str, root: str) -> Fit | None:
    """How well a name fits a symbol by the path of its file; None if it does not."""
    symbol_words = split_name(qualified_name)
    length = _count_common_suffix(name, symbol_words)
    if not length:
        return None
    fit = _fit_path(name[: len(name) - length], path, root, symbol_words[-length:])
    if fit is None:
        return None
    # A name without any path is equally incomplete for every symbol, so no symbol may win by it.
    is_bare = length == len(name)
    return fit._replace(has_gap=length < len(symbol_words) and not is_bare, is_partial=fit.is_partial or is_bare)


def fit_package(name: Words, package: Words, qualified_name: str) -> Fit | None:
    """How well a name fits a symbol by the package that its file declares; None if it does not."""
    symbol_words = split_name(qualified_name)
    length = _count_common_suffix(name, symbol_words)
    leading = name[: len(name) - length]
    if not length or not leading or _count_common_suffix(leading, package) < len(leading):
        return None
    return Fit(has_gap=length < len(symbol_words), is_partial=len(leading) < len(package))


def fit_paths(name: Words, paths: Sequence[str], root: str) -> dict[CodePlace, Fit]:
    """The files and folders that a name fits."""
    # A file that represents its folder is meant only by its own name.
    modules = [path for path in paths if not is_package_file(path) or _get_stem(path) in name]
    files = {CodePlace(path, "", FILE): fit for path in modules if (fit := _fit_path(name, path, root))}
    # Rust keeps a module's own code in `auth.rs` beside the folder `auth`; the name means the file.
    folder_paths = sorted(list_parent_folders(paths) - {place.path.rpartition(".")[0] for place in files})
    return files | {
        CodePlace(path, "", FOLDER): fit for path in folder_paths if (fit := _fit_path(name, f"{path}/", root))
    }


def select_best(fits: Mapping[CodePlace, Fit]) -> list[CodePlace]:
    """The places that a name fits best."""
    best_fit = min(fits.values(), default=None)
    return [place for place, fit in fits.items() if fit == best_fit]


def list_parent_folders(paths: Iterable[str]) -> set[str]:
    """Every folder above one of the files, at any depth."""
    parents: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in parents:
            parents.add(folder)
            folder = folder.rpartition("/")[0]
    return parents


def is_package_file(path: str) -> bool:
    """Whether a file represents its folder, such as `__init__.py`."""
    return _get_stem(path) in PACKAGE_FILES


def _get_stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]


def _fit_path(name: Words, path: str, root: str, symbol: Words = ()) -> Fit | None:
    """Match leading words against the end of a path, right to left; `symbol` are the words matched after them."""
    folder, _, file = path.rpartition("/")
    folder_words, file_words = split_name(folder), split_name(file)
    remaining, match_count = list(name), len(symbol)
    has_gap, is_file_named = False, not file_words or is_package_file(path)
    # The file name: its suffix may be missing, its stem only if the name goes on to a symbol.
    for position, word in reversed([*enumerate(file_words)]):
        if remaining and normalise_word(remaining[-1]) == normalise_word(word):
            remaining.pop()
            match_count += 1
            is_file_named = is_file_named or position == 0
        elif position == 0 and symbol and normalise_word(symbol[0]) == normalise_word(word):
            # A class in a file of the same name (`User` in `user.rb`): the word counts for both.
            match_count += 1
            is_file_named = True
        elif position == 0 and not symbol and not is_file_named:
            return None
        elif 0 < position < len(file_words) - 1:
            has_gap = True
    # The folders: every word must match, except source folders, until the name is used up.
    for word in reversed(folder_words):
        if remaining and normalise_word(remaining[-1]) == normalise_word(word):
            remaining.pop()
            match_count += 1
        elif word not in SOURCE_FOLDERS:
            return None if remaining else Fit(has_gap=has_gap, is_partial=True)
    # The repository's own name may stand in front: `shop/auth/service.py` in the repository `shop`.
    if not remaining or normalise_word(remaining[-1]) == normalise_word(root):
        return Fit(has_gap=has_gap, is_partial=not is_file_named)
    if match_count == len(symbol) or match_count < MIN_MATCHED_WORDS:
        return None
    return Fit(unmatched_words=len(remaining), has_gap=has_gap, is_partial=not is_file_named)


def _count_common_suffix(name: Words, symbol_words: Words) -> int:
    return count_equal(name[::-1], symbol_words[::-1])
