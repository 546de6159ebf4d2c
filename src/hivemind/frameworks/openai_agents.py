"""OpenAI Agents SDK: tells the model what is remembered about the user's message, before it answers.

config = RunConfig(call_model_input_filter=RecallFilter(directory="."))
await Runner.run(agent, "Deploy the service", run_config=config)
"""

import os
from contextlib import suppress
from dataclasses import replace
from typing import Any

from agents.run_config import CallModelData, ModelInputData

from hivemind.errors import HivemindError
from hivemind.frameworks.agent_memory import AgentMemory


class RecallFilter:
    """A filter of the model's input: adds memories to the instructions if they surely fit the user's message."""

    def __init__(self, *, directory: str | os.PathLike[str] = ".", store: str | None = None) -> None:
        self._memory = AgentMemory("openai-agents", directory=directory, store=store)
        self._prompt, self._text = "", ""

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """Return the input of the model with what is remembered."""
        model_input, prompt = data.model_data, _find_prompt(data.model_data.input)
        # The model is called again after each tool call; the answer to the same message stays the same.
        if prompt != self._prompt:
            self._prompt, self._text = prompt, await self._recall(prompt)
        instructions = "\n\n".join(filter(None, (model_input.instructions, self._text)))
        return replace(model_input, instructions=instructions) if self._text else model_input

    async def _recall(self, prompt: str) -> str:
        # Memory must not stop an agent.
        with suppress(HivemindError):
            return await self._memory.call_async(lambda mind: mind.on_prompt(prompt).text)
        return ""

    def close(self) -> None:
        """Close the memory."""
        self._memory.close()


def _find_prompt(items: list[Any]) -> str:
    """Return the text of the user's last message."""
    messages = [item for item in items if isinstance(item, dict) and item.get("role") == "user"]
    content = messages[-1].get("content") if messages else ""
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text") or "") for part in content or () if isinstance(part, dict))
