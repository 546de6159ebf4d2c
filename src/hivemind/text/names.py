"""Find names of people, customers, tickets or values in a text, however they are spelled.

"ACME Corp" is named by acme-corp, ACME_Corp, AcmeCorp, "acme corp's" and acme.corp, but not by acme corporation; REQ-12
by req_12 and REQ12, but not by REQ-123.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from hivemind.errors import InvalidInput
from hivemind.text.clean import neutralise, validate_label
from hivemind.text.imprint import SEPARATOR, WORD, fold
from hivemind.text.normalise import normalise

PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_]+")
"""The parts of a camel-case identifier; only Latin letters have such parts."""
JOINT = re.compile(r"[-_./\\:@#+~&'’]{1,2}")
"""Characters that may join the parts of an identifier."""
GAP = re.compile(r"\s*[^\w\s]{0,2}\s*")
"""Characters that may separate two words of a name."""
NOT_A_LETTER = re.compile(r"[\W_]+")
ASCII_PUNCTUATION = str.maketrans("", "", "".join(chr(code) for code in range(128) if not chr(code).isalnum()))
MIN_LETTERS = 2
EXCERPT_MARGIN = 40
"""Characters that an excerpt shows on either side of the name."""


@dataclass(frozen=True, slots=True)
class _Part:
    text: str
    start: int
    end: int
    is_joined: bool
    """Joined to the part before it, as in an identifier."""
    is_near: bool
    """As close to the part before it as the words of a name."""


@dataclass(frozen=True, slots=True)
class NamePattern:
    """A name to search for, independent of its spelling."""

    label: str
    forms: frozenset[str]
    """Its letters and digits without separators, in each inflection."""
    borders: frozenset[int]
    """Positions in them where a word ends."""

    @classmethod
    def parse(cls, text: str) -> "NamePattern":
        """Parse a name that a person typed; raises InvalidInput with what to correct."""
        label = validate_label(text, "the name")
        parts = [part.text for part in _split_parts(label)]
        letters = "".join(parts)
        if len(letters) < MIN_LETTERS:
            raise InvalidInput(f"{label!r} is too short to search for; give at least two letters or digits")
        ends = {sum(map(len, parts[:count])) for count in range(1, len(parts) + 1)}
        # The last word as the person separated it may be a whole identifier of several parts.
        words = [fold(word) for word in WORD.findall(label) if word]
        last = words[-1] if words and letters.endswith(words[-1]) else parts[-1]
        forms = {letters.removesuffix(last) + form for form in _inflect(last)}
        return cls(label, frozenset(forms), frozenset(ends))

    def may_be_in(self, text: str) -> bool:
        """A fast check whether a text may contain the name; ``find`` is exact."""
        letters = _squeeze(text)
        return any(form in letters for form in self.forms)

    def find(self, text: str) -> tuple[int, int] | None:
        """Start and end of the first occurrence of the name; none if there is none."""
        if not self.may_be_in(text):
            return None
        parts = list(_split_parts(text))
        for index, first in enumerate(parts):
            end = self._find_end(parts, index)
            if end is not None:
                return first.start, end
        return None

    def excerpt(self, text: str) -> str:
        """A short line around the first occurrence of the name; empty if there is none."""
        span = self.find(text)
        if span is None:
            return ""
        start, end = max(0, span[0] - EXCERPT_MARGIN), min(len(text), span[1] + EXCERPT_MARGIN)
        passage = " ".join(neutralise(text[start:end]).split())
        return f"{'… ' if start else ''}{passage}{' …' if end < len(text) else ''}"

    def _find_end(self, parts: list[_Part], index: int) -> int | None:
        """The end of a name that begins with this part; none if none does."""
        letters = ""
        max_length = max(map(len, self.forms))
        for part in parts[index:]:
            if letters and not self._may_follow(letters, part):
                return None
            letters += part.text
            if letters in self.forms:
                return part.end
            if len(letters) >= max_length:
                return None
        return None

    def _may_follow(self, letters: str, part: _Part) -> bool:
        if len(letters) in self.borders:
            return part.is_joined or part.is_near
        # REQ1-2 is not REQ12.
        return part.is_joined and not (letters[-1].isdigit() and part.text[0].isdigit())


def _split_parts(text: str) -> Iterator[_Part]:
    end = 0
    for word in WORD.finditer(text):
        if not word[1]:
            continue
        start, gap = word.start(1), SEPARATOR.sub(" ", text[end : word.start(1)])
        is_first = end == 0
        end = word.end(1)
        humps = PART.findall(_strip_accents(word[1])) or [word[1]]
        for index, hump in enumerate(humps):
            if part := fold(hump):
                inside = index > 0
                yield _Part(
                    part, start, end,
                    is_joined=inside or (not is_first and JOINT.fullmatch(gap) is not None),
                    is_near=inside or (not is_first and GAP.fullmatch(gap) is not None),
                )  # fmt: skip


def _strip_accents(word: str) -> str:
    if word.isascii():
        return word
    return "".join(char for char in unicodedata.normalize("NFKD", neutralise(word)) if not unicodedata.combining(char))


def _squeeze(text: str) -> str:
    if any(mark in text for mark in "\\\t→"):
        text = SEPARATOR.sub(" ", text)
    if text.isascii():
        return text.lower().translate(ASCII_PUNCTUATION)
    return NOT_A_LETTER.sub("", normalise(text))


def _inflect(word: str) -> set[str]:
    """A word, its singular and its plural, by the rules of English."""
    # Digits and words of one or two letters have no plural.
    if not word.isalpha() or len(word) < 3:
        return {word}
    if word.endswith("ies") and len(word) > 4:
        single = word[:-3] + "y"
    elif word.endswith(("sses", "xes", "ches", "shes", "zes")):
        single = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        single = word[:-1]
    else:
        single = word
    plural = single[:-1] + "ies" if single.endswith("y") else single + "s"
    has_es_plural = single.endswith(("s", "x", "z", "ch", "sh"))
    return {word, single, plural} | ({single + "es"} if has_es_plural else set())
