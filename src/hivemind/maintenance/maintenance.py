"""Maintenance of the store: health, backups, embedding model, status."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING

from hivemind import background
from hivemind.context import Context, Progress, quietly
from hivemind.embedding.lazy_embedder import LazyEmbedder
from hivemind.errors import InvalidInput
from hivemind.lazy import LazyModule
from hivemind.model import timestamps
from hivemind.model.recall import SHIPPED_MODEL
from hivemind.model.status import ModelState, Stats, StatusReport
from hivemind.sessions import quarantine, spool_reader
from hivemind.settings import write_setting
from hivemind.store import backup as backup_module
from hivemind.store import integrity, log
from hivemind.store.projections import memories, outcomes, sessions, vectors
from hivemind.store.repair import BACKUP_FOLDER
from hivemind.text.clean import expand_path

if TYPE_CHECKING:
    from hivemind.embedding import models
    from hivemind.erase import erasures as erase_verbs
    from hivemind.maintenance import status
    from hivemind.transfer import skills
else:
    # NumPy, which most of this does not need. Loaded before the embedder asks for one thread, it starts several, which
    # wait for each other: at low priority on a busy machine, making vectors then takes ten times as long.
    models = LazyModule("embedding.models")
    # The health of agents takes modules that nothing else here needs: a fifth of the import time.
    status = LazyModule("maintenance.status")
    erase_verbs = LazyModule("erase.erasures")
    skills = LazyModule("transfer.skills")

EMBEDDING_LOCK = "embedding.lock"
INSPECT_QUARANTINE = (
    "hivemind quarantine shows them; after an upgrade 'hivemind quarantine --retry' reads them again,"
    " 'hivemind quarantine --discard --all' removes them"
)
EMBEDDING_THREADS = 2
"""NumPy lets them run at once, at the same CPU time; other cores stay free."""


class Maintenance:
    """Checks, backs up and rebuilds the store, and manages the embedding model."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def stats(self) -> Stats:
        """Count memories, sessions, observations, events and bytes."""
        session_count, observation_count = sessions.count(self._context.store.db)
        return Stats(
            memories=tuple(memories.count_by_kind(self._context.store.db)),
            sessions=session_count,
            observations=observation_count,
            events=log.count_entries(self._context.store.db),
            bytes=self._context.store.bytes,
            outcomes=tuple(outcomes.count_by_kind(self._context.store.db)),
        )

    def doctor(self, *, quick: bool = False) -> tuple[integrity.Finding, ...]:
        """Check the store; ``quick`` skips comparing the tables with a rebuild."""
        return *integrity.examine(self._context.store, quick=quick), *self._examine_erasures(), *self._examine_skills()

    def _examine_erasures(self) -> Iterator[integrity.Finding]:
        """Report erasures that are not finished, after trying once more."""
        if self._context.store.directory:
            erasures = erase_verbs.Erasures(self._context)
            erasures.finish()
            count = erasures.count_unfinished()
            problems = [f"{count} not finished: their text may still be in the store's files"] if count else []
            remedy = "close other programs that use the store, then run 'hivemind doctor' again"
            yield integrity.Finding.of("erasures", problems, "all are finished", remedy)

    def _examine_skills(self) -> Iterator[integrity.Finding]:
        """Report skills of this repository that differ from the memories they were written from."""
        # A hub has no working tree.
        if self._context.checkout.exists:
            yield from skills.examine_skills(self._context)

    def examine_inputs(self) -> Iterator[integrity.Finding]:
        """Report hook data that could not be imported when the store was opened, and inputs that could not be read."""
        home = self._context.settings.home
        if files := spool_reader.list_taken_files(str(home)):
            detail = f"what hooks left cannot be taken in: {', '.join(files)}"
            remedy = f"free some space, or make {home} and all in it writable"
            yield integrity.Finding(what="spool", is_well=False, detail=detail, remedy=remedy)
        items = quarantine.load_items(home)
        if not items:
            detail = "empty: everything that came in could be read"
            yield integrity.Finding(what="quarantine", is_well=True, detail=detail)
            return
        newest = items[-1]
        full = "; it is full, so the oldest go" if quarantine.is_full(home) else ""
        detail = f"{len(items):,} could not be read{full}; the newest: {newest.where}: {newest.reason}"
        yield integrity.Finding(what="quarantine", is_well=False, detail=detail, remedy=INSPECT_QUARANTINE)

    def backup(self, file: str | PathLike[str] = "") -> backup_module.Backup:
        """Back up the store while others write; without a file name, to its backup folder."""
        directory = self._context.store.directory
        if directory is None:
            raise InvalidInput("a hub's database is backed up with the tools of Postgres, such as pg_dump")
        beside = directory / BACKUP_FOLDER / f"{timestamps.format_for_filename(self._context.clock())}.db"
        return backup_module.create(self._context.store, expand_path(file, "the file").absolute() if file else beside)

    def audit(self) -> tuple[log.ChainBreak, ...]:
        """Find entries at which the log was edited, cut or reordered; empty if its chain verifies."""
        return tuple(log.verify(self._context.store.db))

    def model(self) -> ModelState:
        """Return the embedding model and how many passages it has embedded."""
        embedder = self._context.embedder.meaning.embedder if self._context.embedder.meaning else None
        name = embedder.name if embedder else ""
        vector_count, waiting_count = vectors.count(self._context.store.db, name)
        return ModelState(
            name=name,
            dimension=embedder.dimension if embedder else 0,
            embedded=vector_count,
            waiting=waiting_count,
            without=self._context.embedder.missing_because,
        )

    def use_model(self, name: str) -> ModelState:
        """Use another embedding model; vectors are replaced during later recalls."""
        # Loaded before it is set, so that a wrong name changes nothing.
        if name and name != "none":
            models.load(name)
        write_setting(self._context.settings.home, "model", name)
        self._context.settings = replace(self._context.settings, model=name)
        self._context.embedder = LazyEmbedder(name, self._context.home)
        return self.model()

    def catch_up(self, progress: Progress = quietly, *, include_sessions: bool = False) -> int:
        """Embed all passages of memories, or of sessions too, that have no vector yet; each recall embeds a few."""
        meaning = self._context.embedder.meaning
        if meaning is None:
            return 0
        db, threads = self._context.store.db, EMBEDDING_THREADS
        return meaning.catch_up(db, sys.maxsize, progress, include_sessions=include_sessions, threads=threads)

    def start_catching_up(self) -> None:
        """Start a process that embeds what has no vector yet; nobody waits for it."""
        context = self._context
        model = context.settings.model or SHIPPED_MODEL
        if model == "none" or not vectors.count(context.store.db, model)[1]:
            return
        context.start_in_background("config", "model", "catch-up", "--background")

    def catch_up_politely(self) -> int:
        """Embed all passages at the lowest priority, unless another process does."""
        directory = self._context.store.directory
        if directory is None:
            return 0
        with background.run_alone(directory / EMBEDDING_LOCK) as is_alone:
            return self.catch_up(include_sessions=True) if is_alone else 0

    def rebuild(self, progress: Progress = quietly) -> None:
        """Rebuild all tables from the log; no answer changes."""
        self._context.store.rebuild(progress)
        self.catch_up(progress)

    def status(self) -> StatusReport:
        """Summarise memories, connected agents, pending reviews and next steps."""
        return status.build_status(self._context, self.stats())
