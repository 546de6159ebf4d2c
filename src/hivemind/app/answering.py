"""What a hook prints for the agent that ran it, where that event takes an answer."""

import json

from hivemind import agents
from hivemind.app import Hivemind
from hivemind.model.memory import Channel
from hivemind.model.writer import Writer


def answer(agent: str, event: str, payload: str) -> str:
    """The brief or a recall in the agent's own form; nothing where there is nothing to say."""
    known = agents.of(agent)
    told = json.loads(payload)
    event = event if event in known.ANSWERS else str(told.get("hook_event_name") or "")
    if event not in known.ANSWERS:
        return ""
    asked = agents.asked(agent, event, told)
    writer = Writer(actor=agent, channel=Channel.AGENT, session_id=asked.session)
    with Hivemind.open(directory=asked.directory, writer=writer) as mind:
        said = mind.brief() if known.ANSWERS[event] == "brief" else mind.on_prompt(asked.prompt)
    return known.reply(event, said.text)
