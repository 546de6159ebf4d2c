"""Find the words that an agent ascribes to the person in what the person typed; what is found need not be believed."""

import re
from collections.abc import Iterator, Sequence
from datetime import timedelta

from hivemind.context import Context
from hivemind.learning.session_view import LONGEST_QUOTE
from hivemind.model import timestamps
from hivemind.model.memory import Channel, Source
from hivemind.model.session import Observation, Session
from hivemind.sessions.talk import Message, read_talk
from hivemind.sessions.word_origins import LINK, WordOrigins
from hivemind.store.projections import sessions
from hivemind.text.excluded_text import normalise
from hivemind.text.search_terms import measure_coverage

FEWEST_WORDS = 3
"""Fewer words stand in nearly every session by chance."""
COVERED_SHARE = 0.4
"""The share of a memory's words that the prompt must have: of 76 right ones 72 have it, of 73 about others 2."""
RECENT = timedelta(hours=1)
MOST_SESSIONS = 5
"""Sessions that are looked at where the client does not say which one it is."""
PASTED = re.compile(
    r"\[Pasted text|^\s*#{1,5} \S|^\s*\S*\*\*\S|^(?:From|To|Subject|Date): |\bwrote:\s*$|[│┃├└⎿✓✅❌]"
    r"|^\s*at \S+ ?\(|\bTraceback\b|^\s*<\w",
    re.MULTILINE,
)
"""Marks of a text that was written elsewhere: headings, bold text, mail, terminals, stack traces, markup."""
OTHERS_WORDS = re.compile(
    r"\baccording to\b|\b(?:he|she|they|boss|manager|reviewer|review|colleague|teammate|somebody|someone|client"
    r"|customer|user|support|coderabbit|copilot|gemini|chatgpt|gpt\S*|claude|codex|cursor|agent|bot|docs?|documentation"
    r"|article|blog|post|page|readme|ticket|issue|email|mail|message|comment|slack|linter)\s+(?:also )?"
    r"(?:says?|said|writes?|wrote|suggest(?:s|ed)?|recommend(?:s|ed)?|told|claim(?:s|ed)?|replied|states?|stated)\b"
    r"|\b(?:here(?:'s| is| are)|this is|below is|see)\b[^.\n]{0,30}"
    r"\b(?:review|feedback|comments?|report|e?mail|message|article|log|output|transcript|response|reply|answer)\b",
    re.IGNORECASE,
)
"""Words by which a person says that what follows is somebody else's."""


def find_quotation(context: Context, said: str, text: str) -> Source | None:
    """Return where the person typed these words in this session; None if they did not, or took them from elsewhere.

    ``text`` is the memory that is to rest on them.
    """
    words = normalise(said)
    if len(words.split()) < FEWEST_WORDS:
        return None
    for session in _list_sessions(context):
        steps = sessions.read_observations(context.store.db, session)
        for message in _find_messages(words, steps):
            if _is_own(message, words, steps) and _rests_on(text, message):
                return Source(
                    channel=Channel.PERSON,
                    actor=context.settings.person,
                    session_id=session.id,
                    event=message.step.source_id,
                    quote=" ".join(said.split())[:LONGEST_QUOTE],
                )
    return None


def _list_sessions(context: Context) -> list[Session]:
    """List the session that the agent is in; where its client does not say which, its last ones here."""
    db, session_id = context.store.db, context.author.session_id
    if session_id:
        return list(sessions.get_all(db, [session_id]).values())
    since = timestamps.format_timestamp(context.clock() - RECENT)
    recent = sessions.list_sessions(db, context.limit_sight(), limit=MOST_SESSIONS, agent=context.author.actor)
    return [session for session in recent if session.last_seen_at >= since]


def _find_messages(words: str, steps: Sequence[Observation]) -> Iterator[Message]:
    """Yield the person's messages with these words, newest first."""
    messages = (message for message in reversed(read_talk(steps)) if message.is_persons)
    return (message for message in messages if f" {words} " in f" {normalise(message.text)} ")


def _is_own(message: Message, words: str, steps: Sequence[Observation]) -> bool:
    """Whether the person says these words in their own name, and no tool, page or paste said them before."""
    prompt = message.step.text
    if PASTED.search(prompt) or OTHERS_WORDS.search(prompt):
        return False
    origins = WordOrigins(steps, [message])
    quoted_sentences = (sentence for sentence in message.sentences if _overlap(words, normalise(sentence)))
    return not any(origins.is_foreign(sentence, message.index) for sentence in quoted_sentences)


def _rests_on(text: str, message: Message) -> bool:
    """Whether a memory says what a message says, as far as words show; a link must be the person's."""
    links = [link.lower() for link in LINK.findall(text)]
    has_foreign_link = any(link not in message.text.lower() for link in links)
    return measure_coverage(text, message.text) >= COVERED_SHARE and not has_foreign_link


def _overlap(words: str, sentence: str) -> bool:
    """Whether a sentence and a quotation share a run of words."""
    parts = words.split()
    runs = (" ".join(parts[start : start + FEWEST_WORDS]) for start in range(len(parts) - FEWEST_WORDS + 1))
    return any(f" {run} " in f" {sentence} " for run in runs) or f" {sentence} " in f" {words} "
