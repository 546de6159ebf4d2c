"""Hivemind: a person's memory on their machine."""

from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from hivemind.app.callers import who_calls
from hivemind.app.context import Clock, Context, utc_now
from hivemind.app.mind import Mind, component
from hivemind.capture import spool
from hivemind.codebase.repository import identify
from hivemind.curate import unfinished
from hivemind.model.memory import Writer
from hivemind.settings import Settings
from hivemind.store import Store
from hivemind.text.clean import expand_path

if TYPE_CHECKING:
    from hivemind.app.agent_setup import Agents
    from hivemind.app.devices import Devices
    from hivemind.app.files import Files
    from hivemind.app.team import Team


class Hivemind(Mind):
    """A person's open memory, seen from one working tree."""

    agents: "cached_property[Agents]" = component("agent_setup", "Agents")
    """The agents on this machine, and what connects them."""
    devices: "cached_property[Devices]" = component("devices", "Devices")
    """The person's other machines, and what is exchanged with them."""
    files: "cached_property[Files]" = component("files", "Files")
    """Exports, imports and instruction files."""
    team: "cached_property[Team]" = component("team", "Team")
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
    ) -> "Hivemind":
        """Open a store, creating it on first use, as seen from a directory; without one, from the current directory.

        Only one thread at a time may use the object; each thread can open its own.
        """
        settings = settings or Settings.load()
        tree = Path.cwd() if directory is None else expand_path(directory, "the directory")
        repository = identify(tree, settings.home / "index")
        store = Store.open(settings.store_directory(name))
        mind = cls(Context(store, settings, repository, writer or who_calls(settings), clock))
        mind._catch_up()
        return mind

    def _catch_up(self) -> None:
        """Finish erasures, import the spool and check the lease; each part is loaded only if needed."""
        context = self._context
        if context.store.directory and unfinished.count_unfinished(context.store.directory):
            self.erasures.finish()
        if _has_spool(context.settings.home):
            # Not ``self.sessions``, which takes three times as long to import: a hook may be waiting for its answer.
            from hivemind.app.observations import Observations

            Observations(context).take_in_spool()
        # A device that has not synced for too long must not show what the team may have erased meanwhile.
        if context.store.membership:
            self.team.expire_lease()


def _has_spool(home: Path) -> bool:
    """Whether hooks have written to the spool; false if it cannot be read, which the doctor reports."""
    try:
        return (home / spool.SPOOL_FILE).exists() or bool(spool.list_taken_files(str(home)))
    except OSError:
        return False
