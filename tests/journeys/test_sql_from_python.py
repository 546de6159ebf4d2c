"""SQL from Python: which statements make vectors, which errors are told, and what stays closed."""

from collections.abc import Iterator

import numpy as np
import pytest

import hivemind
from hivemind.errors import InvalidInput, Refused, Unavailable
from hivemind.store.sql_reader import Reader

LOGIN, DEPLOY = "Users sign in with a one-time code sent by mail.", "Releases go out from the main branch on Mondays."
NEAREST = "SELECT content FROM agent_memory ORDER BY cosine_similarity(embedding, ?) DESC LIMIT 1"


@pytest.fixture
def conn() -> Iterator[Reader]:
    with hivemind.open() as mind:
        mind.remember(LOGIN)
        mind.remember(DEPLOY)
    with hivemind.connect() as connection:
        yield connection


def test_a_named_store_is_apart_from_the_default_one_and_from_other_names(conn: Reader) -> None:
    with hivemind.open("your-org/coding-memory") as mind:
        mind.remember("kept in the named store")

    with hivemind.connect("your-org/coding-memory") as named, hivemind.connect("your-org/other") as other:
        assert [row[0] for row in named.execute("SELECT content FROM agent_memory")] == ["kept in the named store"]
        assert other.query("SELECT content FROM agent_memory") == []
    assert len(conn.execute("SELECT content FROM agent_memory")) == 2


def test_a_memory_that_came_after_connecting_has_its_vector_in_the_next_statement(conn: Reader) -> None:
    task = hivemind.embed("how do people log in?")
    assert conn.execute(NEAREST, [task]).fetchone() == (LOGIN,)
    assert conn.execute(NEAREST, [hivemind.embed("linting of stylesheets")]).fetchone() != ("Stylesheets are linted.",)

    with hivemind.open() as mind:
        mind.remember("Stylesheets are linted.")

    assert conn.execute(NEAREST, [hivemind.embed("linting of stylesheets")]).fetchone() == ("Stylesheets are linted.",)
    assert conn.query("SELECT count(*) AS n FROM agent_memory WHERE embedding IS NULL") == [{"n": 0}]


def test_a_statement_that_names_no_vector_makes_none(conn: Reader) -> None:
    assert [row["embedding"] for row in conn.query("SELECT * FROM agent_memory")] == [None, None]

    assert conn.query("SELECT count(embedding) AS n FROM agent_memory") == [{"n": 2}]


def test_a_vector_is_taken_in_every_form_and_from_the_column_itself(conn: Reader) -> None:
    task = hivemind.embed("how do people log in?")
    own = conn.execute("SELECT embedding FROM agent_memory WHERE content = %s", [LOGIN]).fetchone()
    assert own is not None

    forms = [task, task.tolist(), tuple(task), task.astype(np.float64), task.tobytes(), own[0]]

    assert [conn.execute(NEAREST, [form]).fetchone() for form in forms] == [(LOGIN,)] * len(forms)
    assert conn.execute(NEAREST.replace("?", "embed('how do people log in?')")).fetchone() == (LOGIN,)
    assert len(own[0]) == 4 * len(task)


@pytest.mark.parametrize("style", ["%s, %s", "?, ?", "?, %s"])
def test_positional_parameters_are_taken_in_order(conn: Reader, style: str) -> None:
    assert conn.execute(f"SELECT {style}", ["a", 2]).fetchall() == [("a", 2)]


@pytest.mark.parametrize("style", [":a, :b", "%(a)s, %(b)s", ":a, %(b)s"])
def test_named_parameters_are_taken_by_name(conn: Reader, style: str) -> None:
    assert conn.execute(f"SELECT {style}", {"b": 2, "a": "a", "unused": 3}).fetchall() == [("a", 2)]


def test_percent_signs_in_patterns_and_remainders_are_left_alone(conn: Reader) -> None:
    statement = "SELECT content, 7 % 4, 7 %% 4 FROM agent_memory WHERE content LIKE '%sign%s%' OR content = %s"

    assert conn.execute(statement, ["none"]).fetchall() == [(LOGIN, 3, 3)]


@pytest.mark.parametrize(
    ("statement", "values", "said"),
    [
        (NEAREST, [[0.1, 0.2, 0.3]], "these have 384 and 3 numbers"),
        (NEAREST, [np.ones(1536, np.float32)], "these have 384 and 1536 numbers"),
        (NEAREST, [["a"] * 384], "parameter number 1 is not a vector: 'a' in it"),
        (NEAREST, ["how do people log in?"], "needs two vectors"),
        (NEAREST, [b"abc"], "needs two vectors"),
        (NEAREST, [], "uses 1 and there are 0 supplied"),
        ("SELECT :a", {"b": 1}, "there is no value for the parameter :a"),
        ("SELECT %s", {"b": 1}, "has no name"),
        ("SELECT ?", [10**30], "too big"),
        ("SELECT ?", ["\ud83d"], "surrogates not allowed"),
        (5, [], "must be text, not int"),
    ],
)
def test_wrong_parameters_are_explained(conn: Reader, statement: str, values: object, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        conn.execute(statement, values)  # type: ignore[arg-type]


def test_reading_is_all_that_a_parameter_changes(conn: Reader) -> None:
    for statement in ("DELETE FROM agent_memory WHERE id = %s", "INSERT INTO memories (id) VALUES (%s)"):
        with pytest.raises(Refused, match="only reading"):
            conn.execute(statement, ["x"])
    with pytest.raises(Refused, match="only reading"):
        conn.query("SELECT content FROM bodies WHERE content = :c", {"c": "x"})

    assert conn.query("SELECT count(*) AS n FROM agent_memory WHERE content = :c", {"c": LOGIN}) == [{"n": 1}]


def test_embed_says_what_it_takes_and_when_there_is_no_model() -> None:
    assert hivemind.embed("text").shape == (384,)
    for wrong in ("", "  ", 5, None, ["text"]):
        with pytest.raises(InvalidInput):
            hivemind.embed(wrong)  # type: ignore[arg-type]


def test_without_a_model_sql_still_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVEMIND_MODEL", "none")
    with hivemind.open() as mind:
        mind.remember(LOGIN)

    with hivemind.connect() as connection:
        assert connection.query("SELECT content, embedding FROM agent_memory") == [
            {"content": LOGIN, "embedding": None}
        ]
    with pytest.raises(Unavailable, match="words alone"):
        hivemind.embed("text")
