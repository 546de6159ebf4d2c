"""The database interface of a store; SQLite implements it on a laptop (``store/sqlite.py``), Postgres on a hub.

Statements are written once, for both: placeholders are ``?`` or ``:name``, JSON is read by ``json_each`` and
``json_extract``. Each engine has its own search, behind ``index``.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

from hivemind.model.ids import MemoryId, Timestamp
from hivemind.model.recall import Query
from hivemind.model.scope import Visibility

if TYPE_CHECKING:
    # Loading NumPy takes about 90 ms (docs/decisions/0004), too long for processes that compare no vectors.
    import numpy as np
    from numpy.typing import NDArray

Row = tuple[Any, ...]
Item = TypeVar("Item")

READER_SECONDS = 0.5
"""How long one who only reads waits for writers, to write what can be written later too."""
TURN_SECONDS = 0.2
"""How long one who writes much keeps the others from writing, before it is their turn."""


# Tuples, because a recall makes hundreds of them and frozen dataclasses take three times as long.
class PassageHit(NamedTuple):
    """A passage that matches a query by words, its score, and the fields of its memory that ranking needs."""

    key: int
    memory: int
    """The key of its memory; memories that were stored one after the other have successive keys."""
    memory_id: MemoryId
    session_id: str
    kind: str
    trust: int
    repo: str
    revised_at: Timestamp
    text: str
    context: str
    score: float


class WordsOfPassage(NamedTuple):
    """What a passage is found by: its text and the parts of its words, and with less weight what stands beside it."""

    key: int
    text: str
    parts: str
    context: str
    around: str


class Vector(NamedTuple):
    """A passage's vector as signed bytes; multiply by ``scale`` for the real numbers."""

    passage: int
    scale: float
    numbers: bytes


class Closeable:
    """Something open that ``with`` closes."""

    def close(self) -> None:
        """Close it; nothing to do unless a subclass says so."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# A protocol, because the two searches share no code: FTS5 with blocks of signs, or GIN with HNSW.
class SearchIndex(Protocol):
    """Full-text and vector search. Results are visible to the reader, unless a method leaves that to the caller."""

    @property
    def size(self) -> int:
        """About how many passages a query is compared with."""

    def put(self, passages: Sequence[WordsOfPassage]) -> None:
        """Index passages by their words."""

    def set_context(self, passage: int, context: str, around: str) -> None:
        """Replace the context of a passage."""

    def remove(self, passage: int) -> None:
        """Delete a passage and its vector for good."""

    def search(self, query: Query, limit: int) -> list[PassageHit]:
        """Visible passages that match the query and were current at its time, best first."""

    def find_unknown(self, words: Sequence[str]) -> list[str]:
        """Words that no passage has, whoever may see it."""

    def find_with_words(self, any_of: Sequence[Sequence[str]], repo: str, limit: int) -> list[int]:
        """Keys of the newest memories of a repository or the user whose current text has all words of any group."""

    def is_word_elsewhere(self, word: str, except_in: Iterable[str]) -> bool:
        """Whether any other memory has a word in one of its texts."""

    def store_vectors(self, model: str, vectors: Iterable[Vector]) -> None:
        """Index passages by their vectors; passages that no longer exist are skipped."""

    def delete_vectors(self) -> None:
        """Delete every vector."""

    def find_likely(self, model: str, query_vector: "NDArray[np.float32]", sight: Visibility, limit: int) -> list[int]:
        """Passages that are probably similar; the caller must check which of them are visible."""

    def find_likely_in_sessions(self, query_vector: "NDArray[np.float32]", sight: Visibility, limit: int) -> list[int]:
        """Vector keys of passages of sessions that are probably similar; the caller checks which are visible."""

    def search_sessions(self, query: Query, limit: int) -> list[int]:
        """Keys of visible passages of sessions that match the query by words, best first."""

    def count_session_passages(self, words: Sequence[str]) -> dict[str, int]:
        """How many passages of sessions have each word, whoever may see them."""


class Database(Closeable, ABC):
    """An open connection."""

    index: SearchIndex
    """The engine's own search."""
    HAS_SESSIONS: ClassVar[bool] = True
    """Whether sessions can be stored here; never on a hub."""
    HAS_WORKER: ClassVar[bool] = False
    """Whether another process makes the vectors; then a question embeds nothing but itself."""
    LIKE: ClassVar[str] = "LIKE"
    """The operator for patterns that ignore case, at least of ASCII letters; in Postgres that is ILIKE."""

    TEXTS: ClassVar[str] = "words"
    """The table of the passages' texts, by rowid."""

    @abstractmethod
    def execute(self, sql: str, *values: Any) -> list[Row]:
        """Run one statement and return its rows."""

    def one(self, sql: str, *values: Any) -> Row | None:
        """The first row, if there is one."""
        rows = self.execute(sql, *values)
        return rows[0] if rows else None

    def value(self, sql: str, *values: Any) -> Any:
        """The first value of the first row; None if there is no row."""
        row = self.one(sql, *values)
        return row[0] if row else None

    @abstractmethod
    def stream(self, sql: str, *values: Any) -> Iterator[Row]:
        """Yield rows one by one, for results that may not fit in memory."""

    @abstractmethod
    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each row of values."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing, with the write lock; nested transactions join the outer one."""

    def write_in_turns(self, items: Iterable[Item], write: Callable[[Item], object]) -> None:
        """Write many items in short transactions; each item is written as a whole, and others write in between."""
        waiting = deque(items)
        while waiting:
            with self.transaction():
                end = monotonic() + TURN_SECONDS
                while waiting and monotonic() < end:
                    write(waiting.popleft())

    def waiting_at_most(self, seconds: float) -> AbstractContextManager[None]:
        """Wait no longer than this for each lock in the block, where other processes can hold one for long."""
        return nullcontext()

    @abstractmethod
    def reading(self) -> AbstractContextManager[None]:
        """Read several times from one snapshot; nothing is written meanwhile."""

    @abstractmethod
    def empty(self, tables: Sequence[str], schema: str) -> None:
        """Make these tables exist and be empty; they are listed in an order in which they can be dropped."""
