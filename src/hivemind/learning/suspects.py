"""Suspect which sentences of a prompt are meant to last, so that the agent of the session can judge them."""

import re

from hivemind.context import Context
from hivemind.lazy import when_called
from hivemind.learning.detectors.corrections import CODE, LONGEST, SHORTEST, make_statements
from hivemind.learning.statement_forms import FORMS
from hivemind.store.projections import sessions
from hivemind.text.prose import split_typed

# NumPy, which a prompt without a suspicious form does not load.
load_judge = when_called("learning.lasting_statements", "load_judge")

LEAST_CERTAINTY = 0.10
MOST_QUOTES = 2
"""Sentences that one note quotes."""
GATE = (
    *("prohibition", "from_now_on", "obligation", "prohibited", "care", "condition", "reminder", "rule_noun"),
    *("choice", "choice_against", "instead", "decided", "dropped", "wish", "permission", "general"),
)
"""Forms of which a sentence must have one before the encoder is loaded, which takes most of the time of a note."""
SAID_BEFORE = re.compile(
    r"\b(?:i|we)(?:'ve| have)? (?:already |just |always )?(?:told|said|asked|mentioned|explained)\b"
    r"|\bwhy (?:are|do|did|would|is|does)(?:n't)? (?:you|it|we) (?:still|again|keep|always)\b"
    r"|\bhow (?:many times|often)\b"
    r"|\byou (?:keep|always|still|never) \w+|\b(?:once again|as i said|like i said|again,)",
    re.IGNORECASE,
)
"""How people repeat a rule that was not followed, often as a question."""


def find_suspects(context: Context, prompt: str) -> list[str]:
    """Return the sentences of a prompt that may be meant to last, the most certain first."""
    sentences = split_typed(prompt)
    candidates = [place for place, text in enumerate(sentences) if _is_candidate(text)]
    if not candidates or (encode := context.embedder.encode_wording) is None:
        return []
    reply = sessions.find_last_reply(context.store.db, context.author.session_id)
    every = make_statements(sentences, reply, prompt_length=len(prompt))
    statements = [every[place] for place in candidates]
    verdicts = load_judge(encode)(statements)
    certainties = {
        statement.text: 1.0 if SAID_BEFORE.search(statement.text) else verdict.certainty
        for statement, verdict in zip(statements, verdicts, strict=True)
    }
    certain_first = sorted(certainties, key=lambda text: -certainties[text])
    return [text for text in certain_first if certainties[text] >= LEAST_CERTAINTY]


def _is_candidate(text: str) -> bool:
    """Whether the form of a sentence makes it worth loading the encoder."""
    if not SHORTEST <= len(text) <= LONGEST or CODE.search(text):
        return False
    return bool(SAID_BEFORE.search(text)) or any(FORMS[name].search(text) for name in GATE)
