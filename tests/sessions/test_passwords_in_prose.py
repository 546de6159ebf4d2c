"""Passwords that somebody gives in a sentence are redacted in several languages; sentences about passwords stay.

The sentences were written and labelled before the rule; half of them were held out and only counted. Those called later
were found by trying the finished rule, and mended.
"""

from pathlib import Path

import pytest

from hivemind.sessions.redact import redact
from tests.conftest import Tally

Sentence = tuple[str, str, str, str]
SENTENCES: list[Sentence] = [
    tuple(line.split("\t"))  # type: ignore[misc]
    for line in Path(__file__).with_name("passwords_in_prose.tsv").read_text("utf-8").splitlines()
]
FEWEST_FOUND = {"dev": 1.0, "held": 0.9, "later": 1.0}


@pytest.mark.parametrize("part", FEWEST_FOUND)
def test_passwords_in_sentences_are_redacted(part: str, tally: Tally) -> None:
    secrets = [(text, value) for group, sort, text, value in SENTENCES if (group, sort) == (part, "secret")]

    redacted = [text for text, value in secrets if value not in redact(text)]

    tally(f"passwords in sentences redacted, {part}", len(secrets), len(redacted))
    assert len(redacted) >= FEWEST_FOUND[part] * len(secrets)
    assert all(value not in redact(f'{{"prompt": "{text}"}}') for text, value in secrets if text in redacted)


@pytest.mark.parametrize("part", FEWEST_FOUND)
def test_sentences_about_passwords_stay(part: str, tally: Tally) -> None:
    plain = [text for group, sort, text, _ in SENTENCES if (group, sort) == (part, "plain")]

    altered = [(text, redact(text)) for text in plain if redact(text) != text]

    tally(f"sentences about passwords altered, {part}", len(plain), len(altered))
    assert altered == []
