"""Measure callers, and files found for a task, on any repository.

Callers: the truth for a function whose name nothing else in the tree has is every place where the name is followed by
a parenthesis, outside of comments and definitions. Tasks: the first line of a commit's message, answered in the tree
before the commit; the truth are the files that it changed. A search with git grep is the baseline.
"""

import random
import re
import statistics
import tempfile
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from hivemind.code import git, related_files
from hivemind.code.commit_index import BESIDE_CODE
from hivemind.code.grammars import find_language_family
from hivemind.code.index import CodeIndex
from hivemind.code.index_database import select
from hivemind.model.code import Symbol
from hivemind.text.search_terms import extract_terms
from lab.benchmarks.related import walk

SHOWN, MANY = 10, 40
MIN_NAME = 4
_COMMENT_LINE = re.compile(r"^\s*(?://|#(?!\s*define)|\*|/\*|--)")
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_DEFINITION = r"(?:\b(?:def|func|fn|function|class|fun)\s+(?:\([^)]*\)\s*)?)"


def measure_callers(repository: Path, count: int) -> None:
    """Print the share of the true callers that are found, for functions with a unique name."""
    with tempfile.TemporaryDirectory() as cache, CodeIndex.open(repository.resolve(), Path(cache)) as index:
        index.refresh()
        by_language: dict[str, list[tuple[int, int, int]]] = {}
        for symbol in _sample_unique(index, count):
            true_callers = _find_true_callers(index, symbol)
            found_callers = {caller.key for caller in related_files.find_callers(index, symbol).symbols}
            hits = len(true_callers & found_callers)
            by_language.setdefault(find_language_family(symbol.path), []).append(
                (hits, len(true_callers), len(found_callers))
            )
        for language, counts in by_language.items():
            hits, expected, shown = (sum(column) for column in zip(*counts, strict=True))
            # One function with the name of something in a library can have half of all "callers".
            per_function = statistics.mean(hits / expected for hits, expected, _ in counts)
            print(
                f"{repository.name} {language}: {len(counts)} functions, {expected} callers by text;"
                f" found {per_function:.3f} per function, {hits / expected:.3f} of all;"
                f" of those shown {hits / max(1, shown):.3f} are in the text"
            )


def _sample_unique(index: CodeIndex, count: int) -> list[Symbol]:
    query = (
        "SELECT name FROM symbols WHERE kind IN ('function', 'method') GROUP BY name"
        " HAVING count(*) = 1 AND length(name) >= ? ORDER BY name"
    )
    names = [name for (name,) in select(index.db, query, MIN_NAME)]
    random.Random(21).shuffle(names)
    symbols = (_find_unique(index, name) for name in names)
    # A function that nobody calls says nothing.
    callable_symbols = (symbol for symbol in symbols if symbol and _find_true_callers(index, symbol))
    return [symbol for symbol, _ in zip(callable_symbols, range(count), strict=False)]


def _find_unique(index: CodeIndex, name: str) -> Symbol | None:
    places = [(path, qualified) for path, qualified, kind in index.find_places([name]) if kind != "prototype"]
    symbols = [symbol for path, _ in places for symbol in index.read_symbols(path)] if len(places) == 1 else []
    symbols = [symbol for symbol in symbols if symbol.qualified == places[0][1] and symbol.kind != "prototype"]
    return symbols[0] if len(symbols) == 1 else None


def _find_true_callers(index: CodeIndex, symbol: Symbol) -> set[tuple[str, str, str, int]]:
    call = re.compile(rf"(?<![\w]){re.escape(symbol.name)}\s*(?:::<[^>]*>)?\(")
    definition = re.compile(_DEFINITION + re.escape(symbol.name) + r"\b")
    callers = set()
    for path in _files_with_word(index, symbol.name):
        if find_language_family(path) != find_language_family(symbol.path):
            continue
        lines = _read_lines(index.root / path)
        places = [
            number
            for number, line in enumerate(lines, start=1)
            if symbol.name in line
            and not _COMMENT_LINE.match(line)
            and call.search(_STRING.sub('""', line))
            and not definition.search(line)
        ]
        symbols = index.read_symbols(path) if places else []
        callers |= {_enclosing(symbols, place).key for place in places if not _is_declaration(symbols, place)}
    return callers - {symbol.key}


def _files_with_word(index: CodeIndex, name: str) -> list[str]:
    return git.find_files_with_word(index.root, name) or []


@lru_cache(maxsize=4096)
def _read_lines(path: Path) -> list[str]:
    return path.read_text("utf-8", "replace").splitlines()


def _is_declaration(symbols: Sequence[Symbol], line: int) -> bool:
    return any(symbol.line == line and symbol.kind == "prototype" for symbol in symbols) or any(
        symbol.line <= line <= symbol.end_line and symbol.kind == "prototype" for symbol in symbols
    )


def _enclosing(symbols: Sequence[Symbol], line: int) -> Symbol:
    around = [symbol for symbol in symbols if symbol.line <= line <= symbol.end_line]
    return min(around, key=lambda symbol: (symbol.end_line - symbol.line, -len(symbol.qualified)))


def print_edges(repository: Path, count: int) -> None:
    """Print random callers of functions whose name is not unique, to label them by hand."""
    with tempfile.TemporaryDirectory() as cache, CodeIndex.open(repository.resolve(), Path(cache)) as index:
        index.refresh()
        query = (
            "SELECT f.path, s.qualified FROM symbols s JOIN files f ON f.id = s.file"
            " WHERE s.kind IN ('function', 'method') ORDER BY f.path, s.line"
        )
        places = list(select(index.db, query))
        random.Random(7).shuffle(places)
        printed = 0
        for path, qualified in places:
            symbol = next(symbol for symbol in index.read_symbols(path) if symbol.qualified == qualified)
            callers = related_files.find_callers(index, symbol)
            if callers.symbols and callers.namesakes:
                caller = random.Random(printed).choice(callers.symbols)
                line = _first_mention(index, caller, symbol.name)
                print(f"{repository.name}\t{symbol.label}\t{caller.label}\t{line}")
                printed += 1
            if printed == count:
                return


def _first_mention(index: CodeIndex, caller: Symbol, name: str) -> str:
    lines = _read_lines(index.root / caller.path)[caller.line - 1 : caller.end_line]
    return next((line.strip() for line in lines if re.search(rf"\b{re.escape(name)}\b", line)), "?")


def measure_tasks(repository: Path, commits: int) -> None:
    """Print which share of a commit's files is found from its message, and that of a search with git grep.

    Each once with all files, and once with tests, documentation and changelogs behind the code, of which only the code
    counts.
    """
    shares: dict[str, list[float]] = {}
    for commit in walk(repository.resolve(), commits, fewest=1):
        code = [path for path in commit.files if not BESIDE_CODE.search(path)]
        rankings = {
            "related": [file.path for file in related_files.find_by_task(commit.tree_index, commit.subject, MANY)],
            "git grep": rank_by_grep(commit.tree_index.root, extract_terms(commit.subject)),
        }
        for name, files in rankings.items():
            shares.setdefault(f"{name}, all files", []).append(_share(files[:SHOWN], commit.files))
            if code:
                code_first = sorted(files, key=lambda path: BESIDE_CODE.search(path) is not None)
                shares.setdefault(f"{name}, code", []).append(_share(files[:SHOWN], code))
                shares.setdefault(f"{name}, code first", []).append(_share(code_first[:SHOWN], code))
    print(repository.parent.name)
    for name, values in shares.items():
        print(f"  recall@{SHOWN} {name:<24} {statistics.mean(values):.3f} over {len(values)} commits")


def rank_by_grep(root: Path, terms: Sequence[str]) -> list[str]:
    """Rank files as somebody does who greps for the words of a task: most different words first, then most lines."""
    words: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for term in terms:
        output = git.run(root, "grep", "-c", "-i", "-I", "--fixed-strings", "-e", term, may_find_nothing=True)
        for row in output.decode("utf-8", "replace").splitlines():
            path, _, count = row.rpartition(":")
            words[path] += 1
            lines[path] += int(count)
    return sorted(words, key=lambda path: (-words[path], -lines[path], path))


def _share(files: Sequence[str], expected: Sequence[str]) -> float:
    return len({*expected} & {*files}) / len(expected)
