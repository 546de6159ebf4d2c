"""The JSON API of the hub at ``/v1``: each route parses, calls one verb of the team's memory, and returns JSON."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from hivemind.app.team_host import Host
from hivemind.errors import Unauthenticated
from hivemind.formats.codec import to_plain
from hivemind.model.memory import Kind, Status
from hivemind.model.metadata import MAX_METADATA_KEYS
from hivemind.model.recall import Detail
from hivemind.model.team import AdmittedMember, Role
from hivemind.model.wire import pack_entry, unpack_entry

Json = dict[str, Any]
Text = Annotated[str, Field(max_length=20_000)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Id = Annotated[str, Field(min_length=4, max_length=64)]
Metadata = Annotated[dict[Name, str | int | float | bool], Field(max_length=MAX_METADATA_KEYS)]
# Larger numbers are not exact in every JSON parser.
Position = Annotated[int, Query(ge=0, lt=1 << 53)]
Limit = Annotated[int, Query(ge=1, le=200)]

ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"description": meaning}
    for status, meaning in {
        401: "The token is not valid.",
        403: "Forbidden for this member.",
        404: "Not found in this team.",
        413: "The request is too large.",
        422: "The request is invalid; the answer says why.",
        429: "Too many requests.",
        503: "The database did not answer in time.",
    }.items()
}
# The routes are plain functions, so that FastAPI runs them in threads: the database driver blocks.
router = APIRouter(prefix="/v1", responses=ERRORS)


class RequestBody(BaseModel):
    """The body of a request, with the names of the verb's parameters; unknown fields are an error."""

    model_config = ConfigDict(extra="forbid")


class HelloRequest(RequestBody):
    """A device that starts a sync."""

    device: Name


class PushRequest(RequestBody):
    """Entries of a device's shared chain, in order."""

    device: Name
    # Their content is checked by unpack_entry, as on a device.
    entries: Annotated[list[Json], Field(max_length=1_000)]


class RecallRequest(RequestBody):
    """A search."""

    query: Annotated[Text, Field(min_length=1)]
    repo: Annotated[str, Field(max_length=500)] = ""
    kinds: list[Kind] = []
    tags: Annotated[list[Name], Field(max_length=50)] = []
    limit: Annotated[int, Field(ge=1, le=100)] = 5
    as_of: Annotated[str, Field(max_length=40)] = ""
    everywhere: bool = False
    detail: Detail = Detail.STANDARD
    where: Metadata = {}


class RememberRequest(RequestBody):
    """A memory for the team."""

    text: Annotated[Text, Field(min_length=1)]
    repo: Annotated[str, Field(max_length=500)] = ""
    kind: Kind = Kind.FACT
    tags: Annotated[list[Name], Field(max_length=50)] = []
    subject: Annotated[str, Field(max_length=200)] = ""
    links: Annotated[list[Name], Field(max_length=50)] = []
    metadata: Metadata = {}


class VerdictRequest(RequestBody):
    """The reason of a verdict."""

    reason: Text = ""


class TokenRequest(RequestBody):
    """A token for a new member."""

    name: Name
    role: Role
    is_agent: bool = False
    days: Annotated[int, Field(ge=1, le=3_650)] = 90


class RotateRequest(RequestBody):
    """How long the replacement of a token is valid."""

    days: Annotated[int, Field(ge=1, le=3_650)] = 90


def _get_host(request: Request) -> Host:
    host: Host = request.app.state.host
    return host


def _authenticate(request: Request) -> AdmittedMember:
    """Return the member of the bearer token."""
    kind, _, secret = request.headers.get("authorization", "").partition(" ")
    address = request.client.host if request.client else ""
    if kind.lower() != "bearer":
        raise Unauthenticated("no token; send it as 'Authorization: Bearer …'")
    who = _get_host(request).admit(secret.strip(), address, f"{request.method} {request.url.path}")
    # The error handler records refusals of a known member.
    request.state.who = who
    return who


TheHost = Annotated[Host, Depends(_get_host)]
Who = Annotated[AdmittedMember, Depends(_authenticate)]


@router.post("/hello")
def hello(body: HelloRequest, host: TheHost, who: Who) -> Json:
    """Start a sync: team, role, lease, and how many entries of this device the hub has."""
    with host.exchange(who) as exchange:
        welcome = exchange.hello(body.device)
    # JSON has no bytes.
    return _to_json(welcome) | {"key": welcome.key.hex()}


@router.post("/push")
def push(body: PushRequest, host: TheHost, who: Who) -> Json:
    """Store entries that a device wrote."""
    entries = [unpack_entry(entry) for entry in body.entries]
    with host.exchange(who) as exchange:
        return _to_json(exchange.push(body.device, entries))


@router.get("/pull")
def pull(device: Name, host: TheHost, who: Who, after: Position = 0, limit: Limit = 200) -> Json:
    """Return entries after a position of the team's log; this acknowledges everything before it."""
    with host.exchange(who) as exchange:
        page = exchange.pull(device, after, limit)
    return {"after": page.after, "entries": [pack_entry(entry) for entry in page.entries], "cursor": page.cursor,
            "end": page.end}  # fmt: skip


@router.post("/recall")
def recall(body: RecallRequest, host: TheHost, who: Who) -> Json:
    """Search the team's memories."""
    with host.mind(who, body.repo, read_only=True) as mind:
        return _to_json(mind.recall(body.query, **body.model_dump(exclude={"query", "repo"})))


@router.get("/memories")
def memories(
    host: TheHost, who: Who, repo: Annotated[str, Query(max_length=500)] = "", status: Status | None = None,
    before: Annotated[str, Query(max_length=64)] = "", limit: Limit = 50,
) -> list[Json]:  # fmt: skip
    """List the team's memories, newest first; ``before`` is the last id of the previous page."""
    with host.mind(who, repo) as mind:
        return [_to_json(item) for item in mind.list(statuses=[status] if status else (), limit=limit, before=before)]


@router.post("/memories")
def remember(body: RememberRequest, host: TheHost, who: Who) -> Json:
    """Store a memory for the team."""
    with host.mind(who, body.repo) as mind:
        return _to_json(mind.remember(body.text, **body.model_dump(exclude={"text", "repo"})))


@router.get("/memories/{memory}")
def memory(memory: Id, host: TheHost, who: Who) -> Json:
    """Return a memory, its sources and its history."""
    with host.mind(who) as mind:
        return _to_json(mind.explain(memory))


@router.post("/memories/{memory}/{verdict}")
def judge(
    memory: Id, verdict: Literal["approve", "reject", "retract", "restore", "verify"], body: VerdictRequest,
    host: TheHost, who: Who,
) -> Json:  # fmt: skip
    """Decide about a memory."""
    with host.mind(who) as mind:
        decide = {
            "approve": mind.approve,
            "reject": mind.reject,
            "retract": mind.forget,
            "restore": mind.restore,
            "verify": mind.review.verify,
        }[verdict]
        return _to_json(decide(memory, reason=body.reason))


@router.delete("/memories/{memory}")
def erase(memory: Id, host: TheHost, who: Who, reason: Annotated[str, Query(max_length=2_000)] = "") -> Json:
    """Erase a memory and everything derived from it; the receipt names devices that still have a copy."""
    with host.mind(who) as mind:
        return _to_json(mind.erase(memory, reason=reason))


@router.get("/review")
def review(host: TheHost, who: Who, limit: Limit = 50) -> list[Json]:
    """List memories that need review."""
    with host.mind(who) as mind:
        return [_to_json(item) for item in mind.review.queue(limit=limit)]


@router.get("/devices")
def devices(host: TheHost, who: Who) -> list[Json]:
    """List the team's devices, when each last synced, and what it has not read."""
    with host.mind(who) as mind:
        return [_to_json(item) for item in mind.devices()]


@router.get("/audit")
def audit(host: TheHost, who: Who) -> list[Json]:
    """Verify the team's log; return every entry that fails, or an empty list."""
    with host.mind(who) as mind:
        return [_to_json(item) for item in mind.maintenance.audit()]


@router.get("/refusals")
def refusals(host: TheHost, who: Who, limit: Limit = 50) -> list[Json]:
    """List refused requests, newest first."""
    with host.mind(who) as mind:
        return [_to_json(item) for item in mind.refusals(limit)]


@router.get("/tokens")
def tokens(host: TheHost, who: Who) -> list[Json]:
    """List the team's tokens, without their secrets."""
    with host.mind(who) as mind:
        return [_to_json(item) for item in mind.tokens.list()]


@router.post("/tokens")
def issue(body: TokenRequest, host: TheHost, who: Who) -> Json:
    """Create a token; it cannot be read again."""
    with host.mind(who) as mind:
        return {"token": mind.tokens.issue(**dict(body))}


@router.delete("/tokens/{token}")
def revoke(token: Name, host: TheHost, who: Who) -> Json:
    """Revoke a token from the next request on."""
    with host.mind(who) as mind:
        return _to_json(mind.tokens.revoke(token))


@router.post("/tokens/{token}/rotate")
def rotate(token: Name, body: RotateRequest, host: TheHost, who: Who) -> Json:
    """Replace a token with a new one and revoke the old one."""
    with host.mind(who) as mind:
        return {"token": mind.tokens.rotate(token, body.days)}


def _to_json(value: Any) -> Json:
    fields: Json = to_plain(value)
    return fields
