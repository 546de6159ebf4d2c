"""What a person and an agent said to each other in a session, without code, pastes and what clients add."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from hivemind.model.session import Observation, ObservationKind
from hivemind.text.prose import FENCE, TAGGED, split_prompt, split_typed

OBJECTION = re.compile(
    r"\A\W*(?:no\b(?! problem| worries| need)|nope|nah|wait|stop|undo|revert|instead|rather|actually|hmm,? no"
    r"|why (?:not|did|didn't|don't|would)|i (?:don't|do not) (?:want|like|agree)|that(?:'s| is) (?:wrong|not)"
    r"|not (?:what|that|just|all|at all|straight)|(?:absolutely|definitely|certainly|hell) no|hold on"
    r"|let's (?:not|instead)|never ?mind|scratch that|forget (?:it|that)|(?:i )?changed my mind)\b",
    re.IGNORECASE,
)
"""How people begin when they overrule what was said last."""
TAKEN_BACK = re.compile(
    r"\A\W*(?:never ?mind|scratch that|forget (?:it|that|what i said)|(?:i )?changed my mind"
    r"|actually,? (?:no|don't|do not|let's not|never ?mind)|(?:undo|revert) (?:that|it|this)"
    r"|(?:sorry,? )?(?:my (?:mistake|bad)|i (?:misread|misspoke|was wrong)))\b",
    re.IGNORECASE,
)
"""How people begin when they take back what they said themselves."""
TABLE_ROW = re.compile(r"^[ \t]*\|.*$", re.MULTILINE)
HEADING = re.compile(r"^[ \t]*#{1,6}[ \t].*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Message:
    """What one of them said: a prompt as far as the person typed it, or a reply."""

    index: int
    """Position of its step in the session."""
    step: Observation
    is_persons: bool
    sentences: tuple[str, ...]

    @property
    def text(self) -> str:
        """All of its sentences."""
        return " ".join(self.sentences)


def read_talk(steps: Iterable[Observation]) -> list[Message]:
    """Return what the person and the agent said, in order, without subagents and messages that have no words."""
    messages: list[Message] = []
    for index, step in enumerate(steps):
        # A prompt to a subagent is written by an agent, not by the person.
        if step.subagent or step.seen not in (ObservationKind.PROMPT, ObservationKind.REPLY):
            continue
        is_persons = step.seen is ObservationKind.PROMPT
        sentences = split_typed(step.text) if is_persons else split_reply(step.text)
        if sentences:
            messages.append(Message(index, step, is_persons, sentences))
    return messages


def split_reply(reply: str) -> tuple[str, ...]:
    """Return the sentences of a reply, without code, tables and headings."""
    prose = reply
    for pattern in (FENCE, TAGGED, TABLE_ROW, HEADING):
        prose = pattern.sub("\n\n", prose)
    return tuple(sentence.text for sentence in split_prompt(prose))
