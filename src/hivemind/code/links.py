"""Find the code that a memory is about: its links and source files, otherwise the symbols that its text names.

A link or name is resolved to the one place that fits it best, or to none; never to a guess.
"""

import math
import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from hivemind.code import code_names, git
from hivemind.code.code_names import CodePlace, Fit, simplify_name, split_name, to_dotted
from hivemind.code.edited_symbols import MAX_CANDIDATES, find_at_lines, find_edited_symbols, keep_if_few
from hivemind.code.index import CodeIndex
from hivemind.code.parsing import outline
from hivemind.code.versions import load_symbols_at
from hivemind.code.working_tree import read, stamp
from hivemind.model.claim import Proposal
from hivemind.model.code import FILE, FOLDER, MEMBERLESS_KINDS, Anchor, Symbol
from hivemind.model.session import Observation

MAX_MENTION_MATCHES = 3
"""A name in running text that fits more places is ignored; overloads are in one place."""

MAX_SUGGESTIONS = 3

MAX_ANCHORS = 20

_HEAD_BYTES = 4_096
"""The beginning of a file, in which it declares its package."""

_MAX_HEADS = 50
_LINES = re.compile(r"^(.+?):(\d+)(?:-(\d+))?$")
_PRIVATE_NAME = re.compile(r"(?:^|\.)#\w+$")
_TEST_FOLDER = re.compile(
    r"(?:^|/|_|\b)(?:tests?|specs?|e2e|fixtures?|mocks?|testdata|examples?|samples?|demos?|vendor|third_party|benches)(?:/|_|\b)",
    re.IGNORECASE,
)
# Keys and headings are often ordinary words, so a name in running text does not mean them.
_PROSE_KINDS = frozenset({"key", "table", "section"})

MAX_SEARCHED_NAMES = 3
"""Names of a text that git searches for in a tree that is not indexed yet, while somebody waits."""
MOST_LOST_NAMES = 5
"""Names of a text that are looked for in the past; each costs two searches by git."""


def find_anchors(
    index: CodeIndex,
    links: Sequence[str],
    sources: Sequence[str],
    text: str,
    commit: str,
    near: Collection[str] = (),
    asked_at: float = math.inf,
    *,
    everywhere: bool = True,
) -> tuple[Anchor, ...]:
    """Find the anchors of a memory in the current code; its text is searched only without links and files.

    Whoever finds the anchors of many gives the time at which they began, so that the tree is looked at once, and does
    not search `everywhere` for names that are in no file that git lists.
    """
    files = [source for source in sources if stamp(index.root, source.partition(":")[0])]
    stated_anchors = [
        anchor
        for link in (*links, *files)
        for anchor in resolve_link(index, link, commit, asked_at, everywhere=everywhere)
    ]
    # A link that somebody wrote means one thing; if that is not here, something else is no substitute.
    if stated_anchors or links:
        return deduplicate_anchors(stated_anchors)
    _refresh(index, asked_at)
    anchors = find_mentions(index, text, commit, near) if index.is_built else []
    if not anchors:
        names = [code_names.get_last_word(name) for name in islice(code_names.find_names(text), MAX_SEARCHED_NAMES)]
        searches = _search_names(index, names, everywhere=everywhere and code_names.surely_names_code(text))
        anchors = next(filter(None, (find_mentions(index, text, commit, near) for _ in searches)), [])
    return deduplicate_anchors(anchors)


def _search_names(index: CodeIndex, names: Sequence[str], *, everywhere: bool) -> Iterator[None]:
    """Search the tree for names that the index does not have, in wider and wider steps; the caller looks after each."""
    for is_wide in ([False] if index.may_lack_names else []) + ([True] if everywhere and index.is_in_git else []):
        for name in names:
            index.index_files_containing(name, everywhere=is_wide)
        yield


def _refresh(index: CodeIndex, asked_at: float) -> None:
    # People and agents write about code that they changed a moment ago.
    index.refresh_if_older(max(0.0, time.time() - asked_at))


def anchor_proposals(
    index: CodeIndex, proposals: Sequence[Proposal], path_of: Callable[[str], str]
) -> Iterator[tuple[str, tuple[Anchor, ...]]]:
    """Yield the memory id and the anchors of each proposal: the edited code, else the code that its text names."""
    commit, asked_at = git.read_head(index.root), time.time()
    for proposal in proposals:
        edits: dict[str, list[Observation]] = {}
        for step in proposal.edits:
            edits.setdefault(path_of(step.file), []).append(step)
        edits.pop("", None)  # outside of the tree
        anchors = deduplicate_anchors(_anchor_edited_symbols(index, edits, commit))
        if not anchors and (proposal.links or code_names.looks_like_code(proposal.text)):
            named_anchors = find_anchors(index, proposal.links, (), proposal.text, commit, asked_at=asked_at)
            anchors = _anchor_as_said(index, proposal, named_anchors)
        yield proposal.memory_id, anchors


def _anchor_edited_symbols(
    index: CodeIndex, edits: Mapping[str, Sequence[Observation]], commit: str
) -> Iterator[Anchor]:
    """Yield the symbols of files that were edited and still exist, as they were after the edit if git has that."""
    contents = git.read_blobs(index.root, [steps[-1].after for steps in edits.values() if steps[-1].after])
    for path, steps in edits.items():
        current_symbols = {symbol.key: symbol for symbol in index.read_symbols(path)}
        current_file = read(index.root, path)
        if not current_symbols or current_file is None:
            continue
        source = contents.get(steps[-1].after, current_file[1])
        symbols_after_edit = [*current_symbols.values()] if source == current_file[1] else outline(path, source).symbols
        for symbol in find_edited_symbols(symbols_after_edit, source, [step.diff for step in steps]):
            # A symbol that changed since the edit was not read in its current form, so no commit is recorded for it.
            if symbol.key in current_symbols:
                is_same = symbol.fingerprint == current_symbols[symbol.key].fingerprint
                yield Anchor.of(symbol, commit if is_same else "")


def _anchor_as_said(index: CodeIndex, proposal: Proposal, anchors: Sequence[Anchor]) -> tuple[Anchor, ...]:
    """Return anchors with the code as it was when the proposal was said, and add code that is gone since."""
    commit = git.find_commit_before(index.root, proposal.said_at) if proposal.said_at else ""
    if not commit or commit == git.read_head(index.root):
        return tuple(anchors)
    named_paths = {path.partition(":")[0] for path in code_names.find_paths(proposal.text)}
    lost_names = _find_lost_names(index, proposal.text, commit, {anchor.symbol.name for anchor in anchors})
    paths = {anchor.path for anchor in anchors}.union(named_paths, *lost_names.values())
    past_symbols = {symbol.key: symbol for symbol in load_symbols_at(index.root, commit, [*paths])}
    # As it was then, without a commit: what changed since was not read in its current form.
    as_said = [
        Anchor.of(past)
        if (past := past_symbols.get(anchor.symbol.key)) and str(past.fingerprint) != anchor.fingerprint
        else anchor
        for anchor in anchors
    ]
    lost_symbols = [
        symbol
        for symbol in past_symbols.values()
        if symbol.path in lost_names.get(symbol.name, ())
        or (symbol.kind == FILE and not stamp(index.root, symbol.path))
    ]
    return deduplicate_anchors([*as_said, *(Anchor.of(symbol) for symbol in lost_symbols)])[:MAX_ANCHORS]


def _find_lost_names(index: CodeIndex, text: str, commit: str, current: Collection[str]) -> dict[str, list[str]]:
    """Find names in a text that no file contains any more, and the files of that commit that did."""
    names = (code_names.get_last_word(name) for name in islice(code_names.find_names(text), MOST_LOST_NAMES))
    missing_names = [name for name in names if name not in current and not git.find_files_with_word(index.root, name)]
    found = {name: git.find_files_with_word(index.root, name, commit=commit) or [] for name in missing_names}
    # A name in many files is a common word.
    return {name: files for name, files in found.items() if len(files) <= MAX_MENTION_MATCHES}


def resolve_link(
    index: CodeIndex, link: str, commit: str = "", asked_at: float = math.inf, *, everywhere: bool = True
) -> list[Anchor]:
    """Resolve a link to anchors; empty if it has no unique match."""
    symbols = find_symbols(index, link) if index.is_built else find_path(index, link.strip()) or []
    # Refresh only if the index has no match, because a refresh looks at the whole tree.
    if not symbols:
        _refresh(index, asked_at)
        symbols = find_symbols(index, link) if index.is_built else []
    # Of a link that fits several places a search would only find more.
    if not symbols and not (index.is_built and find_places(index, link)):
        searches = _search_names(index, [code_names.get_last_word(link)], everywhere=everywhere)
        symbols = next(filter(None, (find_symbols(index, link) for _ in searches)), [])
    return [Anchor.of(symbol, commit) for symbol in symbols]


def complete_link(index: CodeIndex, link: str, folder: str) -> str:
    """The link from the root of the tree for a name with its path from a folder; as it is if it means nothing there."""
    index.refresh_if_older(0.0)
    words = (*split_name(folder), *split_name(simplify_name(link)))
    candidates = [CodePlace(*row) for row in index.find_places(code_names.iterate_suffixes(simplify_name(link)))]
    fits = {place: code_names.fit_symbol(words, place.path, place.qualified, "") for place in candidates}
    # Only a name with all of the path counts: any symbol of the tree has a name that somebody may write here.
    labels = {place.label for place, fit in fits.items() if fit and not fit.unmatched_words and not fit.is_partial}
    return labels.pop() if len(labels) == 1 else link


def deduplicate_anchors(anchors: Iterable[Anchor]) -> tuple[Anchor, ...]:
    """Keep one anchor per symbol, the last one."""
    return tuple({anchor.symbol.key: anchor for anchor in anchors}.values())


def find_symbols(index: CodeIndex, link: str) -> list[Symbol]:
    """Resolve a link to a file, a folder, a symbol with its overloads, or the symbols at some lines.

    Empty if it fits nothing or several places.
    """
    literal = find_path(index, link.strip())
    if literal is not None:
        return literal
    candidates = find_places(index, link)
    is_unique = len({place.label for place in candidates}) == 1
    return _keep_if_unique(_load_symbols(index, candidates[0])) if is_unique else []


def find_path(index: CodeIndex, link: str) -> list[Symbol] | None:
    """Resolve a link that begins with a path from the root; None if it does not begin with one."""
    place, separator, name = link.partition("::")
    if separator and (path := _make_relative(index.root, place)) and stamp(index.root, path):
        return _keep_if_unique(_find_in_file(index.read_symbols(path), to_dotted(simplify_name(name))))
    if (lines := _LINES.match(link)) and (path := _make_relative(index.root, lines[1])) and stamp(index.root, path):
        return find_at_lines(index.read_symbols(path), int(lines[2]), int(lines[3] or lines[2]))
    path = _make_relative(index.root, link)
    if path and stamp(index.root, path):
        return index.read_symbols(path)[:1]
    folder = index.make_folder_symbol(path) if path else None
    return [folder] if folder else None


def find_all_symbols(index: CodeIndex, link: str) -> list[Symbol]:
    """Resolve a link to all symbols that fit it equally well; empty if there are too many."""
    if literal := find_path(index, link.strip()):
        return literal
    candidates = {place.label: place for place in find_places(index, link)}
    return keep_if_few(symbol for place in keep_if_few(candidates.values()) for symbol in _load_symbols(index, place))


def find_places(index: CodeIndex, link: str) -> list[CodePlace]:
    """All places in the tree that a name fits best, as last indexed."""
    name = simplify_name(link)
    words, root = split_name(name), index.root.name
    paths = index.find_paths(words[-1]) if words else []
    return _select_best(_fit_symbols(index, name) | code_names.fit_paths(words, paths, root))


def suggest_labels(index: CodeIndex, link: str) -> list[str]:
    """A few labels that are closest to a link without a unique match."""
    name = simplify_name(link)
    # From the best source of suggestions to the weakest; the first that has any is used.
    labels = (
        [place.label for place in find_places(index, link)]
        or [
            symbol.label
            for path in _find_files_before_last_word(index, name)
            for symbol in index.read_symbols(path)[1:]
        ]
        or [CodePlace(*row).label for row in index.find_places(code_names.iterate_suffixes(name))]
        or [
            CodePlace(*row).label for row in index.find_places(index.find_similar_names(code_names.get_last_word(name)))
        ]
    )
    return get_close_matches(name, [*dict.fromkeys(labels)], MAX_SUGGESTIONS, cutoff=0.0)


def _find_files_before_last_word(index: CodeIndex, name: str) -> list[str]:
    head = name[: name.rfind(code_names.get_last_word(name))].rstrip("./\\:#->")
    return [place.path for place in keep_if_few(find_places(index, head)) if place.kind == FILE]


def find_mentions(index: CodeIndex, text: str, commit: str = "", near: Collection[str] = ()) -> list[Anchor]:
    """Anchors for the files and symbols that a text names; ambiguous names are left out.

    Of several symbols with one name, those in files that the text names too are preferred, then those in files `near`.
    """
    symbols = {symbol.key: symbol for link in code_names.find_links(text) for symbol in find_symbols(index, link)}
    files = {
        symbol.path: symbol
        for path in code_names.find_paths(text)
        for symbol in _find_mentioned_file(index, path, near)
    }
    for name in code_names.find_names(text):
        matches = _find_by_name(index, name) or _find_by_instance(index, name)
        # A mark behind a name is part of it in Ruby; elsewhere it ends a sentence, or calls a macro.
        matches = matches or (_find_by_name(index, name[:-1]) if name[-1] in "!?" else [])
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
    for name in code_names.find_names(text):
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


def _find_mentioned_file(index: CodeIndex, text: str, near: Collection[str]) -> list[Symbol]:
    if (index.root / text).is_dir():
        return []
    # Outside of git only paths from the root are looked up: listing the files could take long.
    if not (index.root / ".git").exists():
        return find_path(index, text) or []
    # A bare file name means the file that the session edited, if there is only one.
    near_matches = [path for path in near if f"/{path}".endswith(f"/{text}")]
    symbols = find_symbols(index, near_matches[0] if len(near_matches) == 1 else text)
    is_file_only = all(symbol.kind == FILE for symbol in symbols)
    return symbols if len(symbols) <= MAX_MENTION_MATCHES and (is_file_only or ":" in text) else []


def _fit_symbols(index: CodeIndex, name: str) -> dict[CodePlace, Fit]:
    """The symbols that a name fits, by the paths of their files, else by the packages these declare."""
    words = split_name(name)
    candidates = [CodePlace(*row) for row in index.find_places(code_names.iterate_suffixes(name))]
    if _PRIVATE_NAME.search(name):
        candidates = [place for place in candidates if _PRIVATE_NAME.search(place.qualified)]
    by_path = {
        place: code_names.fit_symbol(words, place.path, place.qualified, index.root.name) for place in candidates
    }
    fits = {place: fit for place, fit in by_path.items() if fit}
    if fits or len(words) < 2:
        return fits
    # Packages come last, and for a limited number of files, because each file must be read.
    packages = {
        path: _read_package(index.root, path)
        for path in [*dict.fromkeys(place.path for place in candidates)][:_MAX_HEADS]
    }
    by_package = {
        place: code_names.fit_package(words, packages.get(place.path, ()), place.qualified) for place in candidates
    }
    return {place: fit for place, fit in by_package.items() if fit}


def _read_package(root: Path, path: str) -> code_names.Words:
    content = read(root, path)
    return code_names.parse_package(content[1][:_HEAD_BYTES]) if content else ()


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
    best_places = code_names.select_best(eligible)
    # People mean what lies outside of tests and examples.
    best_places = [place for place in best_places if not _TEST_FOLDER.search(place.path)] or best_places
    # C declares a function in a header; its definition is meant if both fit.
    definitions = {place.qualified for place in best_places if place.kind != "prototype"}
    return [place for place in best_places if place.kind != "prototype" or place.qualified not in definitions]


def _load_symbols(index: CodeIndex, place: CodePlace) -> list[Symbol]:
    """The symbols at a place as they are now; empty if they are gone."""
    if place.kind == FOLDER:
        folder = index.make_folder_symbol(place.path)
        return [folder] if folder else []
    return [symbol for symbol in index.read_symbols(place.path) if symbol.qualified == place.qualified]


def _find_by_name(index: CodeIndex, name: str) -> list[Symbol]:
    fits = {place: fit for place, fit in _fit_symbols(index, name).items() if not fit.unmatched_words}
    by_label = {place.label: place for place in _select_best(fits)}
    few_places = [*by_label.values()] if len(by_label) <= 4 * MAX_CANDIDATES else []
    return [symbol for place in few_places for symbol in _load_symbols(index, place)]


def _find_by_instance(index: CodeIndex, name: str) -> list[Symbol]:
    """The method that a name with an instance means: `adapter.validate` is `TypeAdapter.validate`."""
    instance, _, method = name.rpartition(".")
    # Only the last word of the class is written, and only in lower case; `fs.read` and `os.path` are other things.
    if not instance.islower() or "." in instance or len(instance) < code_names.MIN_NAME:
        return []
    places = [CodePlace(*row) for row in index.find_places([method])]
    normalise = code_names.normalise_word
    owners = {place: normalise(place.qualified).removesuffix(f".{normalise(method)}") for place in places}
    fits = [place for place, owner in owners.items() if owner.endswith(normalise(instance))]
    return [symbol for place in keep_if_few(fits) for symbol in _load_symbols(index, place)]


def _make_relative(root: Path, text: str) -> str:
    """A path relative to the root, as the index stores it; empty if it is outside of the root."""
    # A backslash is a separator only on Windows or where nothing else separates; elsewhere it may be part of a name.
    path = text.replace("\\", "/") if os.sep == "\\" or "/" not in text else text
    if Path(path).is_absolute():
        base = f"{root.as_posix()}/"
        return path.removeprefix(base) if path.startswith(base) else ""
    normal = os.path.normpath(path).replace(os.sep, "/") if path else ""
    return "" if normal.startswith("..") or normal == "." else normal


def _find_in_file(symbols: Iterable[Symbol], name: str) -> list[Symbol]:
    matches = [symbol for symbol in symbols if symbol.kind != FILE and f".{symbol.qualified}".endswith(f".{name}")]
    return [symbol for symbol in matches if symbol.qualified == name] or matches


def _keep_if_unique(symbols: Sequence[Symbol]) -> list[Symbol]:
    """The symbols if all have the same label, as overloads do; else none."""
    if len({symbol.label for symbol in symbols}) != 1:
        return []
    # A type comes before the blocks that implement it, of which Rust may have many.
    return sorted(symbols, key=lambda symbol: symbol.kind == "impl")[:MAX_CANDIDATES]
