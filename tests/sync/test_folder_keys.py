"""Phrases and sealed files, for all inputs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivemind.errors import InvalidInput
from hivemind.sync import folder_keys
from tests.hypothesis_profile import examples

secrets = st.binary(min_size=16, max_size=16)
KEY = bytes(32)


@examples(100)
@given(secrets)
def test_a_phrase_can_be_read_back(secret: bytes) -> None:
    assert folder_keys.parse_phrase(folder_keys.format_phrase(secret)) == secret


@examples(100)
@given(secrets, st.integers(0, 8), st.integers(0, 4), st.sampled_from("bdfghjklmnprstvz"))
def test_a_wrong_letter_is_noticed(secret: bytes, word: int, letter: int, other: str) -> None:
    words = folder_keys.format_phrase(secret).split()
    changed_word = words[word][:letter] + other + words[word][letter + 1 :]
    if changed_word != words[word]:
        words[word] = changed_word
        # Two of 65,536 checksums would be equal; the examples are the same in every run.
        with pytest.raises(InvalidInput):
            folder_keys.parse_phrase(" ".join(words))


@examples(100)
@given(st.binary(max_size=5_000))
def test_a_sealed_file_opens_with_its_key_and_context_alone(content: bytes) -> None:
    sealed = folder_keys.seal(KEY, content, "a")

    assert folder_keys.unseal(KEY, sealed, "a") == content
    for key, context in ((KEY, "b"), (bytes(31) + b"1", "a")):
        with pytest.raises(folder_keys.SealBroken):
            folder_keys.unseal(key, sealed, context)


@examples(100)
@given(st.binary(max_size=200), st.data())
def test_any_change_of_a_sealed_file_is_noticed(content: bytes, data: st.DataObject) -> None:
    sealed = bytearray(folder_keys.seal(KEY, content, "a"))
    place = data.draw(st.integers(0, len(sealed) - 1))
    sealed[place] ^= data.draw(st.integers(1, 255))

    with pytest.raises(folder_keys.SealBroken):
        folder_keys.unseal(KEY, bytes(sealed), "a")
    with pytest.raises(folder_keys.SealBroken):
        folder_keys.unseal(KEY, bytes(sealed[:place]), "a")
