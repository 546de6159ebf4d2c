"""``/mcp``: the same tools as on a laptop, for agents in the cloud, answered by the team's database."""

from contextvars import ContextVar
from typing import Any

import anyio.to_thread
from mcp import types
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.requests import Request

from hivemind import __version__
from hivemind.app.team_host import Host
from hivemind.entrypoints.mcp import tools
from hivemind.entrypoints.mcp.calls import CALLS
from hivemind.errors import HivemindError
from hivemind.model.team import AdmittedMember
from hivemind.text.fence import format_error_for_agent

REPOSITORY = "hivemind-repository"
"""The header, or ``?repo=`` in the address, by which an agent says what it works on."""


ADDRESS: ContextVar[str] = ContextVar("ADDRESS", default="")
"""Where a request comes from; the protocol's library shows us the token alone."""


class Shown(AccessToken):
    """A token that was shown, and whom it lets in."""

    who: AdmittedMember


def application(host: Host, public_url: str) -> Starlette:
    """The protocol as a web application; it keeps nothing between requests."""
    resource = AnyHttpUrl(public_url.rstrip("/") + "/mcp")

    class Door(TokenVerifier):
        """Asks the hub whose token it is."""

        async def verify_token(self, token: str) -> Shown | None:
            """Whoever the token lets in."""
            try:
                who = await anyio.to_thread.run_sync(host.admit, token, ADDRESS.get(), "/mcp")
            except HivemindError:
                return None
            # A token of ours opens this hub alone; of an identity provider's the audience was looked at.
            return Shown(token=who.token, client_id=who.token, scopes=[], resource=str(resource), who=who)

    return _server(host).streamable_http_app(
        json_response=True,
        stateless_http=True,
        token_verifier=Door(),
        auth=AuthSettings(
            issuer_url=AnyHttpUrl(public_url), resource_server_url=resource, required_scopes=[],
            validate_token_resource=True,
        ),
        # The guard in front has looked at Host and Origin already.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )  # fmt: skip


def _server(host: Host) -> "Server[Any]":
    async def listed(_: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in tools.TOOLS])

    async def called(context: Any, asked: types.CallToolRequestParams) -> types.CallToolResult:
        said, failed = await anyio.to_thread.run_sync(_do, host, context.request, asked)
        return types.CallToolResult(content=[types.TextContent(type="text", text=said)], is_error=failed)

    return Server(
        "hivemind", version=__version__, instructions=tools.INSTRUCTIONS, on_list_tools=listed, on_call_tool=called
    )


def _do(host: Host, request: Request, asked: types.CallToolRequestParams) -> tuple[str, bool]:
    """What a tool says, and whether it failed; what goes wrong is told to the model, who can act on it."""
    tool = tools.named(tools.TOOLS, "name", asked.name)
    given = asked.arguments or {}
    if tool is None:
        return f"there is no tool {asked.name!r}; there are {', '.join(one['name'] for one in tools.TOOLS)}", True
    if wrong := tools.problem(tool, given):
        return wrong, True
    repo = request.query_params.get("repo") or request.headers.get(REPOSITORY, "")
    try:
        with host.mind(request.user.access_token.who, repo) as mind:
            return CALLS[asked.name](mind, given), False
    except HivemindError as error:
        return format_error_for_agent(error), True
