"""A PgBouncer in transaction mode before a Postgres."""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
TIMEOUT_SECONDS = 120


@contextlib.contextmanager
def pooling(postgres_folder: str, name: str) -> Iterator[str]:
    """Start a pooler and yield the address of a database behind it; few connections, so that clients share them."""
    assert PROGRAM
    with tempfile.TemporaryDirectory(prefix="bouncer") as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        file = Path(folder) / "pgbouncer.ini"
        file.write_text(
            f"[databases]\n{name} = host={postgres_folder} dbname={name} user=hub_owner\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\n"
            f"listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\n"
            f"default_pool_size = 3\nmax_client_conn = 100\nlogfile = {folder}/log\n"
        )
        # PgBouncer, too, refuses to run as root.
        account: dict[str, Any] = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            account = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        server = subprocess.Popen([PROGRAM, "-q", file], **account)
        try:
            _wait_for_port(port)
            yield f"postgresql://hub_owner@127.0.0.1:{port}/{name}"
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(TIMEOUT_SECONDS)


def _wait_for_port(port: int) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return
