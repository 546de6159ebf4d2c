"""The four ways in which coding agents speak to a model, as far as a stand-in for one needs them."""

import json
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

SEARCHES = ("ToolSearch", "tool_search", "tool_search_call")
"""Tools by which an agent finds the tools it does not show."""
NAMED = re.compile(r'[\\]*"name[\\]*"\s*:\s*[\\]*"([\w-]+)')

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool the model may call."""

    name: str
    namespace: str = ""
    kind: str = "function"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call of one."""

    tool: Tool
    arguments: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What the model says: a text, a call, or one before the other."""

    text: str = ""
    call: Call | None = None


class Dialect(Protocol):
    """Requests read, answers written."""

    def tools(self, body: Json) -> list[Tool]:
        """What the model may call."""

    def calls(self, body: Json) -> list[str]:
        """What it has called in this conversation."""

    def whole(self, body: Json, said: Said) -> Json:
        """An answer at once."""

    def stream(self, body: Json, said: Said) -> Iterator[str]:
        """An answer in pieces."""


def of(path: str) -> Dialect | None:
    """The dialect of an address, if it is one at which models speak."""
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
    """Anthropic's."""

    def tools(self, body: Json) -> list[Tool]:
        """Each with a name of its own."""
        return [Tool(name=tool["name"]) for tool in body.get("tools") or () if "name" in tool]

    def calls(self, body: Json) -> list[str]:
        """Blocks of what the assistant said."""
        blocks = [
            block
            for message in body.get("messages") or ()
            if message["role"] == "assistant" and isinstance(message["content"], list)
            for block in message["content"]
        ]
        return [block["name"] for block in blocks if block.get("type") == "tool_use"]

    def whole(self, body: Json, said: Said) -> Json:
        """A message of blocks."""
        blocks: list[Json] = [{"type": "text", "text": said.text}] if said.text else []
        if said.call:
            use = {"id": _id("toolu_"), "name": said.call.tool.name, "input": said.call.arguments}
            blocks.append({"type": "tool_use", **use})
        return {
            "id": _id("msg_"), "type": "message", "role": "assistant", "model": body.get("model"), "content": blocks,
            "stop_reason": "tool_use" if said.call else "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": 100, "output_tokens": 12},
        }  # fmt: skip

    def stream(self, body: Json, said: Said) -> Iterator[str]:
        """Start, the blocks, end."""
        message = self.whole(body, said)
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
    """OpenAI's newer one."""

    def tools(self, body: Json) -> list[Tool]:
        """Some in namespaces, some found by a search earlier in the conversation."""
        found = list(_namespaced(body.get("tools") or ()))
        for item in body.get("input") or ():
            if item.get("type") in ("tool_search_output", "additional_tools"):
                found += _namespaced(item.get("tools") or ())
        return found

    def calls(self, body: Json) -> list[str]:
        """Items of the conversation."""
        items = body.get("input") or ()
        return [str(item.get("name") or item["type"]) for item in items if str(item.get("type")).endswith("_call")]

    def whole(self, body: Json, said: Said) -> Json:
        """A response of items."""
        usage = {
            "input_tokens": 100, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 12, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 112,
        }  # fmt: skip
        return {
            "id": _id("resp_"), "object": "response", "created_at": 0, "status": "completed", "error": None,
            "model": body.get("model"), "output": list(self._items(said)), "usage": usage, "tools": [],
        }  # fmt: skip

    def _items(self, said: Said) -> Iterator[Json]:
        if said.text:
            part = {"type": "output_text", "text": said.text, "annotations": []}
            yield {"type": "message", "id": _id("msg_"), "role": "assistant", "status": "completed", "content": [part]}
        if said.call:
            yield {"call_id": _id("call_"), "status": "completed"} | self._called(said.call)

    def _called(self, call: Call) -> Json:
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

    def stream(self, body: Json, said: Said) -> Iterator[str]:
        """Created, the items, completed."""
        response = self.whole(body, said)
        begun = response | {"status": "in_progress", "output": [], "usage": None}
        events: list[Json] = [{"type": "response.created", "response": begun}]
        for index, item in enumerate(response["output"]):
            events.append({"type": "response.output_item.added", "output_index": index, "item": item})
            if item["type"] == "message":
                where = {"item_id": item["id"], "output_index": index, "content_index": 0}
                events.append({"type": "response.output_text.delta", **where, "delta": said.text})
            events.append({"type": "response.output_item.done", "output_index": index, "item": item})
        events.append({"type": "response.completed", "response": response})
        for number, event in enumerate(events):
            yield _event(event | {"sequence_number": number}, event["type"])


def _namespaced(tools: Any, namespace: str = "") -> Iterator[Tool]:
    for tool in tools:
        if tool.get("type") == "namespace":
            yield from _namespaced(tool.get("tools") or (), str(tool.get("name")))
        elif tool.get("type") == "tool_search" or tool.get("name"):
            yield Tool(
                name=str(tool.get("name") or "tool_search"),
                namespace=namespace,
                kind=str(tool.get("type") or "function"),
            )


class Chat:
    """OpenAI's older one, which most others speak."""

    def tools(self, body: Json) -> list[Tool]:
        """Functions; and those that a search has told of as text."""
        named = [tool["function"]["name"] for tool in body.get("tools") or () if tool.get("function")]
        results = [json.dumps(one) for one in body.get("messages") or () if one["role"] == "tool"]
        told = [name for result in results for name in NAMED.findall(result)] if set(named) & set(SEARCHES) else []
        return [Tool(name=name) for name in dict.fromkeys([*named, *told])]

    def calls(self, body: Json) -> list[str]:
        """What messages of the assistant's call."""
        messages = [message for message in body.get("messages") or () if message["role"] == "assistant"]
        return [call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()]

    def whole(self, body: Json, said: Said) -> Json:
        """One choice."""
        message = {"role": "assistant", "content": said.text or None} | self._calls(said)
        choice = {"index": 0, "finish_reason": "tool_calls" if said.call else "stop", "message": message}
        return self._frame(body, "chat.completion") | {"choices": [choice], "usage": self._usage()}

    def stream(self, body: Json, said: Said) -> Iterator[str]:
        """The message, its end, what it cost."""
        frame = self._frame(body, "chat.completion.chunk")
        delta = {"role": "assistant", "content": said.text} | self._calls(said)
        ending = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if said.call else "stop"}
        yield _event(frame | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        yield _event(frame | {"choices": [ending]})
        yield _event(frame | {"choices": [], "usage": self._usage()})
        yield "data: [DONE]\n\n"

    def _calls(self, said: Said) -> Json:
        if said.call is None:
            return {}
        function = {"name": said.call.tool.name, "arguments": json.dumps(said.call.arguments)}
        return {"tool_calls": [{"index": 0, "id": _id("call_"), "type": "function", "function": function}]}

    def _frame(self, body: Json, sort: str) -> Json:
        return {"id": _id("chatcmpl-"), "object": sort, "created": 0, "model": body.get("model")}

    def _usage(self) -> Json:
        return {"prompt_tokens": 100, "completion_tokens": 12, "total_tokens": 112}


class Gemini:
    """Google's."""

    def tools(self, body: Json) -> list[Tool]:
        """Declared functions."""
        groups = body.get("tools") or ()
        return [Tool(name=one["name"]) for group in groups for one in group.get("functionDeclarations") or ()]

    def calls(self, body: Json) -> list[str]:
        """Parts of what the model said."""
        said = [content for content in body.get("contents") or () if content.get("role") == "model"]
        return [
            part["functionCall"]["name"]
            for content in said
            for part in content.get("parts") or ()
            if "functionCall" in part
        ]

    def whole(self, body: Json, said: Said) -> Json:
        """One candidate; where the agent asks itself who speaks next, it is the user's turn."""
        parts: list[Json] = [{"text": said.text}] if said.text else []
        if said.call:
            call = {"name": said.call.tool.name, "args": said.call.arguments, "id": _id("fc_")}
            parts.append({"functionCall": call})
        if (body.get("generationConfig") or {}).get("responseMimeType") == "application/json":
            parts = [{"text": json.dumps({"reasoning": "done", "next_speaker": "user"})}]
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 100, "candidatesTokenCount": 12, "totalTokenCount": 112}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "stub", "responseId": _id("")}

    def stream(self, body: Json, said: Said) -> Iterator[str]:
        """The whole in one piece."""
        yield _event(self.whole(body, said))
