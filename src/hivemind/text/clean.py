"""Validate text from outside, and make it safe to show."""

import re
import unicodedata
from collections.abc import Iterable
from itertools import takewhile
from os import PathLike, fspath
from os.path import expanduser
from pathlib import Path

from hivemind.errors import InvalidInput

MAX_TEXT_BYTES = 64 * 1024
"""Bytes of one memory; longer texts belong into a file, which a memory can point to."""
LONGEST_REQUEST = 1024 * 1024
LONGEST_LABEL = 200

CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""Control characters other than tab, newline and carriage return; terminals execute them."""

INVISIBLE_CHARACTERS = re.compile(
    # A flag such as Scotland's is spelled in tag characters; only that spelling is kept.
    "(?P<kept>\U0001f3f4[\U000e0061-\U000e007a]{4,6}\U000e007f"
    # One joiner between two letters of a script that needs it, or between two emoji.
    "|(?<=[^\x00-\x7f\u2000-\u206f])[\u200c\u200d](?=[^\x00-\x7f\u2000-\u206f]))"
    "|[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
"""Invisible characters that can hide or reorder text."""

LINE_ENDS = re.compile("\r\n|[\r\x85\u2028\u2029]")
UNSAFE_CHARACTERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
UNSHOWABLE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Unprintable characters that JSON does not escape itself, unlike the control characters below U+0020."""
PILED_MARKS = re.compile("([\u0300-\u036f]{4})[\u0300-\u036f]+")
"""More than four accents on one letter; stacked marks can cover the lines above and below."""


def check_text(text: str, what: str) -> str:
    """The text unchanged; raises InvalidInput if a program gave something else."""
    if not isinstance(text, str):
        raise InvalidInput(f"{what} must be text, not {type(text).__name__}")
    return text


Texts = str | PathLike[str] | Iterable[str | PathLike[str]]
"""One text or path, or several of them."""


def list_texts(texts: Texts | None, what: str) -> tuple[str, ...]:
    """Several texts or paths; one alone may be given without a list."""
    if texts is None:
        return ()
    if isinstance(texts, str | PathLike):
        texts = [texts]
    if isinstance(texts, bytes) or not isinstance(texts, Iterable):
        raise InvalidInput(f"{what} must be a list of texts, not {type(texts).__name__}")
    return tuple(check_text(fspath(text) if isinstance(text, PathLike) else text, f"each {what}") for text in texts)


def expand_path(value: str | PathLike[str], what: str) -> Path:
    """A path as a person writes it, with ``~`` for a home directory; raises InvalidInput if it is no path."""
    if not isinstance(value, str | PathLike):
        raise InvalidInput(f"{what} must be a path, not {type(value).__name__}")
    return Path(expanduser(value))


def validate_text(text: str, what: str = "the text", *, longest: int = MAX_TEXT_BYTES) -> str:
    """The text, stripped; raises InvalidInput with what to correct."""
    text = check_text(text, what).replace("\r\n", "\n").strip()
    if not text:
        raise InvalidInput(f"{what} is empty; give it some words")
    if "\x00" in text:
        raise InvalidInput(f"{what} contains a NUL byte; remove it")
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        at = error.start
        raise InvalidInput(f"{what} is not valid Unicode at character {at}; save it as UTF-8") from None
    if size > longest:
        raise InvalidInput(f"{what} has {size:,} bytes, the limit is {longest:,}; shorten it or point at a file")
    control_character = CONTROL_CHARACTERS.search(text)
    if control_character:
        code = f"U+{ord(control_character[0]):04X}"
        raise InvalidInput(f"{what} contains the control character {code}; remove it")
    return text


def validate_label(text: str, what: str) -> str:
    """A short single line, such as a tag or a subject; raises InvalidInput with what to correct."""
    label = validate_text(text, what, longest=LONGEST_LABEL)
    if "\n" in label or "\t" in label:
        raise InvalidInput(f"{what} has several lines; write it on one line")
    return label


def decode_text(raw: bytes, what: str = "the text") -> str:
    """Decode bytes as UTF-8; raises InvalidInput with what to correct."""
    if len(raw) > LONGEST_REQUEST:
        raise InvalidInput(f"{what} has {len(raw):,} bytes, the limit is {LONGEST_REQUEST:,}; shorten it")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{what} is not valid UTF-8 at byte {error.start}; save it as UTF-8") from None


def neutralise(text: str) -> str:
    """Text without control and invisible characters, which a terminal would execute or a person would not see."""
    # Most lines are plain; the four patterns below would take six times as long to find nothing.
    if text.isascii() and text.isprintable():
        return text
    lines = LINE_ENDS.sub("\n", text)
    # Control characters leave a visible replacement character; invisible ones leave nothing.
    visible_text = INVISIBLE_CHARACTERS.sub(lambda match: match["kept"] or "", UNSAFE_CHARACTERS.sub("\ufffd", lines))
    return PILED_MARKS.sub(r"\1", visible_text)


def escape_json(json_text: str) -> str:
    """JSON with control and invisible characters escaped; its value stays the same."""
    visible_text = INVISIBLE_CHARACTERS.sub(lambda match: match["kept"] or _escape_character(match[0]), json_text)
    return UNSHOWABLE.sub(lambda match: _escape_character(match[0]), visible_text)


def _escape_character(character: str) -> str:
    """A character as a JSON escape; one beyond U+FFFF takes two."""
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def parse_tags(labels: str | Iterable[str] | None) -> tuple[str, ...]:
    """Tags from ``"a, b"`` or a list: lower case, each once, in order."""
    parts = labels.split(",") if isinstance(labels, str) else list_texts(labels, "tag")
    valid_tags = [validate_label(part, "a tag").lower() for part in parts if part.strip()]
    return tuple(dict.fromkeys(valid_tags))


def plural(count: int, noun: str) -> str:
    """A count with its noun in the right number: "1 memory", "2 memories"."""
    if count == 1:
        return f"1 {noun}"
    # "entry" becomes "entries", but "day" becomes "days".
    is_ies = noun.endswith("y") and noun[-2] not in "aeou"
    return f"{count:,} {noun[:-1]}ies" if is_ies else f"{count:,} {noun}s"


def count_equal(items: Iterable[str], others: Iterable[str]) -> int:
    """How many strings are the same at the beginning of both."""
    return len([*takewhile(lambda pair: pair[0] == pair[1], zip(items, others, strict=False))])


def first_line(text: str, longest: int = 100) -> str:
    """The first line, cut at a word if it is too long; all Unicode line ends count."""
    line = unicodedata.normalize("NFC", neutralise(text).strip().split("\n", 1)[0])
    if len(line) <= longest:
        return line
    shortened_line = line[:longest].rsplit(" ", 1)[0]
    return shortened_line + " …"


def cut_between_words(text: str, longest: int) -> str:
    """A text cut between words, with a mark where something was left out."""
    if len(text) <= longest:
        return text
    return text[: max(text.rfind(" ", 0, longest - 1), 0)].rstrip(" ,;:") + " …"
