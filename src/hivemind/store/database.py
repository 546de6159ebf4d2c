"""What a store needs of a database; SQLite gives it on a laptop (``store/sqlite.py``), Postgres on a hub.

Statements are written once, for both: placeholders are ``?`` or ``:name``, JSON is read by ``json_each`` and
``json_extract``. Search is each engine's own, behind ``index``.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from hivemind.model.ids import MemoryId
from hivemind.model.recall import Query
from hivemind.model.scope import Sight

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """A passage that may answer, how well its words fit, and what ranking needs to know of its memory."""

    key: int
    memory_id: MemoryId
    kind: str
    trust: int
    repo: str
    revised_at: str
    text: str
    context: str
    score: float


@dataclass(frozen=True, slots=True)
class Vector:
    """A passage's vector in signed bytes; times scale they are the vector."""

    passage: int
    scale: float
    numbers: bytes


class Held:
    """Something that is held open; ``with`` gives it back."""

    def close(self) -> None:
        """Give back what is held."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Index(Protocol):
    """Full-text and vector search. What it finds is in sight, or is asked again in a statement that says so."""

    @property
    def size(self) -> int:
        """About how many passages a question is compared with."""

    def put(self, passage: int, *, text: str, parts: str, context: str, around: str) -> None:
        """Let a passage be found by its words."""

    def surround(self, passage: int, context: str, around: str) -> None:
        """Change what is known around a passage."""

    def remove(self, passage: int) -> None:
        """Take a passage out for good, its vector with it."""

    def search(self, query: Query, limit: int) -> list[Found]:
        """Passages in sight that were believed at the query's moment, the best fitting first."""

    def sharing(self, any_of: Sequence[Sequence[str]], repo: str, limit: int) -> list[int]:
        """Keys of the newest memories of a repository, or of the user, whose text today has all words of a group."""

    def is_said_elsewhere(self, word: str, except_in: Iterable[str]) -> bool:
        """Whether any memory but these has a word in one of its texts."""

    def keep(self, model: str, vectors: Iterable[Vector]) -> None:
        """Let passages that still exist be found by their meaning."""

    def forget_vectors(self) -> None:
        """Let go of every vector."""

    def likely(self, asked: "NDArray[np.float32]", sight: Sight, limit: int) -> list[int]:
        """Passages that are likely near in meaning; whether they may be seen is for the caller to ask."""


class Database(Held, ABC):
    """An open connection."""

    index: Index
    """The engine's own search."""
    LIKE: ClassVar[str] = "LIKE"
    """The operator that compares with a pattern whatever the case, of ASCII letters at least."""

    @abstractmethod
    def execute(self, sql: str, *values: Any) -> list[Row]:
        """Run one statement and return its rows."""

    def one(self, sql: str, *values: Any) -> Row | None:
        """The first row, if there is one."""
        rows = self.execute(sql, *values)
        return rows[0] if rows else None

    def value(self, sql: str, *values: Any) -> Any:
        """The only value of the only row."""
        row = self.one(sql, *values)
        return row[0] if row else None

    @abstractmethod
    def stream(self, sql: str, *values: Any) -> Iterator[Row]:
        """Rows one by one, for results that need not fit in memory."""

    @abstractmethod
    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each row of values."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing, and alone among writers; inside another one it is part of that."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[None]:
        """Several questions of one moment; nothing is written meanwhile."""

    @abstractmethod
    def empty(self, tables: Sequence[str], schema: str) -> None:
        """Have these tables with nothing in them; they are given in the order in which they can go."""
