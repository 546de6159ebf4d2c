"""Erasure: of memories, of everything that mentions a name, and of interrupted erasures."""

from collections.abc import Sequence
from contextlib import suppress

from hivemind.context import Context, Progress, quietly, validate_reason
from hivemind.erase import by_name, resumption, sweep
from hivemind.erase.by_name import NamePattern
from hivemind.erase.plan import BATCH_PREFIX, Targets, collect_with_derived, count_unfinished
from hivemind.erase.receipt import check_again, load_receipt
from hivemind.errors import NotFound, StoreError
from hivemind.model.erasure import Erasure, Mentions
from hivemind.model.scope import Scope
from hivemind.model.team import TeamMember
from hivemind.store import log, sync_state
from hivemind.store.integrity import DAMAGE_ERRORS


class Erasures:
    """Erases memories and returns receipts."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def erase(self, memory: str, also: Sequence[str], reason: str, *, everywhere: bool) -> Erasure:
        """Erase memories and everything derived from them; if already erased, return that receipt."""
        context = self._context
        context.require_person("an erasure")
        # Asked twice, an erasure answers with the same receipt and does nothing.
        receipt = None if also else self.receipt(memory, everywhere=everywhere)
        if receipt:
            return receipt
        ids = dict.fromkeys((memory, *also))
        chosen = (context.find_memory_to_change(memory_id, everywhere=everywhere) for memory_id in ids)
        targets, reason = Targets(memories=tuple(chosen)), validate_reason(reason)
        self._require_rights(targets)
        return sweep.erase(context.store, context.factory, targets, reason, home=context.home)

    def receipt(self, memory: str, *, everywhere: bool = False) -> Erasure | None:
        """Return the receipt of an erased memory; None if it was not erased, or before receipts existed."""
        context = self._context
        with suppress(NotFound):
            context.resolve(memory, everywhere=everywhere)
            return None
        erasure = log.find_erasure(context.store.db, memory.strip().lower(), context.limit_sight(everywhere=everywhere))
        if erasure is None:
            return None
        receipt = load_receipt(context.store.db, erasure.batch)
        # Its note was lost before it was finished, or somebody has followed its advice since.
        if receipt is None:
            resumption.finish_by_log(context.store, context.clock, context.home)
            return load_receipt(context.store.db, erasure.batch)
        is_open = not receipt.is_complete and context.is_person
        return check_again(context.store, context.factory, receipt, context.home) if is_open else receipt

    def find_mentions(self, name: str, *, progress: Progress = quietly) -> Mentions:
        """Find everything in this store that mentions a name, such as a person or customer, in all repositories."""
        context = self._context
        context.require_person("to look for everything that names something")
        return by_name.find_mentions(context.store, context.settings.home, NamePattern.parse(name), progress)

    def erase_mentions(
        self,
        name: str,
        *,
        mentions: Mentions | None = None,
        left_out: Sequence[str] = (),
        reason: str = "",
        progress: Progress = quietly,
    ) -> Erasure:
        """Erase everything of this person that mentions a name, except what they leave out by id.

        ``mentions`` is the list they have seen; without it, what ``find_mentions`` finds now.
        """
        context = self._context
        context.require_person("an erasure")
        every_mention = mentions or self.find_mentions(name, progress=progress)
        selection = every_mention.exclude(left_out)
        excluded_ids = {mention.id for mention in every_mention.found} - {mention.id for mention in selection}
        return by_name.erase_mentions(
            context.store, context.settings.home, context.factory, NamePattern.parse(name), selection, excluded_ids,
            validate_reason(reason), progress,
        )  # fmt: skip

    def finish(self) -> None:
        """Finish erasures that were interrupted or had to wait for a reader of the store, as far as possible now."""
        # One that cannot be finished must not keep the store shut; the doctor tells of it.
        with suppress(StoreError, OSError, *DAMAGE_ERRORS):
            resumption.finish_erasures(self._context.store, self._context.clock, self._context.home)

    def count_unfinished(self) -> int:
        """Count the erasures of this machine that are not finished: a plan of them is left, or no receipt recorded."""
        store = self._context.store
        plan_count = count_unfinished(store.directory) if store.directory else 0
        # Also without a plan: an erasure in the log that has no receipt was not finished.
        without_receipt = log.find_unfinished_erasures(store.db, (store.device, store.chain), BATCH_PREFIX)
        return max(plan_count, len(without_receipt))

    def _require_rights(self, targets: Targets) -> None:
        """Refuse an erasure that the hub would refuse, as far as the member's role is known here."""
        context, store = self._context, self._context.store
        membership = store.membership
        if membership is None:
            return
        member = TeamMember(person=membership.person, role=membership.role)
        # What was derived from it is erased with it, so the right is needed for all of them.
        for memory in collect_with_derived(store, targets):
            is_own = member.may_write and sync_state.is_first_recorded_by(store.db, memory.id, store.chain)
            if memory.scope is Scope.TEAM and sync_state.has_memory(store.db, memory.id) and not is_own:
                rule = member.find_erasure_rule(sync_state.find_author(store.db, memory.id))
                if rule:
                    context.refuse(f"erasing {memory.id[:8]}", rule)
