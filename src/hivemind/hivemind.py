"""Hivemind: a person's memory on their machine."""

from contextlib import suppress
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from hivemind.agents.app_callers import who_calls
from hivemind.code.repository import identify
from hivemind.context import Clock, Context, utc_now
from hivemind.erase import unfinished
from hivemind.errors import StoreOutdated, StoreUnwritable
from hivemind.mind import Mind, component
from hivemind.model.memory import Writer
from hivemind.sessions import spool
from hivemind.settings import Settings
from hivemind.store import Store
from hivemind.text.clean import expand_path

if TYPE_CHECKING:
    from hivemind.agents.agent_setup import Agents
    from hivemind.sync.devices import Devices
    from hivemind.sync.team import Team
    from hivemind.transfer.files import Files


MOST_BYTES_IN_A_HURRY = 1_000_000
"""Of the spool that a hook records itself, in a tenth of a second."""


class Hivemind(Mind):
    """A person's open memory, seen from one working tree."""

    has_work_left: bool = False
    """Whether opening it in a hurry left something to do for another process."""
    agents: "cached_property[Agents]" = component("agents.agent_setup", "Agents")
    """The agents on this machine, and what connects them."""
    devices: "cached_property[Devices]" = component("sync.devices", "Devices")
    """The person's other machines, and what is exchanged with them."""
    files: "cached_property[Files]" = component("transfer.files", "Files")
    """Exports, imports and instruction files."""
    team: "cached_property[Team]" = component("sync.team", "Team")
    """The team's hub, and what is exchanged with it."""

    @classmethod
    def open(
        cls,
        name: str | None = None,
        *,
        directory: str | PathLike[str] | None = None,
        settings: Settings | None = None,
        writer: Writer | None = None,
        clock: Clock = utc_now,
        is_hurried: bool = False,
    ) -> "Hivemind":
        """Open a store, creating it on first use, as seen from a directory; without one, from the current directory.

        Only one thread at a time may use the object; each thread can open its own. In a hurry, it hardly waits for
        other processes, and leaves to others what may take long.
        """
        settings = settings or Settings.load()
        tree = Path.cwd() if directory is None else expand_path(directory, "the directory")
        repository = identify(tree, settings.home / "index")
        store = Store.open(settings.store_directory(name), is_hurried=is_hurried)
        author = writer or who_calls(settings)
        mind = cls(Context(store, settings, repository, author, clock, is_hurried=is_hurried))
        try:
            mind._catch_up()
        except BaseException:
            mind.close()
            raise
        return mind

    def _catch_up(self) -> None:
        """Finish erasures, import the spool and check the lease; each part is loaded only if needed."""
        context = self._context
        if context.store.directory and unfinished.count_unfinished(context.store.directory):
            if context.is_hurried:
                self._leave_work()
            else:
                self.erasures.finish()
        if waiting_bytes := _count_spool_bytes(context.settings.home):
            self._take_in_spool(waiting_bytes)
        # A device that has not synced for too long must not show what the team may have erased meanwhile.
        if context.store.membership:
            if context.is_hurried and self.team.is_lease_over():
                raise StoreOutdated("the last sync with the team is too long ago; 'hivemind sync' brings its memories")
            self.team.expire_lease()

    def _leave_work(self) -> None:
        # While somebody writes for long, one more process that waits would not help; the next hook tries again.
        with suppress(StoreUnwritable), self._context.store.db.transaction():
            self.has_work_left = True

    def _take_in_spool(self, waiting_bytes: int) -> None:
        context = self._context
        if context.is_hurried and waiting_bytes > MOST_BYTES_IN_A_HURRY:
            context.has_waiting_lines = True
            self._leave_work()
            return
        # Not ``self.sessions``, which takes three times as long to import: a hook may be waiting for its answer.
        from hivemind.sessions.observations import Observations

        Observations(context).take_in_spool()


def _count_spool_bytes(home: Path) -> int:
    """Count what hooks have written to the spool; zero if it cannot be read, which the doctor reports."""
    try:
        return spool.count_waiting_bytes(str(home))
    except OSError:
        return 0
