"""Publishing memories to a team and syncing with its hub."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hivemind.context import Context, Progress, quietly
from hivemind.erase import sweep
from hivemind.erase.receipt import load_receipt, record_receipt
from hivemind.errors import AccessRevoked, InvalidInput, Refused, Unauthenticated, Unavailable
from hivemind.lazy import LazyModule
from hivemind.memory.claims import accept_claim, record_claim, strip_local_references
from hivemind.model.erasure import HUB, TEAM_DEVICES, ErasedLocation, Erasure, describe_devices
from hivemind.model.events import MemoryPublished, MemoryRemembered
from hivemind.model.ids import new_memory_id
from hivemind.model.memory import Channel, Memory, Source, Status, Trust
from hivemind.model.scope import Scope
from hivemind.model.team import Membership, ProviderOptions, Revocation, SyncResult
from hivemind.paths import HUB_FILE
from hivemind.store import log, sync_state
from hivemind.store.projections import memories
from hivemind.sync import hub_client, team_exchange
from hivemind.sync.hub_client import (
    Credentials,
    HubClient,
    load_credentials,
    lock_credentials,
    parse_url,
    save_credentials,
)
from hivemind.text.clean import validate_label

if TYPE_CHECKING:
    from hivemind.sync import hub_login
    from hivemind.sync.hub_login import Announce, ChooseTeam
else:
    # HTTP and what opens a browser take 16 ms, and every command of a member of a team loads this module.
    hub_login = LazyModule("sync.hub_login")

ERASED_ON_HUB = ErasedLocation(name=HUB, state="done", detail="its copy is erased")
TEAM_PLACES = (HUB, TEAM_DEVICES)
CHANNEL_BY_TRUST = {Trust.LOW: Channel.DERIVED, Trust.MEDIUM: Channel.AGENT, Trust.HIGH: Channel.PERSON}
"""The channel of a published copy, so that it is trusted no more than its original."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamStatus:
    """The state of sync between this store and its team."""

    membership: Membership | None
    waiting: int
    """Entries that the hub does not have yet."""
    lease_ends_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """A memory as the team will see it, and what is withheld."""

    memory: Memory
    text: str
    sources: tuple[Source, ...]
    channel: Channel
    """Decides how far the team trusts it."""
    withheld: tuple[str, ...]
    """What is removed from it."""
    copy: str = ""
    """The id of the team's copy, once it is published."""


class Team:
    """The team that this store belongs to, and its hub."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._store = context.store

    def publish(self, ids: Iterable[str], *, dry_run: bool = False) -> tuple[Publication, ...]:
        """Copy memories to the team; a dry run returns what would be sent and what would not."""
        self._context.require_person("publishing a memory")
        publications = tuple(self._plan(self._context.find_memory(memory_id)) for memory_id in ids)
        if dry_run:
            return publications
        with self._store.db.transaction():
            return tuple(self._record_copy(publication) for publication in publications)

    def login(self, url: str, token: str, *, insecure: bool = False, progress: Progress = quietly) -> SyncResult:
        """Join a team and sync with its hub; raise an error, and store nothing, if that fails."""
        credentials = Credentials(url=parse_url(url, insecure=insecure), token=validate_label(token, "the token"))
        return self._join(credentials, progress)

    def sign_in(
        self, url: str, provider: ProviderOptions, *, with_code: bool, team: str, choose_team: "ChooseTeam",
        announce: "Announce", insecure: bool = False,
    ) -> SyncResult:  # fmt: skip
        """Join a team with the identity provider of its hub, and sync; ``find_provider`` says which one that is."""
        self._context.require_person("joining a team")
        credentials = hub_login.begin_login(
            parse_url(url, insecure=insecure), provider, with_code=with_code, team=team, choose_team=choose_team,
            announce=announce, clock=self._context.clock,
        )  # fmt: skip
        return self._join(credentials)

    def find_provider(self, url: str, *, insecure: bool = False) -> ProviderOptions | None:
        """Ask a hub where its members sign in; None if they log in with tokens."""
        return hub_client.find_provider(parse_url(url, insecure=insecure))

    def _join(self, credentials: Credentials, progress: Progress = quietly) -> SyncResult:
        self._context.require_person("joining a team")
        if not self._store.membership and sync_state.names_path(self._store.db, self._store.chain):
            raise InvalidInput(
                "some memories with scope team belong to a directory without git, and joining would send its path to"
                " the team; join with a store of its own: hivemind --store team team login …"
            )
        result = self.sync(HubClient(url=credentials.url, token=credentials.token), progress=progress)
        with lock_credentials(self._hub_file):
            save_credentials(self._hub_file, credentials)
        return result

    def logout(self) -> Revocation:
        """Leave the team: delete its memories here, except those never pushed, and end the login at the provider."""
        self._context.require_person("leaving a team")
        # A renewal at this moment would write the file again.
        with lock_credentials(self._hub_file):
            credentials = load_credentials(self._hub_file)
            revocation = Revocation.UNNEEDED
            if credentials and credentials.login:
                revocation = hub_login.end_login(credentials.login)
            self._hub_file.unlink(missing_ok=True)
        team_exchange.leave(self._store)
        return revocation

    @property
    def is_logged_in(self) -> bool:
        """Whether this store has credentials for a hub, which may have expired."""
        return self._hub_file.exists()

    @property
    def url(self) -> str:
        """Where the hub is; empty if this store belongs to no team."""
        credentials = load_credentials(self._hub_file)
        return credentials.url if credentials else ""

    @property
    def credentials(self) -> Credentials | None:
        """How this store reaches its hub, renewed if that is due; None if it belongs to no team."""
        credentials = load_credentials(self._hub_file)
        if credentials and credentials.is_due(self._context.now):
            return hub_login.renew_login(self._hub_file, self._context.clock)
        return credentials

    @property
    def hub(self) -> HubClient | None:
        """The hub this store is logged in to, or None."""
        credentials = self.credentials
        return HubClient(url=credentials.url, token=credentials.token) if credentials else None

    def sync(self, transport: team_exchange.Transport | None = None, *, progress: Progress = quietly) -> SyncResult:
        """Push and pull what is new; an interrupted sync can be repeated."""
        try:
            transport = transport or self.hub
            if transport is None:
                raise InvalidInput("this store belongs to no team; join one with 'hivemind team login URL'")
            result = team_exchange.synchronise(
                self._store, transport, now=self._context.now, progress=progress,
                # Erasures of others must also reach copies and quotes in this person's own memories.
                follow=partial(
                    sweep.follow_erasure, self._store, self._context.factory, home=self._context.home
                ),
            )  # fmt: skip
        except AccessRevoked as error:
            # An admin ended the access, so the copy must not answer until its lease ends. What was not sent stays.
            if self._store.membership is None:
                raise
            team_exchange.leave(self._store)
            self._hub_file.unlink(missing_ok=True)
            raise AccessRevoked(f"{error}; the team's memories are deleted here, yours and unsent ones stay") from None
        except Unauthenticated:
            self._note_end(transport)
            raise
        self._correct_receipts(dict(result.refused))
        if isinstance(transport, HubClient):
            # The receipts are brought up to date by the next sync if the hub goes away now.
            with suppress(Unavailable):
                self._confirm_erasures(transport)
        return result

    def carry(self, receipt: Erasure) -> Erasure:
        """Push an erasure to the hub at once; return its receipt with the devices that still have a copy."""
        if not self._store.directory or not self.is_logged_in:
            return receipt
        try:
            hub = self.hub
            if hub is None:
                return receipt
            result = self.sync(hub)
            devices = _ask_devices(hub, receipt.batch)
        except AccessRevoked:
            raise
        # The erasure is done here; the next sync sends it, if need be after the person has signed in again.
        except (Unavailable, Unauthenticated) as error:
            detail = f"waiting for the hub: {error}; 'hivemind sync' tries again"
            places = [ErasedLocation(name=HUB, state="pending", detail=detail)]
        else:
            batches = {batch for _, batch in sync_state.find_erasures(self._store.db, dict(result.refused))}
            if receipt.batch in batches:
                return load_receipt(self._store.db, receipt.batch) or receipt
            places = [ERASED_ON_HUB, devices]
        receipt = receipt.with_places(places)
        record_receipt(self._store, self._context.factory, receipt)
        return receipt

    def _note_end(self, transport: team_exchange.Transport | None) -> None:
        """Note that the hub refuses the token of this store, so that the next session says so."""
        with lock_credentials(self._hub_file):
            credentials = load_credentials(self._hub_file)
            # A login is asked to be renewed first; and a token that is tried for the first time is not stored yet.
            if (
                credentials
                and not credentials.login
                and transport == HubClient(url=credentials.url, token=credentials.token)
            ):
                save_credentials(self._hub_file, replace(credentials, is_ended=True))

    def _confirm_erasures(self, hub: HubClient) -> None:
        """Write into the receipts of erasures which devices of the team have carried them out since."""
        for batch in sync_state.find_erasure_batches(self._store.db):
            receipt = load_receipt(self._store.db, batch)
            places = {place.name: place for place in receipt.places} if receipt else {}
            if receipt and any(place.state == "pending" and place.name in TEAM_PLACES for place in places.values()):
                # What waited for the hub has been sent with this sync.
                confirmed = receipt.with_places([ERASED_ON_HUB, _ask_devices(hub, batch)])
                if confirmed != receipt:
                    record_receipt(self._store, self._context.factory, confirmed)

    def _correct_receipts(self, refusals: Mapping[str, str]) -> None:
        """Correct the receipts of erasures that the hub refused: pulling from the start brings the content back."""
        for entry, batch in sync_state.find_erasures(self._store.db, refusals):
            receipt = load_receipt(self._store.db, batch)
            if receipt:
                detail = f"refused: {refusals[entry]}; the team keeps it, and it is restored here"
                outside = [place for place in receipt.places if place.state == "outside"]
                places = (ErasedLocation(name=HUB, state="remains", detail=detail), *outside)
                record_receipt(self._store, self._context.factory, replace(receipt, places=places))

    def status(self) -> TeamStatus:
        """Return the membership of this store, what is not pushed yet, and when its lease ends."""
        member = self._store.membership
        entry_count = sync_state.count_entries(self._store.db, self._store.chain)
        waiting = max(0, entry_count - (member.pushed if member else 0))
        return TeamStatus(
            membership=member, waiting=waiting, lease_ends_at=team_exchange.compute_lease_end(member) if member else ""
        )

    @property
    def _hub_file(self) -> Path:
        if self._store.directory is None:
            raise InvalidInput("a hub cannot log in to a hub")
        return self._store.directory / HUB_FILE

    def expire_lease(self) -> bool:
        """Delete the team's memories if the last sync is older than the lease; return whether it was."""
        return team_exchange.expire_lease(self._store, self._context.now)

    def is_lease_over(self) -> bool:
        """Whether the last sync is older than the lease."""
        return team_exchange.is_lease_over(self._store, self._context.now)

    def _plan(self, memory: Memory) -> Publication:
        """Return what publishing a memory would send; raise an error if it must not be sent."""
        name = memory.id[:8]
        if memory.scope is not Scope.PROJECT:
            raise InvalidInput(f"{name} has scope {memory.scope}; only memories of a project can be published")
        if memory.repo.startswith("path:"):
            raise InvalidInput(f"{name} belongs to a directory without git; add a remote or a first commit to it")
        if memory.status not in (Status.ACTIVE, Status.PROPOSED):
            raise InvalidInput(f"{name} is {memory.status}; only active and proposed memories can be published")
        if reason := self._store.load_gate().find_text_refusal(memory.text, memory.repo, by_person=True):
            raise Refused(f"{name} cannot be published: its value was {reason} before")
        text = self._context.factory.redact(memory.text)
        fact = strip_local_references(_copy(memory, text), [])
        withheld = {
            "secrets in the text": text != memory.text,
            "sessions it was learned in": any(source.session_id or source.event for source in memory.sources),
            "quotes from sources": any(source.quote for source in memory.sources),
            "memories it was derived from or replaced": bool(memory.derived_from or memory.supersedes),
        }
        return Publication(
            memory=memory, text=text, sources=fact.sources,
            channel=CHANNEL_BY_TRUST[min(memory.trust, self._context.author.channel.trust)],
            withheld=tuple(what for what, is_there in withheld.items() if is_there),
        )  # fmt: skip

    def _record_copy(self, publication: Publication) -> Publication:
        """Record a copy for the team, and privately what it is a copy of; an existing copy is kept."""
        original = publication.memory
        copies = memories.get_all(self._store.db, log.find_published_copies(self._store.db, original.id))
        current = [copy for copy in copies if copy.text == publication.text and copy.status is not Status.RETRACTED]
        if current:
            return replace(publication, copy=current[0].id)
        fact = _copy(original, publication.text)
        result = accept_claim(
            self._store, self._context.factory, fact, Scope.TEAM, original.repo, channel=publication.channel,
            anchors=original.anchors, said_by_person=True,
        )  # fmt: skip
        copy = record_claim(self._context, result)
        self._context.record([self._context.factory.about(original, MemoryPublished(memory_id=original.id, copy=copy))])
        return replace(publication, copy=copy)


def _ask_devices(hub: HubClient, batch: str) -> ErasedLocation:
    """Ask a hub which devices have not carried out an erasure."""
    # A hub of the version before counts the erasures of all batches.
    devices = hub.request("GET", f"/v1/devices?batch={batch}")
    return describe_devices([(each["person"], each["last_seen_at"]) for each in devices if each["erasures"]])


def _copy(memory: Memory, text: str) -> MemoryRemembered:
    return MemoryRemembered(
        memory_id=new_memory_id(), kind=memory.kind, text=text, owner=memory.owner, tags=memory.tags,
        sources=memory.sources, links=memory.links, subject=memory.subject, confidence=memory.confidence,
        valid_from=memory.valid_from, valid_to=memory.valid_to, expires_at=memory.expires_at,
        verify_by=memory.verify_by, trace=memory.trace, proposed=memory.status is Status.PROPOSED,
        metadata=memory.metadata,
    )  # fmt: skip
