"""Reads tables of databases that other programs own; nothing is ever written to them."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from hivemind.store.sqlite import Sqlite


def read_rows(path: Path, table: str, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table, with those of the columns that it has; none if there is no such table."""
    with closing(Sqlite.open_for_reading(path)) as db:
        # Other programs add columns from version to version, so what is missing is left out.
        present = {row[0] for row in db.execute("SELECT name FROM pragma_table_info(?)", table)}
        names = [name for name in columns if name in present]
        if names:
            # The names come from our own lists, and a table's name cannot be bound.
            for row in db.stream(f'SELECT {", ".join(names)} FROM "{table}" ORDER BY rowid'):
                yield dict(zip(names, row, strict=True))
