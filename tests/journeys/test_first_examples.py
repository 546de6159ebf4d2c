"""The first examples that people try, word for word, through the real commands, hooks and Python interface.

One section for each group of examples; the README shows the same ones.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

import hivemind
from tests.doors import run, run_json

# 1. Project context

# 2. Past work

# 3. SQL and vectors from Python

FACTORIAL = "Function to calculate factorial recursively."
AUTHENTICATION = "Class for managing user authentication."
ENDPOINT = "API endpoint for retrieving user profiles."
BINARY_SEARCH = "Implement a binary search algorithm."
SNIPPETS = (FACTORIAL, AUTHENTICATION, ENDPOINT, BINARY_SEARCH)


def test_sql_orders_by_a_vector_of_the_task_right_after_remember() -> None:
    with hivemind.open("your-org/coding-memory") as mind:
        for text in SNIPPETS:
            mind.remember(text, scope=hivemind.Scope.TEAM)
        repo = mind.repository.id
    task_embedding = hivemind.embed("How to get user data?")
    task_description = "Efficient search method"

    conn = hivemind.connect("your-org/coding-memory")
    context = conn.execute("""
        SELECT content FROM agent_memory WHERE scope = 'team'
        ORDER BY cosine_similarity(embedding, %s) DESC LIMIT 10
    """, [task_embedding])  # fmt: skip

    rows = conn.query("""
        SELECT content, memory_type, file_path FROM agent_memory
        WHERE repo = :repo ORDER BY cosine_similarity(embedding, :q) DESC LIMIT 15
    """, {"repo": repo, "q": hivemind.embed(task_description)})  # fmt: skip

    contents = [row[0] for row in context]
    assert (contents[0], sorted(contents)) == (ENDPOINT, sorted(SNIPPETS))
    assert rows[0] == {"content": BINARY_SEARCH, "memory_type": "project", "file_path": ""}
    with pytest.raises(hivemind.HivemindError, match="only reading"):
        conn.execute("DELETE FROM agent_memory")
    conn.close()


def test_metadata_is_kept_filtered_by_and_read_in_sql() -> None:
    with hivemind.open() as mind:
        mind.remember("Class for managing user authentication.", metadata={"language": "Python", "purpose": "security"})
    run("remember", "Class for managing user sessions.", "--meta", "language=Go")

    with hivemind.open() as mind:
        python = mind.recall("class for managing users", where={"language": "Python"})
    go = run_json("recall", "class for managing users", "--where", "language=Go")
    with hivemind.connect() as conn:
        purposes = conn.query("SELECT metadata ->> 'purpose' AS purpose FROM agent_memory ORDER BY purpose")

    assert [hit.memory.text for hit in python.hits] == [AUTHENTICATION]
    assert [hit["memory"]["metadata"] for hit in go["hits"]] == [{"language": "Go"}]
    assert purposes == [{"purpose": None}, {"purpose": "security"}]


def test_a_program_writes_many_at_once_in_its_own_words(make_repository: Callable[..., Path]) -> None:
    other = make_repository("api", remote="git@github.com:acme/api.git")
    with hivemind.open() as mind:
        mind.remember_all(
            [
                {"content": "Services talk over NATS", "type": "architecture", "repository": str(other)},
                {"content": "Handlers return early on errors", "memory_type": "convention", "tags": ["style"]},
                {
                    "content": "Login loop: exclude /api from the matcher",
                    "type": "error_fix",
                    "file_path": "middleware.ts",
                    "session_id": "s-42",
                    "timestamp": "2026-01-31T09:00:00Z",
                    "metadata": {"ticket": 7},
                },
            ]
        )
    with hivemind.connect() as conn:
        rows = conn.query("SELECT memory_type, kind, repo, file_path, session_id, valid_from FROM agent_memory")

    assert [(row["memory_type"], row["kind"]) for row in rows] == [
        ("architecture", "decision"),
        ("convention", "convention"),
        ("error_fix", "fix"),
    ]
    assert rows[0]["repo"] == "remote:github.com/acme/api"
    assert (rows[2]["file_path"], rows[2]["session_id"]) == ("middleware.ts", "s-42")
    assert rows[2]["valid_from"].startswith("2026-01-31T09:00:00")


def test_four_snippets_are_found_by_what_they_mean() -> None:
    for text in SNIPPETS:
        run("remember", text)

    profiles = run_json("recall", "How to get user data?")
    search = run_json("recall", "Efficient search method")

    assert profiles["hits"][0]["memory"]["text"] == ENDPOINT
    assert search["hits"][0]["memory"]["text"] == BINARY_SEARCH


# 4. Linked to code

# 5. Deploys
