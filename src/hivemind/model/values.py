"""What a memory says, freed of how it is spelled, and a name for it that does not give it away.

A rejected or erased value must stay out also when it comes back in other letters. So it is compared without case,
spaces, invisible and look-alike characters; and it is remembered only as a digest keyed with a secret of the store,
because a plain digest of a short text could be guessed.
"""

import hmac
import re
import unicodedata

from hivemind.model.text import neutral

LOOK_ALIKES = {
    "a": "аᴀαɑ", "b": "вьʙ", "c": "сϲᴄ", "d": "ԁᴅ", "e": "еεҽᴇ", "f": "ғꜰ", "g": "ɡԍɢ", "h": "һнʜ", "i": "іɩιıɪ",
    "j": "јᴊ", "k": "κкᴋ", "l": "ⅼӏʟ", "m": "мᴍ", "n": "пηɴ", "o": "оοσօᴏ", "p": "рρᴘ", "q": "ԛ", "r": "гʀ", "s": "ѕꜱ",
    "t": "тτᴛ", "u": "υսᴜ", "v": "νѵᴠ", "w": "ԝωᴡ", "x": "хχ", "y": "уүγʏ", "z": "ᴢ",
}  # fmt: skip
"""Cyrillic, Greek and phonetic letters that look like Latin ones."""
AS_LATIN = str.maketrans({like: letter for letter, likes in LOOK_ALIKES.items() for like in likes})

SOFT = re.compile(r"[\s.,;:!?'\"“”‘’`´()\[\]{}*_~…–—-]+")
"""What may stand between words without changing what is said; < > = + # % do change it."""


def normalised(text: str) -> str:
    """The same for every way of spelling the same words."""
    composed = unicodedata.normalize("NFKD", neutral(text)).casefold()
    if not composed.isascii():  # ASCII has neither marks nor look-alikes, and most texts are ASCII.
        composed = "".join(letter for letter in composed if not unicodedata.combining(letter)).translate(AS_LATIN)
    return SOFT.sub(" ", composed).strip()


def value(text: str, secret: bytes) -> str:
    """A name for what a text says that tells nothing without the secret."""
    return hmac.digest(secret, normalised(text).encode("utf-8", "replace"), "sha256").hex()
