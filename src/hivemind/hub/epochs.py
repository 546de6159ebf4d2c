"""Epochs of a team's log: how a hub notices that its database was restored, and what still holds for its devices.

Positions and the hub's own chain continue where the database says, so after a restore they would be used a second time
for other entries. A new epoch gives the hub a new chain and tells each device from where to read again.
"""

import hmac
import json
import secrets
from dataclasses import dataclass, replace

from hivemind.errors import NotFound
from hivemind.model.codec import from_row
from hivemind.model.team import Bookmark, ChainHead
from hivemind.store import log, sync_state
from hivemind.store.database import Database

FIRST, MOVED, ASKED = "first", "the database was restored or failed over", "an operator asked for it"
CONTRADICTED = "a device has entries that the database lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEpoch:
    """A time in which the positions of a team's log are unambiguous; a restored database begins a new one."""

    id: str
    chain: str
    """The chain that the hub writes in it."""
    began_at: str
    base: int
    """Entries up to this position are the same as in the epoch before."""
    why: str
    returned: int
    """Entries that devices sent back in it because the database had lost them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamState:
    """A team's row: who the hub is for it, and in which epoch."""

    device: str
    """Writes the hub's own chain of this epoch."""
    secret: bytes
    epoch: str
    place: str
    """Where the epoch began."""
    seal_key: bytes
    lease_days: int
    max_entries: int
    review_edits: bool
    place_now: str | None
    first_chain: str | None
    """The hub's chain of the first epoch, by which devices recognise their team."""

    @property
    def is_in_epoch(self) -> bool:
        """Whether the epoch began in the database as it is now; always so on a replica, which cannot begin one."""
        return self.place_now is None or (bool(self.epoch) and self.place == self.place_now)


@dataclass(slots=True)
class LogHistory:
    """The epochs of one team's log."""

    db: Database
    now: str
    state: TeamState

    @classmethod
    def enter(cls, db: Database, now: str) -> "LogHistory":
        """Open the history; begin an epoch first if the database is not the one in which the last epoch began."""
        history = cls(db, now, load_state(db))
        if not history.state.is_in_epoch:
            with db.transaction():
                # Another hub may have begun it while this one waited for the lock.
                history.state = load_state(db)
                if not history.state.is_in_epoch:
                    history.begin(MOVED if history.state.epoch else FIRST, log.read_last_position(db))
        return history

    def begin(self, why: str, base: int) -> None:
        """Begin an epoch, with a new chain for the hub unless it is the first epoch."""
        state = self.state
        epoch, device = secrets.token_hex(16), secrets.token_hex(16) if state.epoch else state.device
        with self.db.transaction():
            self.db.execute(
                "INSERT INTO epochs (id, chain, began_at, base, why) VALUES (?, ?, ?, ?, ?)",
                epoch, log.derive_shared_chain(device), self.now, base, why,
            )  # fmt: skip
            self.db.execute(
                "UPDATE teams SET epoch = ?, device = ?, place = database_place(), seal_key = ?",
                epoch, device, state.seal_key or secrets.token_bytes(32),
            )  # fmt: skip
        self.state = load_state(self.db)

    @property
    def base(self) -> int:
        """The last position that the current epoch shares with the one before."""
        return int(self.db.value("SELECT base FROM epochs WHERE id = ?", self.state.epoch) or 0)

    def list(self) -> list[LogEpoch]:
        """Return every epoch, oldest first."""
        rows = self.db.execute("SELECT id, chain, began_at, base, why, returned FROM epochs ORDER BY number")
        return [from_row(LogEpoch, row) for row in rows]

    def find_cursor(self, bookmark: Bookmark) -> int:
        """Return from where a device must read on; begin an epoch if the device proves that entries were lost."""
        if bookmark.epoch == self.state.epoch:
            head = bookmark.head
            if head is None or sync_state.find_hash(self.db, head.chain, head.seq) == head.hash:
                return bookmark.cursor
            # Only with our own seal: otherwise any member could make every device read the whole log again.
            if self.has_sealed(head):
                # Positions may have been used twice since the restore, so nothing is known to be the same.
                self.begin(CONTRADICTED, 0)
            return 0
        epochs = self.list()
        ids = [epoch.id for epoch in epochs]
        # A device that joins, or a database that was restored from a time before an epoch and has never heard of it.
        if bookmark.epoch not in ids:
            return 0
        return min(bookmark.cursor, *(epoch.base for epoch in epochs[ids.index(bookmark.epoch) + 1 :]))

    def seal(self, head: ChainHead) -> ChainHead:
        """Return a head with the seal that proves later that this hub has served its entry, and all before it."""
        return replace(head, epoch=self.state.epoch, seal=self._compute_seal(replace(head, epoch=self.state.epoch)))

    def has_sealed(self, head: ChainHead) -> bool:
        """Whether this hub made the seal of a head."""
        return hmac.compare_digest(head.seal.encode(), self._compute_seal(head).encode())

    def has_written(self, chain: str) -> bool:
        """Whether the hub itself writes a chain, or did so in an earlier epoch."""
        return self.db.one("SELECT 1 FROM epochs WHERE chain = ?", chain) is not None

    def count_returned(self, count: int) -> None:
        """Add to the number of entries that devices sent back in the current epoch."""
        self.db.execute("UPDATE epochs SET returned = returned + ? WHERE id = ?", count, self.state.epoch)

    def _compute_seal(self, head: ChainHead) -> str:
        text = json.dumps([head.epoch, head.chain, head.person, head.seq, head.hash])
        return hmac.digest(self.state.seal_key, text.encode(), "sha256").hex()[:32]


def load_state(db: Database) -> TeamState:
    """Return the team's row."""
    row = db.one(
        "SELECT device, secret, epoch, place, seal_key, lease_days, max_entries, review_edits, database_place(),"
        " (SELECT chain FROM epochs ORDER BY number LIMIT 1) FROM teams"
    )
    if row is None:
        raise NotFound("this hub has no such team; check its id")
    return from_row(TeamState, row)
