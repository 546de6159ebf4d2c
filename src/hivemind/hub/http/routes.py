"""The JSON API of the hub at ``/v1``: each route parses, calls one verb of the team's memory, and returns JSON."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from hivemind.hub.access import MAX_DAYS, AdmittedMember
from hivemind.hub.administration import MAX_DEVICES
from hivemind.hub.host import Host
from hivemind.hub.http.admission import get_address
from hivemind.model.codec import to_plain
from hivemind.model.memory import Kind, Status
from hivemind.model.metadata import MAX_METADATA_KEYS
from hivemind.model.recall import Detail
from hivemind.model.team import Bookmark, ChainHead, LoginRequest, Role
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
READING_PATHS, WRITING_PATHS = ("/v1/recall",), ("/v1/pull",)
"""Requests that only read although they are sent with POST, and the other way round."""


async def _take_turn(request: Request) -> AsyncIterator[None]:
    """Wait for the turn of the member's team, after the body was read and before a thread is taken."""
    who: AdmittedMember | None = getattr(request.state, "who", None)
    if who is None:
        yield
        return
    path = request.url.path
    is_writing = path in WRITING_PATHS or (request.method != "GET" and path not in READING_PATHS)
    async with request.app.state.turns.take(who.team, is_writing=is_writing):
        yield


# The routes are plain functions, so that FastAPI runs them in threads: the database driver blocks. A turn ends before
# the answer is sent; otherwise a device that does not read its answer would keep its whole team waiting.
router = APIRouter(prefix="/v1", responses=ERRORS, dependencies=[Depends(_take_turn, scope="function")])


class RequestBody(BaseModel):
    """The body of a request, with the names of the verb's parameters; unknown fields are an error."""

    model_config = ConfigDict(extra="forbid")


class Seal(RequestBody):
    """An entry of a chain by its number and hash, with the hub's seal."""

    chain: Name
    person: Annotated[str, Field(max_length=200)]
    seq: Annotated[int, Field(ge=0, lt=1 << 53)]
    hash: Annotated[str, Field(max_length=64)]
    epoch: Annotated[str, Field(max_length=64)] = ""
    seal: Annotated[str, Field(max_length=64)] = ""
    position: Annotated[int, Field(ge=0, lt=1 << 53)] = 0

    def parse(self) -> ChainHead:
        """Return it as a value."""
        return ChainHead(**dict(self))


class Checkpoint(RequestBody):
    """How far a device has read, and the last entry it has read."""

    team: Annotated[str, Field(max_length=64)] = ""
    epoch: Annotated[str, Field(max_length=64)] = ""
    cursor: Annotated[int, Field(ge=0, lt=1 << 53)] = 0
    head: Seal | None = None


class HelloRequest(RequestBody):
    """A device that starts a sync."""

    device: Name
    bookmark: Checkpoint = Checkpoint()


class CompareRequest(RequestBody):
    """The newest entry that a device has of each chain."""

    device: Name
    chains: Annotated[dict[Name, Annotated[int, Field(ge=1, lt=1 << 53)]], Field(max_length=10_000)]


class TakeBackRequest(RequestBody):
    """Entries that a restored database lost, and the hub's seal on the last of them."""

    device: Name
    entries: Annotated[list[Json], Field(min_length=1, max_length=1_000)]
    head: Seal


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
    kind: Kind | None = None
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
    days: Annotated[int, Field(ge=1, le=MAX_DAYS)] = 90


class TeamRequest(RequestBody):
    """Limits of a team; those not given stay."""

    lease_days: Annotated[int, Field(ge=1, le=MAX_DAYS)] | None = None
    max_devices: Annotated[int, Field(ge=1, le=MAX_DEVICES)] | None = None
    max_entries: Annotated[int, Field(ge=0, lt=1 << 53)] | None = None
    refusal_days: Annotated[int, Field(ge=1, le=MAX_DAYS)] | None = None
    review_edits: bool | None = None


class SignInRequest(RequestBody):
    """A person's ID token, and the hash of the token that their device wants to use."""

    id_token: Annotated[str, Field(min_length=1, max_length=32_768)]
    token_hash: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    nonce_secret: Annotated[str, Field(max_length=200)] = ""
    previous_token: Annotated[str, Field(max_length=200)] = ""
    team: Annotated[str, Field(max_length=200)] = ""


class RotateRequest(RequestBody):
    """How long the replacement of a token is valid."""

    days: Annotated[int, Field(ge=1, le=MAX_DAYS)] = 90


def _get_host(request: Request) -> Host:
    host: Host = request.app.state.host
    return host


def _get_member(request: Request) -> AdmittedMember:
    """Return the member that was admitted before the body was read; see ``admission.py``."""
    who: AdmittedMember = request.state.who
    return who


TheHost = Annotated[Host, Depends(_get_host)]
Who = Annotated[AdmittedMember, Depends(_get_member)]


@router.get("/login")
def describe_login(host: TheHost) -> Json:
    """Say how people sign in; without an identity provider, they log in with a token. Needs no token."""
    options = host.describe_provider()
    return {"provider": _to_json(options) if options else None}


@router.post("/login")
def sign_in(body: SignInRequest, host: TheHost, request: Request) -> Json:
    """Begin a login with an ID token of the identity provider, or renew one. Needs no valid token."""
    with host.open_sign_in(get_address(request.scope)) as hub_sign_in:
        return _to_json(hub_sign_in.sign_in(LoginRequest(**dict(body))))


@router.post("/hello")
def hello(body: HelloRequest, host: TheHost, who: Who) -> Json:
    """Start a sync: team, role, lease, how many entries of this device the hub has, and from where to read on."""
    head = body.bookmark.head.parse() if body.bookmark.head else None
    bookmark = Bookmark(team=body.bookmark.team, epoch=body.bookmark.epoch, cursor=body.bookmark.cursor, head=head)
    with host.open_exchange(who) as exchange:
        return _to_json(exchange.say_hello(body.device, bookmark))


@router.post("/push")
def push(body: PushRequest, host: TheHost, who: Who) -> Json:
    """Store entries that a device wrote."""
    entries = [unpack_entry(entry) for entry in body.entries]
    with host.open_exchange(who) as exchange:
        return _to_json(exchange.push(body.device, entries))


@router.get("/pull")
def pull(
    device: Name, host: TheHost, who: Who, after: Position = 0, limit: Limit = 200,
    epoch: Annotated[str, Query(max_length=64)] = "",
) -> Json:  # fmt: skip
    """Return entries after a position of the team's log; this acknowledges everything before it."""
    with host.open_exchange(who) as exchange:
        page = exchange.pull(device, after, limit, epoch)
    return _to_json(replace(page, entries=())) | {"entries": [pack_entry(entry) for entry in page.entries]}


@router.post("/compare")
def compare(body: CompareRequest, host: TheHost, who: Who) -> list[Json]:
    """Return the hub's entry with that number of each chain, or the newest if it has fewer."""
    with host.open_exchange(who) as exchange:
        return [_to_json(head) for head in exchange.compare(body.device, body.chains)]


@router.get("/hashes")
def hashes(device: Name, host: TheHost, who: Who, after: Position = 0) -> list[str]:
    """Return the hashes of a device's entries after a number."""
    with host.open_exchange(who) as exchange:
        return list(exchange.list_hashes(device, after))


@router.post("/take-back")
def take_back(body: TakeBackRequest, host: TheHost, who: Who) -> Json:
    """Store entries that a restored database lost; the hub's seal proves that it had them."""
    entries = [unpack_entry(entry) for entry in body.entries]
    with host.open_exchange(who) as exchange:
        return {"stored": exchange.take_back(body.device, entries, body.head.parse())}


@router.post("/recall")
def recall(body: RecallRequest, host: TheHost, who: Who) -> Json:
    """Search the team's memories."""
    with host.open_mind(who, body.repo, read_only=True) as mind:
        return _to_json(mind.recall(body.query, **body.model_dump(exclude={"query", "repo"})))


@router.get("/memories")
def memories(
    host: TheHost, who: Who, repo: Annotated[str, Query(max_length=500)] = "", status: Status | None = None,
    before: Annotated[str, Query(max_length=64)] = "", limit: Limit = 50,
) -> list[Json]:  # fmt: skip
    """List the team's memories, newest first; ``before`` is the last id of the previous page."""
    with host.open_mind(who, repo) as mind:
        return [_to_json(item) for item in mind.list(statuses=[status] if status else (), limit=limit, before=before)]


@router.post("/memories")
def remember(body: RememberRequest, host: TheHost, who: Who) -> Json:
    """Store a memory for the team."""
    with host.open_mind(who, body.repo) as mind:
        return _to_json(mind.remember(body.text, **body.model_dump(exclude={"text", "repo"})))


@router.get("/memories/{memory}")
def memory(memory: Id, host: TheHost, who: Who) -> Json:
    """Return a memory, its sources and its history."""
    with host.open_mind(who) as mind:
        return _to_json(mind.explain(memory))


@router.post("/memories/{memory}/{verdict}")
def judge(
    memory: Id, verdict: Literal["approve", "reject", "retract", "restore", "verify"], body: VerdictRequest,
    host: TheHost, who: Who,
) -> Json:  # fmt: skip
    """Decide about a memory."""
    with host.open_mind(who) as mind:
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
    with host.open_mind(who) as mind:
        return _to_json(mind.erase(memory, reason=reason))


@router.get("/review")
def review(host: TheHost, who: Who, limit: Limit = 50) -> list[Json]:
    """List memories that need review."""
    with host.open_mind(who) as mind:
        return [_to_json(item) for item in mind.review.queue(limit=limit)]


@router.get("/devices")
def devices(host: TheHost, who: Who, batch: Annotated[str, Query(max_length=64)] = "") -> list[Json]:
    """List the team's devices, when each last synced, and what it has not read; of one erasure, given its batch."""
    with host.open_mind(who) as mind:
        return [_to_json(item) for item in mind.list_devices(batch)]


@router.delete("/devices/{device}")
def remove_device(device: Name, host: TheHost, who: Who) -> Json:
    """End the access of a device at once, and revoke the token it last used."""
    with host.open_mind(who) as mind:
        return _to_json(mind.admin.remove_device(device))


# As paths, because a name or a provider's subject may contain a slash.
@router.delete("/members/{name:path}")
def remove_member(name: Name, host: TheHost, who: Who) -> Json:
    """Revoke every token of a member and remove all their devices; a name or the identity provider's subject."""
    with host.open_mind(who) as mind:
        return _to_json(mind.admin.remove_member(name))


@router.post("/members/{name:path}/return")
def return_member(name: Name, host: TheHost, who: Who) -> Json:
    """Let a person who was removed sign in again."""
    with host.open_mind(who) as mind:
        return {"name": mind.admin.return_member(name)}


@router.get("/team")
def team(host: TheHost, who: Who) -> Json:
    """Return the name and limits of the team."""
    with host.open_mind(who) as mind:
        return _to_json(mind.admin.read_limits())


@router.patch("/team")
def change_team(body: TeamRequest, host: TheHost, who: Who) -> Json:
    """Change the limits of the team."""
    with host.open_mind(who) as mind:
        return _to_json(mind.admin.change_limits(**body.model_dump(exclude_none=True)))


@router.get("/administration")
def administration(host: TheHost, who: Who, before: Position = 0, limit: Limit = 50) -> list[Json]:
    """List what admins did, newest first; ``before`` is the last position of the previous page."""
    with host.open_mind(who) as mind:
        return [_to_json(item) for item in mind.admin.list_acts(before=before, limit=limit)]


@router.get("/epochs")
def epochs(host: TheHost, who: Who) -> list[Json]:
    """List the epochs of the team's log; each but the first is a restore or failover of the database."""
    with host.open_mind(who) as mind:
        return [_to_json(item) for item in mind.admin.list_epochs()]


@router.get("/audit")
def audit(host: TheHost, who: Who) -> list[Json]:
    """Verify the team's log; return every entry that fails, or an empty list."""
    with host.open_mind(who) as mind:
        return [_to_json(item) for item in mind.maintenance.audit()]


@router.get("/refusals")
def refusals(host: TheHost, who: Who, limit: Limit = 50) -> list[Json]:
    """List refused requests, newest first."""
    with host.open_mind(who) as mind:
        return [_to_json(item) for item in mind.admin.list_refusals(limit)]


@router.get("/tokens")
def tokens(host: TheHost, who: Who) -> list[Json]:
    """List the team's tokens, without their secrets."""
    with host.open_mind(who) as mind:
        return [_to_json(item) for item in mind.admin.tokens.list()]


@router.post("/tokens")
def issue(body: TokenRequest, host: TheHost, who: Who) -> Json:
    """Create a token; it cannot be read again."""
    with host.open_mind(who) as mind:
        return {"token": mind.admin.tokens.issue(**dict(body))}


@router.delete("/tokens/{token:path}")
def revoke(token: Name, host: TheHost, who: Who) -> Json:
    """Revoke a token from the next request on."""
    with host.open_mind(who) as mind:
        return _to_json(mind.admin.tokens.revoke(token))


@router.post("/tokens/{token:path}/rotate")
def rotate(token: Name, body: RotateRequest, host: TheHost, who: Who) -> Json:
    """Replace a token with a new one and revoke the old one."""
    with host.open_mind(who) as mind:
        return {"token": mind.admin.tokens.rotate(token, body.days)}


def _to_json(value: Any) -> Json:
    fields: Json = to_plain(value)
    return fields
