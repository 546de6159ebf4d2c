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
from hivemind.hub.http.turns import Turns
from hivemind.mcp import tools
from hivemind.mcp.calls import CALLS
from hivemind.text.fence import format_error_for_agent

TEAM_SCOPE: tools.Json = {"type": "string", "enum": ["team"], "description": "What is stored here is the team's"}


def _describe_for_hub(tool: tools.Json) -> tools.Json:
    """Return a tool without what a hub cannot do: keep a private memory, and know what was said in sessions."""
    schema = tool["inputSchema"]
    properties = {name: TEAM_SCOPE if name == "scope" else value for name, value in schema["properties"].items()}
    properties.pop("said", None)
    description = tool["description"].replace(", then past sessions,", "")
    return tool | {"description": description, "inputSchema": schema | {"properties": properties}}


REPOSITORY = "hivemind-repository"
"""The header by which an agent names its repository; ``?repo=`` in the URL does the same."""

HUB_TOOLS = tuple(_describe_for_hub(tool) for tool in tools.TOOLS if tool["name"] != "session")
"""The tools that a hub can answer: it has no sessions."""
HUB_INSTRUCTIONS = tools.INSTRUCTIONS.replace(tools.QUOTE, "")
RECALL = "recall"
"""The tool that only reads, also from a replica."""
ADDRESS: ContextVar[str] = ContextVar("ADDRESS", default="")
"""The client's address for rate limits; the MCP library passes only the token on."""


class MemberToken(AccessToken):
    """A valid token and its member."""

    who: AdmittedMember


def create_application(host: Host, public_url: str, turns: Turns) -> Starlette:
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

    return _make_server(host, turns).streamable_http_app(
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


def _make_server(host: Host, turns: Turns) -> "Server[Any]":
    async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in HUB_TOOLS])

    async def call_tool(context: Any, call: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            team = context.request.user.access_token.who.team
            async with turns.take(team, is_writing=call.name != RECALL):
                return await anyio.to_thread.run_sync(_call_tool, host, context.request, call)
        # The model gets errors too, because it can act on them.
        except HivemindError as error:
            return _make_error(format_error_for_agent(error))

    return Server(
        "hivemind",
        version=__version__,
        instructions=HUB_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _call_tool(host: Host, request: Request, call: types.CallToolRequestParams) -> types.CallToolResult:
    """Call a tool on the team's memory."""
    tool = tools.find_tool(call.name, HUB_TOOLS)
    if tool is None:
        return _make_error(tools.describe_unknown_tool(call.name, HUB_TOOLS))
    arguments = call.arguments or {}
    if problem := tools.check_arguments(tool, arguments):
        return _make_error(problem)
    repo = request.query_params.get("repo") or request.headers.get(REPOSITORY, "")
    # Other tools that only read look at receipts, which may not have reached a replica.
    with host.open_mind(request.user.access_token.who, repo, read_only=call.name == RECALL) as mind:
        answer = CALLS[call.name](mind, arguments)
    return types.CallToolResult(content=_make_content(answer.text), structured_content=answer.structure)


def _make_error(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=_make_content(text), is_error=True)


def _make_content(text: str) -> list[types.ContentBlock]:
    return [types.TextContent(type="text", text=text)]
