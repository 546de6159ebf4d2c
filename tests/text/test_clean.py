"""Text that is safe to show."""

import pytest

from hivemind.text.clean import neutralise


@pytest.mark.parametrize(
    "text", ["", "Deploys run on Fridays: see ~/notes [1] {2} `x`", "two\nlines\tof text", "Grüße"]
)
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert neutralise(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a\x1b[31mb", "a\ufffd[31mb"), ("a\x7fb", "a\ufffdb"), ("a\r\nb\rc", "a\nb\nc"), ("a\u202eb\u200bc", "abc")],
)
def test_control_and_invisible_characters_are_not_shown(text: str, shown: str) -> None:
    assert neutralise(text) == shown
