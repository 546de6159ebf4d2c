"""Hivemind: the one object behind every door.

Each method is a sentence: take values in, call the package that knows, record what happened. The chapters are
``writing``, ``reading``, ``coding``, ``judging``, ``looking``, ``sharing``, ``connecting``,
``observing`` and ``caring``; if a method needs a second paragraph, that paragraph belongs in a package
below.
"""

from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Self

from hivemind.app.caring import Caring
from hivemind.app.core import Clock, Model, client_of, utc_now, when_called, who_calls
from hivemind.app.looking import Looking
from hivemind.app.observing import Observing
from hivemind.app.sharing import Sharing
from hivemind.app.writing import Writing
from hivemind.codebase.repository import identify
from hivemind.errors import InvalidInput, StoreError, Unavailable
from hivemind.model.scope import Repository
from hivemind.model.text import checked
from hivemind.model.writer import Writer
from hivemind.settings import Settings
from hivemind.store import Store
from hivemind.store.checkup import UNREADABLE
from hivemind.store.reader import Reader

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Hivemind", "client_of", "connect", "embed"]

VECTOR_FUNCTIONS = {
    name: when_called("hivemind.recall.functions", name) for name in ("cosine_similarity", "unpack_vector")
}


class Hivemind(Writing, Looking, Caring, Sharing, Observing):
    """A person's memory, open for use, seen from one working tree."""

    @classmethod
    def open(
        cls,
        name: str | None = None,
        *,
        directory: Path | None = None,
        settings: Settings | None = None,
        writer: Writer | None = None,
        clock: Clock = utc_now,
    ) -> "Hivemind":
        """Open a store, creating it on first use, as seen from a directory."""
        settings = settings or Settings.load()
        repository = identify(directory or Path.cwd())
        store = Store.open(settings.store_directory(name))
        mind = cls(store, settings, repository, writer or who_calls(settings), clock)
        with suppress(StoreError, OSError, *UNREADABLE):
            # What cannot be finished now must not keep the store shut; the doctor tells of it.
            mind.finish_erasures()
        mind.take_in_spool()
        mind.let_lease_lapse()
        return mind

    @classmethod
    def at_hub(
        cls, store: Store, repo: str, *, settings: Settings, writer: Writer, clock: Clock = utc_now,
        model: Model | None = None,
    ) -> Self:  # fmt: skip
        """Open a team's memory where a hub keeps it, as seen from a repository whose working tree is elsewhere."""
        return cls(store, settings, Repository(id=repo, root=""), writer, clock, model)


def connect(name: str | None = None) -> Reader:
    """A connection that reads the memories by SQL; without a name, the default store."""
    settings = Settings.load()
    mind = Hivemind.open(name, settings=settings)
    try:
        functions = VECTOR_FUNCTIONS | {"embed": _embed_for_sql}
        return Reader.open(settings.store_directory(name), functions, mind.catch_up, mind.close)
    except BaseException:
        mind.close()
        raise


def embed(text: str) -> "NDArray[np.float32]":
    """The vector of a text by the model that made the column ``embedding``, for ``cosine_similarity``."""
    if not isinstance(text, str):
        raise InvalidInput(f"embed takes text, not {text!r}")
    model = _model(Settings.load().model)
    if model.meaning is None:
        raise Unavailable(model.without)
    vector: NDArray[np.float32] = model.meaning.embedder.embed([checked(text)])[0]
    return vector


@cache
def _model(named: str) -> Model:
    """A model for the whole process, because loading one takes longer than using it."""
    return Model(named)


def _embed_for_sql(text: str | None) -> bytes | None:
    return embed(text).astype("<f4").tobytes() if text else None
