"""The reply of a hook to the agent that ran it."""

import os

from hivemind import agents
from hivemind.app.hivemind import Hivemind
from hivemind.capture import background, brief_marker
from hivemind.formats.untrusted import parse_json
from hivemind.model.memory import Channel, Writer
from hivemind.paths import data_directory


def answer(agent: str, event: str, payload: str) -> str:
    """Return a brief or a recall in the agent's format; empty if there is nothing to say."""
    agent_module = agents.get_agent(agent)
    fields = parse_json(payload)
    # Where the command line names no event that takes an answer, the payload may.
    event = event if event in agent_module.ANSWERS else str(fields.get("hook_event_name") or "")
    if event not in agent_module.ANSWERS:
        return ""
    request = agents.parse_request(agent, event, fields)
    writer = Writer(actor=agent, channel=Channel.AGENT, session_id=request.session)
    with Hivemind.open(directory=request.directory, writer=writer) as mind:
        if agent_module.ANSWERS[event] == "recall":
            return agent_module.reply(event, mind.on_prompt(request.prompt).text)
        if event in agents.ONCE_PER_SESSION_EVENTS:
            brief_marker.mark_briefed(data_directory(os.environ), request.session)
        if mind.sessions.waits_to_learn():
            background.start("learn")
        if mind.team.hub:
            background.start("sync")
        return agent_module.reply(event, mind.brief().text)
