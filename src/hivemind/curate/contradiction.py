"""Whether two statements say the same, or cannot both hold.

No model is asked. Three shapes are recognised, because people correct themselves in these: the same sentence with
another value, the same sentence turned into its opposite, and a statement that names what it replaces. What merely
speaks of the same thing is not a contradiction.
"""

import re
from dataclasses import dataclass

from hivemind.model.values import normalised

NEGATION = re.compile(
    r"\b(?:not|never|no longer|no|don't|doesn't|didn't|isn't|aren't|won't|can't|cannot|must not|avoid|without"
    r"|stop|stopped)\b"
)
RELATION = re.compile(
    r"\b(?P<relation>is now|are now|is|are|was|were|equals|uses?|using|used|runs? on|runs? at|runs?|lives? in|lives? at"
    r"|listens? on|points? to|goes? to|go to|defaults? to|deploys? to|depends? on"
    r"|(?:has |have )?(?:moved|switched|migrated|changed) (?:from \S+ )?to|replaced by|became|stays?|requires?"
    r"|needs?)\b"
)
CHANGE = re.compile(r"\b(?:moved|switched|migrated|changed|replaced|became|now)\b")
INSTEAD = re.compile(
    r"(?:(?:,| and| but) not|\b(?:instead of|rather than|replaced|replaces|dropped|away from|moved from|switched from"
    r"|migrated from|no longer (?:uses?|using|runs?|running|deploys? to|depends?|on)"
    r"|(?:prefers?|preferred|choose|chose|picked) \S+ over))\s+(?:use |using |on |the |a )?"
    r"(?P<old>(?!\w+ing\b)[\w.+#/-]+)"
)
SETTING = re.compile(
    r"(?!(?:fix|feat|chore|docs|test|perf|refactor|build|ci|style):)([a-z]+(?: [a-z]+){0,2})(?<!s): ([\w.-]+)"
)
"""One word under a name for one thing; under a heading for several it would be an entry of a list."""
CODE = re.compile(r"`[^`]*`")
VALUE = re.compile(r"\d|[./:_@-]\w|^v\d")
ANYBODY = {"we", "i", "you", "they", "it", "this", "that", "there", "everyone", "the team", "our team", "the project"}
FILLER = {"the", "a", "an", "our", "my", "your", "its", "all", "now", "currently", "always", "please", "still"}
LONGEST_TEXT = 400
MOST_WORDS = 12
"""People correct themselves in short sentences; two long ones that share a subject merely speak of the same thing."""
MOST_OF_A_VALUE = 3


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence taken apart: who or what, the relation, and what is said of it."""

    subject: tuple[str, ...]
    relation: str
    object: tuple[str, ...]
    is_change: bool = False


def contradiction(new: str, old: str) -> str:
    """Why two texts cannot both hold, in plain words; empty if they can."""
    if max(len(new), len(old)) > LONGEST_TEXT or normalised(new) == normalised(old):
        return ""
    for one in _sentences(new):
        for other in _sentences(old):
            reason = _opposite(one, other) or _replaces(one, other) or _replaces(other, one) or _other_value(one, other)
            if reason:
                return reason
    return ""


def telling_words(text: str) -> list[str]:
    """The words that a statement contradicting this one would share: its subject, else its longest words."""
    sentence = next(iter(_sentences(text)), "")
    statement = _statement(sentence)
    words = [word for word in statement.subject if word not in ANYBODY] if statement else []
    if not words:
        plain = [word for word in _words(NEGATION.sub(" ", sentence)) if not VALUE.search(word) and len(word) > 3]
        words = sorted(plain, key=len, reverse=True)
    return [word for word in words if word.isalnum()][:2]


def named_as_replaced(text: str) -> list[str]:
    """What a text says is no longer so: Jest, in "Vitest, not Jest"."""
    return [match["old"] for match in INSTEAD.finditer(text.lower())]


def _sentences(text: str) -> list[str]:
    parts = (part.strip() for part in re.split(r"(?<=[.!?;])\s|\n", text.lower()))
    said = [part for part in parts if part and not part.rstrip("*_").endswith(":")]
    # A setting is a text of its own; at the end of another it is a reference.
    return [
        part for part in said if len(part.split()) <= MOST_WORDS and (len(said) == 1 or not SETTING.fullmatch(part))
    ]


def _opposite(one: str, other: str) -> str:
    """The same words, one of them negated."""
    if bool(NEGATION.search(one)) == bool(NEGATION.search(other)):
        return ""
    a, b = (frozenset(_words(NEGATION.sub(" ", text))) - {"do", "does", "always"} for text in (one, other))
    return "one says the opposite of the other" if a == b and len(a) > 1 else ""


def _replaces(one: str, other: str) -> str:
    """One names as given up what the other still says, about the same thing."""
    given_up = set(named_as_replaced(one))
    statement, said = _statement(one), _statement(other)
    still = next((word for word in said.object if word in given_up), "") if said else ""
    if not said or not still or NEGATION.search(other) or not _is_used(still, said.object):
        return ""
    if statement is None:
        same_thing = _is_anybody(said.subject) and len(one.split()) <= MOST_WORDS // 2
    else:
        same_thing = statement.subject == said.subject or all(_is_anybody(s.subject[:1]) for s in (statement, said))
    return f"one gives up {still}" if same_thing else ""


def _is_used(word: str, said: tuple[str, ...]) -> bool:
    """Whether a sentence is about the word, and does not just mention it."""
    at = said.index(word)
    return at == 0 or said[at - 1] in {"use", "uses", "using"}


def _other_value(one: str, other: str) -> str:
    """The same subject and relation with another value."""
    a, b = _statement(one), _statement(other)
    if a is None or b is None or a.subject != b.subject or _is_anybody(a.subject) or a.object == b.object:
        return ""
    changed = a.is_change != b.is_change and max(len(a.object), len(b.object)) <= MOST_OF_A_VALUE
    if not changed and (a.relation != b.relation or not _alike(a.object, b.object)):
        return ""
    return f"{' '.join(a.subject)}: {' '.join(a.object)} against {' '.join(b.object)}"


def _alike(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """Two values of one thing: both a single word, or the same words around a number or name."""
    if len(a) == len(b) == 1:
        return True
    differing = [pair for pair in zip(a, b, strict=False) if pair[0] != pair[1]]
    return len(a) == len(b) and len(differing) == 1 and all(VALUE.search(word) for word in differing[0])


def _statement(sentence: str) -> Statement | None:
    found = RELATION.search(CODE.sub(lambda code: "_" * len(code[0]), sentence))
    if found is None:
        setting = SETTING.fullmatch(sentence)
        return Statement(tuple(_words(setting[1])), ":", tuple(_words(setting[2]))) if setting else None
    subject, rest = _words(sentence[: found.start()]), _words(sentence[found.end() :])
    if not subject or not rest:
        return None
    is_change = bool(CHANGE.search(found["relation"]))
    return Statement(tuple(subject), _kind_of(found["relation"]), tuple(rest), is_change)


def _kind_of(relation: str) -> str:
    """Relations that say the same about a thing: what it is, or what it makes use of."""
    first = relation.split(maxsplit=1)[0].rstrip("s")
    return "is" if first in {"i", "are", "wa", "were", "equal", "became", "stay"} else first


def _words(text: str) -> list[str]:
    return [word for word in re.findall(r"[\w.+#/@:%-]*\w[\w+#%]*", text) if word not in FILLER]


def _is_anybody(subject: tuple[str, ...]) -> bool:
    return " ".join(subject) in ANYBODY or all(word in ANYBODY for word in subject)
