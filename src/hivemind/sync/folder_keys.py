"""Keys of a shared folder: a phrase for people, a key for each epoch, and two keys of each device.

Files are sealed with an epoch's key and show only their size class. A device opens what others seal for it, and signs.
"""

import hashlib
import hmac
import secrets
import zlib
from dataclasses import dataclass

from nacl import bindings
from nacl.exceptions import CryptoError
from nacl.public import PrivateKey, PublicKey, SealedBox
from nacl.signing import SigningKey, VerifyKey

from hivemind.errors import InvalidInput
from hivemind.sync.folders import EPOCHS

CONSONANTS, VOWELS = "bdfghjklmnprstvz", "aiou"
"""Sixteen and four letters that are hard to mishear: a word of five letters carries 16 bits."""
WORD = ((CONSONANTS, 12), (VOWELS, 10), (CONSONANTS, 6), (VOWELS, 4), (CONSONANTS, 0))
"""The letters of a word, each with where its bits begin."""
SECRET_BYTES, CHECK_BYTES = 16, 2
NONCE_BYTES = bindings.crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
LENGTH_BYTES = 8


class SealBroken(Exception):
    """A sealed file is torn or was changed, or belongs to another key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """A time in which files are sealed with the same key."""

    number: int
    name: str
    secret: bytes
    removed: tuple[str, ...] = ()
    """Directories of the devices that had been removed when it began, and do not know its secret."""
    is_signed: bool = False
    """Whether it is known who began it; not so for epochs of versions before 0.3."""

    @property
    def key(self) -> bytes:
        """The key that seals its files."""
        return derive_key(self.secret)

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{EPOCHS}/{self.number}-{self.name}"


def new_secret() -> bytes:
    """Make the secret of a new epoch."""
    return secrets.token_bytes(SECRET_BYTES)


def name_epoch(secret: bytes) -> str:
    """Name an epoch by its secret, so that nobody can put another secret into its file."""
    return hmac.digest(secret, b"hivemind sync epoch name\x01", "sha256")[:SECRET_BYTES].hex()


def format_phrase(secret: bytes) -> str:
    """Write a secret as nine words, of which the last is a checksum."""
    raw = secret + hashlib.sha256(secret).digest()[:CHECK_BYTES]
    return " ".join(_format_word(int.from_bytes(raw[at : at + 2])) for at in range(0, len(raw), 2))


def parse_phrase(phrase: str) -> bytes:
    """Read a phrase back, in any case and with any separators."""
    words = "".join(letter if letter.isalpha() else " " for letter in phrase.lower()).split()
    expected_count = (SECRET_BYTES + CHECK_BYTES) // 2
    if len(words) != expected_count:
        raise InvalidInput(f"the phrase has {expected_count} words, not {len(words)}; copy it whole")
    raw = b"".join(_parse_word(word).to_bytes(2) for word in words)
    secret, check = raw[:SECRET_BYTES], raw[SECRET_BYTES:]
    if hashlib.sha256(secret).digest()[:CHECK_BYTES] != check:
        raise InvalidInput("the phrase has a mistake in one of its words; compare it with the other machine")
    return secret


def derive_key(secret: bytes) -> bytes:
    """Derive the key of an epoch from its secret."""
    # HKDF with one block; the secret is uniformly random, so extraction needs no salt.
    extracted_key = hmac.digest(b"hivemind sync", secret, "sha256")
    return hmac.digest(extracted_key, b"epoch key\x01", "sha256")


def seal(key: bytes, content: bytes, context: str) -> bytes:
    """Compress, pad and encrypt; ``context`` says what it is, so that a file cannot stand in for another."""
    compressed_content = zlib.compress(content)
    size = LENGTH_BYTES + len(compressed_content)
    padded_content = len(compressed_content).to_bytes(LENGTH_BYTES) + compressed_content + bytes(_round_up(size) - size)
    nonce = secrets.token_bytes(NONCE_BYTES)
    return nonce + bindings.crypto_aead_xchacha20poly1305_ietf_encrypt(padded_content, context.encode(), nonce, key)


def unseal(key: bytes, sealed_content: bytes, context: str) -> bytes:
    """Decrypt what ``seal`` made; raises SealBroken if it is torn, changed, or of another key or context."""
    nonce, ciphertext = sealed_content[:NONCE_BYTES], sealed_content[NONCE_BYTES:]
    try:
        padded_content = bindings.crypto_aead_xchacha20poly1305_ietf_decrypt(ciphertext, context.encode(), nonce, key)
        length = int.from_bytes(padded_content[:LENGTH_BYTES])
        return zlib.decompress(padded_content[LENGTH_BYTES : LENGTH_BYTES + length])
    except (CryptoError, TypeError, ValueError, zlib.error) as error:
        raise SealBroken("it is torn, was changed, or belongs to another key") from error


def new_private_key() -> bytes:
    """Make a device's own key, for which new epochs are sealed."""
    return bytes(PrivateKey.generate())


def find_public_key(private_key: bytes) -> bytes:
    """Return the public half of a device's key."""
    return bytes(PrivateKey(private_key).public_key)


def seal_for(public_key: bytes, secret: bytes) -> bytes:
    """Encrypt a secret for one device."""
    return bytes(SealedBox(PublicKey(public_key)).encrypt(secret))


def unseal_with(private_key: bytes, sealed_content: bytes) -> bytes:
    """Decrypt a secret that was sealed for this device."""
    try:
        return bytes(SealedBox(PrivateKey(private_key)).decrypt(sealed_content))
    except (CryptoError, TypeError, ValueError) as error:
        raise SealBroken("it is sealed for another device") from error


def sign(private_key: bytes, content: bytes) -> str:
    """Sign with a device's key."""
    return _make_signing_key(private_key).sign(content).signature.hex()


def find_verify_key(private_key: bytes) -> str:
    """Return the key by which others verify what a device signs."""
    return bytes(_make_signing_key(private_key).verify_key).hex()


def is_signed(verify_key: str, content: bytes, signature: str) -> bool:
    """Whether the device with this key signed the content; never, if no key is given."""
    try:
        VerifyKey(bytes.fromhex(verify_key)).verify(content, bytes.fromhex(signature))
    except (CryptoError, TypeError, ValueError):
        return False
    return True


def _make_signing_key(private_key: bytes) -> SigningKey:
    # Derived, so that devices that were set up before there were signatures have one, too.
    return SigningKey(hmac.digest(private_key, b"hivemind sync signing key\x01", "sha256"))


def _format_word(number: int) -> str:
    return "".join(alphabet[number >> shift & len(alphabet) - 1] for alphabet, shift in WORD)


def _parse_word(word: str) -> int:
    number = 0
    try:
        for letter, (alphabet, _) in zip(word, WORD, strict=True):
            number = number * len(alphabet) + alphabet.index(letter)
    except ValueError:
        raise InvalidInput(f"{word!r} is no word of a phrase; compare it with the other machine") from None
    return number


def _round_up(size: int) -> int:
    """Round up so that a size reveals only its five leading bits; at least 1 KiB, at most 6 % more."""
    if size <= 1024:
        return 1024
    step = 1 << (size.bit_length() - 5)
    return -(-size // step) * step
