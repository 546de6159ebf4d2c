"""Placeholders and values of statements that programs write."""

import struct
from array import array
from typing import Any

import numpy as np
import pytest

from hivemind.errors import InvalidInput
from hivemind.store.sql_reader import bind_values, parse_statement


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("a = %s AND b = %s", "a = ? AND b = ?"),
        ("a = ? AND b = :name", "a = ? AND b = :name"),
        ("a = %(repo)s", "a = :repo"),
        ("(%s,%s)", "(?,?)"),
        ("a LIKE '%s%' AND b = %s", "a LIKE '%s%' AND b = ?"),
        ("a LIKE 'it''s 100%' AND b = %s", "a LIKE 'it''s 100%' AND b = ?"),
        ('"odd %s name" = %s', '"odd %s name" = ?'),
        ("`odd %s` = %s AND [odd %s] = 1", "`odd %s` = ? AND [odd %s] = 1"),
        ("a = 1 -- or %s\nAND b = %s", "a = 1 -- or %s\nAND b = ?"),
        ("a = /* %s ' */ %s /* %s", "a = /* %s ' */ ? /* %s"),
        ("7 %% 4 = 3", "7 % 4 = 3"),
        ("7 % 4 = 3", "7 % 4 = 3"),
        ("7 %size = 3", "7 %size = 3"),
        ("a = 'open %s", "a = 'open ?"),
    ],
)
def test_placeholders_are_read_and_text_names_and_comments_stay(written: str, read: str) -> None:
    assert parse_statement(written).sql == read


@pytest.mark.parametrize(
    ("statement", "reads"),
    [
        ("SELECT embedding FROM agent_memory", True),
        ('SELECT cosine_similarity("Embedding", ?) FROM agent_memory', True),
        ("SELECT m.embedding FROM agent_memory m", True),
        ("SELECT * FROM agent_memory", False),
        ("SELECT content FROM agent_memory WHERE content LIKE 'embedding' -- embedding", False),
    ],
)
def test_a_statement_reads_vectors_if_it_names_their_column(statement: str, reads: bool) -> None:
    assert parse_statement(statement).reads_vectors is reads


@pytest.mark.parametrize(
    "vector",
    [
        [1, 0.5, -2],
        (1.0, 0.5, -2.0),
        np.array([1, 0.5, -2], np.float32),
        np.array([1, 0.5, -2], np.float64),
        np.array([1, 0.5, -2], np.float16),
        np.array([1, 0, 0.5, 0, -2, 0], np.float32)[::2],
        np.array([1, 0.5, -2], ">f4"),
        [np.float32(1), np.float64(0.5), np.int64(-2)],
        array("d", [1, 0.5, -2]),
        struct.pack("<3f", 1, 0.5, -2),
        memoryview(struct.pack("<3f", 1, 0.5, -2)),
    ],
)
def test_a_vector_is_the_same_in_every_form(vector: Any) -> None:
    expected = struct.pack("<3f", 1, 0.5, -2)

    assert bind_values([vector]) == (expected,)
    assert bind_values({"q": vector}) == {"q": expected}


def test_other_values_stay_as_they_are() -> None:
    assert bind_values(["text", 1, 2.5, None, True]) == ("text", 1, 2.5, None, True)
    assert bind_values([np.int64(3), np.float32(0.5)]) == (3, 0.5)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([["a", "b"]], "parameter number 1 is not a vector: 'a' in it is not a finite number"),
        ({"q": [1.0, None]}, "parameter :q is not a vector: None in it"),
        ([[1.0, float("nan")]], "nan in it is not a finite number"),
        ([[1e300]], "1e\\+300 in it is not a finite number"),
        ([np.ones((1, 384))], r"not a vector: \[1.0, 1.0, 1.0, .* …"),
        ([np.array([1j])], "1j in it"),
        ([{"a": 1}], "parameter number 1 is a dict; give text, a number, bytes"),
        ("text", "a list, a tuple or a dictionary, not 'text'"),
        (5, "a list, a tuple or a dictionary, not 5"),
    ],
)
def test_what_is_no_parameter_is_explained(values: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        bind_values(values)
