"""Detects what a person said that holds beyond the task: rules, corrections, preferences, facts and decisions."""

import re
from collections.abc import Iterator, Sequence

from hivemind.learning.session_view import SessionView, keep_last_about_each, make_source
from hivemind.learning.statement_forms import STARTS_WITH_PRONOUN, SpokenSentence
from hivemind.model.claim import Proposal
from hivemind.model.session import Observation, ObservationKind
from hivemind.sessions.talk import OBJECTION
from hivemind.text.prose import LONGEST_TYPED, NOT_TYPED, split_prompt
from hivemind.text.search_terms import extract_terms

NO_STATEMENT = re.compile(
    r"\?\s*\Z|\b(?:maybe|perhaps|probably|not sure|i guess|might)\b|\bnever ?mind\b|\bdon['’]?t worry\b"
    # Many people type a question without its mark. "Can you …" may ask for a rule, so the model judges it.
    r"|\A\W*(?:(?:or|and|so|but|also)\s+)?(?:what|why|how|who"
    r"|(?:should|could|can|would|will|is|are|do|does|did|have|has)\s+(?:we|i|it|there|they|this|that|these|the))\b"
    r"|\b(?:for now|for the moment|right now|this time)\b",
    re.IGNORECASE,
)
"""Questions, doubts, asides, and what says itself that it will pass."""
CODE = re.compile(r"[{};=]\s*\Z|\A\s*(?:[+|>$#@]|/[/*])|://\S+\Z|=>|\A\S+\Z")
SHORTEST, LONGEST = 8, 400
"""Characters. The model was fitted on such sentences."""
REFERENCE = re.compile(
    r"\b(?:it|them|(?:this|that|these|those) (?:file|one|function|folder|way|case)s?)\b", re.IGNORECASE
)
"""Words that stand for something named before."""
UNFINISHED = re.compile(r"[,:;]\s*\Z")
"""The rest stands in a list or in the next line; of such beginnings hardly any were worth keeping."""
FILLER = re.compile(
    r"\A\W*(?:(?:yes|no|nope|yeah|yep|right|sure|correct|again|actually|now|so|please|but)[,.:;!]+\s+"
    r"|(?:ok|okay|and|also|btw|oh|hmm|well)\b[,.:;!]*\s+)+",
    re.IGNORECASE,
)
"""Words before a statement that answer the agent or go on from the last sentence. "No" needs a comma to be one."""
FEWEST_ALONE, LONGEST_ANSWER = 6, 200
"""An answer with fewer words of its own, in a prompt of at most so many characters, has its subject in the question."""
FEWEST_TERMS = 2
"""A sentence with fewer words of its own names nothing, and a sentence before it with fewer explains nothing."""


def corrections(view: SessionView) -> Iterator[Proposal]:
    """Propose what a person said that holds beyond the task, the last about each thing, unless they took it back."""
    if view.judge is None:
        return
    statements = [*_list_statements(view)]
    verdicts = view.judge([statement for _, _, statement in statements])
    proposals = [
        Proposal(
            detector="corrections",
            kind=verdict.kind,
            text=text,
            sources=(make_source(step, statement.text),),
            tags=("said",),
            confidence=round(verdict.certainty, 2),
        )
        for (index, step, statement), verdict in zip(statements, verdicts, strict=True)
        if verdict.certainty >= view.least_certainty
        and not view.is_taken_back(index)
        and (text := complete_statement(statement))
    ]
    yield from keep_last_about_each(proposals)


def _list_statements(view: SessionView) -> Iterator[tuple[int, Observation, SpokenSentence]]:
    """Yield the sentences that a person typed, each with its step and the place of that."""
    reply = ""
    for index, step in enumerate(view.steps):
        if step.subagent:
            continue
        if step.seen is ObservationKind.REPLY:
            reply = step.text
        elif step.seen is ObservationKind.PROMPT:
            if len(step.text) <= LONGEST_TYPED and not NOT_TYPED.match(step.text):
                yield from ((index, step, statement) for statement in split_statements(step.text, reply))
            reply = ""


def split_statements(prompt: str, reply: str = "") -> list[SpokenSentence]:
    """Return the sentences of a prompt that may state something, each with what stands around it."""
    sentences = [sentence.text for sentence in split_prompt(prompt)]
    statements = make_statements(sentences, reply[-LONGEST_TYPED:], prompt_length=len(prompt))
    return [statement for statement in statements if is_statement(statement.text)]


def make_statements(sentences: Sequence[str], reply: str, *, prompt_length: int) -> list[SpokenSentence]:
    """Return the sentences of a prompt, each with what stands around it."""
    last_reply = "".join(sentence.text for sentence in [*split_prompt(reply)][-1:])
    around = zip(["", *sentences], sentences, [*sentences[1:], ""], strict=False)
    return [
        SpokenSentence(
            text=text, previous=previous, following=following, reply=last_reply, position=position,
            prompt_length=prompt_length,
        )
        for position, (previous, text, following) in enumerate(around)
    ]  # fmt: skip


def is_statement(text: str) -> bool:
    """Whether a sentence is neither a question nor code and has a length that the model was fitted on."""
    return SHORTEST <= len(text) <= LONGEST and not NO_STATEMENT.search(text) and not CODE.search(text)


def complete_statement(statement: SpokenSentence) -> str:
    """Return the sentence so that it can be read alone, with the one before it if needed; empty if that fails."""
    if UNFINISHED.search(statement.text):
        return ""
    text = _capitalise(FILLER.sub("", statement.text) or statement.text)
    if _only_answers(statement, text):
        # "Percent first, always." says nothing to whoever has not read the question.
        return f"{_capitalise(statement.reply)} {text}" if len(extract_terms(statement.reply)) >= FEWEST_TERMS else ""
    if len(extract_terms(statement.previous)) >= FEWEST_TERMS and (_refers(statement.text) or _says_little(text)):
        return f"{_capitalise(FILLER.sub('', statement.previous) or statement.previous)} {text}"
    # Nothing in the prompt says what its first word stands for. What the agent said seldom explains it.
    return "" if _says_little(text) or STARTS_WITH_PRONOUN.match(statement.text) else text


def _only_answers(statement: SpokenSentence, text: str) -> bool:
    """Whether a few words answer what the agent asked or proposed, so that their subject stands there."""
    is_short = len(extract_terms(text)) < FEWEST_ALONE and statement.prompt_length <= LONGEST_ANSWER
    return is_short and (statement.reply.endswith("?") or bool(OBJECTION.match(text)))


def _refers(text: str) -> bool:
    return bool(STARTS_WITH_PRONOUN.match(text) or REFERENCE.search(text))


def _says_little(text: str) -> bool:
    return len(extract_terms(text)) < FEWEST_TERMS


def _capitalise(text: str) -> str:
    # A sentence that begins with the name of a file or a symbol keeps it as it is.
    return text[0].upper() + text[1:] if text.split(maxsplit=1)[0].rstrip(",:").isalpha() else text
