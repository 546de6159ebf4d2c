"""The verbs that put something in."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hivemind.app.core import Core
from hivemind.capture.quarantine import Door
from hivemind.codebase.repository import identify
from hivemind.codebase.repository import normalised as normalised_address
from hivemind.curate import claims as claiming
from hivemind.curate import exclusion, files, transfer
from hivemind.curate.exclusion import stays_out
from hivemind.curate.files import Point
from hivemind.curate.learn import learn, refuse_what_stays_out
from hivemind.errors import InvalidInput, Refused
from hivemind.model import moments
from hivemind.model.claim import Claim
from hivemind.model.code import Anchor
from hivemind.model.events import (
    Fact,
    MemoryAnchored,
    MemoryAnnotated,
    MemoryRemembered,
    MemoryRestored,
    MemoryRetracted,
    MemoryRevised,
    MemoryTagged,
)
from hivemind.model.ids import EventId, MemoryId, derived
from hivemind.model.memory import Channel, Kind, Memory, Source, Status, Trace
from hivemind.model.metadata import NO_METADATA, Value, checked_metadata
from hivemind.model.reports import Imported, KeptOut, Synced
from hivemind.model.scope import Scope
from hivemind.model.session import Skipped
from hivemind.model.text import checked, checked_label
from hivemind.model.text import tags as tags_from
from hivemind.model.values import normalised
from hivemind.store import log
from hivemind.store.projections import memories


class Writing(Core):
    """What a person or agent can tell us."""

    def remember(
        self,
        text: str,
        *,
        scope: Scope = Scope.PROJECT,
        kind: Kind = Kind.FACT,
        tags: Sequence[str] = (),
        subject: str = "",
        replaces: Sequence[str] = (),
        expires: str = "",
        verify_by: str = "",
        valid_from: str = "",
        valid_to: str = "",
        links: Sequence[str] = (),
        sources: Sequence[str] = (),
        confidence: float = 1.0,
        propose: bool = False,
        metadata: Mapping[str, Value] | None = None,
    ) -> Memory:
        """Keep something worth knowing next time; what it contradicts is named in ``contradicts``."""
        claim = Claim(
            text=text, scope=scope, kind=kind, tags=tags, subject=subject, replaces=replaces, expires=expires,
            verify_by=verify_by, valid_from=valid_from, valid_to=valid_to, links=links, sources=sources,
            confidence=confidence, propose=propose, metadata=metadata or NO_METADATA,
        )  # fmt: skip
        return self.remember_all([claim])[0]

    def remember_all(self, items: Iterable[Claim | Mapping[str, Any]]) -> tuple[Memory, ...]:
        """Keep several things at once, given as claims or dictionaries: all of them, or none if one is refused."""
        claims = self._claims(items)
        about = self._anchors(claims)
        commit = ""
        learned = []
        with self._store.db.transaction():
            self._record([])
            for number, (claim, anchors) in enumerate(zip(claims, about, strict=True)):
                if claim.sources and not commit:
                    commit = self._head()
                place = self._place(claim.scope) and (claim.repo or self.repository.id)
                try:
                    fact = claiming.stated(
                        claim, writer=self._writer, owner=self._settings.person, now=self._clock(),
                        commit=commit if self._is_named_here(claim) else "",
                        replaces=[self._id(written) for written in claim.replaces],
                    )  # fmt: skip
                    learned.append(
                        learn(
                            *(self._store, self._pen, fact, claim.scope, place),
                            anchors=anchors,
                            said_by_person=self._is_person,
                        )
                    )
                except (InvalidInput, Refused) as error:
                    if len(claims) == 1:
                        raise
                    shape = Refused if isinstance(error, Refused) else InvalidInput
                    raise shape(f"items[{number}]: {error}") from None
        return tuple(memories.get(self._store.db, one) for one in learned)

    def _claims(self, items: Iterable[Claim | Mapping[str, Any]]) -> tuple[Claim, ...]:
        """Claims, each with the id of the repository it names."""
        claims = [
            item if isinstance(item, Claim) else claiming.from_dictionary(item, place, self.repository.root)
            for place, item in enumerate(items)
        ]
        ids = {name: self._repository_named(name) for name in {claim.repo for claim in claims if claim.repo}}
        return tuple(replace(claim, repo=ids[claim.repo]) if claim.repo else claim for claim in claims)

    def _repository_named(self, name: str) -> str:
        """The repository with this id, this address or this directory; any other name stands for itself."""
        if name.startswith(("remote:", "commit:", "path:")):
            repo = name
        elif "://" in name or "@" in name:
            repo = f"remote:{normalised_address(name)}"
        else:
            repo = identify(Path(name)).id if Path(name).is_absolute() else name
        if repo not in (self.repository.id, *self.repository.known_as):
            self._must_be_a_person("writing about another repository")
        return repo

    def store_trace(
        self,
        *,
        agent: str,
        action: str,
        reasoning: str = "",
        result: str = "",
        tags: Sequence[str] = (),
        scope: Scope = Scope.PROJECT,
        links: Sequence[str] = (),
    ) -> Memory:
        """Keep what was done, why, and how it ended."""
        trace = Trace(
            agent=checked_label(agent, "the agent"),
            action=checked_label(action, "the action"),
            reasoning=checked(reasoning, "the reasoning") if reasoning else "",
            result=checked_label(result, "the result") if result else "",
        )
        claim = Claim(text=trace.text, kind=Kind.TRACE, scope=scope, tags=tags, links=links, trace=trace)
        return self.remember_all([claim])[0]

    def revise(
        self,
        memory: str,
        text: str = "",
        *,
        kind: Kind | None = None,
        subject: str = "",
        expires: str = "",
        verify_by: str = "",
        valid_from: str = "",
        valid_to: str = "",
        confidence: float | None = None,
        reason: str = "",
        metadata: Mapping[str, Value | None] | None = None,
        everywhere: bool = False,
    ) -> Memory:
        """Make a memory say something else from now on; what it said stays in its history.

        ``metadata`` sets the values it names and removes those that are None.
        """
        known = self._to_change(memory, everywhere=everywhere)
        nothing = MemoryRevised(
            memory_id=known.id,
            base=known.version,
            head=known.head,
            settles=tuple(rival.id for rival in known.rivals),
            reason=checked(reason, "the reason") if reason else "",
        )
        fact = replace(
            nothing,
            text=checked(text) if text else "",
            kind=kind,
            subject=checked_label(subject, "the subject") if subject else "",
            confidence=None if confidence is None else claiming.confidence(confidence),
            valid_from=moments.parse_date(valid_from) if valid_from else "",
            valid_to=moments.parse_date(valid_to) if valid_to else "",
            expires_at=self._deadline(expires),
            verify_by=self._deadline(verify_by),
        )
        annotation = _annotation(known, metadata or {})
        facts: list[Fact] = [*([fact] if fact != nothing else ()), *annotation]
        if not facts:
            raise InvalidInput("nothing to revise; give a new text or an option to change")
        if self._writer.channel.trust < known.trust:
            self._must_be_a_person(f"a revision of {known.id[:8]}, which is of higher trust,")
        refuse_what_stays_out(self._store, self._pen, fact.text, known.repo, said_by_person=self._is_person)
        if fact.text and (anchors := self._today(replace(known, text=fact.text))) != known.anchors:
            facts.append(MemoryAnchored(memory_id=known.id, anchors=anchors))
        self._record([self._pen.about(known, one) for one in facts])
        return memories.get(self._store.db, known.id)

    def tag(
        self, memory: str, add: Sequence[str] = (), remove: Sequence[str] = (), *, everywhere: bool = False
    ) -> Memory:
        """Put labels on a memory or take them off."""
        known = self._to_change(memory, everywhere=everywhere)
        fact = MemoryTagged(memory_id=known.id, added=tags_from(add), removed=tags_from(remove))
        if not fact.added and not fact.removed:
            raise InvalidInput("name at least one tag to add or remove")
        self._record([self._pen.about(known, fact)])
        return memories.get(self._store.db, known.id)

    def import_lines(self, lines: Iterable[str], *, approve: bool = False, name: str = "") -> Imported:
        """Take in exported memories as proposals of low trust; what was rejected or erased here stays out.

        With ``approve`` the person vouches for the file, and they are believed as if just said. Lines that cannot be
        read go to the quarantine under the file's name; if no line can be read, nothing is done.
        """
        if approve:
            self._must_be_a_person("an approved import")
        pen = self._new_batch("import")
        channel = Channel.PERSON if approve else Channel.IMPORT
        read = list(transfer.imported(lines))
        told = [one for one in read if not isinstance(one, Skipped)]
        unreadable = [one for one in read if isinstance(one, Skipped)]
        if unreadable and not told:
            raise InvalidInput(f"{unreadable[0].where} is {unreadable[0].reason}")
        unknown = [one for one in told if not log.ids_about(self._store.db, [one[2].memory_id])]
        new, refused = 0, 0
        about = self._named_here(unknown)
        with self._store.db.transaction():
            self._record([])
            for (scope, repo, fact), anchors in zip(unknown, about, strict=True):
                arrived = EventId(derived("import", fact.memory_id))
                try:
                    said_by = learn(
                        self._store, pen, fact, scope, repo, channel=channel, id=arrived, anchors=anchors
                    )  # fmt: skip
                except Refused:
                    refused += 1
                else:
                    new += said_by == fact.memory_id
        self._set_aside(
            Door.IMPORT, [replace(one, where=f"{name or 'standard input'}, {one.where}") for one in unreadable]
        )  # fmt: skip
        return Imported(
            new=new, known=len(told) - len(unknown), refused=refused, batch=pen.batch,
            unreadable=tuple(f"{one.where} is {one.reason}" for one in unreadable),
        )  # fmt: skip

    def _named_here(self, told: Iterable[tuple[Scope, str, MemoryRemembered]]) -> list[tuple[Anchor, ...]]:
        """The code of this tree that memories are about; what belongs elsewhere is about none of it."""
        here = (self.repository.id, *self.repository.known_as)
        return self._anchors(
            [
                Claim(text=fact.text, scope=scope if repo in here else Scope.USER, links=fact.links)
                for scope, repo, fact in told
            ]
        )

    def sync_files(self, *, dry_run: bool = False) -> Synced:
        """Bring in what AGENTS.md and its kin say, and take back what they no longer say."""
        pen = self._new_batch(files.BATCH)
        root, repo = Path(self.repository.root), self.repository.id
        said = {point.memory_id(repo): point for point in files.points(root)}
        held = {memory.id: memory for memory in memories.of_files(self._store.db, repo)}
        commit = self._head()
        kept_out = self._kept_out(said, held)
        unknown = [one for one in said if one not in held and one not in kept_out]
        about = self._anchors([Claim(text=said[one].text) for one in unknown])
        events = []
        for memory_id, anchors in zip(unknown, about, strict=True):
            point = said[memory_id]
            source = Source(channel=Channel.FILE, file=point.file, lines=point.lines, commit=commit)
            fact = MemoryRemembered(
                memory_id=memory_id,
                kind=Kind.CONVENTION,
                text=point.text,
                owner=self._settings.person,
                sources=(source,),
            )
            facts: list[Fact] = [fact, *([MemoryAnchored(memory_id=memory_id, anchors=anchors)] if anchors else ())]
            events += [pen.event(one, Scope.PROJECT, repo, channel=Channel.FILE) for one in facts]
        taken_back = [one for one in held.values() if one.id in said and one.status is Status.RETRACTED]
        again = [one for one in taken_back if one.id not in kept_out]
        events += [pen.about(one, MemoryRestored(memory_id=one.id, reason="in the file again")) for one in again]
        gone = [one for one in held.values() if one.id not in said and one.status is not Status.RETRACTED]
        for memory in gone:
            reason = f"no longer in {memory.sources[0].file}"
            events.append(pen.about(memory, MemoryRetracted(memory_id=memory.id, reason=reason)))
        if not dry_run:
            self._record(events)
        return Synced(said=len(said), new=len(unknown) + len(again), gone=len(gone), kept_out=tuple(kept_out.values()))

    def _kept_out(self, said: Mapping[MemoryId, Point], held: Mapping[MemoryId, Memory]) -> dict[MemoryId, KeptOut]:
        """The points of instruction files that a person decided against before, and how."""
        gone = [one for one in held.values() if one.status is Status.RETRACTED]
        verdicts = {one.id: verdict for one in gone if (verdict := exclusion.verdict_on(self._store, one.id))}
        # The same line under another heading or in another file is the same line.
        lines = {normalised(files.without_heading(held[one].text)): verdict for one, verdict in verdicts.items()}
        return {
            one: KeptOut(file=point.file, lines=point.lines, why=why, text="" if why == "erased" else point.text)
            for one, point in said.items()
            if (one not in held or held[one].status is Status.RETRACTED)
            and (why := verdicts.get(one) or lines.get(normalised(point.bare)) or self._why_out(one, point))
        }

    def _why_out(self, memory_id: MemoryId, point: Point) -> str | None:
        if log.erasure_of(self._store.db, memory_id, self._sight()):
            return "erased"
        repo = self.repository.id
        return stays_out(self._store, point.text, repo) or stays_out(self._store, point.bare, repo)


def _annotation(known: Memory, changes: Mapping[str, Value | None]) -> list[MemoryAnnotated]:
    """What sets and removes metadata; nothing where nothing would change."""
    new = checked_metadata({name: value for name, value in changes.items() if value is not None})
    removed = tuple(name for name, value in changes.items() if value is None)
    if unknown := [name for name in removed if name not in known.metadata]:
        raise InvalidInput(f"{known.id[:8]} has no metadata {unknown[0]!r} to remove")
    after = checked_metadata(known.metadata.with_changes(new, removed))
    return [MemoryAnnotated(memory_id=known.id, metadata=new, removed=removed)] if after != known.metadata else []
