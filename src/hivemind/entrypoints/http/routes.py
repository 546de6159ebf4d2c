"""What the hub answers at ``/v1``: each route is one verb."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, BackgroundTasks, Depends, Query, Request
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
Position = Annotated[int, Query(ge=0, lt=1 << 53)]
Many = Annotated[int, Query(ge=1, le=200)]

ERRORS: dict[int | str, dict[str, Any]] = {
    code: {"description": what}
    for code, what in {
        401: "The token is not valid.",
        403: "A rule forbids it.",
        404: "There is no such thing in the team.",
        413: "The request is too long.",
        422: "The request does not make sense; the answer says why.",
        429: "Too many requests.",
        503: "The database did not answer in time.",
    }.items()
}
router = APIRouter(prefix="/v1", responses=ERRORS)


class Asked(BaseModel):
    """A request's body; what is not asked for is an error, so that nothing is misunderstood in silence."""

    model_config = ConfigDict(extra="forbid")


class Hello(Asked):
    """A device that wants to begin."""

    device: Name


class Pushing(Asked):
    """Entries of a device's shared chain, in order."""

    device: Name
    entries: Annotated[list[Json], Field(max_length=1_000)]


class Question(Asked):
    """What somebody wants to know."""

    query: Annotated[Text, Field(min_length=1)]
    repo: Annotated[str, Field(max_length=500)] = ""
    kinds: list[Kind] = []
    tags: Annotated[list[Name], Field(max_length=50)] = []
    limit: Annotated[int, Field(ge=1, le=100)] = 5
    as_of: Annotated[str, Field(max_length=40)] = ""
    everywhere: bool = False
    detail: Detail = Detail.STANDARD
    where: Metadata = {}


class Remembering(Asked):
    """Something the team should know next time."""

    text: Annotated[Text, Field(min_length=1)]
    repo: Annotated[str, Field(max_length=500)] = ""
    kind: Kind = Kind.FACT
    tags: Annotated[list[Name], Field(max_length=50)] = []
    subject: Annotated[str, Field(max_length=200)] = ""
    links: Annotated[list[Name], Field(max_length=50)] = []
    metadata: Metadata = {}


class Because(Asked):
    """Why a verdict was given."""

    reason: Text = ""


class Issuing(Asked):
    """A token for a new member."""

    name: Name
    role: Role
    is_agent: bool = False
    days: Annotated[int, Field(ge=1, le=3_650)] = 90


class Rotating(Asked):
    """A token that takes the place of another."""

    days: Annotated[int, Field(ge=1, le=3_650)] = 90


def _host(request: Request) -> Host:
    host: Host = request.app.state.host
    return host


def _who(request: Request) -> AdmittedMember:
    """Whoever holds the bearer token."""
    kind, _, secret = request.headers.get("authorization", "").partition(" ")
    address = request.client.host if request.client else ""
    if kind.lower() != "bearer":
        raise Unauthenticated("show your token as 'Authorization: Bearer …'")
    who = _host(request).admit(secret.strip(), address, f"{request.method} {request.url.path}")
    request.state.who = who
    return who


TheHost = Annotated[Host, Depends(_host)]
Who = Annotated[AdmittedMember, Depends(_who)]


@router.post("/hello")
def hello(asked: Hello, host: TheHost, who: Who) -> Json:
    """What a device must know before it begins."""
    welcome = host.hello(who, asked.device)
    return _object(welcome) | {"key": welcome.key.hex()}


@router.post("/push")
def push(asked: Pushing, host: TheHost, who: Who, later: BackgroundTasks) -> Json:
    """Take in what a device wrote."""
    done = host.push(who, asked.device, [unpack_entry(entry) for entry in asked.entries])
    later.add_task(host.catch_up, who)
    return _object(done)


@router.get("/pull")
def pull(device: Name, host: TheHost, who: Who, after: Position = 0, limit: Many = 200) -> Json:
    """What comes after a position in the team's log; asking acknowledges everything before it."""
    page = host.pull(who, device, after, limit)
    return {"after": page.after, "entries": [pack_entry(one) for one in page.entries], "cursor": page.cursor,
            "end": page.end}  # fmt: skip


@router.post("/recall")
def recall(asked: Question, host: TheHost, who: Who) -> Json:
    """What the team knows that bears on a question."""
    with host.mind(who, asked.repo) as mind:
        found = mind.recall(
            asked.query, kinds=asked.kinds, tags=asked.tags, limit=asked.limit, as_of=asked.as_of,
            everywhere=asked.everywhere, detail=asked.detail, where=asked.where,
        )  # fmt: skip
    return _object(found)


@router.get("/memories")
def memories(
    host: TheHost, who: Who, repo: Annotated[str, Query(max_length=500)] = "", status: Status | None = None,
    before: Annotated[str, Query(max_length=64)] = "", limit: Many = 50,
) -> list[Json]:  # fmt: skip
    """The team's memories, newest first; ``before`` is the last id of the page before."""
    with host.mind(who, repo) as mind:
        found = mind.list(statuses=[status] if status else (), limit=limit, before=before)
    return [_object(one) for one in found]


@router.post("/memories")
def remember(asked: Remembering, host: TheHost, who: Who) -> Json:
    """Keep something for the team."""
    with host.mind(who, asked.repo) as mind:
        return _object(
            mind.remember(
                asked.text,
                kind=asked.kind,
                tags=asked.tags,
                subject=asked.subject,
                links=asked.links,
                metadata=asked.metadata,
            )
        )


@router.get("/memories/{memory}")
def memory(memory: Id, host: TheHost, who: Who) -> Json:
    """A memory, what it rests on, and everything that happened to it."""
    with host.mind(who) as mind:
        return _object(mind.explain(memory))


@router.post("/memories/{memory}/{verdict}")
def judge(
    memory: Id, verdict: Literal["approve", "reject", "retract", "restore", "verify"], asked: Because, host: TheHost,
    who: Who,
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
        return _object(decide(memory, reason=asked.reason))


@router.delete("/memories/{memory}")
def erase(memory: Id, host: TheHost, who: Who, reason: Annotated[str, Query(max_length=2_000)] = "") -> Json:
    """Destroy a memory and all that came of it; the receipt names the devices that still have to follow."""
    with host.mind(who) as mind:
        return _object(mind.erase(memory, reason=reason))


@router.get("/review")
def review(host: TheHost, who: Who, limit: Many = 50) -> list[Json]:
    """What waits for a person."""
    with host.mind(who) as mind:
        return [_object(one) for one in mind.review.queue(limit=limit)]


@router.get("/devices")
def devices(host: TheHost, who: Who) -> list[Json]:
    """The team's devices, when they were last heard of, and what they have not read."""
    with host.mind(who) as mind:
        return [_object(one) for one in mind.devices()]


@router.get("/audit")
def audit(host: TheHost, who: Who) -> list[Json]:
    """Every place where the team's log does not hold; none if it does."""
    with host.mind(who) as mind:
        return [_object(one) for one in mind.maintenance.audit()]


@router.get("/refusals")
def refusals(host: TheHost, who: Who, limit: Many = 50) -> list[Json]:
    """Who was turned away, newest first."""
    with host.mind(who) as mind:
        return [_object(one) for one in mind.refusals(limit)]


@router.get("/tokens")
def tokens(host: TheHost, who: Who) -> list[Json]:
    """The team's tokens, without what they open."""
    with host.mind(who) as mind:
        return [_object(one) for one in mind.tokens()]


@router.post("/tokens")
def issue(asked: Issuing, host: TheHost, who: Who) -> Json:
    """A new token; this is the only time it can be read."""
    with host.mind(who) as mind:
        made = mind.issue(name=asked.name, role=asked.role, is_agent=asked.is_agent, days=asked.days)
    return {"token": made}


@router.delete("/tokens/{token}")
def revoke(token: Name, host: TheHost, who: Who) -> Json:
    """Make a token worthless from the next request on."""
    with host.mind(who) as mind:
        return _object(mind.revoke(token))


@router.post("/tokens/{token}/rotate")
def rotate(token: Name, asked: Rotating, host: TheHost, who: Who) -> Json:
    """A new token in place of an old one, which is revoked."""
    with host.mind(who) as mind:
        return {"token": mind.rotate(token, asked.days)}


def _object(value: Any) -> Json:
    told: Json = to_plain(value)
    return told
