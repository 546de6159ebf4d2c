"""Looking after the store: its health, its backups, the embedding model, and what to do next."""

import importlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from hivemind.app.context import Context, LazyEmbedder, Progress, quietly
from hivemind.curate import unfinished
from hivemind.errors import InvalidInput
from hivemind.formats import timestamps
from hivemind.model.reports import ModelComparison, ModelState, Stats, StatusReport
from hivemind.settings import write_setting
from hivemind.store import backup as copies
from hivemind.store import integrity, log
from hivemind.store.projections import memories, sessions, vectors
from hivemind.store.repair import BACKUP_FOLDER


class Maintenance:
    """What keeps the store well, and how all of it stands."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def stats(self) -> Stats:
        """How much there is."""
        session_count, observation_count = sessions.count(self._context.store.db)
        return Stats(
            memories=tuple(memories.count_by_kind(self._context.store.db)),
            sessions=session_count,
            observations=observation_count,
            events=log.count_entries(self._context.store.db),
            bytes=self._context.store.bytes,
        )

    def doctor(self, *, quick: bool = False) -> tuple[integrity.Finding, ...]:
        """What was looked at, what is wrong, and what to do about it; quickly, without deriving all tables again."""
        return *integrity.examine(self._context.store, quick=quick), *self._unfinished_erasures()

    def _unfinished_erasures(self) -> Iterator[integrity.Finding]:
        """Whether every erasure that was begun is done; opening the store has just tried to finish them."""
        if self._context.store.directory:
            count = unfinished.count_unfinished(self._context.store.directory)
            detail = (
                f"{count} not finished: their text may still be in the store's files" if count else "all are finished"
            )
            remedy = "close other programs that use the store, then run 'hivemind doctor' again" if count else ""
            yield integrity.Finding(what="erasures", is_well=not count, detail=detail, remedy=remedy)

    def backup(self, file: str = "") -> copies.Backup:
        """Copy the store as it is now, while others go on writing; without a file, beside it."""
        beside = (
            self._require_directory() / BACKUP_FOLDER / f"{timestamps.format_for_filename(self._context.clock())}.db"
        )
        return copies.create(self._context.store, Path(file).absolute() if file else beside)

    def backups(self) -> tuple[copies.Backup, ...]:
        """The copies that lie beside the store."""
        return tuple(copies.list_backups(self._require_directory()))

    def _require_directory(self) -> Path:
        if self._context.store.directory is None:
            raise InvalidInput("a hub's database is backed up with the tools of Postgres, such as pg_dump")
        return self._context.store.directory

    def audit(self) -> tuple[log.ChainBreak, ...]:
        """Every place where the log was edited, cut or put in another order; none if it holds."""
        return tuple(log.verify(self._context.store.db))

    def model(self) -> ModelState:
        """Which model searches by meaning, and how many passages it has read."""
        embedder = self._context.embedder.meaning.embedder if self._context.embedder.meaning else None
        vector_count, waiting_count = vectors.count(self._context.store.db)
        return ModelState(
            name=embedder.name if embedder else "",
            dimension=embedder.dimension if embedder else 0,
            embedded=vector_count,
            waiting=waiting_count,
            without=self._context.embedder.missing_because,
        )

    def use_model(self, name: str) -> ModelState:
        """Search by another model from now on; its vectors are made as recall goes on."""
        if name and name != "none":
            importlib.import_module("hivemind.recall.models").load(name)
        write_setting(self._context.settings.home, "model", name)
        self._context.settings = replace(self._context.settings, model=name)
        self._context.embedder = LazyEmbedder(name)
        return self.model()

    def compare_models(self, names: Sequence[str], sample: int = 100) -> tuple[ModelComparison, ...]:
        """How well models find the memories at hand by their first halves, and how long they take."""
        texts = [
            memory.text for memory in memories.list_memories(self._context.store.db, self._context.query(limit=sample))
        ]
        compare = importlib.import_module("hivemind.recall.comparison").compare
        return tuple(compare(name, texts) for name in names)

    def catch_up(self, progress: Progress = quietly) -> int:
        """Let everything recorded be found by meaning too; recall does a little of this by itself."""
        meaning = self._context.embedder.meaning
        return meaning.catch_up(self._context.store.db, sys.maxsize, progress) if meaning else 0

    def rebuild(self, progress: Progress = quietly) -> None:
        """Derive everything from the log again; no answer changes."""
        self._context.store.rebuild(progress)
        self.catch_up(progress)

    def status(self) -> StatusReport:
        """What is remembered here, who is connected, what waits, and what is worth doing now."""
        # The health of agents takes modules that nothing else here needs.
        from hivemind.app.status import status

        return status(self._context, self.stats())
