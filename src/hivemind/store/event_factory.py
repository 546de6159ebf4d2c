"""Makes events: every fact on its way into the log is redacted here and gets its author, time and scope."""

from collections.abc import Callable
from datetime import datetime

from hivemind.model.dataclass import dataclass
from hivemind.model.events import Event, Fact
from hivemind.model.free_text import change_text
from hivemind.model.ids import EventId, Timestamp, new_event_id
from hivemind.model.memory import Channel, Memory, Writer
from hivemind.model.scope import Scope
from hivemind.model.timestamps import format_timestamp, next_timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFactory:
    """Makes events for one writer, with a clock and a redaction."""

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
        at: Timestamp = "",
        actor: str = "",
    ) -> Event:
        """Make the event of a fact, redacted."""
        now = self.clock()
        return Event(
            id=id or new_event_id(int(now.timestamp() * 1000)),
            at=at or format_timestamp(now),
            actor=self.redact(actor or self.writer.actor),
            channel=channel or self.writer.channel,
            scope=scope,
            repo=repo,
            fact=change_text(fact, self.redact),
            session=self.writer.session_id,
            batch=self.batch,
        )

    def about(self, memory: Memory, fact: Fact) -> Event:
        """Make an event about a memory, in its scope and repository, and later than its last change."""
        # The newest event wins: after a clock was set back, this one must still count.
        return self.event(
            fact, memory.scope, memory.repo, at=next_timestamp(format_timestamp(self.clock()), memory.revised_at)
        )
