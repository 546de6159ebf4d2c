"""A store whose files are not what they were says so, and is never replaced by an empty one."""

from pathlib import Path

import pytest

from hivemind.errors import StoreDamaged, StoreError, StoreTooNew
from hivemind.store import projector
from hivemind.store.integrity import find_stray_bits
from hivemind.store.sqlite import Sqlite
from hivemind.store.store import FILE, ID_FILE, Store
from tests.command_line import run


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    Store.open(tmp_path).close()
    return tmp_path


def test_a_store_is_created_on_first_use_and_found_again(directory: Path) -> None:
    identity = (directory / ID_FILE).read_text()

    store = Store.open(directory)

    assert store.db.value("SELECT store FROM identity") == identity.strip()
    store.close()


def test_a_missing_file_is_an_error_with_a_remedy(directory: Path) -> None:
    (directory / FILE).unlink()

    with pytest.raises(StoreDamaged, match=r"missing.*backup restore', or remove"):
        Store.open(directory)
    assert not (directory / FILE).exists()


def test_an_empty_file_is_an_error_with_a_remedy(directory: Path) -> None:
    (directory / FILE).write_bytes(b"")

    with pytest.raises(StoreDamaged, match="empty"):
        Store.open(directory)


def test_another_store_in_its_place_is_noticed(directory: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    Store.open(other).close()
    (directory / FILE).write_bytes((other / FILE).read_bytes())

    with pytest.raises(StoreDamaged, match="is not the store that"):
        Store.open(directory)


def test_a_file_that_is_no_database_is_refused(directory: Path) -> None:
    (directory / FILE).write_bytes(b"not a database, but long enough to look like one" * 100)

    with pytest.raises(StoreDamaged, match="hivemind doctor"):
        Store.open(directory)


def test_a_store_of_a_newer_program_is_refused_politely(directory: Path) -> None:
    db = Sqlite.open(directory / FILE)
    db.execute("PRAGMA user_version = 99")
    db.close()

    with pytest.raises(StoreTooNew, match="upgrade"):
        Store.open(directory)


def test_tables_of_an_older_program_are_derived_again(directory: Path) -> None:
    db = Sqlite.open(directory / FILE)
    db.execute("DROP TABLE receipts")
    db.execute("UPDATE bookmarks SET version = 0")
    db.close()

    store = Store.open(directory)

    assert projector.read_version(store.db) == projector.VERSION
    assert store.db.value("SELECT count(*) FROM receipts") == 0
    store.close()


def test_a_directory_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(StoreError, match="file"):
        Store.open(tmp_path / "file" / "below")


def test_the_doctor_advises_what_helps(home: Path) -> None:
    Store.open(home).close()
    healthy = (home / FILE).read_bytes()
    db = Sqlite.open(home / FILE)
    db.execute("PRAGMA user_version = 99")
    db.close()
    newer = run("doctor")
    (home / FILE).write_bytes(healthy[: len(healthy) // 2])
    damaged = run("doctor")

    assert "pip install -U" in newer.output
    assert "repair" not in newer.output
    assert "hivemind repair, or hivemind backup restore" in " ".join(damaged.output.split())


@pytest.mark.parametrize(("is_pointer", "problems"), [(False, 1), (True, 0)])
def test_a_bit_in_unused_space_is_found_unless_sqlite_may_have_left_it(
    directory: Path, is_pointer: bool, problems: int
) -> None:
    page, place = _find_unused_space(directory / FILE)
    with (directory / FILE).open("r+b") as file:
        file.seek(page + place)
        # The offset of a cell on its page, such as stays behind when the cell is deleted; or no possible offset.
        file.write((4000).to_bytes(2) if is_pointer else (2).to_bytes(2))

    with Store.open(directory) as store:
        assert len(find_stray_bits(store, directory / FILE)) == problems


def _find_unused_space(file: Path) -> tuple[int, int]:
    """Return where a page begins, and a place on it amid at least 64 bytes of unused space before its cells."""
    content = file.read_bytes()
    for page in range(4096, len(content), 4096):
        kind, cells = content[page], int.from_bytes(content[page + 3 : page + 5])
        first_cell = int.from_bytes(content[page + 5 : page + 7])
        start = 8 + 2 * cells
        if kind in (10, 13) and 4000 >= first_cell > start + 64 and not any(content[page + start : page + first_cell]):
            return page, (start + 33) // 2 * 2
    raise AssertionError("no page has unused space")
