"""Whether a text names a person, customer, ticket or value, in whichever way names are written.

"ACME Corp" is named by acme-corp, ACME_Corp, AcmeCorp, "acme corp's" and acme.corp, but not by acme corporation; REQ-12
by req_12 and REQ12, but not by REQ-123.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from hivemind.errors import InvalidInput
from hivemind.model.imprint import ASIDE, WORD, fold
from hivemind.model.text import checked_label, neutral
from hivemind.model.values import normalised

PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_]+")
"""The humps of an identifier; only Latin letters have any."""
JOINTS = re.compile(r"[-_./\\:@#+~&'’]{1,2}")
"""What may stand anywhere in an identifier."""
APART = re.compile(r"\s*[^\w\s]{0,2}\s*")
"""What may stand between two words of a name."""
NOT_A_LETTER = re.compile(r"[\W_]+")
PLAIN = str.maketrans("", "", "".join(chr(code) for code in range(128) if not chr(code).isalnum()))
SHORTEST = 2
AROUND = 40
"""Characters that are shown on either side of a name."""


@dataclass(frozen=True, slots=True)
class _Part:
    text: str
    start: int
    end: int
    is_joined: bool
    """To the part before it, as in an identifier."""
    is_near: bool
    """To the part before it, as the words of a name are."""


@dataclass(frozen=True, slots=True)
class Name:
    """What somebody asks for, freed of how it is written."""

    written: str
    forms: frozenset[str]
    """Its letters and digits without anything between them, in each inflection."""
    borders: frozenset[int]
    """Where in them a word ends."""

    @classmethod
    def parse(cls, text: str) -> "Name":
        """The name that a person typed, or an error that says what to mend."""
        written = checked_label(text, "the name")
        parts = [part.text for part in _parts(written)]
        squeezed = "".join(parts)
        if len(squeezed) < SHORTEST:
            raise InvalidInput(f"{written!r} is too short to look for; give at least two letters or digits")
        ends = {sum(map(len, parts[:count])) for count in range(1, len(parts) + 1)}
        # Words are known by the spaces and hyphens somebody typed; a single one may still be an identifier.
        words = [fold(one) for one in WORD.findall(written) if one]
        last = words[-1] if words and squeezed.endswith(words[-1]) else parts[-1]
        forms = {squeezed.removesuffix(last) + form for form in _inflections(last)}
        return cls(written, frozenset(forms), frozenset(ends))

    def may_be_in(self, text: str) -> bool:
        """A quick look; whoever wants to be sure asks ``find``."""
        squeezed = _squeezed(text)
        return any(form in squeezed for form in self.forms)

    def find(self, text: str) -> tuple[int, int] | None:
        """Where a text first names it; nothing if it does not."""
        if not self.may_be_in(text):
            return None
        parts = list(_parts(text))
        for at, first in enumerate(parts):
            end = self._ends(parts, at)
            if end is not None:
                return first.start, end
        return None

    def excerpt(self, text: str) -> str:
        """A short line around the place where a text names it; empty if it does not."""
        place = self.find(text)
        if place is None:
            return ""
        start, end = max(0, place[0] - AROUND), min(len(text), place[1] + AROUND)
        cut = " ".join(neutral(text[start:end]).split())
        return f"{'… ' if start else ''}{cut}{' …' if end < len(text) else ''}"

    def _ends(self, parts: list[_Part], at: int) -> int | None:
        """Where the name ends that begins with this part; nothing if none does."""
        said = ""
        longest = max(map(len, self.forms))
        for part in parts[at:]:
            if said and not self._may_follow(said, part):
                return None
            said += part.text
            if said in self.forms:
                return part.end
            if len(said) >= longest:
                return None
        return None

    def _may_follow(self, said: str, part: _Part) -> bool:
        if len(said) in self.borders:
            return part.is_joined or part.is_near
        # 1-2 is not 12.
        return part.is_joined and not (said[-1].isdigit() and part.text[0].isdigit())


def _parts(text: str) -> Iterator[_Part]:
    end = 0
    for word in WORD.finditer(text):
        if not word[1]:
            continue
        start, gap = word.start(1), ASIDE.sub(" ", text[end : word.start(1)])
        is_first = end == 0
        end = word.end(1)
        humps = PART.findall(_without_accents(word[1])) or [word[1]]
        for place, hump in enumerate(humps):
            if part := fold(hump):
                inside = place > 0
                yield _Part(
                    part, start, end,
                    is_joined=inside or (not is_first and JOINTS.fullmatch(gap) is not None),
                    is_near=inside or (not is_first and APART.fullmatch(gap) is not None),
                )  # fmt: skip


def _without_accents(word: str) -> str:
    if word.isascii():
        return word
    return "".join(one for one in unicodedata.normalize("NFKD", neutral(word)) if not unicodedata.combining(one))


def _squeezed(text: str) -> str:
    if "\\" in text or "\t" in text:
        text = ASIDE.sub(" ", text)
    if text.isascii():
        return text.lower().translate(PLAIN)
    return NOT_A_LETTER.sub("", normalised(text))


def _inflections(word: str) -> set[str]:
    """A word, its singular and its plural, as English and its neighbours form them."""
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
    return (
        {word, single, plural, single + "es"}
        if single.endswith(("s", "x", "z", "ch", "sh"))
        else {
            word,
            single,
            plural,
        }
    )
