"""Erasing for good: single memories, everything that names something, and erasures that broke off."""

from collections.abc import Sequence
from contextlib import suppress

from hivemind.app.context import Context, Progress, checked_reason, quietly
from hivemind.curate import about
from hivemind.curate import erase as erasing
from hivemind.errors import NotFound
from hivemind.hub import exchange
from hivemind.model.erasure import Erasure
from hivemind.model.events import MemoryErased
from hivemind.model.memory import Memory
from hivemind.model.reports import Mentions
from hivemind.model.team import TeamMember
from hivemind.store import log, sync_state
from hivemind.text.names import NamePattern


class Erasures:
    """What is destroyed, and the receipts that prove it."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def erase(self, memory: str, also: Sequence[str], reason: str, *, everywhere: bool) -> Erasure:
        """Erase memories and all that came of them; of one that is erased already, the receipt of that erasure."""
        context = self._context
        context.require_person("an erasure")
        receipt = None if also else self.receipt(memory, everywhere=everywhere)
        if receipt:
            return receipt
        ids = dict.fromkeys((memory, *also))
        targets = erasing.Targets(
            memories=tuple(context.memory_to_change(memory_id, everywhere=everywhere) for memory_id in ids)
        )
        reason = checked_reason(reason)
        self._require_rights(targets)
        return erasing.erase(context.store, context.factory, targets, reason, home=context.home)

    def receipt(self, memory: str, *, everywhere: bool = False) -> Erasure | None:
        """The receipt of a memory that was erased; nothing if it was not, or before receipts were kept."""
        context = self._context
        with suppress(NotFound):
            context.resolve(memory, everywhere=everywhere)
            return None
        erased = log.find_erasure(context.store.db, memory.strip().lower(), context.sight(everywhere=everywhere))
        return erasing.load_receipt(context.store.db, erased.batch) if erased else None

    def find_mentions(self, name: str, *, progress: Progress = quietly) -> Mentions:
        """Everything in this store that names a person, customer, ticket or value, in whichever repository."""
        self._context.require_person("to look for everything that names something")
        return about.find_mentions(self._context.store, self._context.settings.home, NamePattern.parse(name), progress)

    def erase_mentions(
        self,
        name: str,
        *,
        confirmed: Mentions | None = None,
        left_out: Sequence[str] = (),
        reason: str = "",
        progress: Progress = quietly,
    ) -> Erasure:
        """Erase everything that names something and is this person's, less what they leave out by its id.

        ``confirmed`` is the list they have seen; without it, what ``find_mentions`` finds now.
        """
        context = self._context
        context.require_person("an erasure")
        mentions = confirmed or self.find_mentions(name, progress=progress)
        chosen = mentions.excluding(left_out)
        kept = {mention.id for mention in mentions.found} - {mention.id for mention in chosen}
        return about.erase_mentions(
            *(context.store, context.settings.home, context.factory, NamePattern.parse(name)),
            mentions=chosen,
            kept_ids=kept,
            reason=checked_reason(reason),
            progress=progress,
        )

    def finish(self) -> list[Erasure]:
        """Finish the erasures that broke off."""
        return erasing.finish_erasures(self._context.store, self._context.clock, home=self._context.home)

    def _require_rights(self, targets: erasing.Targets) -> None:
        """Refuse what the hub would refuse, as far as this store knows its member's role."""
        membership = self._context.store.membership
        if membership is None:
            return
        member = TeamMember(person=membership.person, role=membership.role)
        for memory in erasing.collect_with_derived(self._context.store, targets):
            self._require_right(member, memory)

    def _require_right(self, member: TeamMember, memory: Memory) -> None:
        context = self._context
        is_own = member.may_write and sync_state.is_first_recorded_by(context.store.db, memory.id, context.store.chain)
        if sync_state.has_memory(context.store.db, memory.id) and not is_own:
            request = context.factory.about(memory, MemoryErased(memory_id=memory.id))
            if rule := exchange.check_rights(context.store, member, request):
                context.refuse(f"erasing {memory.id[:8]}", rule)
