"""The MCP server: ``hivemind mcp``, on standard input and output.

Which tools there are is said without loading what they need: a client that has to wait starts its first turn
without them. The store is opened by the first call.
"""

import importlib
import sys
from typing import Any

from hivemind import __version__
from hivemind.entrypoints.mcp import tools
from hivemind.entrypoints.mcp.protocol import INVALID_PARAMS, Caller, Json, Server, WireError, serve
from hivemind.errors import HivemindError


def main(store: str | None = None) -> None:
    """Serve the client that started us."""
    counter = Counter(store)
    try:
        serve(counter.server(), sys.stdin.buffer, sys.stdout.buffer)
    finally:
        counter.close()


class Counter:
    """Where requests arrive; behind it the desk, which is staffed at the first call."""

    def __init__(self, store: str | None) -> None:
        self._store = store
        self._desk: Any = None

    def server(self) -> Server:
        """What we offer, by method."""
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
                "prompts/get": self.prompt,
            },
        )

    def call(self, params: Json, caller: Caller) -> Json:
        """Do what a tool is for; what goes wrong is told to the model, who can act on it."""
        tool = tools.named(tools.TOOLS, "name", params.get("name"))
        if tool is None:
            names = ", ".join(one["name"] for one in tools.TOOLS)
            raise WireError(INVALID_PARAMS, f"there is no tool {params.get('name')!r}; there are {names}")
        given = params.get("arguments") or {}
        if wrong := tools.problem(tool, given):
            return _said(wrong, failed=True)
        try:
            return _said(self._do(tool["name"], given, caller))
        except HivemindError as error:
            return _said(_problem(error), failed=True)

    def read(self, params: Json, caller: Caller) -> Json:
        """The brief, as a page."""
        if params.get("uri") != tools.BRIEF:
            raise WireError(INVALID_PARAMS, f"there is no resource {params.get('uri')!r}; there is {tools.BRIEF}")
        text = self._do("context", {}, caller)
        return {"contents": [{"uri": tools.BRIEF, "mimeType": "text/markdown", "text": text}]}

    def prompt(self, params: Json, caller: Caller) -> Json:
        """What is known about a task, as a message of the user's."""
        if tools.named(tools.PROMPTS, "name", params.get("name")) is None:
            raise WireError(INVALID_PARAMS, f"there is no prompt {params.get('name')!r}; there is 'context'")
        given = params.get("arguments") or {}
        if not isinstance(given, dict):
            raise WireError(INVALID_PARAMS, "the arguments must be an object")
        task = str(given.get("task") or "")
        text = self._do("context", {"task": task}, caller)
        message = {"role": "user", "content": {"type": "text", "text": "\n\n".join(filter(None, (task, text)))}}
        return {"description": "What memory knows", "messages": [message]}

    def close(self) -> None:
        """Give the store back."""
        if self._desk:
            self._desk.close()

    def _do(self, name: str, given: Json, caller: Caller) -> str:
        calls = importlib.import_module("hivemind.entrypoints.mcp.calls")
        self._desk = self._desk or calls.ClientSession(self._store)
        mind = self._desk.mind(caller.client, caller.meta)
        said: str = calls.CALLS[name](mind, given)
        return said


def _problem(error: HivemindError) -> str:
    # Whatever raised it has loaded this already; listing the tools must not.
    text: str = importlib.import_module("hivemind.text.fence").format_error_for_agent(error)
    return text


def _said(text: str, *, failed: bool = False) -> Json:
    return {"content": [{"type": "text", "text": text}], "isError": failed}
