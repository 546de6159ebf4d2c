"""Find related files and callers: what was changed or used together, tests, and names that code has in common."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import StrEnum
from heapq import nlargest
from math import log, sqrt

from hivemind.code import git
from hivemind.code.code_names import is_package_file, normalise_word
from hivemind.code.commit_index import BESIDE_CODE
from hivemind.code.grammars import find_language_family
from hivemind.code.index import SELECT_SYMBOLS, CodeIndex, make_symbol, rebuild_if_damaged
from hivemind.code.index_database import select
from hivemind.code.links import find_all_symbols
from hivemind.code.shared_sessions import describe_touches, weigh_files
from hivemind.model.code import FOLDER, Callers, RelatedFile, SharedSession, Symbol
from hivemind.text.search_terms import extract_terms, find_shared


class Relation(StrEnum):
    """Why a file is related to another, in words that answers show."""

    COMMITTED_TOGETHER = "changed together in commits"
    TOUCHED_TOGETHER = "touched together in sessions"
    TESTS = "tests it"
    TESTED_BY = "is tested by it"
    CALLED_BY = "is called or inherited by it"
    CALLS = "calls or inherits it"
    SAME_WORDS = "has words of the task"


MAX_TOUCHED_FILES = 50
"""Files from sessions that are considered; each may cost a look at the disk."""

OWN_INSTANCE = frozenset({"self", "this", "cls", "Self", "$this"})
"""Qualifiers for the class around the call."""

MAX_TERMS = 10
"""Words of a task that are searched for; each costs a search of the tree by git."""

GREP_SECONDS = 1.0

HALF_COUNT = 1.5
"""Lines with a word at which it counts half of what many lines count."""

WEIGHTS = {
    Relation.COMMITTED_TOGETHER: 1.0,
    Relation.TOUCHED_TOGETHER: 0.5,
    Relation.TESTS: 0.25,
    Relation.TESTED_BY: 0.25,
    Relation.CALLED_BY: 0.12,
    Relation.CALLS: 0.1,
}
"""Weights of the reasons, which are added up: chosen on two repositories and checked on two others, see
lab/notes/code.md.

The weight of sessions is set by hand, because there was no repository with observed sessions to measure it on."""

_FOLDER_IS_PACKAGE = frozenset({"go", "java", "kotlin", "scala"})
"""Languages in which the files of a folder see one another's names without an import."""

_NAME_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_CRATE_ROOTS = frozenset({"lib", "main"})
_TEST_PATH = re.compile(r"(?:^|[/_.-])(?:tests?|specs?)(?:[/_.-]|$)|(?:Tests?|Spec)\.\w+$|^test", re.IGNORECASE)
_TEST_AFFIXES = re.compile(r"^tests?|tests?$|spec$")


def is_test(path: str) -> bool:
    """Whether a file contains tests, by its path."""
    return _TEST_PATH.search(path) is not None


@rebuild_if_damaged
def find_related(
    index: CodeIndex, targets: Sequence[str], limit: int = 10, sessions: Sequence[SharedSession] = ()
) -> list[RelatedFile]:
    """Find the files most related to files, folders or symbols; for a folder, also its own files by other reasons."""
    target_files, contained_files = _resolve_files(index, targets)
    scores: dict[int, dict[Relation, float]] = defaultdict(dict)
    seeds = target_files | contained_files
    edges = (edge for seed, path in seeds.items() for edge in _find_edges(index, seed, path))
    for reason, file, share in (*edges, *_find_touch_edges(index, {*seeds.values()}, sessions)):
        if file not in target_files:
            # Added up over the seeds: a file related to several of them is more related.
            scores[file][reason] = scores[file].get(reason, 0.0) + WEIGHTS[reason] * share
    ranking = sorted(((sum(reasons.values()), file) for file, reasons in scores.items()), reverse=True)[:limit]
    query = "SELECT path FROM files WHERE id = ?"
    paths = {file: path for _, file in ranking for (path,) in select(index.db, query, file)}
    return [
        RelatedFile(
            path=paths[file],
            weight=weight,
            why=tuple(
                describe_touches(sessions, paths[file]) if reason is Relation.TOUCHED_TOGETHER else reason
                for reason in sorted(scores[file], key=lambda reason: -scores[file][reason])
            ),
        )
        for weight, file in ranking
    ]


def find_by_task(index: CodeIndex, task: str, limit: int = 10) -> list[RelatedFile]:
    """Find the files with the words of a task, rare words first; tests, documentation and changelogs come last."""
    terms = extract_terms(task)[:MAX_TERMS]
    weights: dict[str, float] = defaultdict(float)
    total, _ = index.count_files_and_symbols()
    for term in terms:
        line_counts = git.count_lines(index.root, term, GREP_SECONDS)
        for path, count in line_counts.items():
            weights[path] += log(1 + total / len(line_counts)) * count / (count + HALF_COUNT)
    named_terms = {path: find_shared(terms, path) for path in {*weights, *index.list_paths()}}
    counts = Counter(term for path_terms in named_terms.values() for term in path_terms)
    for path, path_terms in named_terms.items():
        weights[path] += sum(log(1 + total / counts[term]) for term in path_terms)
    matches = [path for path, weight in weights.items() if weight]
    in_order = sorted(matches, key=lambda path: (BESIDE_CODE.search(path) is not None, -weights[path], path))
    return [RelatedFile(path=path, weight=weights[path], why=(Relation.SAME_WORDS,)) for path in in_order[:limit]]


@rebuild_if_damaged
def find_callers(index: CodeIndex, symbol: Symbol) -> Callers:
    """Find the symbols that call or inherit this one, as far as imported words, qualifiers or a unique name show it."""
    family = find_language_family(symbol.path)
    mentions = [
        (caller, qualifier)
        for caller, qualifier in _find_mentions(index, symbol.name)
        if caller.key != symbol.key and find_language_family(caller.path) == family
    ]
    namesakes = [
        place
        for place in index.find_places([symbol.name])
        if (place[0], place[1]) != (symbol.path, symbol.qualified) and find_language_family(place[0]) == family
    ]
    # A prototype declares the same function, so it is no other one.
    rival_paths = {path for path, _, kind in namesakes if kind != "prototype"}
    declarations = {path for path, _, kind in namesakes if kind == "prototype"}
    certain = [caller for caller, _ in mentions]
    if rival_paths or not is_distinctive(symbol.name):
        own_words = {
            _get_module_word(path) for path in {symbol.path, *declarations, *_find_exporters(index, symbol.path)}
        }
        own_words.update(map(normalise_word, symbol.qualified.split(".")))
        in_sight = {
            path: _is_in_sight(index, path, symbol.path, own_words, rival_paths)
            for path in {caller.path for caller in certain}
        }
        certain = [
            caller
            for caller, qualifier in mentions
            if in_sight[caller.path] and (not rival_paths or _may_mean(caller, qualifier, symbol))
        ]
    callers = {caller.key: caller for caller in certain}
    other_keys = {caller.key for caller, _ in mentions} - callers.keys()
    return Callers(symbols=tuple(callers.values()), unresolved=len(other_keys), namesakes=len(namesakes))


def _find_mentions(index: CodeIndex, name: str) -> Iterator[tuple[Symbol, str]]:
    """Yield the symbols that mention a name, and with which qualifier."""
    query = SELECT_SYMBOLS.replace(" FROM ", ", m.qualifier FROM ", 1)
    query += " JOIN mentions m ON m.symbol = s.id JOIN names n ON n.id = m.name WHERE n.text = ?"
    yield from ((make_symbol(row[:-1]), row[-1]) for row in select(index.db, query, name))


def _find_exporters(index: CodeIndex, path: str) -> Iterator[str]:
    """Yield the package files beside a file that import it, mostly to offer its names as those of the folder."""
    query = "SELECT f.path FROM imports i JOIN files f ON f.id = i.file WHERE i.word = ?"
    folder = path.rpartition("/")[0]
    for (importer,) in select(index.db, query, _get_module_word(path)):
        if is_package_file(importer) and importer.rpartition("/")[0] == folder:
            yield importer


def is_distinctive(name: str) -> bool:
    """Whether a name has several words, so that outside code hardly has the same; `close` and `get` are everywhere."""
    return len(_NAME_PART.findall(name)) > 1


def _may_mean(caller: Symbol, qualifier: str, symbol: Symbol) -> bool:
    """Whether a mention of a name that is not unique means this symbol and not one of another class or library."""
    if not qualifier:
        # A plain name is a function, or in some languages a method of the same class.
        return not symbol.parent or (caller.path, caller.parent) == (symbol.path, symbol.parent)
    if qualifier in OWN_INSTANCE:
        return (caller.path, caller.parent) == (symbol.path, symbol.parent) and bool(symbol.parent)
    owner = normalise_word(symbol.parent.rpartition(".")[2]) or _get_module_word(symbol.path)
    # A variable is often named after its class; any other may be of any class.
    return normalise_word(qualifier) == owner


def _is_in_sight(
    index: CodeIndex, caller: str, path: str, own_words: Collection[str], rival_paths: Collection[str]
) -> bool:
    """Whether a name in a file means the symbol of another file: it imports a word of that, and fewer of any rival."""
    # In a file with its own symbol of that name, that one is meant.
    if caller == path or caller in rival_paths:
        return caller == path
    folder = caller.rpartition("/")[0]
    if find_language_family(path) in _FOLDER_IS_PACKAGE and path.rpartition("/")[0] == folder:
        # Within a package no import shows which of several symbols is meant.
        return all(rival.rpartition("/")[0] != folder for rival in rival_paths)
    query = "SELECT i.word FROM imports i JOIN files f ON f.id = i.file WHERE f.path = ?"
    words = {word for (word,) in select(index.db, query, caller)}
    score, *rival_scores = (len(words & _split_path_words(place)) for place in (path, *rival_paths))
    return not words.isdisjoint(own_words) and score > max(rival_scores, default=-1)


def _split_path_words(path: str) -> set[str]:
    return {normalise_word(word) for word in path.rpartition(".")[0].split("/")}


def _get_module_word(path: str) -> str:
    """The last word by which a file is imported: its own name, or that of the folder that it stands for."""
    folder, _, name = path.rpartition("/")
    stem, family = name.partition(".")[0], find_language_family(path)
    is_folder = is_package_file(path) or family == "go" or (family == "rust" and stem in _CRATE_ROOTS)
    folders = [word for word in folder.split("/") if word not in ("", "src")]
    return normalise_word(folders[-1] if is_folder and folders else stem)


def _resolve_files(index: CodeIndex, targets: Iterable[str]) -> tuple[dict[int, str], dict[int, str]]:
    """The indexed files of the targets, and the files inside of targets that are folders; paths by file id."""
    target_files: dict[int, str] = {}
    contained_files: dict[int, str] = {}
    for symbol in (symbol for target in targets for symbol in find_all_symbols(index, target)):
        if symbol.kind == FOLDER:
            # "0" is the character after "/", so the range holds everything below the folder and uses the index.
            query = "SELECT id, path FROM files WHERE path >= ? AND path < ? LIMIT 200"
            contained_files.update(dict(select(index.db, query, f"{symbol.path}/", f"{symbol.path}0")))
        else:
            target_files.update(dict(select(index.db, "SELECT id, path FROM files WHERE path = ?", symbol.path)))
    return target_files, contained_files


def _find_touch_edges(
    index: CodeIndex, seeds: Collection[str], sessions: Sequence[SharedSession]
) -> Iterator[tuple[Relation, int, float]]:
    """Yield the files that sessions touched together with these: reason, file id, share of the weight."""
    heaviest = nlargest(MAX_TOUCHED_FILES, weigh_files(sessions, seeds).items(), key=lambda item: item[1])
    for path, weight in heaviest:
        query = "SELECT id FROM files WHERE path = ?"
        if not list(select(index.db, query, path)):
            index.update([path])  # the file is newer than the last refresh
        yield from (
            (Relation.TOUCHED_TOGETHER, file, sqrt(weight / heaviest[0][1]))
            for (file,) in select(index.db, query, path)
        )


def _find_edges(index: CodeIndex, file: int, path: str) -> Iterator[tuple[Relation, int, float]]:
    """Yield what relates one file to others: reason, file id, share of the reason's weight."""
    for reason, query in _COUNT_QUERIES.items():
        counts = list(select(index.db, query, file))
        highest_count = max((count for _, count in counts), default=1.0)
        # The root keeps one file that is part of most commits from outweighing all others.
        scale = sqrt if reason is Relation.COMMITTED_TOGETHER else float
        yield from ((reason, other, scale(count / highest_count)) for other, count in counts)
    stem = normalise_word(path.rpartition("/")[2].partition(".")[0])
    subject = _TEST_AFFIXES.sub("", stem) or stem
    reason, stems = (
        (Relation.TESTED_BY, [subject])
        if is_test(path)
        else (Relation.TESTS, [f"test{stem}", f"tests{stem}", f"{stem}test", f"{stem}tests", f"{stem}spec", stem])
    )
    for candidate in stems:
        rows = list(select(index.db, "SELECT id, path FROM files WHERE stem = ? AND id != ? LIMIT 50", candidate, file))
        matches = [other for other, name in rows if is_test(name) == (reason is Relation.TESTS)]
        # A common stem such as `utils` has many tests; the weight is divided among them.
        yield from ((reason, other, 1 / len(matches)) for other in matches)


_COUNT_QUERIES = {
    Relation.COMMITTED_TOGETHER: "SELECT other, weight FROM together WHERE file = ?1"
    " UNION ALL SELECT file, weight FROM together WHERE other = ?1 ORDER BY 2 DESC, 1 LIMIT 50",
    Relation.CALLED_BY: """
SELECT theirs.file, count(DISTINCT theirs.id)
FROM symbols mine
CROSS JOIN mentions m ON m.symbol = mine.id
CROSS JOIN names n ON n.id = m.name
CROSS JOIN symbols theirs ON theirs.name = n.text AND theirs.file != mine.file
WHERE mine.file = ? AND NOT EXISTS (SELECT 1 FROM symbols s WHERE s.name = n.text AND s.file != theirs.file)
GROUP BY theirs.file
""",
    Relation.CALLS: """
SELECT theirs.file, count(DISTINCT mine.id)
FROM symbols mine
CROSS JOIN names n ON n.text = mine.name
CROSS JOIN mentions m ON m.name = n.id
CROSS JOIN symbols theirs ON theirs.id = m.symbol AND theirs.file != mine.file
WHERE mine.file = ?1 AND mine.kind != 'file'
AND NOT EXISTS (SELECT 1 FROM symbols s WHERE s.name = mine.name AND s.file != ?1)
GROUP BY theirs.file
""",
}
"""For each reason that can be counted: the related files of a file, and how often; names that several files define say
nothing.

CROSS JOIN keeps SQLite from changing the order of the tables, so that the search starts at one file.
"""
