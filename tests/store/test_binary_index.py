"""The signs of vectors in memory: what they propose, and for whom."""

import numpy as np
import pytest

from hivemind.model.scope import Visibility
from hivemind.store.binary_index import Signs, pack_signs
from hivemind.store.database import Row
from hivemind.store.projections.vectors import SESSION_SCOPE, hash_place

HERE = Visibility(repos=("here",))
EVERYWHERE = Visibility(repos=("here",), everywhere=True)
CHANCE = np.random.default_rng(7)
VECTORS = CHANCE.integers(-127, 128, (600, 384)).astype(np.int8)
QUERY = CHANCE.standard_normal(384).astype(np.float32)


def block(number: int, passages: list[int], scope: str = "project", repo: str = "here") -> Row:
    """A block as the table has it; passage n has the n-th vector."""
    places = [hash_place(scope, repo)] * len(passages)
    return (
        number,
        b"".join(passage.to_bytes(8, "little", signed=True) for passage in passages),
        b"".join(place.to_bytes(8, "little", signed=True) for place in places),
        pack_signs([VECTORS[abs(passage)].tobytes() for passage in passages]),
    )


def count_differing(passage: int) -> int:
    return int(np.count_nonzero((VECTORS[abs(passage)] > 0) != (QUERY > 0)))


@pytest.mark.parametrize("limit", [1, 20, 299, 300, 500])
def test_the_passages_whose_signs_differ_least_are_proposed(limit: int) -> None:
    signs = Signs()
    signs.add([block(1, list(range(1, 201))), block(2, list(range(201, 256)))])
    signs.add([block(3, list(range(256, 301)))])
    nearest = signs.find_nearest(QUERY, HERE, limit)
    distances = sorted(map(count_differing, range(1, 301)))[:limit]
    assert sorted(map(count_differing, nearest)) == distances
    assert len(set(nearest)) == len(nearest)


def test_a_place_out_of_sight_is_proposed_only_to_who_looks_everywhere() -> None:
    signs = Signs()
    signs.add([block(1, [1, 2]), block(2, [3, 4], repo="there"), block(3, [5], scope="user", repo="")])
    assert sorted(signs.find_nearest(QUERY, HERE, 10)) == [1, 2, 5]
    assert sorted(signs.find_nearest(QUERY, EVERYWHERE, 10)) == [1, 2, 3, 4, 5]


def test_sessions_and_memories_are_proposed_apart() -> None:
    signs = Signs()
    signs.add([block(1, [1, 2]), block(2, [-3, -4], scope=SESSION_SCOPE)])
    for sight in (HERE, EVERYWHERE):
        assert sorted(signs.find_nearest(QUERY, sight, 10)) == [1, 2]
        assert sorted(signs.find_nearest(QUERY, sight, 10, of_sessions=True)) == [-4, -3]
    assert signs.memory_count == 2


def test_an_erased_slot_is_never_proposed() -> None:
    signs = Signs()
    signs.add([block(1, [0, 0]), block(2, [0, 1])])
    assert signs.find_nearest(QUERY, HERE, 10) == [1]
    assert signs.find_nearest(QUERY, EVERYWHERE, 10) == [1]
    assert signs.memory_count == 1
    assert signs.last_block == 2


def test_nothing_is_proposed_where_there_is_nothing() -> None:
    signs = Signs()
    signs.add([])
    assert signs.find_nearest(QUERY, HERE, 10) == []
