"""The verbs by which people decide what is believed, undo, and destroy."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from hivemind.app.coding import Coding
from hivemind.app.core import Progress, quietly
from hivemind.curate import about as naming
from hivemind.curate import erase as erasing
from hivemind.curate import files, verdicts
from hivemind.curate import rollback as rolling
from hivemind.curate.learn import refuse
from hivemind.errors import InvalidInput, NotFound
from hivemind.hub import exchange
from hivemind.model import moments
from hivemind.model.erasure import Erasure
from hivemind.model.events import Event, Fact, MemoryAnchored, MemoryErased, MemoryVerified
from hivemind.model.ids import derived
from hivemind.model.memory import Channel, Memory, Status
from hivemind.model.naming import Name
from hivemind.model.reports import Doubt, Mentions, Waiting
from hivemind.model.rollback import Change, Selection
from hivemind.model.team import Member
from hivemind.model.text import checked
from hivemind.store import log, shared
from hivemind.store.projections import memories

PROPOSERS = {
    Channel.PERSON: "a person",
    Channel.FILE: "an instruction file",
    Channel.AGENT: "an agent",
    Channel.TOOL: "a tool's output",
    Channel.IMPORT: "an import",
    Channel.DERIVED: "a detector",
}


class Judging(Coding):
    """What a reviewer can decide."""

    def review(self, *, limit: int = 50, doubts: Sequence[Doubt] | None = None) -> tuple[Waiting, ...]:
        """What waits for a person: disputes, what the code puts in doubt, what is overdue, proposals.

        ``doubts`` are what ``stale`` has just told, for a caller who has asked it already.
        """
        doubts = self.stale() if doubts is None else doubts
        waiting = self._query(limit=limit, statuses=(Status.DISPUTED, Status.PROPOSED))
        found = [self._waiting(memory) for memory in memories.waiting(self._store.db, waiting)]
        overdue = memories.overdue(self._store.db, self._query(limit=limit))
        found += [Waiting(memory=one, why=f"to be verified by {one.verify_by[:10]}", against=()) for one in overdue]
        found += [Waiting(memory=one.memory, why=f"in doubt: {one.became[0].text}", against=()) for one in doubts]
        order = {"disputed": 0, "in doubt": 1, "to be": 2, "proposed": 3}
        found.sort(key=lambda one: order[next(why for why in order if one.why.startswith(why))])
        # A memory waits once, for its weightiest reason; when that is settled, the next one shows.
        once: dict[str, Waiting] = {}
        for one in found:
            once.setdefault(one.memory.id, one)
        return tuple(once.values())[:limit]

    def approve(self, memory: str, *, reason: str = "", over: bool = False, everywhere: bool = False) -> Memory:
        """It holds; with ``over``, in place of what contradicts it."""
        self._must_be_a_person("an approval")
        known = self._to_change(memory, everywhere=everywhere)
        return self._judged(known, verdicts.approve(self._store, self._pen, known, _reason(reason), over=over))

    def reject(self, memory: str, *, reason: str = "", everywhere: bool = False) -> Memory:
        """It does not hold, and its value stays out from now on; ``restore`` lifts that."""
        self._must_be_a_person("a rejection")
        known = self._to_change(memory, everywhere=everywhere)
        return self._judged(known, verdicts.reject(self._store, self._pen, known, _reason(reason)))

    def retract(self, memory: str, *, reason: str = "", everywhere: bool = False) -> Memory:
        """Take a memory back; ``restore`` brings it again."""
        known = self._to_change(memory, everywhere=everywhere)
        if self._writer.channel.trust < known.trust:
            self._must_be_a_person(f"retracting {known.id[:8]}, which is of higher trust,")
        return self._judged(known, verdicts.retract(self._store, self._pen, known, _reason(reason)))

    def restore(self, memory: str, *, reason: str = "", everywhere: bool = False) -> Memory:
        """Let a memory stand again that was taken back, rejected or replaced."""
        self._must_be_a_person("restoring a memory")
        known = self._to_change(memory, everywhere=everywhere)
        if known.status not in (Status.RETRACTED, Status.SUPERSEDED):
            raise InvalidInput(
                f"{known.id[:8]} is {known.status}; only what was taken back or replaced can be restored"
            )
        restored = self._judged(known, verdicts.restore(self._store, self._pen, known, _reason(reason)))
        # The team may have said the same meanwhile, and it was kept out.
        if self._store.membership:
            shared.read_again(self._store.db)
        return restored

    def dispute(self, one: str, other: str, *, reason: str = "", everywhere: bool = False) -> Memory:
        """Say that two memories cannot both hold."""
        a, b = self._to_change(one, everywhere=everywhere), self._to_change(other, everywhere=everywhere)
        return self._judged(a, verdicts.dispute(self._pen, a, b, _reason(reason)))

    def verify(self, memory: str, *, reason: str = "", everywhere: bool = False) -> Memory:
        """Say that a memory was looked at and still holds, of the code as it is now."""
        known = self._to_change(memory, everywhere=everywhere)
        facts: list[Fact] = [MemoryVerified(memory_id=known.id, reason=_reason(reason))]
        anchors = self._today(known)
        if anchors != known.anchors:
            facts.append(MemoryAnchored(memory_id=known.id, anchors=anchors))
        return self._judged(known, [self._pen.about(known, fact) for fact in facts])

    def rollback(
        self, selection: Selection, *, reason: str = "", dry_run: bool = False
    ) -> tuple[str, tuple[Change, ...]]:
        """Undo what was learned from somewhere; return the name by which this can be undone, and what changed."""
        self._must_be_a_person("a rollback")
        since = moments.parse_past(selection.since, self._clock()) if selection.since else ""
        changes = rolling.plan(self._store, replace(selection, since=since))
        name = derived("rollback", moments.written(self._clock()))[:12]
        if changes and not dry_run:
            self._record(rolling.apply(self._pen, changes, name, _reason(reason)))
        return name, tuple(changes)

    def undo_rollback(self, name: str) -> int:
        """Let what a rollback took away count again; return for how many memories."""
        self._must_be_a_person("undoing a rollback")
        return len(self._record(rolling.undo(self._store, self._pen, name)))

    def erase(self, memory: str, *, reason: str = "", also: Sequence[str] = (), everywhere: bool = False) -> Erasure:
        """Destroy memories and all that came of them, for good; the receipt says of each place whether it is done.

        Of a memory that is erased already, the receipt of that erasure.
        """
        self._must_be_a_person("an erasure")
        receipt = None if also else self.erasure(memory, everywhere=everywhere)
        if receipt:
            return receipt
        ids = dict.fromkeys((memory, *also))
        chosen = tuple(self._to_change(written, everywhere=everywhere) for written in ids)
        targets = erasing.Targets(memories=chosen)
        return self._erased(targets, _reason(reason))

    def find_about(self, name: str, *, progress: Progress = quietly) -> Mentions:
        """Everything in this store that names a person, customer, ticket or value, in whichever repository."""
        self._must_be_a_person("to look for everything that names something")
        return naming.find(self._store, self._settings.home, Name.parse(name), progress)

    def erase_about(
        self,
        name: str,
        *,
        confirmed: Mentions | None = None,
        left_out: Sequence[str] = (),
        reason: str = "",
        progress: Progress = quietly,
    ) -> Erasure:
        """Erase everything that names something and is this person's, less what they leave out by its id.

        ``confirmed`` is the list they have seen; without it, what ``find_about`` finds now.
        """
        self._must_be_a_person("an erasure")
        mentions = confirmed or self.find_about(name, progress=progress)
        chosen = mentions.less(left_out)
        kept = {one.id for one in mentions.found} - {one.id for one in chosen}
        return naming.erase_chosen(
            *(self._store, self._settings.home, self._pen, Name.parse(name)),
            mentions=chosen,
            kept=kept,
            reason=_reason(reason),
            progress=progress,
        )

    def erasure(self, memory: str, *, everywhere: bool = False) -> Erasure | None:
        """The receipt of a memory that was erased; nothing if it was not, or before receipts were kept."""
        with suppress(NotFound):
            self._id(memory, everywhere=everywhere)
            return None
        erased = log.erasure_of(self._store.db, memory.strip().lower(), self._sight(everywhere=everywhere))
        return erasing.receipt_of(self._store.db, erased.batch) if erased else None

    def finish_erasures(self) -> list[Erasure]:
        """Carry out what an erasure that broke off has left undone."""
        return erasing.finish(self._store, self._clock, home=self._home)

    def _erased(self, targets: erasing.Targets, reason: str) -> Erasure:
        self._must_have_the_right_to_erase(targets)
        return erasing.erase(self._store, self._pen, targets, reason, home=self._home)

    def _must_have_the_right_to_erase(self, targets: erasing.Targets) -> None:
        """Refuse what the hub would refuse, as far as this store knows its member's role."""
        membership = self._store.membership
        if membership is None:
            return
        member = Member(person=membership.person, role=membership.role)
        for memory in erasing.with_derived(self._store, targets):
            is_own = member.may_write and shared.is_begun_by(self._store.db, memory.id, self._store.chain)
            if shared.holds(self._store.db, memory.id) and not is_own:
                asked = self._pen.about(memory, MemoryErased(memory_id=memory.id))
                if reason := exchange.beyond_rights(self._store, member, asked):
                    refuse(self._store, self._pen, f"erasing {memory.id[:8]}", reason)

    def promote(self, memory: str, file: str) -> tuple[Path, str, str]:
        """A reviewed memory in the block of an instruction file: the file, what it says, and what it would say."""
        target = (Path(self.repository.root) / file).resolve()
        if not target.is_relative_to(Path(self.repository.root).resolve()):
            raise InvalidInput(f"{file!r} does not lie in the repository")
        before = target.read_text() if target.exists() else ""
        return target, before, files.promoted(before, self._known(memory))

    def _judged(self, memory: Memory, events: Sequence[Event]) -> Memory:
        self._record(events)
        return memories.get(self._store.db, memory.id)

    def _waiting(self, memory: Memory) -> Waiting:
        against = tuple(memories.get_visible(self._store.db, memory.contradicts, self._sight()))
        disputed = memory.status is Status.DISPUTED
        why = "disputed by what was said elsewhere" if disputed else f"proposed by {PROPOSERS[memory.channel]}"
        if memory.rivals:
            edits = "; ".join(f"{rival.by} made of an older version: {rival.text}" for rival in memory.rivals)
            why = f"disputed: {edits}"
        return Waiting(memory=memory, why=why, against=against)


def _reason(written: str) -> str:
    return checked(written, "the reason", longest=2000) if written else ""
