"""The record of administration in a team's log, and what follows from it after a restore."""

from collections.abc import Iterable

from hivemind.model.administration import AdminAction
from hivemind.model.events import Event, TeamAdministered
from hivemind.model.ids import EventId, derive_id
from hivemind.model.memory import Channel
from hivemind.model.scope import Scope
from hivemind.store import Store
from hivemind.store.database import Database


def record(store: Store, actor: str, at: str, action: AdminAction, subject: str, detail: str = "") -> None:
    """Record an act of administration in the hub's own chain, which every device keeps a copy of."""
    fact = TeamAdministered(action=action.value, subject=subject, detail=detail)
    event = Event(
        id=EventId(derive_id(action.value, subject, at)),
        at=at,
        actor=actor,
        channel=Channel.PERSON,
        scope=Scope.TEAM,
        repo="",
        fact=fact,
    )
    # Rights were checked by the caller; a member's role limits only what they say about memories.
    Store.record(store, [event])


def apply_again(db: Database, events: Iterable[Event]) -> None:
    """Revoke and remove again what a restored database had forgotten about.

    Tokens that were created since the backup cannot come back: only the database had their hashes.
    """
    for event in events:
        if not isinstance(event.fact, TeamAdministered):
            continue
        if event.fact.action == AdminAction.TOKEN_REVOKED:
            db.execute(
                "UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at = ''", event.at, event.fact.subject
            )
        elif event.fact.action == AdminAction.DEVICE_REMOVED:
            remove_device(db, event.fact.subject, event.at)


def remove_device(db: Database, chain: str, at: str) -> None:
    """End the access of a device for good."""
    db.execute("INSERT INTO removed_devices (chain, at) VALUES (?, ?) ON CONFLICT DO NOTHING", chain, at)
