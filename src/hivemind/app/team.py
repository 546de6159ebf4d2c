"""Exchanging memories with a team, by way of its hub."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from hivemind.app import learning
from hivemind.app.context import Context, Progress, quietly
from hivemind.curate import erase
from hivemind.curate.exclusion import find_refusal
from hivemind.curate.learn import strip_local_references
from hivemind.errors import InvalidInput, Refused, Unavailable
from hivemind.hub import sync
from hivemind.hub.client import HubClient
from hivemind.hub.client import parse_url as client_address
from hivemind.model.erasure import ErasedLocation, Erasure
from hivemind.model.events import MemoryPublished, MemoryRemembered
from hivemind.model.ids import new_memory_id
from hivemind.model.memory import Channel, Memory, Status, Trust
from hivemind.model.reports import Publication
from hivemind.model.scope import Scope
from hivemind.model.team import SyncResult, TeamStatus
from hivemind.store import log, sync_state
from hivemind.store.projections import memories
from hivemind.text.clean import validate_label

SPEAKS = {Trust.LOW: Channel.DERIVED, Trust.MEDIUM: Channel.AGENT, Trust.HIGH: Channel.PERSON}
"""The channel a copy comes by: it is believed no further than its original."""


class Team:
    """The team that this store belongs to, and its hub."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def publish(self, ids: Iterable[str], *, dry_run: bool = False) -> tuple[Publication, ...]:
        """Give the team a copy of memories; a dry run shows what would leave, and what would not."""
        self._context.require_person("publishing a memory")
        planned = [self._publication(self._context.memory(memory_id)) for memory_id in ids]
        if dry_run:
            return tuple(planned)
        with self._context.store.db.transaction():
            return tuple(self._published(publication) for publication in planned)

    def login(self, url: str, token: str, *, insecure: bool = False, progress: Progress = quietly) -> SyncResult:
        """Join a team: from now on this store exchanges with its hub what is the team's."""
        self._context.require_person("joining a team")
        client = HubClient(url=client_address(url, insecure=insecure), token=validate_label(token, "the token"))
        done = self.sync(client, progress=progress)
        self._hub_file.touch(mode=0o600)
        self._hub_file.write_text(json.dumps({"url": client.url, "token": client.token}))
        return done

    def logout(self) -> None:
        """Leave the team: its memories go from here, and what was not shared yet stays."""
        self._context.require_person("leaving a team")
        self._hub_file.unlink(missing_ok=True)
        sync.leave(self._context.store)

    @property
    def hub(self) -> HubClient | None:
        """The hub this store has logged in to."""
        if not self._hub_file.exists():
            return None
        return HubClient(**json.loads(self._hub_file.read_text()))

    def sync(self, transport: sync.Transport | None = None, *, progress: Progress = quietly) -> SyncResult:
        """Exchange what is new with the hub; it may break off anywhere and be done again."""
        transport = transport or self.hub
        if transport is None:
            raise InvalidInput("this store belongs to no team; join one with 'hivemind team login URL'")
        done = sync.synchronise(
            self._context.store, transport, now=self._context.now, progress=progress,
            follow=partial(
                erase.follow_team_erasure, self._context.store, self._context.factory, home=self._context.home
            ),
        )  # fmt: skip
        self._correct_receipts(dict(done.refused))
        return done

    def carry(self, receipt: Erasure) -> Erasure:
        """Bring an erasure to the hub at once, and add to its receipt who has not followed yet."""
        hub = self.hub if self._context.store.directory else None
        if hub is None:
            return receipt
        try:
            done = self.sync(hub)
            behind = [device for device in hub.request("GET", "/v1/devices") if device["erasures"]]
        except Unavailable as error:
            detail = f"asked, waiting for the hub: {error}; 'hivemind sync' carries it there"
            places = [ErasedLocation(name="hub", state="pending", detail=detail)]
        else:
            batches = {batch for _, batch in sync_state.find_erasures(self._context.store.db, dict(done.refused))}
            if receipt.batch in batches:
                return erase.load_receipt(self._context.store.db, receipt.batch) or receipt
            places = [ErasedLocation(name="hub", state="done", detail="its copy is destroyed")] + [
                ErasedLocation(
                    name=f"device of {device['person']}", state="pending", detail=f"last seen {device['last_seen_at']}"
                )
                for device in behind
            ]
        carried = replace(receipt, places=(*receipt.places, *places))
        erase.record_receipt(self._context.store, self._context.factory, carried)
        return carried

    def _correct_receipts(self, refused: Mapping[str, str]) -> None:
        """An erasure that the hub refused is none: what it took comes back, and its receipt says so."""
        for entry, batch in sync_state.find_erasures(self._context.store.db, refused):
            receipt = erase.load_receipt(self._context.store.db, batch)
            if receipt:
                detail = f"refused: {refused[entry]}; the team keeps it, and the hub's copy of it is here again"
                outside = [place for place in receipt.places if place.state == "outside"]
                places = (ErasedLocation(name="hub", state="remains", detail=detail), *outside)
                erase.record_receipt(self._context.store, self._context.factory, replace(receipt, places=places))

    def status(self) -> TeamStatus:
        """How this store stands with its team."""
        member = self._context.store.membership
        pushed = member.pushed if member else 0
        waiting = max(0, sync_state.count_entries(self._context.store.db, self._context.store.chain) - pushed)
        return TeamStatus(
            membership=member, waiting=waiting, lease_ends_at=sync.compute_lease_end(member) if member else ""
        )

    @property
    def _hub_file(self) -> Path:
        if self._context.store.directory is None:
            raise InvalidInput("this is the hub")
        return self._context.store.directory / "hub.json"

    def let_lease_lapse(self) -> bool:
        """Drop the team's memories if the hub was not asked for too long; ``caveat`` tells of it."""
        return sync.expire_lease(self._context.store, self._context.now)

    def _publication(self, memory: Memory) -> Publication:
        """A memory as it would leave; an error if it must not."""
        name = memory.id[:8]
        if memory.scope is Scope.USER or (
            memory.scope is Scope.TEAM and sync_state.has_memory(self._context.store.db, memory.id)
        ):
            raise InvalidInput(f"{name} is of scope {memory.scope}; only what is of a project can be published")
        if memory.repo.startswith("path:"):
            raise InvalidInput(f"{name} is of a directory that only you know; give it a git remote or a commit")
        if memory.status not in (Status.ACTIVE, Status.PROPOSED):
            raise InvalidInput(f"{name} is {memory.status}; only what stands can be published")
        if reason := find_refusal(self._context.store, memory.text, memory.repo, said_by_person=True):
            raise Refused(f"{name} was refused: its value was {reason} before")
        text = self._context.factory.redact(memory.text)
        fact = strip_local_references(_copy(memory, text), [])
        withheld = {
            "secrets in the text": text != memory.text,
            "sessions it was learned in": any(source.session_id or source.event for source in memory.sources),
            "words of others it quotes": any(source.quote for source in memory.sources),
            "memories it came from or replaced": bool(memory.derived_from or memory.supersedes),
        }
        return Publication(
            memory=memory, text=text, sources=fact.sources,
            channel=SPEAKS[min(memory.trust, self._context.author.channel.trust)],
            withheld=tuple(what for what, is_there in withheld.items() if is_there),
        )  # fmt: skip

    def _published(self, planned: Publication) -> Publication:
        """Record the copy and where it came from; the second stays here. What was published before is left as it is."""
        original = planned.memory
        before = memories.get_all(
            self._context.store.db, log.find_published_copies(self._context.store.db, original.id)
        )
        standing = [copy.id for copy in before if copy.text == planned.text and copy.status is not Status.RETRACTED]
        if standing:
            return replace(planned, copy=standing[0])
        fact = _copy(original, planned.text)
        copy = learning.learn(
            self._context, self._context.factory, fact, Scope.TEAM, original.repo, channel=planned.channel,
            anchors=original.anchors, said_by_person=True,
        )  # fmt: skip
        self._context.record([self._context.factory.about(original, MemoryPublished(memory_id=original.id, copy=copy))])
        return replace(planned, copy=copy)


def _copy(memory: Memory, text: str) -> MemoryRemembered:
    return MemoryRemembered(
        memory_id=new_memory_id(), kind=memory.kind, text=text, owner=memory.owner, tags=memory.tags,
        sources=memory.sources, links=memory.links, subject=memory.subject, confidence=memory.confidence,
        valid_from=memory.valid_from, valid_to=memory.valid_to, expires_at=memory.expires_at,
        verify_by=memory.verify_by, trace=memory.trace,
        # A memory that was the team's before there was a chain to share gives way to its copy.
        supersedes=(memory.id,) if memory.scope is Scope.TEAM else (),
        proposed=memory.status is Status.PROPOSED,
        metadata=memory.metadata,
    )  # fmt: skip
