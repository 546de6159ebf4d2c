"""``/mcp``: the same tools as on a laptop, for agents in the cloud, answered from the team's database."""

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
from hivemind.errors import HivemindError
from hivemind.hub.access import AdmittedMember
from hivemind.hub.host import Host
from hivemind.mcp import tools
from hivemind.mcp.calls import CALLS
from hivemind.text.fence import format_error_for_agent

REPOSITORY = "hivemind-repository"
"""The header by which an agent names its repository; ``?repo=`` in the URL does the same."""

ADDRESS: ContextVar[str] = ContextVar("ADDRESS", default="")
"""The client's address for rate limits; the MCP library passes only the token on."""


class MemberToken(AccessToken):
    """A valid token and its member."""

    who: AdmittedMember


def create_application(host: Host, public_url: str) -> Starlette:
    """Return the protocol as a web application, without state between requests."""
    resource = AnyHttpUrl(public_url.rstrip("/") + "/mcp")

    class HubVerifier(TokenVerifier):
        """Asks the hub whose token it is."""

        async def verify_token(self, token: str) -> MemberToken | None:
            """Return the member of a token, or None if it is not valid."""
            try:
                who = await anyio.to_thread.run_sync(host.admit, token, ADDRESS.get(), "/mcp")
            except HivemindError:
                return None
            # Our own tokens are valid only here; for those of an identity provider the audience was checked.
            return MemberToken(token=who.token, client_id=who.token, scopes=[], resource=str(resource), who=who)

    return _make_server(host).streamable_http_app(
        json_response=True,
        stateless_http=True,
        token_verifier=HubVerifier(),
        auth=AuthSettings(
            # The hub itself issues no tokens; without an identity provider the metadata is not served at all.
            issuer_url=AnyHttpUrl(host.issuer or public_url), resource_server_url=resource, required_scopes=[],
            validate_token_resource=True,
        ),
        # The guard has checked Host and Origin already.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )  # fmt: skip


def _make_server(host: Host) -> "Server[Any]":
    async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in tools.TOOLS])

    async def call_tool(context: Any, call: types.CallToolRequestParams) -> types.CallToolResult:
        text, is_error = await anyio.to_thread.run_sync(_call_tool, host, context.request, call)
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)

    return Server(
        "hivemind",
        version=__version__,
        instructions=tools.INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _call_tool(host: Host, request: Request, call: types.CallToolRequestParams) -> tuple[str, bool]:
    """Return the text of a tool and whether it is an error; the model gets errors too, because it can act on them."""
    tool = tools.find_tool(call.name)
    if tool is None:
        return tools.describe_unknown_tool(call.name), True
    arguments = call.arguments or {}
    if problem := tools.check_arguments(tool, arguments):
        return problem, True
    repo = request.query_params.get("repo") or request.headers.get(REPOSITORY, "")
    try:
        # Other tools that only read look at receipts, which may not have reached a replica.
        with host.open_mind(request.user.access_token.who, repo, read_only=call.name == "recall") as mind:
            return CALLS[call.name](mind, arguments), False
    except HivemindError as error:
        return format_error_for_agent(error), True
