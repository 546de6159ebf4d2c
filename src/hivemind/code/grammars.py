"""Load languages: one query file each, which names its grammar, its files and its symbols.

The head of a query file is read as settings, `; name: value`:

* `wheel`     the module of the grammar, `module:function` if it holds several
* `files`     suffixes (`*.py`) or whole names (`Rakefile`)
* `quotes`    string delimiters, longest first
* `alike`     two quotes that a formatter may exchange
* `arguments` `named` if callers may name arguments, so that the name of a parameter is part of the contract
* `noise`     tokens without meaning, such as an optional semicolon
* `inherits`  another query file that is read first
* `unsafe`    a pattern of text that the grammar's own code cannot take; files with it are not parsed

The captures: `@name`, `@body` and `@scope` inside a definition, which itself is captured by its kind
(`@function`, `@class`, …; where several patterns fit, the first decides); `@extent` with `@name` for what
is written around a definition, such as decorators; `@comment`, `@doc`, `@prefix` (an attribute before what
it belongs to), `@block` (layout that has meaning); `@call`, `@inherit`, `@import`, or `@from` with `@part`.
"""

import importlib
import re
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from tree_sitter import Language, Parser, Query

_SETTING_LINE = re.compile(r"^; (\w+): (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grammar:
    """The parser, symbol query and tokenizer of one language."""

    parser: Parser
    query: Query
    token: re.Pattern[bytes]
    noise: frozenset[bytes]
    alike: bool
    """Whether 'x' and "x" mean the same."""
    has_named_arguments: bool
    """Whether callers may name arguments, so that a renamed parameter changes the contract."""
    unsafe: re.Pattern[bytes] | None
    """Text that would crash the parser."""


def find_language(path: str) -> str | None:
    """The language of a file by its name; None if it is not known."""
    name = path.rpartition("/")[2]
    return _load_languages().get(name) or _load_languages().get("*." + name.rpartition(".")[2].lower())


@lru_cache(maxsize=16384)
def find_language_family(path: str) -> str:
    """One name for languages whose files import one another (TypeScript and JavaScript); empty if not known."""
    family = find_language(path) or ""
    while family and "inherits" in _read_query(family)[1]:
        family = _read_query(family)[1]["inherits"]
    return family


@cache
def load_grammar(language: str) -> Grammar | None:
    """Load the grammar of a language; None if its wheel is not installed."""
    source, settings = _read_query(language)
    module, _, function = settings["wheel"].partition(":")
    try:
        wheel = importlib.import_module(module)
    except ModuleNotFoundError:
        return None
    tree_sitter_language = Language(getattr(wheel, function or "language")())
    return Grammar(
        parser=Parser(tree_sitter_language),
        query=Query(tree_sitter_language, source),
        token=_build_token_pattern(settings.get("quotes", "").split()),
        noise=frozenset(settings.get("noise", "").encode().split()),
        alike="alike" in settings,
        has_named_arguments=settings.get("arguments") == "named",
        unsafe=re.compile(settings["unsafe"].encode(), re.MULTILINE) if "unsafe" in settings else None,
    )


@cache
def _load_languages() -> dict[str, str]:
    names = [entry.name for entry in files(__package__).joinpath("languages").iterdir()]
    languages = [name.removesuffix(".scm") for name in names if name.endswith(".scm")]
    return {pattern: name for name in languages for pattern in _read_query(name)[1].get("files", "").split()}


@cache
def _read_query(language: str) -> tuple[str, dict[str, str]]:
    """Read the query and the settings of a language, with those it inherits."""
    source = files(__package__).joinpath("languages", f"{language}.scm").read_text("utf-8")
    settings = dict(_SETTING_LINE.findall(source))
    base_source, base_settings = _read_query(settings["inherits"]) if "inherits" in settings else ("", {})
    return base_source + source, base_settings | settings


def _build_token_pattern(quotes: list[str]) -> re.Pattern[bytes]:
    strings = []
    for quote in quotes:
        delimiter, sign = re.escape(quote), re.escape(quote[0])
        # A short string ends with its line, so that a stray quote spoils one line and not the rest of the file.
        plain = rf"[^\\{sign}]*+" if len(quote) == 3 or quote == "`" else rf"[^\\{sign}\n]*+"
        # In a string with three quotes, one or two of them are text.
        special = rf"(?:\\.|{sign}(?!{sign}{sign}))" if len(quote) == 3 else r"\\."
        strings.append(rf"{delimiter}{plain}(?:{special}{plain})*+{delimiter}")
    # Words and the most frequent signs are tried first, and nothing is tried twice ("++"): this reads every file.
    words = r"[\w$\x80-\xff]++(?:\.\d\w*)?"
    single = r"[(){}\[\].,;]"
    signs = r"=>|->|[=!<>]=|&&|\|\||\+\+|--|::|\*\*|//|[^\s\w]"
    return re.compile("|".join((words, single, *strings, signs)).encode(), re.DOTALL)
