"""What a hook prints for the agent that ran it, where that event takes an answer."""

import os

from hivemind import agents
from hivemind.app.hivemind import Hivemind
from hivemind.capture import background, brief_marker
from hivemind.formats.untrusted import parse_json
from hivemind.model.memory import Channel, Writer
from hivemind.paths import data_directory


def answer(agent: str, event: str, payload: str) -> str:
    """The brief or a recall in the agent's own form; nothing where there is nothing to say."""
    known = agents.get_agent(agent)
    told = parse_json(payload)
    event = event if event in known.ANSWERS else str(told.get("hook_event_name") or "")
    if event not in known.ANSWERS:
        return ""
    asked = agents.parse_request(agent, event, told)
    writer = Writer(actor=agent, channel=Channel.AGENT, session_id=asked.session)
    with Hivemind.open(directory=asked.directory, writer=writer) as mind:
        if known.ANSWERS[event] == "recall":
            return known.reply(event, mind.on_prompt(asked.prompt).text)
        if event in agents.ONCE_PER_SESSION_EVENTS:
            brief_marker.mark_briefed(data_directory(os.environ), asked.session)
        if mind.sessions.waits_to_learn():
            background.start("learn")
        if mind.team.hub:
            background.start("sync")
        return known.reply(event, mind.brief().text)
