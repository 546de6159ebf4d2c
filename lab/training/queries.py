"""Texts and queries of the pairs, numbered, with made-up queries beside the natural ones."""

import random
import re
from collections.abc import Iterator, Sequence

from lab.training.asking import ask_about
from lab.training.pairs import Pair

STOP_WORDS = frozenset(
    "the a an of to in for is and or with on at this that it as be are was if by from not".split()  # noqa: SIM905
)


class Rows:
    """Distinct texts, and queries with the number of their text.

    A translation's source is the number of the English text or query whose vectors it is to have.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self.texts: list[str] = []
        self._query_numbers: dict[str, int] = {}
        self.text_sources: list[int] = []
        self.queries: list[str] = []
        self.query_sources: list[int] = []
        self.owners: list[int] = []
        self.kinds: list[str] = []
        self.are_natural: list[bool] = []

    def add_text(self, text: str, english: str = "") -> int:
        """Return the number of a text."""
        source = self.add_text(english) if english else -1
        number = self._numbers.setdefault(text, len(self.texts))
        if number == len(self.texts):
            self.texts.append(text)
            self.text_sources.append(source if source >= 0 else number)
        return number

    def add_query(self, kind: str, query: str, text: int, *, is_natural: bool, english: str = "") -> None:
        """Add a query for a text; the English original of a translated query becomes a query of that text too."""
        source = -1
        if english:
            source = self._query_numbers.get(english, -1)
            if source < 0:
                self.add_query(kind, english, self.text_sources[text], is_natural=is_natural)
                source = self._query_numbers[english]
        number = len(self.queries)
        self._query_numbers.setdefault(query, number)
        self.queries.append(query)
        self.query_sources.append(source if source >= 0 else number)
        self.owners.append(text)
        self.kinds.append(kind)
        self.are_natural.append(is_natural)


def expand(pairs: Sequence[Pair], rng: random.Random) -> Rows:
    """Return the texts and queries of the pairs, and made-up queries."""
    rows = Rows()
    for pair in pairs:
        kind = "other" if pair.kind.startswith("other") else pair.kind
        number = rows.add_text(pair.text, pair.english_text)
        if len(pair.query) > (1 if kind == "other" else 8):
            rows.add_query(kind, pair.query, number, is_natural=pair.is_natural, english=pair.english_query)
        for query, is_natural in make_queries(kind, pair, rng):
            rows.add_query(kind, query, number, is_natural=is_natural)
    return rows


TALK = (
    "When did {name} {a}?",
    "What did {name} say about {a} {b}?",
    "What {a} does {name} like?",
    "Where did {name} go for {a} {b}?",
    "How many {a} did {name} {b}?",
    "Why did {name} {a} {b}?",
    "What is {name}'s {a} {b}?",
    "Did I mention {a} {b}?",
    "what did we talk about regarding {a} and {b}",
)
WORK = ("how do we {a} {b}?", "where is {a} {b} handled?", "{a} {b} {c}", "why does {a} fail with {b}?", "{a} {b}")


def make_queries(kind: str, pair: Pair, rng: random.Random) -> Iterator[tuple[str, bool]]:
    """Yield a made-up question about what a text says or from its words, and a web search from a function's comment."""
    words = re.findall(r"[A-Za-z][a-z']{2,}", re.sub(r"([a-z])([A-Z])", r"\1 \2", pair.text.replace("_", " ")))
    words = [word for word in words if word.lower() not in STOP_WORDS]
    if kind in {"talk", "transcript"} and (question := ask_about(pair.text, rng)):
        yield question, False
    elif kind == "talk":
        if len(words) >= 6 and rng.random() < 0.35:
            name = re.match(r"[A-Z][a-z]+(?=:)", pair.text)
            start = rng.randrange(len(words) - 2)
            a, b = words[start : start + 2] if rng.random() < 0.5 else rng.sample(words, 2)
            yield rng.choice(TALK).format(name=name[0] if name else "I", a=a.lower(), b=b.lower()), False
    elif kind != "other" and len(words) >= 6 and rng.random() < (0.6 if kind == "rule" else 0.2):
        start = rng.randrange(len(words) - 3)
        a, b, c = (word.lower() for word in words[start : start + 3])
        yield rng.choice(WORK).format(a=a, b=b, c=c), False
    if kind in {"python", "code"} and pair.is_natural:
        first = re.split(r"(?<=[.;:])\s", pair.query)[0].lower().strip(" .:;")
        short = " ".join([word for word in first.split() if word not in STOP_WORDS or rng.random() < 0.4][:9])
        short = re.sub(r"^(returns|gets|sets|checks|creates|converts|finds|reads|writes)\b", lambda m: m[0][:-1], short)
        form = rng.choice(("python {}", "{} python", "how to {} in python", "{}")) if kind == "python" else "{}"
        if len(short) > 8:
            yield form.format(short), True
