"""How people write code in running text: what looks like a link, a path or a name."""

import re
from collections.abc import Iterator

MAX_TEXT = 20_000
MIN_NAME = 3

_SCOPE = re.compile(r"::|#|->")
_QUOTED = re.compile(r"`([^`\n]{2,200})`")
_IN_QUOTES = re.compile(r"[A-Za-z_$][\w.$]*(?:::\w+)*")
_LINK = re.compile(r"[\w./\\@+-]+\.\w+::[\w.:]+")
_PATH = re.compile(
    r"(?<![\w:/])(?:[\w@+.-]+/)*[\w@+-][\w@+.-]*\.\w{1,8}(?::\d+(?:-\d+)?)?(?![\w/])|(?:[\w@+.-]+/)+[\w@+.-]+"
)
_CALLED = re.compile(r"\b([A-Za-z_][\w.]*)\(\)?")
_CODELIKE = re.compile(
    r"\b(?:[a-z]+(?:_[a-z0-9]+)+|_*[A-Za-z]+[a-z0-9]+(?:[A-Z][a-z0-9]*)+|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b"
)
_NOUN = r"(?:module|package|namespace|crate|folder|directory|file)s?\b"
_NAME = r"[`'\"]?([\w@][\w@./\\:#-]*\w|\w)[`'\"]?"
_PLACES = (
    re.compile(rf"{_NAME}\s+{_NOUN}", re.IGNORECASE),  # the auth module
    re.compile(rf"\b{_NOUN}\s+{_NAME}", re.IGNORECASE),  # the module auth
)


def called_places(text: str) -> list[str]:
    """What a text calls a module, package, folder or file."""
    return [name for pattern in _PLACES for name in pattern.findall(text, 0, MAX_TEXT)]


def addresses(text: str) -> list[str]:
    """What is written like a path, a link or a dotted name."""
    dotted_names = [name for name in _CODELIKE.findall(text, 0, MAX_TEXT) if "." in name]
    return [*dict.fromkeys((*links(text), *paths(text), *dotted_names))]


def like_code(text: str) -> bool:
    """Whether anything in a text is written as code is; if not, it names none."""
    return any(pattern.search(text, 0, MAX_TEXT) for pattern in (_QUOTED, _LINK, _PATH, _CALLED, _CODELIKE))


def links(text: str) -> list[str]:
    """What is written `path::symbol`."""
    return _LINK.findall(text, 0, MAX_TEXT)


def paths(text: str) -> list[str]:
    """What is written like a file, perhaps with lines."""
    return _PATH.findall(text, 0, MAX_TEXT)


def names(text: str) -> Iterator[str]:
    """Words that are written like code."""
    text = text[:MAX_TEXT]
    seen = set()
    quoted = (word for span in _QUOTED.findall(text) for word in _IN_QUOTES.findall(span))
    for name in (*quoted, *_CALLED.findall(text), *_CODELIKE.findall(text)):
        plain = dotted(name)
        if plain not in seen and len(plain) >= MIN_NAME:
            seen.add(plain)
            yield plain


def dotted(name: str) -> str:
    """A qualified name as we write it."""
    return _SCOPE.sub(".", name).removesuffix("()").strip(". ")
