"""Answers hooks in a process that is already running, the MCP server of a session, with its modules and model loaded.

A hook writes its event to the spool before it asks, so a server that dies loses nothing. Each request opens the store
anew, though its connection is kept: an answer is the one that the hook itself would give, also right after an erasure,
a rollback or a change of settings. Nothing is loaded before the first hook asks; that hook answers by itself.
"""

import _socket
import os
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

from hivemind import local_socket
from hivemind.lazy import when_called
from hivemind.local_socket import VARIABLE
from hivemind.paths import data_directory
from hivemind.system import FileLock, stretch

# With the store and the model, these take longer to load than a client waits for its list of tools.
answer_hook = when_called("hook_reply", "answer")
load_for_hooks = when_called("hook_reply", "load_modules_and_model")
close_stores = when_called("hook_reply", "close_stores")

LOCK_FILE = "sockets.lock"
LOCK_SECONDS = 1.0
REQUEST_SECONDS = 1.0
"""How long a server waits for a request, which hooks send at once."""
MOST_REQUESTS = 32
"""Answered at a time; further hooks answer by themselves, which costs many times as much. An agent that calls many
tools at once runs as many hooks."""
LOOK_SECONDS = 15.0
"""How often a server looks whether its socket is still there: a hook removes that of a server that seems to hang."""
END_SECONDS = 2.0
"""How long a server that ends waits for answers that it has begun."""


@contextmanager
def answering_hooks(store: str | None) -> Iterator[None]:
    """Answer hooks meanwhile, in threads, unless this process serves another store than the one that hooks use."""
    server = HookServer(data_directory(os.environ)) if store is None and local_socket.IS_SUPPORTED else None
    if server:
        server.start()
    try:
        yield
    finally:
        if server:
            server.close()


class HookServer:
    """Listens on a socket of its own in the home, beside those of other servers."""

    def __init__(self, home: str) -> None:
        self._home = home
        # By the time, because hooks ask the server first that has been running longest.
        name = f"{local_socket.PREFIX}{time.time_ns() // 1_000_000:012x}{os.getpid() % 0xFFFF:04x}"
        self._path = os.path.join(home, local_socket.FOLDER, name)
        self._socket: _socket.socket | None = None
        self._is_loading = False
        self._is_ready = False
        self._closed = threading.Event()
        self._requests = threading.Semaphore(MOST_REQUESTS)
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def start(self) -> None:
        """Listen in a thread, if the home can have a socket."""
        self._thread.start()

    def close(self) -> None:
        """Listen no longer, and wait for answers that were begun."""
        self._closed.set()
        # A connection ends the waiting for one, on every system.
        with suppress(OSError), closing(local_socket.open_socket()) as connection:
            connection.connect(self._path)
        self._thread.join(END_SECONDS)
        end = time.monotonic() + END_SECONDS
        for _ in range(MOST_REQUESTS):
            self._requests.acquire(timeout=max(end - time.monotonic(), 0))
        if self._is_ready:
            close_stores()
        self._remove_socket()

    def _listen(self) -> None:
        while not self._closed.is_set():
            if not os.path.isdir(self._home):
                # Nothing was remembered yet; whoever remembers something makes the home.
                self._closed.wait(LOOK_SECONDS)
                continue
            if self._socket is None and not self._publish():
                return
            assert self._socket is not None
            try:
                descriptor, _ = self._socket._accept()  # type: ignore[attr-defined]
            except TimeoutError:
                if not os.path.exists(self._path):
                    self._remove_socket()
                continue
            except OSError:
                return
            connection = _socket.socket(fileno=descriptor)
            if self._closed.is_set() or not self._admit(connection):
                connection.close()

    def _publish(self) -> bool:
        """Make the socket, and remove those of servers that crashed; false if the home cannot have one."""
        if len(os.fsencode(self._path)) > local_socket.LONGEST_PATH:
            return False
        folder = os.path.dirname(self._path)
        try:
            # Under a lock: a socket that nobody listens to yet looks like one that was left behind.
            with FileLock(os.path.join(self._home, LOCK_FILE), timeout_seconds=stretch(LOCK_SECONDS)):
                os.makedirs(folder, mode=0o700, exist_ok=True)
                if not local_socket.is_own_folder(folder):
                    return False
                _remove_abandoned_sockets(folder)
                listener = local_socket.open_socket()
                listener.bind(self._path)
                os.chmod(self._path, 0o600)
                listener.listen(MOST_REQUESTS)
                listener.settimeout(LOOK_SECONDS)
        except OSError:
            # A full or read-only disk, or a file system without sockets: hooks answer by themselves.
            return False
        self._socket = listener
        return True

    def _remove_socket(self) -> None:
        with suppress(OSError):
            os.unlink(self._path)
        if self._socket:
            self._socket.close()
            self._socket = None

    def _admit(self, connection: _socket.socket) -> bool:
        """Answer a hook of the same user in a thread; false if that is not possible now."""
        try:
            connection.settimeout(stretch(REQUEST_SECONDS))
            is_same_user = local_socket.is_same_user(connection)
        except OSError:
            return False
        if is_same_user and not self._is_ready:
            self._load()
        if not is_same_user or not self._is_ready or not self._requests.acquire(blocking=False):
            return False
        threading.Thread(target=self._serve, args=(connection,), daemon=True).start()
        return True

    def _load(self) -> None:
        if not self._is_loading:
            self._is_loading = True
            threading.Thread(target=self._load_now, daemon=True).start()

    def _load_now(self) -> None:
        load_for_hooks()
        self._is_ready = True

    def _serve(self, connection: _socket.socket) -> None:
        try:
            connection.sendall(local_socket.GREETING)
            if fields := local_socket.receive_message(connection):
                self._answer([field.decode("utf-8", "surrogatepass") for field in fields], connection)
        except Exception:  # noqa: BLE001 - without an answer the hook does the work, and complains if it cannot either
            pass
        finally:
            connection.close()
            self._requests.release()

    def _answer(self, fields: list[str], connection: _socket.socket) -> None:
        machine, place, agent, event, payload, cue_count, *rest = fields
        cues, variables = rest[: int(cue_count)], rest[int(cue_count) :]
        own = {name: value for name, value in os.environ.items() if not name.startswith(VARIABLE)}
        environ = own | dict(variable.split("=", 1) for variable in variables if variable.startswith(VARIABLE))
        # Without a place, its working directory is gone.
        is_here = (
            bool(place)
            and machine == local_socket.describe_machine()
            and _is_same_folder(data_directory(environ), self._home)
        )
        # A hook that has gone answered by itself, and a receipt of this answer would be wrong.
        if not is_here or local_socket.is_closed(connection):
            return
        replies: list[str] = []

        def say(reply: str) -> None:
            replies.append(reply)
            connection.sendall(local_socket.pack_message([reply.encode("utf-8", "replace")]))

        answer_hook(agent, event, payload, cues, say, environ=environ, place=place)
        if not replies:
            say("")


def _remove_abandoned_sockets(folder: str) -> None:
    """Remove the sockets that nobody listens to, of any version."""
    for entry in os.scandir(folder):
        if entry.is_symlink() or not stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode):
            continue
        with closing(local_socket.open_socket()) as connection:
            connection.settimeout(stretch(REQUEST_SECONDS))
            try:
                connection.connect(entry.path)
            except ConnectionRefusedError:
                os.unlink(entry.path)
            except OSError:
                # It is busy, or gone by now.
                continue


def _is_same_folder(folder: str, other: str) -> bool:
    try:
        return os.path.samefile(folder, other)
    except OSError:
        return False
