"""Find links, paths and names of code in running text, without parsers or an index: it runs at every recall."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from hivemind.code import addresses, git
from hivemind.code.addresses import CodePlace
from hivemind.model.code import FOLDER

MAX_TEXT = 20_000
"""Characters of a text that are searched."""

MAX_NAME = 300
"""Characters of a path or name. Longer runs are encoded data, and patterns take the square of their length."""

MIN_NAME = 3

MAX_PLACES_PER_NAME = 3
"""A name that fits more places equally well is ignored."""

MAX_FILES = 2_000

_SCOPE = re.compile(r"::|#|->")
_BACKTICKS = re.compile(r"`([^`\n]{2,200})`")
_WORD = r"[A-Za-z_$][\w$]*"
_QUALIFIED_NAME = re.compile(rf"{_WORD}(?:(?:\.|::|#|->){_WORD})*")
_LINK = re.compile(r"[\w./\\@+-]+\.\w+::[\w.:]+")
_PATH = re.compile(
    r"(?<![\w:/])(?:[\w@+.-]+/)*[\w@+-][\w@+.-]*\.\w{1,8}(?::\d+(?:-\d+)?)?(?![\w/])|(?:[\w@+.-]+/)+[\w@+.-]+"
)
_CALL = re.compile(rf"(?<![\w$.])({_QUALIFIED_NAME.pattern})\(\)?")
# Longest first: `TypeAdapter.validate_python` is one name and not two.
_CODELIKE = re.compile(
    r"(?<![\w$.])(?:"
    rf"{_WORD}(?:(?:\.|::|#|->){_WORD})+"  # Class.method, Type::method, pkg.Symbol
    r"|_+[A-Za-z]\w*"  # _private
    r"|[a-z]+(?:_[a-z0-9]+)+_*"  # snake_case
    r"|[A-Za-z]+[a-z0-9]+(?:[A-Z][a-z0-9]*)+"  # CamelCase
    r"|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+"  # UPPER_CASE
    r")(?!\w)"
)
_PLAIN_CODE = re.compile(
    r"(?<![\w$./-])(?:_*[A-Za-z]\w*_\w+"  # snake_case
    r"|[a-z]{3,}(?:[A-Z][a-z0-9]+)+"  # camelCase; names of products begin with a capital, or one or two small letters
    rf"|{_WORD}(?:::|#|->){_WORD}"  # Type::method
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
    names = [
        *find_place_names(text),
        *(name for name in find_addresses(text) if _may_be_here(root, name)),
    ]
    paths = git.list_files(root) if names else None
    places = [place for name in dict.fromkeys(names) for place in _find_places(name, paths or (), root.name)]
    return tuple(dict.fromkeys(path for place in places for path in _expand_place(place, paths or ())))[:MAX_FILES]


def _may_be_here(root: Path, name: str) -> bool:
    """Whether a name begins with a folder of the tree; `CI/CD` and `Next.js` then cost no call of git."""
    first_words = addresses.split_name(name)[:1]
    return bool(first_words) and any((folder / first_words[0]).is_dir() for folder in (root, root / "src"))


def _find_places(name: str, paths: Sequence[str], root: str) -> list[CodePlace]:
    words = addresses.split_name(addresses.simplify_name(name.partition("::")[0]))
    last_word = addresses.normalise_word(words[-1]) if words else ""
    candidates = [path for path in paths if last_word in addresses.normalise_word(path)] if last_word else []
    best = addresses.select_best(addresses.fit_paths(words, candidates, root))
    return best if len(best) <= MAX_PLACES_PER_NAME else []


def _expand_place(place: CodePlace, paths: Sequence[str]) -> list[str]:
    # A memory about a package also applies to each of its files, so the folders above are included.
    around = [place.path, *sorted(addresses.parent_folders([place.path]))]
    return [*around, *(path for path in paths if place.kind == FOLDER and path.startswith(f"{place.path}/"))]
