"""The Model Context Protocol on a pipe: one JSON-RPC message a line, in both of its eras.

Until 2025 a client shakes hands with ``initialize``. From 2026-07-28 there is no handshake: a client may ask
``server/discover``, and every request names its version, which the answer then follows.
"""

import json
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from hivemind.formats.untrusted import MAX_MESSAGE_BYTES, LimitExceeded, Line, Unreadable, parse_json, read_lines

MODERN = ("2026-07-28",)
HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"

PARSE_ERROR, INVALID_REQUEST, UNKNOWN_METHOD, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
UNSUPPORTED_VERSION = -32022

CACHED_MS = 300_000
CACHEABLE = {"server/discover", "tools/list", "resources/list", "resources/templates/list", "prompts/list"}
"""What we offer is the same for everybody and for the life of the process."""
NOT_CACHEABLE = {"resources/read"}
"""The newer era wants it said of these, too."""

Json = dict[str, Any]

ID = rb'"id"\s*:\s*(-?[1-9]\d{0,15}|0|"[\w-]{1,100}")\s*'
ID_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + ID + b"[,}]")
ID_LAST = re.compile(rb"[,{]\s*" + ID + rb"\}\s*\Z")
LONGEST_ID = 200
HALF_CHARACTER = re.compile("[\ud800-\udfff]")
"""No database keeps one, wherever in a request it stands."""


class WireError(Exception):
    """A request that cannot be answered, in the words of JSON-RPC."""

    def __init__(self, code: int, message: str, data: Json | None = None) -> None:
        super().__init__(message)
        self.error: Json = {"code": code, "message": message} | ({"data": data} if data else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who sent a request, as far as the wire says."""

    client: str = ""
    """The name the client gives itself."""
    meta: Mapping[str, Any] = field(default_factory=dict)


Method = Callable[[Json, Caller], Json]


@dataclass(slots=True, kw_only=True)
class Server:
    """What is offered, by the name of the method, and whom we shook hands with."""

    name: str
    version: str
    instructions: str
    capabilities: Json
    methods: Mapping[str, Method]
    client: str = ""

    @property
    def identity(self) -> Json:
        """Who we say we are."""
        return {"name": self.name, "title": "Hivemind", "version": self.version}


def serve(server: Server, requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer until the client hangs up."""
    try:
        for line in read_lines(requests, MAX_MESSAGE_BYTES):
            for reply in _replies(server, line):
                replies.write(json.dumps(reply, separators=(",", ":")).encode("ascii") + b"\n")
            replies.flush()
    except (BrokenPipeError, KeyboardInterrupt):
        return


def _replies(server: Server, line: Line) -> Iterator[Any]:
    if not line.content.strip():
        return
    try:
        if line.is_cut:
            raise LimitExceeded(f"a message has at most {MAX_MESSAGE_BYTES:,} bytes; send less at once")
        message = parse_json(line.content)
    except Unreadable as error:
        # What is broken in itself may show an id at a place where it is none.
        yield _failed(_id_of(line) if isinstance(error, LimitExceeded) else None, WireError(PARSE_ERROR, str(error)))
        return
    if isinstance(message, list):
        # Two of the versions let a client send several at once.
        answers = [answer for one in message for answer in _reply(server, one)]
        yield from [answers] if answers else []
    else:
        yield from _reply(server, message)


def _reply(server: Server, message: Any) -> Iterator[Json]:
    """At most one reply: notifications and the client's own replies get none."""
    if not isinstance(message, dict) or not isinstance(message.get("method", ""), str):
        yield _failed(None, WireError(INVALID_REQUEST, "a request is an object with a method"))
        return
    if "method" not in message or "id" not in message:
        return
    if type(message["id"]) not in (str, int):
        yield _failed(None, WireError(INVALID_REQUEST, "the id of a request is text or a whole number"))
        return
    try:
        result = _answered(server, message["method"], message.get("params") or {})
        yield {"jsonrpc": "2.0", "id": message["id"], "result": result}
    except WireError as error:
        yield _failed(message["id"], error)
    except Exception as error:  # noqa: BLE001 - one call that goes wrong must not take the tools from the session
        traceback.print_exc(file=sys.stderr)
        yield _failed(message["id"], WireError(INTERNAL_ERROR, f"{type(error).__name__}: {error}"))


def _id_of(line: Line) -> Any:
    """The id of a request that is not parsed, if it stands first or last, where clients put it; else none.

    What stands right behind the first brace or before the last one belongs to the request itself.
    """
    found = ID_FIRST.match(line.content) or ID_LAST.search((line.content + line.end)[-LONGEST_ID:])
    return json.loads(found[1]) if found else None


def _failed(request: Any, error: WireError) -> Json:
    return {"jsonrpc": "2.0", "id": request, "error": error.error}


def _answered(server: Server, method: str, params: Any) -> Json:
    if not isinstance(params, dict):
        raise WireError(INVALID_PARAMS, "params must be an object")
    if HALF_CHARACTER.search(json.dumps(params, ensure_ascii=False)):
        raise WireError(INVALID_PARAMS, "params contain half of a character, a lone surrogate; send whole ones")
    held = params.get("_meta")
    meta = held if isinstance(held, dict) else {}
    version = meta.get(VERSION_KEY)
    if version is not None and version not in MODERN:
        supported = [*MODERN, *HANDSHAKE]
        raise WireError(
            UNSUPPORTED_VERSION, "unsupported protocol version", {"supported": supported, "requested": str(version)}
        )
    match method:
        case "initialize":
            return _shake_hands(server, params)
        case "server/discover":
            return _modern(server, method, _discovered(server))
        case "ping":
            return _modern(server, method, {}) if version else {}
    if method not in server.methods:
        raise WireError(UNKNOWN_METHOD, f"there is no method {method!r}")
    caller = Caller(client=_name(meta.get(CLIENT_KEY)) or server.client, meta=meta)
    result = server.methods[method](params, caller)
    return _modern(server, method, result) if version else result


def _shake_hands(server: Server, params: Json) -> Json:
    server.client = _name(params.get("clientInfo"))
    asked = params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in HANDSHAKE else HANDSHAKE[0],
        "capabilities": server.capabilities,
        "serverInfo": server.identity,
        "instructions": server.instructions,
    }


def _discovered(server: Server) -> Json:
    return {
        "supportedVersions": [*MODERN, *HANDSHAKE],
        "capabilities": server.capabilities,
        "instructions": server.instructions,
    }


def _modern(server: Server, method: str, result: Json) -> Json:
    """What the newer era wants to know of every result."""
    result = {**result, "resultType": "complete", "_meta": {SERVER_KEY: server.identity}}
    if method in CACHEABLE:
        return {**result, "ttlMs": CACHED_MS, "cacheScope": "public"}
    if method in NOT_CACHEABLE:
        return {**result, "ttlMs": 0, "cacheScope": "private"}
    return result


def _name(info: Any) -> str:
    return str(info.get("name") or "") if isinstance(info, dict) else ""
