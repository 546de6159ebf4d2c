"""Measure which names in a text are linked to the symbol they mean.

python -m lab.benchmarks.code names REPOSITORY...    repositories may be bare; the newest commit is unpacked and indexed
"""

import random
import re
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from hivemind.code import git, links
from hivemind.code.grammars import find_language
from hivemind.code.index import CodeIndex
from hivemind.code.index_database import select

FORMS = ("{name} retries three times", "`{name}` must not be called twice", "Never call {name}() before start-up")
SAMPLE = 40
"""Names of each kind per repository."""


def main(repositories: Sequence[str]) -> None:
    tallies: dict[str, Counter[str]] = defaultdict(Counter)
    for repository in map(Path, repositories):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / re.sub(r"^.*[+]", "", repository.resolve().parent.name)
            root.mkdir()
            unpack(repository, root)
            subprocess.run(["git", "init", "-q", root], check=True)
            with CodeIndex.open(root, Path(folder) / "cache") as index:
                index.refresh()
                measure(index, tallies)
    for group, tally in tallies.items():
        shares = ", ".join(f"{outcome} {count / tally.total():.0%}" for outcome, count in tally.most_common())
        print(f"{group:<22} {tally.total():>4} names: {shares}")


def unpack(repository: Path, root: Path) -> None:
    """Write the code of the newest commit to a folder."""
    listing = git.run(repository, "ls-tree", "-r", "-z", "--name-only", "HEAD").decode("utf-8", "replace").split("\0")
    paths = [path for path in listing if find_language(path)]
    for start in range(0, len(paths), 500):
        sources = git.read_blobs(repository, [f"HEAD:{path}" for path in paths[start : start + 500]])
        for name, source in sources.items():
            target = root / name.removeprefix("HEAD:")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source)


def measure(index: CodeIndex, tallies: dict[str, Counter[str]]) -> None:
    """Count for each kind of name whether exactly its symbol was linked, it and others, others alone, or nothing."""
    draw = random.Random(3)
    query = "SELECT f.path, s.qualified, s.name FROM symbols s JOIN files f ON f.id = s.file"
    rows = [*select(index.db, f"{query} WHERE s.kind IN ('function', 'method', 'class', 'struct') ORDER BY s.id")]
    places: dict[str, set[tuple[str, str]]] = defaultdict(set)
    by_kind: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for path, qualified, name in rows:
        if re.search(r"test|vendor|example|fixture|sample", path, re.IGNORECASE) or not re.fullmatch(
            r"[\w.]+", qualified
        ):
            continue
        for kind, written in write_names(path, qualified, name):
            places[written].add((path, qualified))
            by_kind[kind].append((written, path, qualified))
    for kind, candidates in by_kind.items():
        # A name that several places have cannot be resolved by anybody.
        unique = [candidate for candidate in candidates if len(places[candidate[0]]) == 1]
        for written, path, qualified in draw.sample(unique, min(SAMPLE, len(unique))):
            text = draw.choice(FORMS).format(name=written)
            labels = {anchor.label for anchor in links.find_mentions(index, text)}
            outcome = judge(labels, f"{path}::{qualified}")
            for group in ("all", kind, find_language(path) or ""):
                tallies[group][outcome] += 1


def judge(labels: set[str], expected_label: str) -> str:
    if not labels:
        return "nothing"
    if labels == {expected_label}:
        return "exact"
    return "among others" if expected_label in labels else "wrong"


def write_names(path: str, qualified: str, name: str) -> list[tuple[str, str]]:
    """The ways in which people write the name of a symbol, each with its kind."""
    words, stem, folder = qualified.split("."), Path(path).stem, Path(path).parent.name
    written = []
    if len(words) > 1:
        written += [("Class.method", ".".join(words[-2:])), ("Type::method", "::".join(words[-2:]))]
    else:
        package = folder if path.endswith(".go") else stem
        written += [("module.function", f"{package}.{name}")] if re.fullmatch(r"\w+", package) else []
        written += [("plain name", name)] if "_" in name.strip("_") or re.search(r"[a-z][A-Z]", name) else []
    written += [("_private", name)] if re.match(r"_[a-z]", name) and len(words) == 1 else []
    return written
