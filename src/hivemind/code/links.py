"""Resolve links and names in text to symbols: the one place that fits best, or none, never a guess."""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar

from hivemind.code import addresses, mentions
from hivemind.code.addresses import CodePlace, Fit
from hivemind.code.index import CodeIndex
from hivemind.code.mentions import to_dotted
from hivemind.code.working_tree import read, stamp
from hivemind.model.code import FILE, FOLDER, MEMBERLESS_KINDS, Anchor, Symbol

_T = TypeVar("_T")

MAX_CANDIDATES = 5
"""Maximum number of symbols for one link: overloads, or the symbols that its lines touch."""

MAX_MENTION_MATCHES = 3
"""A name in running text that fits more places is ignored; overloads are in one place."""

MAX_SUGGESTIONS = 3

MAX_ANCHORS = 20

_HEAD_BYTES = 4_096
"""The beginning of a file, in which it declares its package."""

_MAX_HEADS = 50
_CHANGED_LINE = re.compile(r"^[+-]", re.MULTILINE)
"""The sign of a line in a diff that an edit adds or removes."""
_LINES = re.compile(r"^(.+?):(\d+)(?:-(\d+))?$")
_TEST_FOLDER = re.compile(
    r"(?:^|/|_|\b)(?:tests?|specs?|e2e|fixtures?|mocks?|testdata|examples?|samples?|demos?|vendor|third_party|benches)(?:/|_|\b)",
    re.IGNORECASE,
)
# Keys and headings are often ordinary words, so a name in running text does not mean them.
_PROSE_KINDS = frozenset({"key", "table", "section"})


def find(index: CodeIndex, link: str) -> list[Symbol]:
    """Resolve a link to a file, a folder, a symbol with its overloads, or the symbols at some lines.

    Empty if it fits nothing or several places.
    """
    literal = find_path(index, link.strip())
    if literal is not None:
        return literal
    candidates = find_places(index, link)
    return (
        _keep_if_unique(_load_symbols(index, candidates[0])) if len({place.label for place in candidates}) == 1 else []
    )


def find_path(index: CodeIndex, link: str) -> list[Symbol] | None:
    """Resolve a link that begins with a path from the root; None if it does not begin with one."""
    place, separator, name = link.partition("::")
    if separator and (path := _relative_path(index.root, place)) and stamp(index.root, path):
        return _keep_if_unique(_find_in_file(index.symbols_of(path), to_dotted(addresses.simplify_name(name))))
    if (lines := _LINES.match(link)) and (path := _relative_path(index.root, lines[1])) and stamp(index.root, path):
        return _find_at_lines(index.symbols_of(path), int(lines[2]), int(lines[3] or lines[2]))
    path = _relative_path(index.root, link)
    if path and stamp(index.root, path):
        return index.symbols_of(path)[:1]
    folder = index.folder_symbol(path) if path else None
    return [folder] if folder else None


def find_all(index: CodeIndex, link: str) -> list[Symbol]:
    """Resolve a link to all symbols that fit it equally well; empty if there are too many."""
    literal = find_path(index, link.strip())
    if literal:
        return literal
    candidates = {place.label: place for place in find_places(index, link)}
    return _keep_if_few(symbol for place in _keep_if_few(candidates.values()) for symbol in _load_symbols(index, place))


def find_places(index: CodeIndex, link: str) -> list[CodePlace]:
    """All places in the tree that a name fits best, as last indexed."""
    name = addresses.simplify_name(link)
    words, root = addresses.split_name(name), index.root.name
    paths = index.find_paths(words[-1]) if words else []
    return _select_best(_fit_symbols(index, name) | addresses.fit_paths(words, paths, root))


def suggest_labels(index: CodeIndex, link: str) -> list[str]:
    """A few labels that are closest to a link without a unique match."""
    name = addresses.simplify_name(link)
    # From the best source of suggestions to the weakest; the first that has any is used.
    labels = (
        [place.label for place in find_places(index, link)]
        or [symbol.label for path in _files_before_last_word(index, name) for symbol in index.symbols_of(path)[1:]]
        or [CodePlace(*row).label for row in index.find_places(addresses.iter_suffixes(name))]
        or [CodePlace(*row).label for row in index.find_places(index.find_similar_names(addresses.last_word(name)))]
    )
    return get_close_matches(name, [*dict.fromkeys(labels)], MAX_SUGGESTIONS, cutoff=0.0)


def _files_before_last_word(index: CodeIndex, name: str) -> list[str]:
    """The files that a name fits without its last word."""
    head = name[: name.rfind(addresses.last_word(name))].rstrip("./\\:#->")
    return [place.path for place in _keep_if_few(find_places(index, head)) if place.kind == FILE]


def find_mentions(index: CodeIndex, text: str, commit: str = "", near: Collection[str] = ()) -> list[Anchor]:
    """Anchors for the files and symbols that a text names; ambiguous names are left out.

    Of several symbols with one name, those in files that the text names too are preferred, then those in files `near`.
    """
    symbols = {symbol.key: symbol for link in mentions.find_links(text) for symbol in find(index, link)}
    files = {
        symbol.path: symbol for path in mentions.find_paths(text) for symbol in _find_mentioned_file(index, path, near)
    }
    for name in mentions.find_names(text):
        matches = _find_by_name(index, name) or _find_by_instance(index, name)
        namesakes = [symbol for symbol in matches if symbol.kind not in _PROSE_KINDS]
        in_named_files = [symbol for symbol in namesakes if symbol.path in files]
        candidates = in_named_files or [symbol for symbol in namesakes if symbol.path in near] or namesakes
        by_label: dict[str, list[Symbol]] = {}
        for symbol in candidates:
            by_label.setdefault(symbol.label, []).append(symbol)
        if len(by_label) <= MAX_MENTION_MATCHES:
            overloads = [symbol for group in by_label.values() for symbol in _keep_if_unique(group)]
            symbols.update((symbol.key, symbol) for symbol in overloads)
    # A symbol is more precise than its file and becomes stale less often, so the file is not added too.
    symbol_paths = {symbol.path for symbol in symbols.values()}
    symbols.update((symbol.key, symbol) for symbol in files.values() if symbol.path not in symbol_paths)
    return [Anchor.of(symbol, commit) for symbol in [*symbols.values()][:MAX_ANCHORS]]


def describe_ambiguity(index: CodeIndex, text: str) -> str:
    """Say which name in a text fits too many places to be linked; empty if none does."""
    for name in mentions.find_names(text):
        fits = {place: fit for place, fit in _fit_symbols(index, name).items() if not fit.unmatched_words}
        labels = [*dict.fromkeys(place.label for place in _select_best(fits) if place.kind not in _PROSE_KINDS)]
        if len(labels) > MAX_MENTION_MATCHES:
            return f"{name} fits {len(labels)} places, such as {labels[0]}"
    return ""


def explain_mismatch(index: CodeIndex, link: str) -> str:
    """Explain why a link has no unique match, with suggestions."""
    nearest = ", ".join(suggest_labels(index, link))
    count = len({place.label for place in find_places(index, link)})
    if count > 1:
        return f"no unique match for {link!r}: it fits {count} places; name one, such as {nearest}"
    hint = f"nearest: {nearest}" if nearest else "write it like auth/service.py::login"
    unseen = "" if index.is_built else "; after 'hivemind code index' every name is known"
    return f"no unique match for {link!r}: nothing here has that name; {hint}{unseen}"


def find_edited_names(index: CodeIndex, path: str, diffs: Sequence[str]) -> frozenset[str]:
    """The qualified names of the symbols that edits change; empty if they change none, or it is unclear."""
    file = read(index.root, path)
    symbols = index.symbols_of(path) if file else []
    if not file or not symbols:
        return frozenset()
    # Turned round first: before an edit the file still has the lines that the edit removes.
    backwards = [_CHANGED_LINE.sub(lambda sign: "-" if sign[0] == "+" else "+", diff) for diff in diffs]
    for directed_diffs in (backwards, diffs):
        edited_symbols = find_edited_symbols(symbols, file[1], directed_diffs)
        if names := frozenset(symbol.qualified for symbol in edited_symbols) - {""}:
            return names
    return frozenset()


def find_edited_symbols(symbols: Sequence[Symbol], source: bytes, diffs: Iterable[str]) -> list[Symbol]:
    """The symbols of a file that contain the lines of some diffs; the file itself if there are none."""
    text = source.decode("utf-8", "replace")
    lines = sorted({line for diff in diffs for line in _find_changed_lines(diff, text)})
    by_key = {symbol.key: symbol for line in lines for symbol in _find_at_lines([*symbols], line, line)}
    inner = [symbol for symbol in by_key.values() if symbol.kind != FILE]
    return _keep_if_few(inner) or [*symbols[:1]]


def _find_changed_lines(diff: str, text: str) -> Iterator[int]:
    """Yield the lines of a text that a unified diff changed, for each hunk that occurs in it exactly once."""
    for hunk in re.split(r"^@@.*\n?", diff, flags=re.MULTILINE)[1:]:
        lines = [line for line in hunk.splitlines() if line[:1] in ("+", "-", " ", "")]
        new_lines = [line[1:] for line in lines if line[:1] != "-"]
        block = "\n".join(new_lines)
        # The line numbers of the hunk are not used: the text may have changed since.
        if block.strip() and text.count(block) == 1:
            first_line, offset = text.count("\n", 0, text.index(block)) + 1, 0
            for line in lines:
                if line[:1] in ("+", "-") and line[1:].strip():
                    yield first_line + min(offset, len(new_lines) - 1)
                offset += line[:1] != "-"


def _find_mentioned_file(index: CodeIndex, text: str, near: Collection[str]) -> list[Symbol]:
    if (index.root / text).is_dir():
        return []
    # Outside of git only paths from the root are looked up: listing the files could take long.
    if not (index.root / ".git").exists():
        return find_path(index, text) or []
    # A bare file name means the file that the session edited, if there is only one.
    near_matches = [path for path in near if f"/{path}".endswith(f"/{text}")]
    symbols = find(index, near_matches[0] if len(near_matches) == 1 else text)
    is_file_only = all(symbol.kind == FILE for symbol in symbols)
    return symbols if len(symbols) <= MAX_MENTION_MATCHES and (is_file_only or ":" in text) else []


def _fit_symbols(index: CodeIndex, name: str) -> dict[CodePlace, Fit]:
    """The symbols that a name fits, by the paths of their files, else by the packages these declare."""
    words = addresses.split_name(name)
    candidates = [CodePlace(*row) for row in index.find_places(addresses.iter_suffixes(name))]
    by_path = {place: addresses.fit_symbol(words, place.path, place.qualified, index.root.name) for place in candidates}
    fits = {place: fit for place, fit in by_path.items() if fit}
    if fits or len(words) < 2:
        return fits
    # Packages come last, and for a limited number of files, because each file must be read.
    packages = {
        path: _read_package(index.root, path)
        for path in [*dict.fromkeys(place.path for place in candidates)][:_MAX_HEADS]
    }
    by_package = {
        place: addresses.fit_package(words, packages.get(place.path, ()), place.qualified) for place in candidates
    }
    return {place: fit for place, fit in by_package.items() if fit}


def _read_package(root: Path, path: str) -> addresses.Words:
    content = read(root, path)
    return addresses.parse_package(content[1][:_HEAD_BYTES]) if content else ()


def _select_best(fits: dict[CodePlace, Fit]) -> list[CodePlace]:
    """The places that fit best; of equal names, a type wins over its file, and a file over a function in it."""
    files = {place.path for place in fits if place.kind == FILE}
    types = {place.path for place in fits if place.qualified and place.kind not in MEMBERLESS_KINDS}
    eligible = {
        place: fit
        for place, fit in fits.items()
        if not (place.kind == FILE and place.path in types)
        and not (place.kind in MEMBERLESS_KINDS and place.path in files - types)
    }
    best_places = _prefer_product_code(addresses.select_best(eligible))
    # C declares a function in a header; its definition is meant if both fit.
    definitions = {place.qualified for place in best_places if place.kind != "prototype"}
    return [place for place in best_places if place.kind != "prototype" or place.qualified not in definitions]


def _prefer_product_code(places: list[CodePlace]) -> list[CodePlace]:
    """The places outside of tests and examples, if there are any; people mean these."""
    return [place for place in places if not _TEST_FOLDER.search(place.path)] or places


def _load_symbols(index: CodeIndex, place: CodePlace) -> list[Symbol]:
    """The symbols at a place as they are now; empty if they are gone."""
    if place.kind == FOLDER:
        folder = index.folder_symbol(place.path)
        return [folder] if folder else []
    return [symbol for symbol in index.symbols_of(place.path) if symbol.qualified == place.qualified]


def _find_by_name(index: CodeIndex, name: str) -> list[Symbol]:
    fits = {place: fit for place, fit in _fit_symbols(index, name).items() if not fit.unmatched_words}
    by_label = {place.label: place for place in _select_best(fits)}
    few_places = [*by_label.values()] if len(by_label) <= 4 * MAX_CANDIDATES else []
    return [symbol for place in few_places for symbol in _load_symbols(index, place)]


def _find_by_instance(index: CodeIndex, name: str) -> list[Symbol]:
    """The method that a name with an instance means: `adapter.validate` is `TypeAdapter.validate`."""
    instance, _, method = name.rpartition(".")
    # Only the last word of the class is written, and only in lower case; `fs.read` and `os.path` are other things.
    if not instance.islower() or "." in instance or len(instance) < mentions.MIN_NAME:
        return []
    places = [CodePlace(*row) for row in index.find_places([method])]
    fits = [
        place
        for place in places
        if addresses.normalise_word(place.qualified)
        .removesuffix(f".{addresses.normalise_word(method)}")
        .endswith(addresses.normalise_word(instance))
    ]
    return [symbol for place in _keep_if_few(fits) for symbol in _load_symbols(index, place)]


def _relative_path(root: Path, text: str) -> str:
    """A path relative to the root, as the index stores it; empty if it is outside of the root."""
    # A backslash is a separator only on Windows or where nothing else separates; elsewhere it may be part of a name.
    path = text.replace("\\", "/") if os.sep == "\\" or "/" not in text else text
    if Path(path).is_absolute():
        base = f"{root.as_posix()}/"
        return path.removeprefix(base) if path.startswith(base) else ""
    normal = os.path.normpath(path).replace(os.sep, "/") if path else ""
    return "" if normal.startswith("..") or normal == "." else normal


def _ends_with(qualified_name: str, name: str) -> bool:
    return qualified_name == name or qualified_name.endswith(f".{name}")


def _find_in_file(symbols: Iterable[Symbol], name: str) -> list[Symbol]:
    matches = [symbol for symbol in symbols if symbol.kind != FILE and _ends_with(symbol.qualified, name)]
    return [symbol for symbol in matches if symbol.qualified == name] or matches


def _find_at_lines(symbols: list[Symbol], first: int, last: int) -> list[Symbol]:
    """The symbols that the lines cover: the innermost one around them or those inside it, else the file."""
    inner = [symbol for symbol in symbols if symbol.kind != FILE]
    around = [symbol for symbol in inner if symbol.line <= first and last <= symbol.end_line]
    container = min(around, key=lambda symbol: (symbol.end_line - symbol.line, -len(symbol.qualified)), default=None)
    parent = container.qualified if container else ""
    overlapping = [
        symbol for symbol in inner if symbol.line <= last and first <= symbol.end_line and symbol.parent == parent
    ]
    if container is None:
        return _keep_if_few(overlapping) or symbols[:1]
    # Lines with the header mean the container; lines over several of its members mean these.
    return _keep_if_few(overlapping) if len(overlapping) > 1 and first > container.line else [container]


def _keep_if_unique(symbols: Sequence[Symbol]) -> list[Symbol]:
    """The symbols if all have the same label, as overloads do; else none."""
    if len({symbol.label for symbol in symbols}) != 1:
        return []
    # A type comes before the blocks that implement it, of which Rust may have many.
    return sorted(symbols, key=lambda symbol: symbol.kind == "impl")[:MAX_CANDIDATES]


def _keep_if_few(items: Iterable[_T]) -> list[_T]:
    """The items, or none if there are too many to mean all of them."""
    values = list(items)
    return values if len(values) <= MAX_CANDIDATES else []
