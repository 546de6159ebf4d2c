"""Metadata: what is accepted, and what is explained instead."""

from typing import Any

import pytest

from hivemind.cli.arguments import parse_metadata
from hivemind.errors import InvalidInput
from hivemind.memory.kinds import guess_kind
from hivemind.model.events import MemoryRemembered, decode_fact, encode_fact, find_shape_error
from hivemind.model.free_text import change_text
from hivemind.model.ids import MemoryId
from hivemind.model.memory import Kind
from hivemind.model.metadata import MAX_METADATA_BYTES, MAX_METADATA_KEYS, Metadata, validate_metadata
from hivemind.sessions.redact import redact


def fact(**metadata: Any) -> MemoryRemembered:
    return MemoryRemembered(
        memory_id=MemoryId("0" * 32), kind=Kind.FACT, text="a", owner="ada", metadata=Metadata(metadata)
    )


def test_strings_numbers_and_booleans_keep_their_types() -> None:
    kept = validate_metadata({"language": " Python ", "size": 3, "ratio": 0.5, "whole": 4.0, "is_public": True})

    assert dict(kept) == {"language": "Python", "size": 3, "ratio": 0.5, "whole": 4, "is_public": True}
    assert [type(value) for value in kept.values()] == [str, int, float, int, bool]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"a": [1]}, r"metadata 'a' is \[1\]; a value is a string, a finite number, true or false"),
        ({"a": {"b": 1}}, "metadata 'a' is"),
        ({"a": None}, "metadata 'a' is None"),
        ({"a": float("inf")}, "metadata 'a' is inf"),
        ({"a": 1 << 60}, "metadata 'a' is 11529"),
        ({"a": ""}, "metadata 'a' is empty"),
        ({"a": "\x1b[31m"}, "control character"),
        ({"a b": 1}, "metadata key 'a b' is not a short identifier"),
        ({"$.a": 1}, "not a short identifier"),
        ({5: 1}, "metadata key 5"),
        ({"a" * 65: 1}, "not a short identifier"),
        ({f"key{number}": 1 for number in range(MAX_METADATA_KEYS + 1)}, "33 keys, the limit is 32"),
        ({"a": "x" * 3000, "b": "x" * 3000}, f"the limit is {MAX_METADATA_BYTES:,}"),
        ("language=Python", "must be a dictionary"),
    ],
)
def test_anything_else_is_explained(given: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        validate_metadata(given)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("language=Python", "Python"),
        ("size=3", 3),
        ("ratio=-0.5", -0.5),
        ("is_public=true", True),
        ("is_public=false", False),
        ("version='3'", "3"),
        ('version="true"', "true"),
        ("python=3.10", "3.10"),
        ("version=3.0", "3.0"),
        ("zip=00501", "00501"),
        ("value=NaN", "NaN"),
        ("value=null", "null"),
        ("value=[1]", "[1]"),
        ("number=123456789012345678901234567890", "123456789012345678901234567890"),
        ("query=a=b", "a=b"),
    ],
)
def test_the_command_line_reads_types_and_never_changes_what_was_written(written: str, read: Any) -> None:
    key, value = parse_metadata(written)

    assert (key, value, type(value)) == (written.split("=", maxsplit=1)[0], read, type(read))


def test_a_fact_survives_the_log_with_its_metadata_and_costs_nothing_without() -> None:
    with_metadata = fact(language="Python", size=3, is_public=True)

    assert decode_fact(*encode_fact(with_metadata)) == with_metadata
    assert hash(decode_fact(*encode_fact(with_metadata))) == hash(with_metadata)
    assert "metadata" in encode_fact(with_metadata)[1]
    assert "metadata" not in encode_fact(fact())[1]


def test_secrets_are_redacted_by_their_form_and_by_their_key() -> None:
    secrets = fact(
        password="hunter2-Kq9x", note="token ghp_16C7e42F292c6912E7710c838347Ae178B4a", language="Python", n=5
    )

    redacted = change_text(secrets, redact)

    assert isinstance(redacted, MemoryRemembered)
    assert "hunter2" not in str(redacted.metadata["password"])
    assert "ghp_" not in str(redacted.metadata["note"])
    assert (redacted.metadata["language"], redacted.metadata["n"]) == ("Python", 5)


@pytest.mark.parametrize("value", [["a"], None, float("nan"), {"a": 1}, 1 << 80])
def test_metadata_of_a_wrong_type_from_another_machine_is_noticed(value: Any) -> None:
    assert find_shape_error(fact(language="Python", n=1, half=0.5, yes=True)) == ""
    assert "metadata" in find_shape_error(fact(a=value))


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("architecture", Kind.DECISION),
        ("convention", Kind.CONVENTION),
        ("error_fix", Kind.FIX),
        ("Bug-Fix", Kind.FIX),
        ("user preference", Kind.PREFERENCE),
        ("onboarding", None),
        ("", None),
    ],
)
def test_words_of_other_programs_mean_our_kinds(word: str, kind: Kind | None) -> None:
    assert guess_kind(word) is kind
