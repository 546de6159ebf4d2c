"""Hivemind: a person's memory on their machine, behind every door."""

from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from hivemind.app.callers import who_calls
from hivemind.app.context import Clock, Context, utc_now
from hivemind.app.mind import Mind
from hivemind.capture import spool
from hivemind.codebase.repository import identify
from hivemind.curate import unfinished
from hivemind.errors import StoreError
from hivemind.model.memory import Writer
from hivemind.settings import Settings
from hivemind.store import Store
from hivemind.store.integrity import DAMAGE_ERRORS

if TYPE_CHECKING:
    from hivemind.app.agent_setup import Agents
    from hivemind.app.files import Files
    from hivemind.app.team import Team


class Hivemind(Mind):
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
        mind = cls(Context(store, settings, repository, writer or who_calls(settings), clock))
        mind._catch_up()
        return mind

    def _catch_up(self) -> None:
        """Finish what was left since the store was last open; each part is loaded only if there is something to do."""
        context = self._context
        if context.store.directory and unfinished.count_unfinished(context.store.directory):
            # What cannot be finished now must not keep the store shut; the doctor tells of it.
            with suppress(StoreError, OSError, *DAMAGE_ERRORS):
                self.erasures.finish()
        if _has_spool(context.settings.home):
            # Without the rest of ``sessions``: a hook has just written to the spool and waits for its answer.
            from hivemind.app.observations import Observations

            Observations(context).take_in_spool()
        if context.store.membership:
            self.team.expire_lease()

    @cached_property
    def agents(self) -> "Agents":
        """The agents on this machine, and what connects them."""
        from hivemind.app.agent_setup import Agents

        return Agents(self._context)

    @cached_property
    def files(self) -> "Files":
        """Exports, imports and instruction files."""
        from hivemind.app.files import Files

        return Files(self._context)

    @cached_property
    def team(self) -> "Team":
        """The team's hub, and what is exchanged with it."""
        from hivemind.app.team import Team

        return Team(self._context)


def _has_spool(home: Path) -> bool:
    """Whether hooks have left something; where that cannot be seen, the doctor tells of it."""
    try:
        return (home / spool.SPOOL_FILE).exists() or bool(spool.list_taken_files(str(home)))
    except OSError:
        return False
