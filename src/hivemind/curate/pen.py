"""Writes events: every fact on its way into the log passes here and is signed and redacted."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from hivemind.model.events import Event, Fact, strings_changed
from hivemind.model.ids import EventId, event_id
from hivemind.model.memory import Channel, Memory
from hivemind.model.moments import later, written
from hivemind.model.scope import Scope
from hivemind.model.writer import Writer


@dataclass(frozen=True, slots=True, kw_only=True)
class Pen:
    """Who writes, what time it is, and how secrets are taken out."""

    writer: Writer
    clock: Callable[[], datetime]
    redact: Callable[[str], str]
    batch: str = ""

    def event(
        self,
        fact: Fact,
        scope: Scope,
        repo: str,
        *,
        channel: Channel | None = None,
        id: EventId | None = None,
        at: str = "",
        actor: str = "",
    ) -> Event:
        """A fact in its envelope."""
        now = self.clock()
        return Event(
            id=id or event_id(int(now.timestamp() * 1000)),
            at=at or written(now),
            actor=actor or self.writer.actor,
            channel=channel or self.writer.channel,
            scope=scope,
            repo=repo,
            fact=strings_changed(fact, self.redact),
            session=self.writer.session_id,
            batch=self.batch,
        )

    def about(self, memory: Memory, fact: Fact) -> Event:
        """A fact about a memory, in the memory's own place, and later than what was said of it before."""
        # A clock that was put back must not let an older word win over this one.
        return self.event(fact, memory.scope, memory.repo, at=later(written(self.clock()), memory.revised_at))
