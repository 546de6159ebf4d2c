"""The verbs that look after the store."""

import sys

from hivemind.app.core import Core, Progress, quietly
from hivemind.model.reports import Stats
from hivemind.store import checkup, log
from hivemind.store.projections import memories, sessions


class Caring(Core):
    """What keeps the store well."""

    def stats(self) -> Stats:
        """How much there is."""
        seen_sessions, seen_observations = sessions.count(self._store.db)
        return Stats(
            memories=tuple(memories.counts(self._store.db)),
            sessions=seen_sessions,
            observations=seen_observations,
            events=log.end(self._store.db),
            bytes=sum(file.stat().st_size for file in self._store.directory.glob("memory.db*")),
        )

    def doctor(self) -> tuple[checkup.Finding, ...]:
        """What was looked at, what is wrong, and what to do about it."""
        return tuple(checkup.examine(self._store))

    def audit(self) -> tuple[log.Broken, ...]:
        """Every place where the log was edited, cut or put in another order; none if it holds."""
        return tuple(log.verify(self._store.db))

    def catch_up(self, progress: Progress = quietly) -> int:
        """Let everything recorded be found by meaning too; recall does a little of this by itself."""
        return self._meaning.catch_up(self._store.db, sys.maxsize, progress) if self._meaning else 0

    def rebuild(self, progress: Progress = quietly) -> None:
        """Derive everything from the log again; no answer changes."""
        self._store.rebuild(progress)
        self.catch_up(progress)
