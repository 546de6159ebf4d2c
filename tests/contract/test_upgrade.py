"""A store that an earlier version wrote opens, verifies and answers."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from hivemind.store.store import FORMAT
from tests.conftest import Open

STORES = sorted((Path(__file__).parents[1] / "fixtures" / "stores").glob("*.db.gz"))


def test_there_is_a_store_of_every_format_that_was_released() -> None:
    assert {int(file.name.split("-")[1]) for file in STORES} == {FORMAT}


@pytest.mark.parametrize("file", STORES, ids=lambda file: file.name)
def test_a_store_of_an_earlier_version_is_as_good_as_new(
    file: Path, home: Path, make_repository: Callable[..., Path], open_mind: Open
) -> None:
    home.mkdir()
    (home / "memory.db").write_bytes(gzip.decompress(file.read_bytes()))
    shop = make_repository("shop", remote="https://example.org/acme/shop.git")

    mind = open_mind(shop)

    assert mind.maintenance.audit() == ()
    assert [finding.what for finding in mind.maintenance.doctor() if not finding.is_well] == []
    assert mind.recall("where do deploys run from?").hits[0].memory.text == "Deploys run from main only"
    port = mind.recall("which port has the API?").hits[0].memory
    assert (port.text, port.version) == ("API port is 9090", 2)
    assert mind.history.steps(port.id)[0].after.text == "API port is 8080"
    assert {(one.status.value, one.text) for one in mind.list()} >= {
        ("active", "Prefers short answers"),
        ("proposed", "Perhaps the cache is too small"),
        ("retracted", "Builds need Java 8"),
    }
    assert mind.search_traces("redirect loop").hits != ()
    assert mind.history.receipts() != ()
    assert b"Globex" not in (home / "memory.db").read_bytes()
    assert mind.remember("Written by the new version").version == 1
    mind.maintenance.rebuild()
    assert mind.recall("which port has the API?").hits[0].memory == port
