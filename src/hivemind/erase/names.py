"""Find names of people, customers, tickets or values in a text, however they are spelled.

"ACME Corp" is named by acme-corp, ACME_Corp, AcmeCorp, "acme corp's" and acme.corp, but not by acme corporation; REQ-12
by req_12 and REQ12, but not by REQ-123. A name ends where an identifier or address would not go on: REQ-12 is not in
REQ-12.1, and x@y.example not in x@y.example.org.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from hivemind.errors import InvalidInput
from hivemind.text.clean import neutralise, validate_label
from hivemind.text.escapes import decode
from hivemind.text.imprint import SEPARATOR, fold, normalise, word_pattern

PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_]+")
"""The parts of a camel-case identifier; only Latin letters have such parts."""
JOINT = re.compile(r"[-_./\\:@#+~&'’]{1,2}")
"""Characters that may join the parts of an identifier."""
GAP = re.compile(r"\s*[^\w\s]{0,2}\s*")
"""Characters that may separate two words of a name."""
NOT_A_LETTER = re.compile(r"[\W_]+")
ASCII_PUNCTUATION = str.maketrans("", "", "".join(chr(code) for code in range(128) if not chr(code).isalnum()))
ADDRESS = re.compile(r"\w@|\w\.\w")
"""What only an address, a host or a file's name has."""
ADDRESS_JOINTS = frozenset({"", ".", "-"})
"""With these a host goes on; behind a mail address or in a path stand others."""
LOCAL_PART_JOINTS = frozenset({"", ".", "-", "_", "+"})
NUMBER_JOINTS = frozenset({".", "-", "_"})
LATIN_LETTERS = {
    "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ħ": "h", "ŧ": "t", "ŋ": "ng", "ı": "i",
    "ß": "ss", "ĸ": "k",
}  # fmt: skip
"""Letters that Unicode does not take apart into a base letter and a mark."""
AS_BASE_LETTERS = str.maketrans(
    LATIN_LETTERS | {letter.upper(): base.capitalize() for letter, base in LATIN_LETTERS.items() if letter not in "ßıĸ"}
)
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
    gap: str
    """What stands between the part before it and this one."""


@dataclass(frozen=True, slots=True)
class NamePattern:
    """A name to search for, independent of its spelling."""

    label: str
    forms: frozenset[str]
    """Its letters and digits without separators, in each inflection."""
    borders: frozenset[int]
    """Positions in them where a word ends."""
    is_address: bool = False
    """Whether it is an address, a host or a file's name."""
    is_mail: bool = False

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
        words = [fold(_strip_accents(word)) for word in word_pattern().findall(label) if word]
        last = words[-1] if words and letters.endswith(words[-1]) else parts[-1]
        is_address = ADDRESS.search(label) is not None
        # An address has no plural.
        forms = {letters} if is_address else {letters.removesuffix(last) + form for form in _inflect(last)}
        return cls(label, frozenset(forms), frozenset(ends), is_address=is_address, is_mail="@" in label)

    def may_be_in(self, text: str) -> bool:
        """A fast check whether a text may contain the name; ``excerpt`` is exact."""
        if self._has_letters_in(text):
            return True
        decoded = decode(text)
        return decoded is not None and self._has_letters_in(decoded.text)

    def excerpt(self, text: str) -> str:
        """A short line around the first occurrence of the name; empty if there is none."""
        return self._excerpt(text) or ((decoded := decode(text)) is not None and self._excerpt(decoded.text)) or ""

    def _excerpt(self, text: str) -> str:
        span = self._find(text)
        if span is None:
            return ""
        start, end = max(0, span[0] - EXCERPT_MARGIN), min(len(text), span[1] + EXCERPT_MARGIN)
        passage = " ".join(neutralise(text[start:end]).split())
        return f"{'… ' if start else ''}{passage}{' …' if end < len(text) else ''}"

    def _has_letters_in(self, text: str) -> bool:
        letters = _squeeze(text)
        return any(form in letters for form in self.forms)

    def _find(self, text: str) -> tuple[int, int] | None:
        """Start and end of the first occurrence of the name; none if there is none."""
        if not self._has_letters_in(text):
            return None
        parts = list(_split_parts(text))
        for index, first in enumerate(parts):
            last = self._find_last(parts, index)
            if last is not None and not self._is_part_of_another(parts, index, last):
                return first.start, parts[last].end
        return None

    def _is_part_of_another(self, parts: list[_Part], first: int, last: int) -> bool:
        """Whether an address or number goes on before or after these parts, so that it is another one."""
        following = parts[last + 1] if last + 1 < len(parts) and parts[last + 1].is_joined else None
        is_after_another = first > 0 and parts[first].is_joined
        if following and self.is_address and following.gap in ADDRESS_JOINTS:
            return True
        if is_after_another and self.is_mail and parts[first].gap in LOCAL_PART_JOINTS:
            return True
        return (following is not None and _continues_number(parts[last], following)) or (
            is_after_another and _continues_number(parts[first - 1], parts[first])
        )

    def _find_last(self, parts: list[_Part], first: int) -> int | None:
        """The index of the last part of a name that begins with this part; none if none does."""
        letters = ""
        max_length = max(map(len, self.forms))
        for index, part in enumerate(parts[first:], start=first):
            if letters and not self._may_follow(letters, part):
                return None
            letters += part.text
            if letters in self.forms:
                return index
            if len(letters) >= max_length:
                return None
        return None

    def _may_follow(self, letters: str, part: _Part) -> bool:
        if len(letters) in self.borders:
            return part.is_joined or part.is_near
        # REQ1-2 is not REQ12.
        return part.is_joined and not (letters[-1].isdigit() and part.text[0].isdigit())


def _continues_number(part: _Part, following: _Part) -> bool:
    """Whether two digits are joined as in INC-4407.1 or 1.2.0."""
    return following.gap in NUMBER_JOINTS and part.text[-1].isdigit() and following.text[0].isdigit()


def _split_parts(text: str) -> Iterator[_Part]:
    end = 0
    for word in word_pattern().finditer(text):
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
                    gap="" if inside else gap,
                )  # fmt: skip


def _strip_accents(word: str) -> str:
    if word.isascii():
        return word
    letters = unicodedata.normalize("NFKD", neutralise(word)).translate(AS_BASE_LETTERS)
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def _squeeze(text: str) -> str:
    if any(mark in text for mark in "\\\t→"):
        text = SEPARATOR.sub(" ", text)
    if text.isascii():
        return text.lower().translate(ASCII_PUNCTUATION)
    return NOT_A_LETTER.sub("", normalise(text).translate(AS_BASE_LETTERS))


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
