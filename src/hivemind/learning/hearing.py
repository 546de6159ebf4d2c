"""Hearing in the moment: a short note asks the agent of the session to judge what may be meant to last.

The agent is a strong model that has the context, so a small detector need only suspect. The note never blocks and never
costs a turn: it goes with the next prompt or with the result of a tool.
"""

import re
from collections.abc import Sequence
from contextlib import suppress

from hivemind.context import Context
from hivemind.errors import StoreUnwritable
from hivemind.learning import suspects
from hivemind.memory import verdicts
from hivemind.memory.comparison import find_repetition, is_same_topic
from hivemind.model.events import NAME_BY_FACT, AgentAsked
from hivemind.model.ids import shorten_id
from hivemind.model.memory import CURRENT_STATUSES, Memory
from hivemind.model.scope import Scope
from hivemind.recall.rendering import count_tokens
from hivemind.sessions.talk import TAKEN_BACK
from hivemind.settings import Hear
from hivemind.store import session_log
from hivemind.store.database import READER_SECONDS
from hivemind.store.projections import memories, sessions
from hivemind.text.clean import cut_between_words, first_line
from hivemind.text.search_terms import extract_terms, measure_coverage
from hivemind.text.untrusted import Unreadable
from hivemind.transfer.rules_files import read_points

MOST_NOTES, MOST_WORK_NOTES = 6, 2
"""Notes of a session, and those of them about the agent's own findings."""
MOST_IGNORED = 3
"""After so many notes in a row without a memory, the session gets no more."""
LONGEST_QUOTED = 200
"""Characters of a sentence in a note; the agent has the whole prompt."""
FEWEST_CALLS = 8
"""Calls of tools in a turn with a failure, from which on the agent is asked what it found out."""
SAID_SHARE, FEWEST_TERMS = 0.8, 3
"""The share of a sentence's words in a rule or memory, from which on that says it already, and how many these are."""
PROMPTS_TO_TAKE_BACK = 2
NEGATION = re.compile(r"\b(?:not|no|never|without|stop|avoid|cannot|\w+n['’]?t)\b", re.IGNORECASE)

PROMPT_NOTE = (
    "Perhaps meant to last beyond this task: {quotes}. If so, call `remember` once per point (`text`: stands alone, "
    "with subject and reason; `said`: the user's words, copied). If it is only for this task or a rules file says it, "
    "ignore this and do not mention it."
)
FINDING_NOTE = (
    "{occasion} If you found out what the next session should know (a cause, the command that works, a fact about the "
    "environment, a dead end not to try again), call `remember` once per finding, in words that stand alone. If not, "
    "ignore this note and do not mention it."
)
TURN_NOTE = FINDING_NOTE.format(occasion="Calls failed in the last turn.")
FIX_NOTE = FINDING_NOTE.format(occasion="This command failed before and passes now.")
MOST_ANNOUNCED, LONGEST_ANNOUNCED = 3, 100
"""Memories in a line for the person, and characters of each."""


class Hearing:
    """Makes notes that ask the agent to remember, within limits for each session."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def note_at_prompt(self, prompt: str) -> str:
        """Return a note about what the person just said, else about the work before it; empty if there is none."""
        notes = self._read_notes()
        if notes is None:
            return ""
        earlier_quotes = [quote for note in notes for quote in note.quotes]
        quotes = [
            sentence
            for sentence in suspects.find_suspects(self._context, prompt)
            if not any(is_same_topic(sentence, quote) for quote in earlier_quotes) and not self._is_known(sentence)
        ][: suspects.MOST_QUOTES]
        if quotes:
            return self._give(PROMPT_NOTE.format(quotes=_join(quotes)), quotes)
        return self._note_about_turn(notes)

    def _note_about_turn(self, notes: Sequence[AgentAsked]) -> str:
        if not _has_room_for_work(notes):
            return ""
        turn = sessions.count_last_turn(self._context.store.db, self._context.author.session_id)
        return self._give(TURN_NOTE, ()) if turn.failures and turn.calls >= FEWEST_CALLS else ""

    def note_after_fix(self) -> str:
        """Return a note after a command passed that had failed in the session; empty if there is none."""
        notes = self._read_notes()
        return self._give(FIX_NOTE, ()) if notes is not None and _has_room_for_work(notes) else ""

    def find_rule(self, text: str) -> str:
        """Return where a rules file of the repository already says this: the file and its lines; else empty."""
        with suppress(OSError, Unreadable):
            for point in read_points(self._context.checkout.root):
                if _says(point.text, text):
                    return f"{point.file}:{point.lines}"
        return ""

    def _is_known(self, sentence: str) -> bool:
        """Whether a memory or a rules file already says what a sentence says."""
        repetition = find_repetition(self._context.store.db, sentence, self._context.repository.id)
        return repetition is not None or bool(self.find_rule(sentence))

    def withdraw_taken_back(self, prompt: str) -> tuple[Memory, ...]:
        """Retract what the session remembered of the person's last prompts, if this prompt takes it back."""
        context, session_id = self._context, self._context.author.session_id
        if not session_id or not TAKEN_BACK.match(prompt):
            return ()
        # The newest is this prompt itself.
        earlier_ids = sessions.find_prompt_ids(context.store.db, session_id, 1 + PROMPTS_TO_TAKE_BACK)[1:]
        if not earlier_ids:
            return ()
        candidate_ids = session_log.find_memories_since(context.store.db, earlier_ids[-1])
        heard = [
            memory
            for memory in memories.get_all(context.store.db, candidate_ids)
            if memory.is_said
            and memory.status in CURRENT_STATUSES
            and any(source.is_quotation and source.event in earlier_ids for source in memory.sources)
        ]
        reason = "the person took it back in the same session"
        for memory in heard:
            context.record(verdicts.retract(context.store, context.factory, memory, reason))
        return tuple(heard)

    def announce_memory(self) -> str:
        """Return a line for the person about the memory that this session stored last."""
        context = self._context
        memory_id = session_log.find_last_memory(context.store.db, context.author.actor, context.author.session_id)
        if not memory_id:
            return ""
        memory = memories.get(context.store.db, memory_id)
        dispute = f" · contradicts {shorten_id(memory.contradicts[0])}: hivemind review" if memory.contradicts else ""
        return f"hivemind: remembered {_quote(memory)}{dispute} · undo: hivemind forget {shorten_id(memory.id)}"

    def announce_withdrawal(self, withdrawn: Sequence[Memory]) -> str:
        """Return a line for the person about what was withdrawn; empty if nothing was."""
        line = "hivemind: you took back {} · undo: hivemind restore {}"
        return "\n".join(line.format(_quote(memory), shorten_id(memory.id)) for memory in withdrawn)

    def announce_last_session(self) -> str:
        """Return a line for the person about what the last session here left in memory; empty if nothing."""
        context = self._context
        recent = sessions.list_sessions(context.store.db, context.limit_sight(), limit=2)
        before = next((session for session in recent if session.id != context.author.session_id), None)
        # A session that goes on was announced when it began.
        if before is None or any(
            session.observations > 1 for session in recent if session.id == context.author.session_id
        ):
            return ""
        heard = memories.get_all(context.store.db, session_log.find_memories_of(context.store.db, before.id))
        current = [memory for memory in heard if memory.status in CURRENT_STATUSES]
        if not current:
            return ""
        texts = "; ".join(_quote(memory) for memory in current[:MOST_ANNOUNCED])
        more = f" and {len(current) - MOST_ANNOUNCED} more" if len(current) > MOST_ANNOUNCED else ""
        return f"hivemind: the last session here left {texts}{more} · all: hivemind list"

    def _read_notes(self) -> list[AgentAsked] | None:
        """Read the notes that the session got, the newest first; None if it gets no more."""
        context, session_id = self._context, self._context.author.session_id
        if context.settings.hear != Hear.NOTE or not session_id:
            return None
        entries = session_log.read_facts_about(context.store.db, session_id, NAME_BY_FACT[AgentAsked])
        notes = [fact for _, fact in entries if isinstance(fact, AgentAsked)]
        if len(notes) >= MOST_NOTES:
            return None
        if len(notes) >= MOST_IGNORED:
            since = entries[MOST_IGNORED - 1][0]
            if not session_log.has_stored_since(context.store.db, since, context.author.actor, session_id):
                return None
        return notes

    def _give(self, text: str, quotes: Sequence[str]) -> str:
        """Record that the note was given, and return it; without a record it is not given."""
        context = self._context
        fact = AgentAsked(session_id=context.author.session_id, quotes=tuple(quotes), tokens=count_tokens(text))
        try:
            with context.store.db.waiting_at_most(READER_SECONDS):
                context.store.record([context.factory.event(fact, Scope.USER, "")])
        except StoreUnwritable:
            return ""
        return text


def _has_room_for_work(notes: Sequence[AgentAsked]) -> bool:
    return sum(not note.quotes for note in notes) < MOST_WORK_NOTES


def _quote(memory: Memory) -> str:
    return f'"{first_line(memory.text, LONGEST_ANNOUNCED)}"'


def _join(quotes: Sequence[str]) -> str:
    return " · ".join(f'"{cut_between_words(quote, LONGEST_QUOTED)}"' for quote in quotes)


def _says(rule: str, text: str) -> bool:
    """Whether a rule has nearly all words of a text, and denies it if the text does."""
    is_long_enough = len(extract_terms(text)) >= FEWEST_TERMS
    is_same_sense = bool(NEGATION.search(rule)) == bool(NEGATION.search(text))
    return is_long_enough and is_same_sense and measure_coverage(text, rule) >= SAID_SHARE
