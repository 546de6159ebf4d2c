"""Normalise texts and compute keyed digests of them, to refuse rejected and erased texts.

Such a text must be refused also in another spelling, so it is compared without case, spaces, invisible and look-alike
characters. Only a digest keyed with a secret of the store is stored, because a plain digest of a short text could be
guessed.
"""

import hmac
import re
import unicodedata

from hivemind.text.clean import neutralise

LOOK_ALIKES = {
    "a": "аᴀαɑ", "b": "вьʙ", "c": "сϲᴄ", "d": "ԁᴅ", "e": "еεҽᴇ", "f": "ғꜰ", "g": "ɡԍɢ", "h": "һнʜ", "i": "іɩιıɪ",
    "j": "јᴊ", "k": "κкᴋ", "l": "ⅼӏʟ", "m": "мᴍ", "n": "пηɴ", "o": "оοσօᴏ", "p": "рρᴘ", "q": "ԛ", "r": "гʀ", "s": "ѕꜱ",
    "t": "тτᴛ", "u": "υսᴜ", "v": "νѵᴠ", "w": "ԝωᴡ", "x": "хχ", "y": "уүγʏ", "z": "ᴢ",
}  # fmt: skip
"""Cyrillic, Greek and phonetic letters that look like Latin ones."""
AS_LATIN = str.maketrans({like: letter for letter, likes in LOOK_ALIKES.items() for like in likes})

NEUTRAL_SEPARATORS = re.compile(r"[\s.,;:!?'\"“”‘’`´()\[\]{}*_~…–—-]+")
"""Separators that do not change the meaning of a text; < > = + # % do change it."""


def normalise(text: str) -> str:
    """A form of a text that is the same for every spelling of its words."""
    folded_text = unicodedata.normalize("NFKD", neutralise(text)).casefold()
    if not folded_text.isascii():  # ASCII has neither marks nor look-alikes, and most texts are ASCII.
        folded_text = "".join(letter for letter in folded_text if not unicodedata.combining(letter)).translate(AS_LATIN)
    return NEUTRAL_SEPARATORS.sub(" ", folded_text).strip()


def digest_value(text: str, secret: bytes) -> str:
    """The keyed digest of a normalised text; it reveals nothing without the secret."""
    return hmac.digest(secret, normalise(text).encode("utf-8", "replace"), "sha256").hex()
