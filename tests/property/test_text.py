"""Functions of text, for any text."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from hivemind.embedding.tokenizer import LONGEST_WORD_CHARACTERS, split_words
from hivemind.memory.statements import parse_statements, search_terms
from hivemind.sessions.redact import redact
from hivemind.text.clean import neutralise
from hivemind.text.search_terms import MAX_PASSAGE_CHARACTERS, split_passages
from tests.conflicts import find_conflict
from tests.hypothesis_profile import examples
from tests.sessions.test_redact import SECRET_TEXTS

PIECES = ["password", "token", "=", ": ", " is ", '"', "'", "://", "@", "-----BEGIN PRIVATE KEY-----", "<private>"]
PIECES += [
    "</private>",
    "[redacted:x]",
    "[redacted:",
    "ghp_",
    "eyJ",
    "a1B2c3D4e5F6g7H8i9J0",
    "\n",
    " ",
    "\\",
    "key",
    "&a=",
]


@given(st.lists(st.sampled_from(SECRET_TEXTS + PIECES) | st.text(max_size=20), max_size=12).map("".join))
@examples(400)
@example("<pri<private>x</private>vate>secret")
@example("\u0130password: \u0130abc123!")
def test_redacting_twice_changes_nothing_whatever_the_text(text: str) -> None:
    once = redact(text)

    assert redact(once) == once


@given(st.text(st.characters(exclude_categories=())), st.sets(st.text(st.characters(exclude_categories=()))))
@examples(200)
def test_any_text_with_any_known_values_can_be_redacted(text: str, secrets: set[str]) -> None:
    once = redact(text, secrets)

    assert redact(once, secrets) == once
    assert not any(value in once for value in secrets if len(value) >= 8 and not re.search(r"[\[\]:a-z-]", value))


@given(st.text(max_size=200), st.text(max_size=200))
@examples(100)
def test_any_two_texts_can_be_compared(text: str, other: str) -> None:
    assert find_conflict(text, text) is None
    find_conflict(text, other)
    search_terms(parse_statements(text))


@given(st.text())
@examples(100)
def test_making_text_harmless_twice_changes_nothing_more(text: str) -> None:
    assert neutralise(neutralise(text)) == neutralise(text)


@given(st.text(alphabet=st.sampled_from("ab .\n"), min_size=1, max_size=6000))
@examples(100)
def test_passages_hold_the_whole_text_in_bounded_pieces(text: str) -> None:
    pieces = split_passages(text)

    assert all(len(piece) <= MAX_PASSAGE_CHARACTERS for piece in pieces)
    assert set("".join(pieces)) >= set(text.strip()) - {" ", "\n"}


@given(st.text())
@examples(100)
def test_cutting_into_words_loses_nothing(text: str) -> None:
    assert "".join(split_words(text)) == text


@given(st.characters(), st.integers(0, 3 * LONGEST_WORD_CHARACTERS))
@examples(100)
def test_no_word_is_longer_than_can_be_merged_quickly(character: str, times: int) -> None:
    assert all(len(word) <= LONGEST_WORD_CHARACTERS for word in split_words(character * times))
