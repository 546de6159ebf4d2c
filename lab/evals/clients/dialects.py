"""The four protocols between coding agents and models, as far as a fake model needs them."""

import json
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

SEARCHES = ("ToolSearch", "tool_search", "tool_search_call")
"""Tools that find other tools, which an agent does not list."""
TOOL_NAME = re.compile(r'[\\]*"name[\\]*"\s*:\s*[\\]*"([\w-]+)')

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that the model may call."""

    name: str
    namespace: str = ""
    kind: str = "function"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call of a tool."""

    tool: Tool
    arguments: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A model's reply: a text, a call, or a text before a call."""

    text: str = ""
    call: Call | None = None


class Dialect(Protocol):
    """Reads requests and writes responses of one protocol."""

    def tools(self, body: Json) -> list[Tool]:
        """Return the tools that the model may call."""

    def calls(self, body: Json) -> list[str]:
        """Return the names of the tools called so far in this conversation."""

    def whole(self, body: Json, reply: Reply) -> Json:
        """Return a reply as one response."""

    def stream(self, body: Json, reply: Reply) -> Iterator[str]:
        """Yield a reply as a stream of events."""


def of(path: str) -> Dialect | None:
    """Return the protocol of a URL path; none if it is not a model's endpoint."""
    if path.endswith("/messages"):
        return Messages()
    if path.endswith("/responses"):
        return Responses()
    if path.endswith("/chat/completions"):
        return Chat()
    return Gemini() if path.endswith("enerateContent") else None


def _id(prefix: str) -> str:
    return prefix + uuid.uuid4().hex[:22]


def _event(body: Json, name: str = "") -> str:
    return (f"event: {name}\n" if name else "") + f"data: {json.dumps(body)}\n\n"


class Messages:
    """Anthropic's Messages API."""

    def tools(self, body: Json) -> list[Tool]:
        """Return the tools, which each have a name."""
        return [Tool(name=tool["name"]) for tool in body.get("tools") or () if "name" in tool]

    def calls(self, body: Json) -> list[str]:
        """Return the calls in the blocks of assistant messages."""
        blocks = [
            block
            for message in body.get("messages") or ()
            if message["role"] == "assistant" and isinstance(message["content"], list)
            for block in message["content"]
        ]
        return [block["name"] for block in blocks if block.get("type") == "tool_use"]

    def whole(self, body: Json, reply: Reply) -> Json:
        """Return a message of blocks."""
        blocks: list[Json] = [{"type": "text", "text": reply.text}] if reply.text else []
        if reply.call:
            use = {"id": _id("toolu_"), "name": reply.call.tool.name, "input": reply.call.arguments}
            blocks.append({"type": "tool_use", **use})
        return {
            "id": _id("msg_"), "type": "message", "role": "assistant", "model": body.get("model"), "content": blocks,
            "stop_reason": "tool_use" if reply.call else "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": 100, "output_tokens": 12},
        }  # fmt: skip

    def stream(self, body: Json, reply: Reply) -> Iterator[str]:
        """Yield the start, the blocks and the end."""
        message = self.whole(body, reply)
        events: list[Json] = [{"type": "message_start", "message": message | {"content": [], "stop_reason": None}}]
        for index, block in enumerate(message["content"]):
            if block["type"] == "text":
                empty, piece = block | {"text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                empty = block | {"input": {}}
                piece = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            events += [
                {"type": "content_block_start", "index": index, "content_block": empty},
                {"type": "content_block_delta", "index": index, "delta": piece},
                {"type": "content_block_stop", "index": index},
            ]
        ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        events += [{"type": "message_delta", "delta": ending, "usage": message["usage"]}, {"type": "message_stop"}]
        for event in events:
            yield _event(event, event["type"])


class Responses:
    """OpenAI's Responses API."""

    def tools(self, body: Json) -> list[Tool]:
        """Return the tools; some are in namespaces, some were found by a search earlier in the conversation."""
        tools = list(_list_tools(body.get("tools") or ()))
        for item in body.get("input") or ():
            if item.get("type") in ("tool_search_output", "additional_tools"):
                tools += _list_tools(item.get("tools") or ())
        return tools

    def calls(self, body: Json) -> list[str]:
        """Return the calls among the items of the conversation."""
        items = body.get("input") or ()
        return [str(item.get("name") or item["type"]) for item in items if str(item.get("type")).endswith("_call")]

    def whole(self, body: Json, reply: Reply) -> Json:
        """Return a response of items."""
        usage = {
            "input_tokens": 100, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 12, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 112,
        }  # fmt: skip
        return {
            "id": _id("resp_"), "object": "response", "created_at": 0, "status": "completed", "error": None,
            "model": body.get("model"), "output": list(self._items(reply)), "usage": usage, "tools": [],
        }  # fmt: skip

    def _items(self, reply: Reply) -> Iterator[Json]:
        if reply.text:
            part = {"type": "output_text", "text": reply.text, "annotations": []}
            yield {"type": "message", "id": _id("msg_"), "role": "assistant", "status": "completed", "content": [part]}
        if reply.call:
            yield {"call_id": _id("call_"), "status": "completed"} | self._format_call(reply.call)

    def _format_call(self, call: Call) -> Json:
        tool = call.tool
        if tool.kind == "tool_search":
            return {
                "type": "tool_search_call", "id": _id("tsc_"), "execution": "client", "arguments": call.arguments,
            }  # fmt: skip
        if tool.kind == "custom":
            return {"type": "custom_tool_call", "id": _id("ctc_"), "name": tool.name, "input": call.arguments["input"]}
        item = {
            "type": "function_call", "id": _id("fc_"), "name": tool.name, "arguments": json.dumps(call.arguments),
        }  # fmt: skip
        return item | ({"namespace": tool.namespace} if tool.namespace else {})

    def stream(self, body: Json, reply: Reply) -> Iterator[str]:
        """Yield the created event, the items and the completed event."""
        response = self.whole(body, reply)
        response_start = response | {"status": "in_progress", "output": [], "usage": None}
        events: list[Json] = [{"type": "response.created", "response": response_start}]
        for index, item in enumerate(response["output"]):
            events.append({"type": "response.output_item.added", "output_index": index, "item": item})
            if item["type"] == "message":
                where = {"item_id": item["id"], "output_index": index, "content_index": 0}
                events.append({"type": "response.output_text.delta", **where, "delta": reply.text})
            events.append({"type": "response.output_item.done", "output_index": index, "item": item})
        events.append({"type": "response.completed", "response": response})
        for number, event in enumerate(events):
            yield _event(event | {"sequence_number": number}, event["type"])


def _list_tools(tools: Any, namespace: str = "") -> Iterator[Tool]:
    for tool in tools:
        if tool.get("type") == "namespace":
            yield from _list_tools(tool.get("tools") or (), str(tool.get("name")))
        elif tool.get("type") == "tool_search" or tool.get("name"):
            yield Tool(
                name=str(tool.get("name") or "tool_search"),
                namespace=namespace,
                kind=str(tool.get("type") or "function"),
            )


class Chat:
    """OpenAI's Chat Completions API, which most other providers offer too."""

    def tools(self, body: Json) -> list[Tool]:
        """Return the functions, and those that a search has listed as text."""
        names = [tool["function"]["name"] for tool in body.get("tools") or () if tool.get("function")]
        results = [json.dumps(message) for message in body.get("messages") or () if message["role"] == "tool"]
        has_search = bool(set(names) & set(SEARCHES))
        found_names = [name for result in results for name in TOOL_NAME.findall(result)] if has_search else []
        return [Tool(name=name) for name in dict.fromkeys([*names, *found_names])]

    def calls(self, body: Json) -> list[str]:
        """Return the calls in assistant messages."""
        messages = [message for message in body.get("messages") or () if message["role"] == "assistant"]
        return [call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()]

    def whole(self, body: Json, reply: Reply) -> Json:
        """Return one choice."""
        message = {"role": "assistant", "content": reply.text or None} | self._calls(reply)
        choice = {"index": 0, "finish_reason": "tool_calls" if reply.call else "stop", "message": message}
        return self._frame(body, "chat.completion") | {"choices": [choice], "usage": self._usage()}

    def stream(self, body: Json, reply: Reply) -> Iterator[str]:
        """Yield the message, its end and the usage."""
        frame = self._frame(body, "chat.completion.chunk")
        delta = {"role": "assistant", "content": reply.text} | self._calls(reply)
        ending = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if reply.call else "stop"}
        yield _event(frame | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        yield _event(frame | {"choices": [ending]})
        yield _event(frame | {"choices": [], "usage": self._usage()})
        yield "data: [DONE]\n\n"

    def _calls(self, reply: Reply) -> Json:
        if reply.call is None:
            return {}
        function = {"name": reply.call.tool.name, "arguments": json.dumps(reply.call.arguments)}
        return {"tool_calls": [{"index": 0, "id": _id("call_"), "type": "function", "function": function}]}

    def _frame(self, body: Json, sort: str) -> Json:
        return {"id": _id("chatcmpl-"), "object": sort, "created": 0, "model": body.get("model")}

    def _usage(self) -> Json:
        return {"prompt_tokens": 100, "completion_tokens": 12, "total_tokens": 112}


class Gemini:
    """Google's Gemini API."""

    def tools(self, body: Json) -> list[Tool]:
        """Return the declared functions."""
        groups = body.get("tools") or ()
        return [Tool(name=function["name"]) for group in groups for function in group.get("functionDeclarations") or ()]

    def calls(self, body: Json) -> list[str]:
        """Return the calls in the parts of the model's messages."""
        contents = [content for content in body.get("contents") or () if content.get("role") == "model"]
        return [
            part["functionCall"]["name"]
            for content in contents
            for part in content.get("parts") or ()
            if "functionCall" in part
        ]

    def whole(self, body: Json, reply: Reply) -> Json:
        """Return one candidate; when the client asks who speaks next, answer that it is the user."""
        parts: list[Json] = [{"text": reply.text}] if reply.text else []
        if reply.call:
            call = {"name": reply.call.tool.name, "args": reply.call.arguments, "id": _id("fc_")}
            parts.append({"functionCall": call})
        if (body.get("generationConfig") or {}).get("responseMimeType") == "application/json":
            parts = [{"text": json.dumps({"reasoning": "done", "next_speaker": "user"})}]
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 100, "candidatesTokenCount": 12, "totalTokenCount": 112}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "stub", "responseId": _id("")}

    def stream(self, body: Json, reply: Reply) -> Iterator[str]:
        """Yield the whole response as one event."""
        yield _event(self.whole(body, reply))
