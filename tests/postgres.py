"""Start a Postgres with pgvector on its own socket.

It comes with the development tools; HIVEMIND_POSTGRES names the folder of another one's programs.
"""

import contextlib
import os
import secrets
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from hivemind.hub.store import HubDatabase
from hivemind.hub.trial import (
    FAST_SETTINGS,
    OWNER,
    TIMEOUT_SECONDS,
    Account,
    connect,
    find_package,
    find_programs,
    make_folder,
    run_postgres,
    run_program,
    run_server,
)
from hivemind.hub.trial import create_database as database

__all__ = [
    "FAST_SETTINGS",
    "OWNER",
    "database",
    "find_program",
    "new_team",
    "promote",
    "replicating",
    "restarting",
    "serving",
]


@contextlib.contextmanager
def serving(settings: tuple[str, ...] = FAST_SETTINGS) -> Iterator[str]:
    """Start a server, yield the folder of its socket, and stop it afterwards."""
    with make_folder() as (folder, account):
        # For containers, whose programs run as somebody else.
        folder.chmod(0o755)
        with run_postgres(folder, account, settings):
            yield str(folder)


@contextlib.contextmanager
def replicating(source: str) -> Iterator[str]:
    """Start a replica of the server behind a socket, yield the folder of its own socket, and stop it afterwards."""
    with make_folder() as (folder, account):
        address = f"postgresql://postgres@/postgres?host={source}"
        arguments = ("-d", address, "-D", folder / "data", "-R", "-c", "fast", "-N")
        run_program([find_programs(folder, account) / "pg_basebackup", *arguments], folder, account)
        with run_server(folder, account):
            yield str(folder)


def promote(folder: str) -> None:
    """Make a replica a server of its own, as after the loss of the first one."""
    with connect(folder) as postgres:
        postgres.execute("SELECT pg_promote()")


@contextlib.contextmanager
def restarting(folder: str, seconds: float) -> Iterator[None]:
    """Stop a server at once, start it after some seconds, yield as soon as it answers, and stop it afterwards."""
    home = Path(folder)
    lock = home / "data" / "postmaster.pid"
    os.kill(int(lock.read_text().split()[0]), signal.SIGINT)
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while lock.exists():
        assert time.monotonic() < deadline, "Postgres did not stop"
        time.sleep(0.01)
    time.sleep(seconds)
    owner = home.stat()
    # Only root can choose an account, and Postgres runs as the owner of its folder.
    account: Account = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []} if os.geteuid() == 0 else {}
    with run_server(home, account):
        yield


def find_program(name: str) -> str:
    """Return the path of a program of Postgres, such as ``pg_dump``."""
    return str(find_package() / name)


def new_team(hub: HubDatabase) -> str:
    """Create a team with a random name, because a hub accepts each name once."""
    return hub.create_team(secrets.token_hex(8))
