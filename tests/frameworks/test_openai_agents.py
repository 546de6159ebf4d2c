"""The filter for OpenAI's Agents SDK, with the real package and a model that only listens."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Open

pytest.importorskip("agents.run_config")


def test_the_model_is_told_what_fits_the_users_message(home: Path, open_mind: Open, tmp_path: Path) -> None:
    from agents import Agent, ModelResponse, RunConfig, Runner, Usage
    from agents.models.interface import Model
    from openai.types.responses import ResponseOutputMessage, ResponseOutputText

    from hivemind.frameworks.openai_agents import RecallFilter

    told: list[str] = []

    class Listener(Model):
        async def get_response(self, system_instructions: str | None, *_: Any, **__: Any) -> ModelResponse:
            told.append(system_instructions or "")
            text = ResponseOutputText(text="done", type="output_text", annotations=[])
            message = ResponseOutputMessage(
                id="1", content=[text], role="assistant", status="completed", type="message"
            )
            return ModelResponse(output=[message], usage=Usage(), response_id=None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    mind = open_mind(tmp_path)
    mind.remember("The staging database is called heron", kind="fact")
    recall_filter = RecallFilter(directory=tmp_path)
    agent = Agent(name="worker", instructions="Be brief.", model=Listener())
    config = RunConfig(call_model_input_filter=recall_filter, tracing_disabled=True)

    async def use() -> None:
        for prompt in ("How is the staging database called?", "Sing a song about penguins"):
            await Runner.run(agent, prompt, run_config=config)
        (tmp_path / ".hivemind.toml").write_text('memory = "off"\n')
        await Runner.run(agent, "How is the staging database called, again?", run_config=config)

    asyncio.run(use())
    recall_filter.close()

    assert "heron" in told[0]
    assert told[0].startswith("Be brief.")
    assert told[1:] == ["Be brief.", "Be brief."]
