"""The Model Context Protocol over standard input and output: one JSON-RPC message per line, old and new versions.

Versions until 2025 begin with a handshake, ``initialize``. From 2026-07-28 there is none: a client may call
``server/discover``, and every request names its version, which the answer then follows.
"""

import json
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, BinaryIO

from hivemind.lazy import LazyModule
from hivemind.text.untrusted import MAX_MESSAGE_BYTES, Line, Unreadable, parse_json, read_lines

STATELESS_VERSIONS = ("2026-07-28",)
HANDSHAKE_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
VERSIONS = [*STATELESS_VERSIONS, *HANDSHAKE_VERSIONS]
FORM_VERSIONS = ("2025-11-25", "2025-06-18")
"""Versions in which a server sends the client a request for a form. Later ones answer that they need input."""

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"

PARSE_ERROR, INVALID_REQUEST, UNKNOWN_METHOD, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
UNSUPPORTED_VERSION = -32022

ASKING_METHOD = "tools/call"
"""The one method of ours that may need input."""
FORM = "form"
"""The name of the one form in a result that needs input."""
CACHE_MS = 300_000
CACHEABLE = {"server/discover", "tools/list", "resources/list", "resources/templates/list", "prompts/list"}
"""Lists that are the same for every client as long as the process runs."""
NOT_CACHEABLE = {"resources/read"}
"""Newer versions want these marked as not cacheable."""

Json = dict[str, Any]

round_trips = LazyModule("mcp.round_trips")
"""Late: importing the checksum takes 3 ms, and few clients show forms."""

LONE_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half a character; no database can store one."""


class WireError(Exception):
    """A JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Json | None = None) -> None:
        super().__init__(message)
        self.error: Json = {"code": code, "message": message} | ({"data": data} if data else {})


class InputRequired(Exception):
    """A call cannot be completed before the client answers these requests and sends the call again with the state."""

    def __init__(self, requests: Json, state: str) -> None:
        super().__init__("input required")
        self.result: Json = {"resultType": "input_required", "inputRequests": requests, "requestState": state}


ShowForm = Callable[[str, Json, str], Json | None]
"""Shows the person a message and fields, by name; returns the values, none if the person refuses, None if the client
could not show it. If the client has to send the call again with the answer, it brings the last argument as a note."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The sender of a request, as far as the protocol tells."""

    client: str = ""
    """The name the client gives itself."""
    meta: Mapping[str, Any] = field(default_factory=dict)
    show_form: ShowForm | None = None
    """Asks the person; None if the client cannot."""
    note: str = ""
    """What an earlier request noted, if this one is its repetition with the answer to a form."""


Method = Callable[[Json, Caller], Json]


@dataclass(slots=True, kw_only=True)
class Server:
    """The methods of a server, and its client."""

    name: str
    version: str
    instructions: str
    capabilities: Json
    methods: Mapping[str, Method]
    client: str = ""
    """The name that the client gave in its handshake."""
    can_show_forms: bool = False
    lines: Iterator[Line] = field(init=False)
    """The messages of the client."""
    replies: BinaryIO = field(init=False)

    @property
    def identity(self) -> Json:
        """The server's name and version, as the protocol wants them."""
        return {"name": self.name, "title": "Hivemind", "version": self.version}

    def send(self, messages: Iterable[Any]) -> None:
        """Send messages, at once: clients wait for them."""
        for message in messages:
            self.replies.write(json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n")
        self.replies.flush()


def serve(server: Server, requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer requests until the client closes the connection."""
    server.lines, server.replies = read_lines(requests, MAX_MESSAGE_BYTES), replies
    try:
        for line in server.lines:
            server.send(_answer_line(server, line))
    except (BrokenPipeError, KeyboardInterrupt):
        return


def _answer_line(server: Server, line: Line) -> Iterator[Any]:
    if not line.content.strip():
        return
    if line.is_cut:
        problem = f"a message has at most {MAX_MESSAGE_BYTES:,} bytes; send less at once"
        yield _make_error(None, WireError(PARSE_ERROR, problem))
        return
    try:
        message = parse_json(line.content)
    except Unreadable as error:
        yield _make_error(None, WireError(PARSE_ERROR, str(error)))
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
        details = {"supported": VERSIONS, "requested": str(version)}
        raise WireError(UNSUPPORTED_VERSION, "unsupported protocol version", details)
    if version and not isinstance(meta.get(CAPABILITIES_KEY), dict):
        raise WireError(INVALID_PARAMS, f"_meta must have {CAPABILITIES_KEY}, an object")
    match method:
        case "initialize" if not version:
            return _shake_hands(server, params)
        case "server/discover":
            offer = {"capabilities": server.capabilities, "instructions": server.instructions}
            return _add_metadata(server, method, {"supportedVersions": VERSIONS, **offer})
        case "ping" if not version:
            return {}
    if method not in server.methods:
        raise WireError(UNKNOWN_METHOD, f"no method {method!r}")
    caller = Caller(client=_get_name(meta.get(CLIENT_KEY)) or server.client, meta=meta)
    if not version:
        show_form = partial(_show_form, server, request_id) if server.can_show_forms else None
        return server.methods[method](params, replace(caller, show_form=show_form))
    try:
        result = server.methods[method](params, _let_repeat(caller, params) if method == ASKING_METHOD else caller)
    except InputRequired as question:
        result = question.result
    return _add_metadata(server, method, result)


def _let_repeat(caller: Caller, params: Json) -> Caller:
    """Return a caller of a version without a handshake with the way to ask its person, if it can show forms."""
    if not _has_forms(caller.meta.get(CAPABILITIES_KEY)):
        return caller
    call = [params.get("name"), params.get("arguments")]
    state = round_trips.read_state(params.get("requestState", ""), call)
    if state is None:
        raise WireError(INVALID_PARAMS, "requestState was not made by this server for this call; call without it")
    responses = params.get("inputResponses")

    def show_form(message: str, fields: Json, note: str) -> Json | None:
        form = _make_form(message, fields)
        checksum = round_trips.compute_checksum(form)
        # If the memories changed meanwhile, the form did too, and the person is asked again.
        if checksum == state.form and isinstance(responses, dict) and FORM in responses:
            return _read_form(responses[FORM])
        requests = {FORM: {"method": "elicitation/create", "params": form}}
        raise InputRequired(requests, round_trips.CallState(checksum, note).sign(call))

    return replace(caller, show_form=show_form, note=state.note)


def _shake_hands(server: Server, params: Json) -> Json:
    server.client = _get_name(params.get("clientInfo"))
    asked_version = params.get("protocolVersion")
    version = asked_version if asked_version in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[0]
    server.can_show_forms = version in FORM_VERSIONS and _has_forms(params.get("capabilities"))
    return {
        "protocolVersion": version,
        "capabilities": server.capabilities,
        "serverInfo": server.identity,
        "instructions": server.instructions,
    }


def _has_forms(capabilities: Any) -> bool:
    elicitation = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
    # An empty object stands for forms; the other kind opens a page in a browser.
    return isinstance(elicitation, dict) and (not elicitation or "form" in elicitation)


def _make_form(message: str, fields: Json) -> Json:
    return {"message": message, "requestedSchema": {"type": "object", "properties": fields}}


def _show_form(server: Server, request_id: str | int, message: str, fields: Json, _: str) -> Json | None:
    """Have the client ask the person, and wait; other requests are answered meanwhile, without forms of their own."""
    form_id = f"form-{request_id}"
    params = _make_form(message, fields)
    server.send([{"jsonrpc": "2.0", "id": form_id, "method": "elicitation/create", "params": params}])
    server.can_show_forms = False
    try:
        for line in server.lines:
            match _peek(line):
                case {"method": "notifications/cancelled", "params": {"requestId": cancelled_id}} if (
                    cancelled_id == request_id
                ):
                    return {}
                case {"id": answered_id, **answer} if answered_id == form_id and "method" not in answer:
                    return _read_form(answer.get("result"))
            server.send(_answer_line(server, line))
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


def _add_metadata(server: Server, method: str, result: Json) -> Json:
    """Return a result with the fields that versions without a handshake want."""
    result = {"resultType": "complete", **result, "_meta": {SERVER_KEY: server.identity}}
    if method in CACHEABLE:
        return {**result, "ttlMs": CACHE_MS, "cacheScope": "public"}
    if method in NOT_CACHEABLE:
        return {**result, "ttlMs": 0, "cacheScope": "private"}
    return result


def _get_name(info: Any) -> str:
    return str(info.get("name") or "") if isinstance(info, dict) else ""
