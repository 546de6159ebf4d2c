"""What bears on what: imports, calls, inheritance, tests and common history, added up."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import nlargest
from math import sqrt

from hivemind.codebase import touches
from hivemind.codebase.database import select
from hivemind.codebase.imports import module
from hivemind.codebase.index import SELECT, Index, mended, symbol_of
from hivemind.codebase.links import find_all
from hivemind.model.code import FOLDER, Callers, Related, SharedSession, Symbol

COMMITTED = "changed together in commits"
TOUCHED = "touched together in sessions"
SAME_FOLDER = "same folder"
MOST_TOUCHED = 50
WEIGHTS = {
    COMMITTED: 1.0,
    TOUCHED: 0.5,
    "tests it": 0.25,
    "is tested by it": 0.25,
    "is imported by it": 0.12,
    "imports it": 0.1,
    "is called or inherited by it": 0.12,
    "calls or inherits it": 0.1,
    SAME_FOLDER: 0.05,
}
"""A plain sum, chosen on two repositories and looked at on two others: docs/explanation/staleness.md.

That of sessions is set by hand: no repository with observed sessions was there to choose it on."""

_TEST = re.compile(r"(?:^|[/_.-])(?:tests?|specs?)(?:[/_.-]|$)|(?:Tests?|Spec)\.\w+$|^test", re.IGNORECASE)
_TEST_WORDS = re.compile(r"^test_?|_?tests?$|[._-]spec$|[._-]test$|_spec$", re.IGNORECASE)


def is_test(path: str) -> bool:
    """Whether a file holds tests, by its name."""
    return _TEST.search(path) is not None


@mended
def related(
    index: Index, targets: Sequence[str], limit: int = 10, sessions: Sequence[SharedSession] = ()
) -> list[Related]:
    """The files that bear most on files, folders or symbols; in folders, also which of their files bear on others."""
    asked, inside = _files(index, targets)
    scores: dict[int, dict[str, float]] = defaultdict(dict)
    seeds = asked | inside
    edges = (edge for seed, path in seeds.items() for edge in _edges(index, seed, path))
    for reason, file, share in (*edges, *_touched(index, {*seeds.values()}, sessions)):
        if file not in asked and not (file in inside and reason == SAME_FOLDER):
            scores[file][reason] = scores[file].get(reason, 0.0) + WEIGHTS[reason] * share
    ranked = sorted(((sum(reasons.values()), file) for file, reasons in scores.items()), reverse=True)[:limit]
    paths = {file: path for _, file in ranked for path in _path(index, file)}
    return [
        Related(
            path=paths[file],
            weight=weight,
            why=tuple(
                touches.reason(sessions, paths[file]) if reason == TOUCHED else reason
                for reason in sorted(scores[file], key=lambda reason: -scores[file][reason])
            ),
        )
        for weight, file in ranked
    ]


def children(index: Index, folder: str) -> list[tuple[str, int]]:
    """What lies directly in a folder, folders first: paths, and how many files lie in each; 0 for a file."""
    inside = f"{folder.strip('/')}/" if folder.strip("/") else ""
    found: dict[str, int] = defaultdict(int)
    for path in index.paths_in(folder) if inside else index.paths():
        name, _, below = path[len(inside) :].partition("/")
        found[inside + name] += 1 if below else 0
    return sorted(found.items(), key=lambda one: (not one[1], one[0]))


@mended
def callers(index: Index, symbol: Symbol) -> Callers:
    """The symbols that call or inherit this one: in its file, or in files that import its file."""
    row = next(select(index.db, "SELECT id FROM files WHERE path = ?", symbol.path), None)
    if row is None:
        return Callers(symbols=(), unresolved=0, namesakes=0)
    mentioned = list(
        select(
            index.db,
            f"{SELECT} JOIN mentions m ON m.symbol = s.id JOIN names n ON n.id = m.name WHERE n.text = ?",
            symbol.name,
        )
    )
    query = "SELECT f.path FROM uses u JOIN files f ON f.id = u.file WHERE u.target = ?"
    importers = {path for (path,) in select(index.db, query, *row)} | {symbol.path}
    everyone = {found.key: found for found in map(symbol_of, mentioned) if found.key != symbol.key}
    certain = [found for found in everyone.values() if found.path in importers]
    namesakes = [found for found in index.named(symbol.name) if found.key != symbol.key]
    return Callers(symbols=tuple(certain), unresolved=len(everyone) - len(certain), namesakes=len(namesakes))


def _files(index: Index, targets: Iterable[str]) -> tuple[dict[int, str], dict[int, str]]:
    """The indexed files that targets are or lie in, and those that lie in targets, by id."""
    asked: dict[int, str] = {}
    inside: dict[int, str] = {}
    for symbol in (symbol for target in targets for symbol in find_all(index, target)):
        if symbol.kind == FOLDER:
            query = "SELECT id, path FROM files WHERE path >= ? AND path < ? LIMIT 200"
            inside.update(dict(select(index.db, query, f"{symbol.path}/", f"{symbol.path}0")))
        else:
            asked.update(dict(select(index.db, "SELECT id, path FROM files WHERE path = ?", symbol.path)))
    return asked, inside


def _path(index: Index, file: int) -> Iterator[str]:
    yield from (path for (path,) in select(index.db, "SELECT path FROM files WHERE id = ?", file))


def _touched(
    index: Index, seeds: Collection[str], sessions: Sequence[SharedSession]
) -> Iterator[tuple[str, int, float]]:
    """The files that sessions touched together with these, with how much of it each is owed."""
    counted = nlargest(MOST_TOUCHED, touches.weights(sessions, seeds).items(), key=lambda item: item[1])
    for path, weight in counted:
        query = "SELECT id FROM files WHERE path = ?"
        if not list(select(index.db, query, path)):
            index.update([path])  # it is newer than the last look at the tree
        yield from ((TOUCHED, file, sqrt(weight / counted[0][1])) for (file,) in select(index.db, query, path))


def _edges(index: Index, file: int, path: str) -> Iterator[tuple[str, int, float]]:
    """Every reason one file gives to look at others, with how much of it each is owed."""
    for reason, query in _COUNTED.items():
        counted = list(select(index.db, query, file))
        most = max((count for _, count in counted), default=1.0)
        # What is said often weighs more, but by the root, so that what always comes along does not outweigh the rest.
        root = sqrt if reason == COMMITTED else float
        yield from ((reason, other, root(count / most)) for other, count in counted)
    folder = path.rpartition("/")[0]
    near = select(index.db, _FOLDER, f"{folder}/" if folder else "", f"{folder}0" if folder else "\x7f", file)
    yield from ((SAME_FOLDER, other, 1.0) for other, name in near if name.rpartition("/")[0] == folder)
    own = module(path)[-1]
    if is_test(path):
        subject = _TEST_WORDS.sub("", own) or own
        stems = [subject, subject.lower()]
        reason, wanted = "is tested by it", False
    else:
        stems = [f"test_{own}", f"{own}_test", f"{own}Test", f"{own}_spec", f"tests_{own}", own]
        reason, wanted = "tests it", True
    for stem in dict.fromkeys(stems):
        rows = list(select(index.db, "SELECT id, path FROM files WHERE stem = ? AND id != ? LIMIT 50", stem, file))
        fits = [other for other, name in rows if is_test(name) == wanted]
        yield from ((reason, other, 1 / len(fits)) for other in fits)


_FOLDER = "SELECT id, path FROM files WHERE path >= ? AND path < ? AND id != ? LIMIT 200"
_COUNTED = {
    COMMITTED: "SELECT other, weight FROM together WHERE file = ?1"
    " UNION ALL SELECT file, weight FROM together WHERE other = ?1 ORDER BY 2 DESC, 1 LIMIT 50",
    "is imported by it": "SELECT target, 1.0 FROM uses WHERE file = ? LIMIT 200",
    "imports it": "SELECT file, 1.0 FROM uses WHERE target = ? LIMIT 200",
    "is called or inherited by it": """
SELECT theirs.file, count(DISTINCT theirs.id)
FROM symbols mine
CROSS JOIN mentions m ON m.symbol = mine.id
CROSS JOIN names n ON n.id = m.name
CROSS JOIN symbols theirs ON theirs.name = n.text
CROSS JOIN uses u ON u.file = mine.file AND u.target = theirs.file
WHERE mine.file = ? GROUP BY theirs.file
""",
    "calls or inherits it": """
SELECT theirs.file, count(DISTINCT mine.id)
FROM symbols mine
CROSS JOIN names n ON n.text = mine.name
CROSS JOIN mentions m ON m.name = n.id
CROSS JOIN symbols theirs ON theirs.id = m.symbol
CROSS JOIN uses u ON u.file = theirs.file AND u.target = ?1
WHERE mine.file = ?1 AND mine.kind != 'file' GROUP BY theirs.file
""",
}
"""How often a file is tied to another, for each reason that can be counted."""
