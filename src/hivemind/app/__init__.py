"""Hivemind: the one object behind every door.

Each method is a sentence: take values in, call the package that knows, record what happened. The chapters are
``writing``, ``reading``, ``coding``, ``judging``, ``looking``, ``sharing``, ``connecting``,
``observing`` and ``caring``; if a method needs a second paragraph, that paragraph belongs in a package
below.
"""

import errno
from contextlib import suppress
from pathlib import Path
from typing import Self

from hivemind.app.caring import Caring
from hivemind.app.core import Clock, Model, client_of, utc_now, when_called, who_calls
from hivemind.app.looking import Looking
from hivemind.app.observing import Observing
from hivemind.app.sharing import Sharing
from hivemind.app.writing import Writing
from hivemind.codebase.repository import identify
from hivemind.errors import StoreError, StoreFull
from hivemind.model.scope import Repository
from hivemind.model.writer import Writer
from hivemind.settings import Settings
from hivemind.store import Store
from hivemind.store.checkup import UNREADABLE
from hivemind.store.reader import Reader

__all__ = ["Hivemind", "client_of", "connect"]

VECTOR_FUNCTIONS = {
    name: when_called("hivemind.recall.functions", name) for name in ("embed", "cosine_similarity", "unpack_vector")
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
        try:
            mind.take_in_spool()
        except (StoreFull, OSError) as error:
            # On a full disk what hooks left stays where it is; reading and erasing must go on.
            if not isinstance(error, StoreFull) and error.errno != errno.ENOSPC:
                raise
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
    with Hivemind.open(name, settings=settings):
        return Reader.open(settings.store_directory(name), VECTOR_FUNCTIONS)
