"""The MCP server: ``hivemind mcp``, on standard input and output.

The tools are listed without loading what they need: a client that has to wait starts its first turn without them. The
first call opens the store.
"""

import sys
from typing import TYPE_CHECKING

from hivemind import __version__
from hivemind.errors import HivemindError
from hivemind.mcp import tools
from hivemind.mcp.protocol import INVALID_PARAMS, Caller, Json, Server, WireError, serve
from hivemind.text.fence import format_error_for_agent

if TYPE_CHECKING:
    from hivemind.mcp.calls import ClientSession, ToolAnswer


def main(store: str | None = None) -> None:
    """Serve the client that started this process."""
    tool_server = ToolServer(store)
    try:
        serve(tool_server.describe(), sys.stdin.buffer, sys.stdout.buffer)
    finally:
        tool_server.close()


class ToolServer:
    """The methods of the protocol; the session with the client is opened at the first call."""

    def __init__(self, store: str | None) -> None:
        self._store = store
        self._session: ClientSession | None = None

    def describe(self) -> Server:
        """Return what is offered, by method."""
        return Server(
            name="hivemind",
            version=__version__,
            instructions=tools.INSTRUCTIONS,
            capabilities={"tools": {}, "resources": {}, "prompts": {}},
            methods={
                "tools/list": lambda params, caller: {"tools": tools.TOOLS},
                "tools/call": self.call,
                "resources/list": lambda params, caller: {"resources": tools.RESOURCES},
                "resources/templates/list": lambda params, caller: {"resourceTemplates": []},
                "resources/read": self.read,
                "prompts/list": lambda params, caller: {"prompts": tools.PROMPTS},
                "prompts/get": self.get_prompt,
            },
        )

    def call(self, params: Json, caller: Caller) -> Json:
        """Call a tool; the model gets errors as text, because it can act on them."""
        tool = tools.find_tool(params.get("name"))
        if tool is None:
            raise WireError(INVALID_PARAMS, tools.describe_unknown_tool(params.get("name")))
        arguments = params.get("arguments") or {}
        if problem := tools.check_arguments(tool, arguments):
            return _make_error(problem)
        try:
            answer = self._run(tool["name"], arguments, caller)
        except HivemindError as error:
            return _make_error(format_error_for_agent(error))
        return {"content": _make_content(answer.text), "structuredContent": answer.structure, "isError": False}

    def read(self, params: Json, caller: Caller) -> Json:
        """Return the brief as a resource."""
        if params.get("uri") != tools.BRIEF:
            raise WireError(INVALID_PARAMS, f"no resource {params.get('uri')!r}; there is {tools.BRIEF}")
        text = self._run("context", {}, caller).text
        return {"contents": [{"uri": tools.BRIEF, "mimeType": "text/markdown", "text": text}]}

    def get_prompt(self, params: Json, caller: Caller) -> Json:
        """Return memories about a task as a message of the user."""
        if params.get("name") != tools.PROMPTS[0]["name"]:
            raise WireError(INVALID_PARAMS, f"no prompt {params.get('name')!r}; there is 'context'")
        arguments = params.get("arguments") or {}
        if not isinstance(arguments, dict):
            raise WireError(INVALID_PARAMS, "the arguments must be an object")
        task = str(arguments.get("task") or "")
        text = self._run("context", {"task": task}, caller).text
        message = {"role": "user", "content": {"type": "text", "text": "\n\n".join(filter(None, (task, text)))}}
        return {"description": "Memories about the task", "messages": [message]}

    def close(self) -> None:
        """Close the session."""
        if self._session:
            self._session.close()

    def _run(self, tool: str, arguments: Json, caller: Caller) -> "ToolAnswer":
        # Not at the top: it loads the store, which takes twice as long as everything before the tools are listed.
        from hivemind.mcp.calls import ClientSession

        self._session = self._session or ClientSession(self._store)
        return self._session.answer(tool, arguments, caller)


def _make_error(text: str) -> Json:
    return {"content": _make_content(text), "isError": True}


def _make_content(text: str) -> list[Json]:
    return [{"type": "text", "text": text}]
