"""The Model Context Protocol over standard input and output: one JSON-RPC message per line, old and new versions.

Versions until 2025 begin with a handshake, ``initialize``. From 2026-07-28 there is none: a client may call
``server/discover``, and every request names its version, which the answer then follows.
"""

import json
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, BinaryIO

from hivemind.text.untrusted import MAX_MESSAGE_BYTES, LimitExceeded, Line, Unreadable, parse_json, read_lines

STATELESS_VERSIONS = ("2026-07-28",)
HANDSHAKE_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
FORM_VERSIONS = ("2025-11-25", "2025-06-18")
"""Versions in which a server can send the client a form for the person. Stateless versions have no requests to it."""

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"

PARSE_ERROR, INVALID_REQUEST, UNKNOWN_METHOD, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
UNSUPPORTED_VERSION = -32022

CACHE_MS = 300_000
CACHEABLE = {"server/discover", "tools/list", "resources/list", "resources/templates/list", "prompts/list"}
"""Lists that are the same for every client as long as the process runs."""
NOT_CACHEABLE = {"resources/read"}
"""Newer versions want these marked as not cacheable."""

Json = dict[str, Any]

ID = rb'"id"\s*:\s*(-?[1-9]\d{0,15}|0|"[\w-]{1,100}")\s*'
ID_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + ID + b"[,}]")
ID_LAST = re.compile(rb"[,{]\s*" + ID + rb"\}\s*\Z")
MAX_ID_BYTES = 200
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half a character; no database can store one."""


class WireError(Exception):
    """A JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Json | None = None) -> None:
        super().__init__(message)
        self.error: Json = {"code": code, "message": message} | ({"data": data} if data else {})


ShowForm = Callable[[str, Json], Json | None]
"""Shows the person a message and fields, by name; returns the values, none if the person refuses, None if the client
could not show it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The sender of a request, as far as the protocol tells."""

    client: str = ""
    """The name the client gives itself."""
    meta: Mapping[str, Any] = field(default_factory=dict)
    show_form: ShowForm | None = None
    """Asks the person; None if the client cannot."""


Method = Callable[[Json, Caller], Json]


@dataclass(slots=True, kw_only=True)
class ClientConnection:
    """The messages of a client, and the way back to it."""

    lines: Iterator[Line]
    replies: BinaryIO

    def send(self, messages: Iterable[Any]) -> None:
        """Send messages, at once: clients wait for them."""
        for message in messages:
            self.replies.write(json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n")
        self.replies.flush()


@dataclass(slots=True, kw_only=True)
class Server:
    """The methods of a server, and the client of its handshake."""

    name: str
    version: str
    instructions: str
    capabilities: Json
    methods: Mapping[str, Method]
    client: str = ""
    connection: ClientConnection | None = None
    can_show_forms: bool = False

    @property
    def identity(self) -> Json:
        """The server's name and version, as the protocol wants them."""
        return {"name": self.name, "title": "Hivemind", "version": self.version}


def serve(server: Server, requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer requests until the client closes the connection."""
    server.connection = ClientConnection(lines=read_lines(requests, MAX_MESSAGE_BYTES), replies=replies)
    try:
        for line in server.connection.lines:
            server.connection.send(_answer_line(server, line))
    except (BrokenPipeError, KeyboardInterrupt):
        return


def _answer_line(server: Server, line: Line) -> Iterator[Any]:
    if not line.content.strip():
        return
    try:
        if line.is_cut:
            raise LimitExceeded(f"a message has at most {MAX_MESSAGE_BYTES:,} bytes; send less at once")
        message = parse_json(line.content)
    except Unreadable as error:
        # In malformed JSON, what looks like an id may be part of something else.
        request_id = _find_id(line) if isinstance(error, LimitExceeded) else None
        yield _make_error(request_id, WireError(PARSE_ERROR, str(error)))
        return
    if isinstance(message, list):
        # Two of the protocol versions have batches.
        answers = [answer for request in message for answer in _answer_message(server, request)]
        yield from [answers] if answers else []
    else:
        yield from _answer_message(server, message)


def _answer_message(server: Server, message: Any) -> Iterator[Json]:
    """Yield at most one reply: notifications and replies of the client get none."""
    if not isinstance(message, dict) or not isinstance(message.get("method", ""), str):
        yield _make_error(None, WireError(INVALID_REQUEST, "a request is an object with a method"))
        return
    # Notifications have no id, and replies of the client have no method.
    if "method" not in message or "id" not in message:
        return
    if type(message["id"]) not in (str, int):
        yield _make_error(None, WireError(INVALID_REQUEST, "the id of a request is text or a whole number"))
        return
    try:
        result = _call_method(server, message["id"], message["method"], message.get("params") or {})
        yield {"jsonrpc": "2.0", "id": message["id"], "result": result}
    except WireError as error:
        yield _make_error(message["id"], error)
    except Exception as error:  # noqa: BLE001 - a bug in one call must not end the server
        traceback.print_exc(file=sys.stderr)
        yield _make_error(message["id"], WireError(INTERNAL_ERROR, f"{type(error).__name__}: {error}"))


def _find_id(line: Line) -> Any:
    """Return the id of a request that is too large to parse, or None.

    Clients put the id first or last. A key after the first brace or before the last one belongs to the request itself.
    """
    match = ID_FIRST.match(line.content) or ID_LAST.search((line.content + line.end)[-MAX_ID_BYTES:])
    return json.loads(match[1]) if match else None


def _make_error(request: Any, error: WireError) -> Json:
    return {"jsonrpc": "2.0", "id": request, "error": error.error}


def _call_method(server: Server, request_id: str | int, method: str, params: Any) -> Json:
    if not isinstance(params, dict):
        raise WireError(INVALID_PARAMS, "params must be an object")
    if LONE_SURROGATE.search(json.dumps(params, ensure_ascii=False)):
        raise WireError(INVALID_PARAMS, "params contain half of a character, a lone surrogate; send whole ones")
    meta = params.get("_meta")
    meta = meta if isinstance(meta, dict) else {}
    version = meta.get(VERSION_KEY)
    if version is not None and version not in STATELESS_VERSIONS:
        versions = {"supported": [*STATELESS_VERSIONS, *HANDSHAKE_VERSIONS], "requested": str(version)}
        raise WireError(UNSUPPORTED_VERSION, "unsupported protocol version", versions)
    match method:
        case "initialize":
            return _shake_hands(server, params)
        case "server/discover":
            return _add_metadata(server, method, _describe_server(server))
        case "ping":
            return _add_metadata(server, method, {}) if version else {}
    if method not in server.methods:
        raise WireError(UNKNOWN_METHOD, f"no method {method!r}")
    show_form = partial(_show_form, server, request_id) if server.can_show_forms and not version else None
    caller = Caller(client=_get_name(meta.get(CLIENT_KEY)) or server.client, meta=meta, show_form=show_form)
    result = server.methods[method](params, caller)
    return _add_metadata(server, method, result) if version else result


def _shake_hands(server: Server, params: Json) -> Json:
    server.client = _get_name(params.get("clientInfo"))
    asked_version = params.get("protocolVersion")
    version = asked_version if asked_version in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[0]
    capabilities = params.get("capabilities")
    elicitation = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
    # An empty object stands for forms; the other kind opens a page in a browser.
    has_forms = isinstance(elicitation, dict) and (not elicitation or "form" in elicitation)
    server.can_show_forms = version in FORM_VERSIONS and has_forms
    return {
        "protocolVersion": version,
        "capabilities": server.capabilities,
        "serverInfo": server.identity,
        "instructions": server.instructions,
    }


def _show_form(server: Server, request_id: str | int, message: str, fields: Json) -> Json | None:
    """Have the client ask the person, and wait; other requests are answered meanwhile, without forms of their own."""
    if server.connection is None:
        return None
    form_id = f"form-{request_id}"
    schema = {"type": "object", "properties": fields}
    params = {"message": message, "requestedSchema": schema}
    server.connection.send([{"jsonrpc": "2.0", "id": form_id, "method": "elicitation/create", "params": params}])
    server.can_show_forms = False
    try:
        for line in server.connection.lines:
            match _peek(line):
                case {"method": "notifications/cancelled", "params": {"requestId": cancelled_id}} if (
                    cancelled_id == request_id
                ):
                    return {}
                case {"id": answered_id, **answer} if answered_id == form_id and "method" not in answer:
                    return _read_form(answer.get("result"))
            server.connection.send(_answer_line(server, line))
    finally:
        server.can_show_forms = True
    # The client has gone.
    return {}


def _peek(line: Line) -> Any:
    try:
        return None if line.is_cut else parse_json(line.content)
    except Unreadable:
        return None


def _read_form(result: Any) -> Json | None:
    match result:
        case {"action": "accept", "content": dict(values)}:
            return values
        case {"action": "decline" | "cancel"}:
            return {}
    # An error; or an approval without values, from a client that cannot show such fields.
    return None


def _describe_server(server: Server) -> Json:
    return {
        "supportedVersions": [*STATELESS_VERSIONS, *HANDSHAKE_VERSIONS],
        "capabilities": server.capabilities,
        "instructions": server.instructions,
    }


def _add_metadata(server: Server, method: str, result: Json) -> Json:
    """Return a result with the fields that versions without a handshake want."""
    result = {**result, "resultType": "complete", "_meta": {SERVER_KEY: server.identity}}
    if method in CACHEABLE:
        return {**result, "ttlMs": CACHE_MS, "cacheScope": "public"}
    if method in NOT_CACHEABLE:
        return {**result, "ttlMs": 0, "cacheScope": "private"}
    return result


def _get_name(info: Any) -> str:
    return str(info.get("name") or "") if isinstance(info, dict) else ""
