"""The local sockets through which a hook reaches an MCP server that is already running.

A server listens on a socket in the folder ``sockets`` of the home. A hook asks the oldest server of its own version;
without one that answers, it does the work itself. Only the owner of the home can open the folder and the sockets, and
both sides check that the other one is the same user. Where Python has no such sockets, as on Windows, nobody listens.

Standard library and light imports only, because hooks use it.
"""

import _socket
import os
import stat
import sys

from hivemind.system import remove_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FOLDER = "sockets"
# Not imported: for the linter the package imports all that it offers.
PREFIX = f"{sys.modules['hivemind'].__version__}-"
"""Begins the name of a socket: servers of another version may answer in another way."""
LONGEST_PATH = 100
"""Bytes of a socket's path; systems allow 104 or 108, and a longer home has no sockets."""
VARIABLE = "HIVEMIND_"
"""Begins the names of the variables that decide about an answer."""
IS_SUPPORTED = sys.platform != "win32" and hasattr(_socket, "AF_UNIX")
GREETING = b"\x01"
"""The server sends it at once. A server that does not is stopped or hangs, and nobody waits for its answer."""
GREETING_SHARE, ANSWER_SHARE = 0.1, 0.55
"""Of the time that a hook has, for the greeting and for the answer; the rest is enough to answer by itself."""
SIZE_BYTES = 4
MAX_MESSAGE_BYTES = 8 << 20
"""A hook truncates payloads to less than this."""
MAX_SERVERS = 16
"""Sockets that a hook tries: all but one of them are of servers that crashed."""
CREDENTIALS = (_socket.SOL_SOCKET, getattr(_socket, "SO_PEERCRED", None))
if sys.platform == "darwin":
    # SOL_LOCAL and LOCAL_PEERCRED of the system's headers.
    CREDENTIALS = (0, 1)
CREDENTIALS_BYTES = 76
USER_ID = slice(4, 8)
"""Of the credentials: Linux gives process, user and group, macOS a version, the user and groups."""


def list_fields(agent: str, event: str, payload: str, cues: "Sequence[str]") -> list[str]:
    """Return the fields of a hook's request: where it runs, what it was given, and the variables with its settings."""
    variables = [f"{name}={value}" for name, value in os.environ.items() if name.startswith(VARIABLE)]
    try:
        place = os.getcwd()
    except OSError:
        place = ""
    return [describe_machine(), place, agent, event, payload, str(len(cues)), *cues, *variables]


def describe_machine() -> str:
    """Return what differs between this system and a container that shares the home: a path means another file there."""
    status = os.stat("/")
    return f"{status.st_dev} {status.st_ino}"


def ask(home: str, fields: "Sequence[str]", seconds: float) -> str | None:
    """Ask a running server and return its answer; None if none gave a whole one within a share of the time."""
    if not IS_SUPPORTED:
        return None
    request = pack_message(field.encode("utf-8", "surrogatepass") for field in fields)
    for path in list_sockets(home):
        connection = open_socket()
        try:
            connection.settimeout(GREETING_SHARE * seconds)
            connection.connect(path)
            if not is_same_user(connection):
                continue
            if _receive(connection, 1) != GREETING:
                # A server that is not ready yet, or is ending.
                return None
        except TimeoutError:
            # Without its socket no hook waits for it again; it makes a new one when it goes on.
            remove_file(path)
            continue
        except OSError:
            # Of a server that crashed; the next server that starts removes it.
            continue
        else:
            return _exchange(connection, request, ANSWER_SHARE * seconds)
        finally:
            connection.close()
    return None


def _exchange(connection: "_socket.socket", request: bytes, seconds: float) -> str | None:
    try:
        connection.settimeout(seconds)
        connection.sendall(request)
        answer = receive_message(connection)
    except OSError:
        return None
    return answer[0].decode("utf-8", "replace") if answer else None


def list_sockets(home: str) -> list[str]:
    """List the sockets of this version, those of the oldest servers first; none in a folder that others can open."""
    folder = os.path.join(home, FOLDER)
    if not is_own_folder(folder):
        return []
    names = sorted(name for name in os.listdir(folder) if name.startswith(PREFIX))  # noqa: PTH208 - pathlib costs the hook
    paths = [os.path.join(folder, name) for name in names[:MAX_SERVERS]]
    # Not a link to a socket that may be somebody else's.
    return [path for path in paths if _is_private(path, stat.S_IFSOCK)]


def is_own_folder(path: str) -> bool:
    """Whether this user owns a folder and nobody else can open it; a link is no folder."""
    return _is_private(path, stat.S_IFDIR)


def _is_private(path: str, kind: int) -> bool:
    try:
        status = os.lstat(path)
    except OSError:
        return False
    is_own = status.st_uid == _get_user_id() and not status.st_mode & 0o077
    return is_own and stat.S_IFMT(status.st_mode) == kind


def _get_user_id() -> int:
    if sys.platform == "win32":
        return -1
    return os.geteuid()


def open_socket() -> "_socket.socket":
    """Return a socket that is not connected."""
    if sys.platform == "win32":
        raise OSError("Python has no local sockets on Windows")
    return _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)


def is_same_user(connection: "_socket.socket") -> bool:
    """Whether this user runs the process at the other end, where the system tells."""
    level, option = CREDENTIALS
    if option is None:
        return True
    credentials = connection.getsockopt(level, option, CREDENTIALS_BYTES)
    return int.from_bytes(credentials[USER_ID], sys.byteorder) == _get_user_id()


def is_closed(connection: "_socket.socket") -> bool:
    """Whether the other end has closed the connection."""
    timeout = connection.gettimeout()
    connection.settimeout(0)
    try:
        return connection.recv(1, _socket.MSG_PEEK) == b""
    except OSError:
        # There is nothing to read.
        return False
    finally:
        connection.settimeout(timeout)


def pack_message(fields: "Iterator[bytes] | Sequence[bytes]") -> bytes:
    """Return a message of several fields: its size, then each field after its size."""
    content = b"".join(len(field).to_bytes(SIZE_BYTES, "big") + field for field in fields)
    return len(content).to_bytes(SIZE_BYTES, "big") + content


def receive_message(connection: "_socket.socket") -> list[bytes] | None:
    """Return the fields of a message; None if it is too long, or ends too early."""
    size = int.from_bytes(_receive(connection, SIZE_BYTES).rjust(SIZE_BYTES, b"\xff"), "big")
    content = _receive(connection, size) if size <= MAX_MESSAGE_BYTES else b""
    if len(content) != size:
        return None
    fields: list[bytes] = []
    position = 0
    while position < size:
        start = position + SIZE_BYTES
        position = start + int.from_bytes(content[position:start], "big")
        fields.append(content[start:position])
    return fields if position == size else None


def _receive(connection: "_socket.socket", size: int) -> bytes:
    """Receive so many bytes; fewer if the other end has closed."""
    parts = bytearray()
    while len(parts) < size and (part := connection.recv(min(size - len(parts), 1 << 16))):
        parts += part
    return bytes(parts)
