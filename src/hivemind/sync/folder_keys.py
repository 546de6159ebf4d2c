"""Keys of a shared folder: a phrase for people, a key for each epoch, and sealed files that show only their size class.

Removing a device begins a new epoch, with a secret that the removed device does not get. Each epoch's file contains the
key of the epoch before, so the newest phrase opens everything.
"""

import hashlib
import hmac
import json
import secrets
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from nacl import bindings
from nacl.exceptions import CryptoError
from nacl.public import PrivateKey, PublicKey, SealedBox

from hivemind.errors import InvalidInput, Refused
from hivemind.model.codec import from_plain, to_plain
from hivemind.sync.folders import Folder, new_name
from hivemind.text.untrusted import parse_json

CONSONANTS, VOWELS = "bdfghjklmnprstvz", "aiou"
"""Sixteen and four letters that are hard to mishear: a word of five letters carries 16 bits."""
WORD = ((CONSONANTS, 12), (VOWELS, 10), (CONSONANTS, 6), (VOWELS, 4), (CONSONANTS, 0))
"""The letters of a word, each with where its bits begin."""
SECRET_BYTES, CHECK_BYTES = 16, 2
NONCE_BYTES = bindings.crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
LENGTH_BYTES = 8
EPOCHS = "epochs"
TORN = (ValueError, KeyError, TypeError, AttributeError)
"""What parsing a file may raise that has not arrived whole."""


class SealBroken(Exception):
    """A sealed file is torn or was changed, or belongs to another key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """A time in which files are sealed with the same key."""

    number: int
    name: str
    secret: bytes

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


def has_epochs(folder: Folder) -> bool:
    """Whether a device has set up this folder before."""
    return any(_parse_name(file) for file in folder.list_names())


def begin_epoch(folder: Folder, previous: Epoch | None, public_keys: Mapping[str, bytes]) -> Epoch:
    """Begin an epoch with a new secret, which only these devices get."""
    epoch = Epoch(number=previous.number + 1 if previous else 1, name=new_name(), secret=new_secret())
    # With the epoch before, so that one phrase opens everything.
    before = seal(epoch.key, json.dumps(to_plain(previous)).encode(), epoch.name)
    sealed_secrets = {directory: seal_for(key, epoch.secret).hex() for directory, key in public_keys.items()}
    folder.write(epoch.file, json.dumps({"for": sealed_secrets, "previous": before.hex()}).encode())
    return epoch


def join_epochs(folder: Folder, secret: bytes) -> tuple[Epoch, ...]:
    """Find the epoch that a phrase opens, and all epochs before it."""
    for number, name in sorted(filter(None, map(_parse_name, folder.list_names())), reverse=True):
        epoch: Epoch | None = Epoch(number=number, name=name, secret=secret)
        chain: list[Epoch] = []
        try:
            while epoch:
                chain.insert(0, epoch)
                sealed_epoch = bytes.fromhex(parse_json(folder.read(epoch.file) or b"")["previous"])
                before = json.loads(unseal(epoch.key, sealed_epoch, epoch.name))
                epoch = from_plain(Epoch, before) if before else None
        except (*TORN, SealBroken):
            continue
        return tuple(chain)
    raise InvalidInput(
        "this phrase does not open that folder; use the newest one ('hivemind sync phrase' on another machine shows"
        " it), and check that the folder is the same on both and its files have arrived here"
    )


def load_epochs(
    folder: Folder, known_epochs: tuple[Epoch, ...], directory: str, private_key: bytes
) -> tuple[Epoch, ...]:
    """Return the epochs with those that other devices sealed for this one; refused if it was left out of the newest."""
    known_names = {epoch.name for epoch in known_epochs}
    new_epochs: list[Epoch] = []
    newest = 0
    for file in folder.list_names():
        number, name = _parse_name(file) or (0, "")
        newest = max(newest, number)
        content = folder.read(file) if number and name not in known_names else None
        secret = _find_secret(content, directory, private_key) if content else None
        if secret:
            new_epochs.append(Epoch(number=number, name=name, secret=secret))
    epochs = (*known_epochs, *new_epochs)
    # What is written with an old key could be read by the device that was removed.
    if newest > max(epoch.number for epoch in epochs):
        raise Refused(
            "the other machines use a newer key: this machine was removed, or the key has not arrived yet. To join"
            " again: hivemind sync setup, with the newest phrase ('hivemind sync phrase' on another machine shows it)"
        )
    return epochs


def list_recipients(content: bytes) -> set[str] | None:
    """List the directories of the devices that an epoch's secret was sealed for; None if the file is torn."""
    try:
        return set(parse_json(content)["for"])
    except TORN:
        return None


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


def _find_secret(content: bytes, directory: str, private_key: bytes) -> bytes | None:
    """Return the secret of an epoch that was sealed for this device; None if it was left out, or the file is torn."""
    try:
        sealed_secret = parse_json(content)["for"].get(directory)
        return unseal_with(private_key, bytes.fromhex(sealed_secret)) if sealed_secret else None
    except (*TORN, SealBroken):
        return None


def _parse_name(file: str) -> tuple[int, str] | None:
    """Return the number and name of an epoch's file; None for other files."""
    number, _, name = file.removeprefix(f"{EPOCHS}/").partition("-")
    # Carriers add files of their own, such as conflicting copies.
    is_epoch = file.startswith(f"{EPOCHS}/") and number.isdecimal() and name.isalnum()
    return (int(number), name) if is_epoch else None
