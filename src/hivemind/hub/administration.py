"""What an admin of a team may do on its hub: tokens, devices, members, limits, and the record of all that."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from hivemind.context import Context
from hivemind.errors import AmbiguousId, InvalidInput, NotFound, Refused
from hivemind.hub import access, sign_in
from hivemind.hub.access import MAX_DAYS, Refusal
from hivemind.hub.epochs import LogEpoch
from hivemind.hub.store import HubStore
from hivemind.model.codec import from_row
from hivemind.model.scope import Visibility
from hivemind.model.team import AdminAction, Device
from hivemind.store import log, sync_state
from hivemind.store.projections import memories
from hivemind.transfer.files import render_lines

MAX_DEVICES = 10_000
FACT = "team.administered"
EVERYTHING = Visibility(repos=("",), everywhere=True)
"""A hub has no repository of its own; all of the team's memories are visible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamLimits:
    """The name and limits of a team."""

    name: str
    lease_days: int
    """How long a device may use the team's memories without a sync."""
    max_devices: int
    """For each member."""
    max_entries: int
    """In the team's log; 0 for no limit."""
    refusal_days: int
    """How long refused requests are kept."""
    review_edits: bool = False
    """Whether a reviewer must agree before an edit of somebody else's memory counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """What the removal of a device or a member ended."""

    tokens: tuple[str, ...]
    devices: tuple[str, ...]


class TeamAdmin:
    """Administration of one team."""

    def __init__(self, context: Context, store: HubStore) -> None:
        if not (store.member and store.member.is_admin):
            raise Refused("only an admin of the team may do that; ask one")
        self._context = context
        self._store = store

    @cached_property
    def _record(self) -> access.Recorder:
        return self._store.make_recorder(self._context.author.actor, self._context.now)

    @property
    def tokens(self) -> access.Tokens:
        """The team's tokens."""
        return access.Tokens(self._store.db, self._context.clock, self._record)

    def list_refusals(self, limit: int = 100) -> list[Refusal]:
        """Return refused requests, newest first."""
        return access.list_refusals(self._store.db, limit)

    def list_epochs(self) -> list[LogEpoch]:
        """Return the epochs of the team's log; each but the first is a restore or failover of the database."""
        return self._store.history.list()

    def list_acts(self, *, before: int = 0, limit: int = 100) -> list[log.LogEntry]:
        """Return what admins did, newest first; ``before`` is the last position of the previous page."""
        return log.read_entries(self._store.db, EVERYTHING, facts=[FACT], before=before, limit=limit)

    def remove_device(self, device: str) -> Removal:
        """End the access of a device at once, and revoke the token it last used; erasures no longer wait for it."""
        return self._remove([self._find_device(device)], ())

    def has_member(self, name: str) -> bool:
        """Whether somebody of that name has, or had, a token or a device."""
        return bool(self._list_devices(name)) or any(token.name == name for token in self.tokens.list())

    def remove_member(self, asked: str, *, is_everywhere: bool = False) -> Removal:
        """Revoke every token of a member and remove all their devices; who signs in at a provider cannot do so again.

        A person of the identity provider may be given by the provider's subject, too.
        """
        db = self._store.db
        person, name = sign_in.find_person(db, asked) or ("", asked)
        # Also for a person of another team, because an admin must not learn who is in it.
        if not self.has_member(name):
            raise NotFound(f"nobody called {asked!r} has a token or a device; 'hivemind hub token list' lists them")
        valid_tokens = [token.id for token in self.tokens.list() if token.name == name and not token.revoked_at]
        with db.transaction():
            if person:
                access.remove_person(db, person, self._context.now)
                access.end_provider_visits(db, name)
                self._record(AdminAction.MEMBER_REMOVED, person, f"{name}, from all teams" if is_everywhere else name)
            return self._remove(self._list_devices(name), valid_tokens)

    def return_member(self, asked: str) -> str:
        """Let a person whom an admin removed sign in to this team again; return their name."""
        person, name = sign_in.find_person(self._store.db, asked) or ("", "")
        with self._store.db.transaction():
            if not access.return_person(self._store.db, person):
                raise NotFound(f"nobody called {asked!r} was removed from this team; check the name")
            self._record(AdminAction.MEMBER_RETURNED, person, name)
        return name

    def _list_devices(self, person: str) -> list[Device]:
        return [device for device in sync_state.list_devices(self._store.db) if device.person == person]

    def read_limits(self) -> TeamLimits:
        """Return the name and limits of the team."""
        row = self._store.db.one(
            "SELECT name, lease_days, max_devices, max_entries, refusal_days, review_edits FROM teams"
        )
        assert row is not None
        return from_row(TeamLimits, row)

    def change_limits(self, **changes: int | str) -> TeamLimits:
        """Change the name or limits of the team and return them."""
        before = self.read_limits()
        after = replace(before, **changes)  # type: ignore[arg-type]
        if not (1 <= after.lease_days <= MAX_DAYS and 1 <= after.refusal_days <= MAX_DAYS):
            raise InvalidInput(f"days must be 1 to {MAX_DAYS:,}; give another number")
        if not 1 <= after.max_devices <= MAX_DEVICES or not 0 <= after.max_entries < 1 << 53:
            raise InvalidInput(f"devices must be 1 to {MAX_DEVICES:,}, and entries 0 (no limit) or more")
        with self._store.db.transaction():
            self._store.db.execute(
                "UPDATE teams SET name = ?, lease_days = ?, max_devices = ?, max_entries = ?, refusal_days = ?,"
                " review_edits = ?",
                after.name, after.lease_days, after.max_devices, after.max_entries, after.refusal_days,
                after.review_edits,
            )  # fmt: skip
            for name, value in changes.items():
                if getattr(before, name) != value:
                    self._record(AdminAction.LIMIT_CHANGED, name, f"{getattr(before, name)} to {value}")
        return after

    def export(self) -> Iterator[str]:
        """Yield a line of JSON for each memory of the team, as 'hivemind import' reads them."""
        self._record(AdminAction.TEAM_EXPORTED, self.read_limits().name, "")
        yield from render_lines(memories.iterate_visible(self._store.db, EVERYTHING))

    def _remove(self, devices: list[Device], tokens: Sequence[str]) -> Removal:
        db = self._store.db
        with db.transaction():
            used_tokens = filter(None, [access.find_token_of_device(db, device.id) for device in devices])
            revoked_tokens = tuple(sorted({*tokens, *used_tokens}))
            for device in devices:
                access.remove_device(db, device.id, self._context.now)
                self._record(AdminAction.DEVICE_REMOVED, device.id, device.person)
            for token in revoked_tokens:
                self.tokens.revoke(token)
        return Removal(tokens=revoked_tokens, devices=tuple(device.id for device in devices))

    def _find_device(self, prefix: str) -> Device:
        matches = [device for device in sync_state.list_devices(self._store.db) if device.id.startswith(prefix)]
        if not prefix or not matches:
            raise NotFound(f"no device {prefix!r}; 'hivemind hub device list' lists them")
        if len(matches) > 1:
            raise AmbiguousId(prefix, [f"{device.id} {device.person}" for device in matches])
        return matches[0]
