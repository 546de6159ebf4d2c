"""Vectors of large and small teams: complete results, and no row of another team is read."""

from collections.abc import Iterator

import numpy as np
import psycopg
import pytest
from numpy.typing import NDArray

from hivemind.hub import derived_data, search
from hivemind.hub.postgres import connect
from hivemind.hub.store import HubDatabase, HubStore
from hivemind.model.recall import SHIPPED_MODEL
from hivemind.model.scope import Visibility
from hivemind.store.projections import vectors
from hivemind.store.projections.vectors import hash_place
from tests.postgres import new_team

DIMENSION, LARGE, SMALL, FEW = 32, 1500, 300, 40
HERE, THERE = "remote:git.example/acme/api", "remote:git.example/acme/web"
EVERYWHERE, IN_THERE = Visibility(repos=(), everywhere=True), Visibility(repos=(THERE,))
STATISTICS = "SELECT seq_scan, seq_tup_read, idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'vectors'"

Floats = NDArray[np.float32]


def fill(store: HubStore, count: int) -> Floats:
    """Store vectors of passages, which count from 1; the first few are of another repository."""
    rows = np.random.default_rng(count).standard_normal((count, DIMENSION)).astype(np.float32)
    texts = [str((row / np.linalg.norm(row)).round(4).tolist()) for row in rows]
    with store.db.transaction():
        store.db.execute("UPDATE teams SET model = ?", SHIPPED_MODEL)
        store.db.execute("INSERT INTO word_counts (term, doc) VALUES (team()::text, ?)", count)
        store.db.execute(
            "INSERT INTO vectors (passage, model, scale, numbers, place, embedding)"
            " SELECT n, ?, 1, '', CASE WHEN n <= ? THEN ?::bigint ELSE ?::bigint END, text::halfvec"
            " FROM unnest(?::text[]) WITH ORDINALITY AS t (text, n)",
            SHIPPED_MODEL, FEW, hash_place("team", THERE), hash_place("team", HERE), texts,
        )  # fmt: skip
    unit: Floats = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def read_statistics(store: HubStore) -> NDArray[np.int64]:
    """Return how often this connection scanned the table of vectors, and how many rows it read and fetched."""
    return np.array(store.db.connection.execute(STATISTICS).fetchone())


@pytest.fixture
def filled(
    empty_database: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[HubDatabase, str, Floats, str, Floats]]:
    """A large team with a graph and a small one without, whose vectors lie between each other's."""
    monkeypatch.setattr(search, "MOST_COMPARED", 500)
    monkeypatch.setattr(derived_data, "MIN_GRAPH_PASSAGES", 500)
    with HubDatabase.open(empty_database) as hub:
        large, small = new_team(hub), new_team(hub)
        with hub.open_team(large) as store:
            large_rows = fill(store, LARGE)
        with hub.open_team(small) as store:
            small_rows = fill(store, SMALL)
        for state in hub.list_teams():
            hub.build_graph(state, SHIPPED_MODEL, DIMENSION)
        with connect(empty_database) as owner:
            owner.execute("ANALYZE hivemind.vectors")
        yield hub, large, large_rows, small, small_rows


def test_a_large_team_has_a_graph_and_a_small_one_none(filled: tuple[HubDatabase, str, Floats, str, Floats]) -> None:
    hub, large, *_ = filled

    assert {state.team for state in hub.list_teams() if state.has_graph} == {large}
    assert not any(hub.build_graph(state, SHIPPED_MODEL, DIMENSION) for state in hub.list_teams())


def test_nearly_all_of_the_nearest_are_found_in_every_team(
    filled: tuple[HubDatabase, str, Floats, str, Floats],
) -> None:
    hub, large, large_rows, small, small_rows = filled
    questions = np.random.default_rng(9).standard_normal((20, DIMENSION)).astype(np.float32)

    for team, rows in ((large, large_rows), (small, small_rows)):
        with hub.open_team(team) as store:
            shares = [
                len(set(np.argsort(-(rows @ question))[:100] + 1)
                    & set(store.db.index.find_likely(SHIPPED_MODEL, question, EVERYWHERE, 200))) / 100
                for question in questions
            ]  # fmt: skip
        assert np.mean(shares) >= 0.97, team


def test_a_repository_with_few_memories_in_a_large_team_loses_none(
    filled: tuple[HubDatabase, str, Floats, str, Floats],
) -> None:
    hub, large, large_rows, *_ = filled
    question = large_rows[1000]

    with hub.open_team(large) as store:
        found = store.db.index.find_likely(SHIPPED_MODEL, question, IN_THERE, 200)

    assert sorted(found) == list(range(1, FEW + 1))


def test_no_search_reads_a_vector_of_another_team(filled: tuple[HubDatabase, str, Floats, str, Floats]) -> None:
    hub, large, large_rows, small, _ = filled
    nobody = new_team(hub)

    for team, size in ((nobody, 0), (small, SMALL), (large, LARGE)):
        with hub.open_team(team) as store, store.db.reading():
            # Postgres adds what earlier transactions of this connection read, until it next publishes its counts.
            before = read_statistics(store)
            vectors.read_model(store.db)
            store.db.index.find_likely(SHIPPED_MODEL, large_rows[0], EVERYWHERE, 200)
            scans, scanned, fetched = read_statistics(store) - before

        assert (scans, scanned) == (0, 0)
        assert fetched <= size + 1


def test_a_graph_that_was_left_half_built_is_built_again(filled: tuple[HubDatabase, str, Floats, str, Floats]) -> None:
    hub, large, *_ = filled
    name = derived_data.name_graph(large)
    with psycopg.connect(hub.address.replace("hub_owner", "postgres"), autocommit=True) as superuser:
        superuser.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass", [f"hivemind.{name}"]
        )

    built = [hub.build_graph(state, SHIPPED_MODEL, DIMENSION) for state in hub.list_teams() if state.team == large]

    assert built == [True]
