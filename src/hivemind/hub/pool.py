"""A pool of connections to one Postgres.

Connections are opened by whoever needs one. So while Postgres is away every request fails at once, and the first one
after its return is answered; a pool that reconnects in the background waits longer after each failure.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from selectors import EVENT_READ, DefaultSelector

import psycopg
from psycopg.pq import TransactionStatus

from hivemind.errors import Unavailable
from hivemind.hub.postgres import Connection, connect, parse_address
from hivemind.store.database import Closeable

CONNECT_SECONDS = 2
"""For a server that does not even refuse, unless the address says how long to wait; libpq accepts no less."""


class ConnectionPool(Closeable):
    """Connections that are kept for the next caller."""

    def __init__(self, address: str, size: int, timeout_seconds: float) -> None:
        self.size = size
        self.waiting = 0
        """Callers that wait for a connection."""
        limits = {} if "connect_timeout" in parse_address(address) else {"connect_timeout": CONNECT_SECONDS}
        self._address = psycopg.conninfo.make_conninfo(address, **limits)
        self._timeout_seconds = timeout_seconds
        self._turns = threading.Semaphore(size)
        self._free: list[Connection] = []
        self._lock = threading.Lock()

    @property
    def free(self) -> int:
        """Open connections that nobody uses."""
        return len(self._free)

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Lend a connection that works."""
        with self._wait_for_turn():
            connection = self._take()
            try:
                yield connection
            finally:
                self._put_back(connection)

    def close(self) -> None:
        """Close the connections that nobody uses."""
        with self._lock:
            connections, self._free = self._free, []
        for connection in connections:
            connection.close()

    @contextmanager
    def _wait_for_turn(self) -> Iterator[None]:
        with self._lock:
            self.waiting += 1
        try:
            has_turn = self._turns.acquire(timeout=self._timeout_seconds)
        finally:
            with self._lock:
                self.waiting -= 1
        if not has_turn:
            raise Unavailable("all connections to the hub's database are in use; try again")
        try:
            yield
        finally:
            self._turns.release()

    def _take(self) -> Connection:
        while True:
            with self._lock:
                # The one that was used last, so that the others stay idle.
                connection = self._free.pop() if self._free else None
            if connection is None:
                return connect(self._address)
            if _is_alive(connection):
                return connection
            connection.close()

    def _put_back(self, connection: Connection) -> None:
        if connection.info.transaction_status is TransactionStatus.IDLE:
            with self._lock:
                self._free.append(connection)
        else:
            connection.close()


def _is_alive(connection: Connection) -> bool:
    """Whether the server has said nothing since the connection was used; it says goodbye when it stops."""
    if connection.closed:
        return False
    # Not select(), which takes no descriptor above 1,023; a hub with many clients has such.
    with DefaultSelector() as selector:
        selector.register(connection.fileno(), EVENT_READ)
        return not selector.select(0)
