"""Split texts into passages and words for the search index, identifiers both whole and in parts.

The index stems English only, so words of other scripts and languages are split into pairs and grams.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache

UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
"""Scripts without spaces between words, and Hangul, whose words carry their particles."""
INDIC = "\u0900-\u0963\u0966-\u0dff"
"""Their vowel signs belong to words, but regular expressions do not count them as letters."""
WORD = re.compile(f"[\\w{INDIC}]+")
LATIN_LETTERS = re.compile("[a-z]+")
BEYOND_LATIN = re.compile(f"[^\\W\\d_\u0000-\u02af\u1e00-\u1eff]|[{INDIC}]")
JAPANESE_MARKS = frozenset("\u3099\u309a")

GRAM_LETTERS = 4
"""The best length in comparisons over European languages (McNamee and Mayfield 2004)."""
GRAM_MARK = "ǀ"
"""Begins every gram, so that a gram is not taken for a word of four letters."""
ENGLISH_WORDS = frozenset(
    """
    all and are at be but by can do does for from has have how if is it must never not of on only or our should than
    that the their then they this to use we what when where which who will with you your
    """.split()  # noqa: SIM905 - a list of quoted words would be harder to read
)

IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*(?:(?:[./\\:-]+)[\w$]+)*")
PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
QUOTED = re.compile(r'"([^"]+)"')

MAX_PASSAGE_CHARACTERS = 1_600
"""Characters of a passage; about 400 tokens, which the embedding model reads completely."""
OVERLAP = 200
"""Characters that neighbouring passages share, so that text at a border is found with its context."""
BREAK = re.compile(r"\n\s*\n|\n|(?<=[.!?;])\s")
SHORTEST_STEM = 4
"""Letters; a shorter word must stand by itself, because its letters occur in many others."""
SHORT_WORD_ENDING = re.compile(r"(?:e?s|[a-z]?(?:ed|ers?|ing))?(?![^\W\d_])")
LONGEST_SEARCH = 120
"""Characters; a longer query is pasted text, not a typed search."""

STOP_WORDS = frozenset(
    """
    a about all also am an and any are as at be been but by can could did do does for from get had has have he her
    here him his how i if in into is it its just like may me might more most must my no not of on or our out over
    please shall she should so some such than that the their them then there these they this those to too under up
    us use used using very was we were what when where which while who whom whose why will with would you your

    aber als auf aus bei beim bis da damit darf das dass dem den denn der des doch du dürfen ein eine einem einen einer
    eines er es für gibt haben ich ihm ihn ihr im ist ja jede jeder jedes kann kein keine mehr mein mich mir muss müssen
    nach nicht noch nur ob oder ohne sein sich sie sind sollen um und uns unser unsere vom von vor wann warum welche
    welchem welchen welcher welches wenn wer werden wie wieder wir wird wo womit wozu zu zum zur

    au aux avec ce ces cette ceux chez combien dans de donc elle elles en est et eux fait faire faut il ils je la le les
    leur leurs lui ma mais mes mon même ne nos notre nous ou où par pas peut pour pourquoi quand que quel quelle quelles
    quels qui quoi sa sans se ses sont sur ta te tes tous tout toute toutes tu un une vos votre vous être

    al como con cual cuando cuanto cuantas cuantos cuál cuándo cuánto cuántas cuántos del desde donde dónde el ella
    ellas ellos entre esa ese eso esta este esto está están las lo los más mi muy nada ni nuestra nuestro o para pero
    porque puede puedo qué quien quién ser si sobre su sus también tiene una uno unos y ya

    ao aos as até com e ela elas ele eles em essa esse foi há isso isto já lhe mas mesmo meu minha muito na nem nossa
    nosso não onde os pela pelo pode posso qual quais quanto quantos quem sem seu sua são tem uma umas uns você é
    """.split()  # noqa: SIM905 - a list of quoted words would be harder to read
)
"""Of English, German, French, Spanish and Portuguese; none that is also a word or name in English software notes."""


def split_identifiers(text: str) -> str:
    """Identifiers of a text without separators, followed by their parts.

    ``getUserById`` gives ``getuserbyid get user by id``. Without separators ``get_user_by_id``,
    ``getUserById`` and ``get-user-by-id`` are the same word.
    """
    unique_words: dict[str, None] = {}
    for identifier in IDENTIFIER.findall(remove_accents(text)):
        # Most words are no identifiers of several parts, and finding that out by parts is slow.
        if identifier.isascii() and identifier.isalpha() and identifier.islower():
            continue
        for name in re.split(r"[./\\:]+", identifier):
            parts = [part.lower() for part in PART.findall(name)]
            # A word of one part is already indexed as it is.
            if len(parts) > 1:
                unique_words["".join(parts)] = None
                unique_words.update(dict.fromkeys(parts))
    return " ".join(unique_words)


def extract_terms(question: str) -> list[str]:
    """The words of a question without stop words, each once; all words if only stop words are left."""
    words = [word.lower() for word in WORD.findall(remove_unspaced(question))] + split_identifiers(question).split()
    unique = list(dict.fromkeys([*words, *split_pairs(question)]))
    return [word for word in unique if word not in STOP_WORDS] or unique


def measure_coverage(question: str, text: str) -> float:
    """The share of a question's terms that occur in a text, ignoring endings."""
    return measure_share(extract_terms(question), text)


def measure_share(words: list[str], text: str) -> float:
    """The share of the words that occur in a text, ignoring endings."""
    return len(find_shared(words, text)) / max(len(words), 1)


def find_shared(words: Iterable[str], text: str) -> list[str]:
    """Those of the words that occur in a text, ignoring endings."""
    lower_text = text.lower() if text.isascii() else f"{text.lower()} {fold(text)}"
    # A crude stem: the word without its last two letters, but at least four letters.
    return [
        word
        for word in words
        if word[: max(SHORTEST_STEM, len(word) - 2)] in lower_text
        and (len(word) >= SHORTEST_STEM or _occurs_alone(word, text, lower_text))
    ]


def _occurs_alone(word: str, text: str, lower_text: str) -> bool:
    """Whether a short word occurs other than inside another one."""
    # Scripts without spaces have words inside longer ones.
    if not word.isascii():
        return True
    place = lower_text.find(word)
    while place >= 0 and not _stands_alone(place, place + len(word), text, lower_text):
        place = lower_text.find(word, place + 1)
    return place >= 0


def _stands_alone(start: int, end: int, text: str, lower_text: str) -> bool:
    """Whether a short word is one by itself, but for its ending, or a part of an identifier.

    ``ip`` is not in ``description``, but in ``IPs``, ``client_ip`` and ``clientIp``; ``log`` is in ``logging``.
    """
    before, first, last, after = (lower_text[max(at, 0) : at + 1] for at in (start - 1, start, end - 1, end))
    # Slices, because a folded copy of the text may follow in the lower one.
    is_capital = text[start - 1 : start].islower() and text[start : start + 1].isupper()
    if before.isdigit() if first.isdigit() else before.isalpha() and not is_capital:
        return False
    if last.isdigit():
        return not after.isdigit()
    is_before_capital = text[end - 1 : end].islower() and text[end : end + 1].isupper()
    return is_before_capital or bool(SHORT_WORD_ENDING.match(lower_text, end))


def extract_phrases(question: str) -> list[str]:
    """The phrases in double quotes of a short question, to be matched exactly; long texts quote for other reasons."""
    if len(question) > LONGEST_SEARCH:
        return []
    return [phrase.strip() for phrase in QUOTED.findall(question) if WORD.search(phrase)]


def split_passages(text: str) -> list[str]:
    """Split a long text into passages that end at a paragraph, line or sentence."""
    pieces: list[str] = []
    start = 0
    while len(text) - start > MAX_PASSAGE_CHARACTERS:
        limit = start + MAX_PASSAGE_CHARACTERS
        breaks = BREAK.finditer(text, start + MAX_PASSAGE_CHARACTERS // 2, limit)
        stop = max((match.end() for match in breaks), default=limit)
        pieces.append(text[start:stop].strip())
        start = max(stop - OVERLAP, start + 1)
        # At the next word, if one begins soon.
        start = text.find(" ", start, start + 40) + 1 or start
    pieces.append(text[start:].strip())
    return [piece for piece in pieces if piece]


def fold(text: str) -> str:
    """Return a text in lower case and without accents."""
    return remove_accents(text.lower())


def remove_accents(text: str) -> str:
    """Return a text with bare letters, as the search index compares them."""
    if text.isascii():
        return text
    letters = unicodedata.normalize("NFKD", text)
    # Each character is looked at once, because a long text has few different ones.
    accents = {ord(letter): None for letter in set(letters) - JAPANESE_MARKS if unicodedata.combining(letter)}
    return unicodedata.normalize("NFC", letters.translate(accents))


def is_beyond_latin(text: str) -> bool:
    """Whether most letters of a text belong to another script than the Latin one."""
    if text.isascii():
        return False
    return 2 * len(BEYOND_LATIN.findall(text)) > sum(map(str.isalpha, text))


def is_unspaced(word: str) -> bool:
    """Whether a word begins with a character of a script without spaces."""
    # The comparison spares most words of other scripts, and the marks of grams and concepts, the pattern.
    return word >= UNSPACED[0] and bool(_unspaced_run().match(word))


def remove_unspaced(text: str) -> str:
    """Return a text without its parts in scripts without spaces."""
    return text if text.isascii() else _unspaced_run().sub(" ", text)


def split_pairs(text: str) -> list[str]:
    """Return the overlapping pairs of characters in scripts without spaces, each once."""
    if text.isascii():
        return []
    runs = _unspaced_run().findall(fold(text))
    return list(dict.fromkeys(run[start : start + 2] for run in runs for start in range(max(1, len(run) - 1))))


def split_grams(text: str) -> list[str]:
    """Return the overlapping grams of words that are not English, each once.

    Endings, prefixes and compounds change a word, but seldom all of its grams: ``Freitags`` and ``Freitag`` share four.
    """
    folded_text = fold(text)
    words = (LATIN_LETTERS if folded_text.isascii() else _letters()).findall(folded_text)
    if not ENGLISH_WORDS.isdisjoint(words):
        words = [word for word in words if BEYOND_LATIN.match(word)]
    return list(
        dict.fromkeys(
            GRAM_MARK + word[start : start + GRAM_LETTERS]
            for word in words
            for start in range(len(word) - GRAM_LETTERS + 1)
        )
    )


# Classes of that many characters take 2 ms each to compile, and most texts need none of them.
@cache
def _unspaced_run() -> re.Pattern[str]:
    return re.compile(f"[{UNSPACED}]+")


@cache
def _letters() -> re.Pattern[str]:
    return re.compile(f"(?:[^\\W\\d_{UNSPACED}]|[{INDIC}])+")
