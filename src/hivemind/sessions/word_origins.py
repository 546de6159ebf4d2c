"""Who first brought words into a session, so that nobody's repetition makes them more trusted."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum, auto
from itertools import chain

from hivemind.model.session import Observation, ObservationKind
from hivemind.text.prose import split_typed

WORD = re.compile(r"[^\W_]+")
RUN = 3
"""Words in a row that are compared: two occur by chance, and four miss a sentence that changes every fourth word."""
FOREIGN_SHARE = 0.4
"""The share of a sentence's runs that tool output brought, from which on the sentence is tool output's."""
COPIED_SHARE = 0.6
"""The share of what a person typed that the agent had said before, from which on it is copied."""
RETOLD_SHARE, FEWEST_RETOLD = 0.6, 4
"""The share, and the number, of a sentence's words in one paragraph from outside, from which on it retells it."""
PARAGRAPH = re.compile(r"\n\s*\n")
OUTSIDE = re.compile(r"web|fetch|search|browser|mcp|http|crawl|scrape", re.IGNORECASE)
"""Names of tools that bring text from outside of the repository."""
DOWNLOAD = re.compile(r"\b(?:curl|wget|gh|lynx|http)\s")
STEM = 4
"""Letters of a word that are compared at least; shorter words say little."""
LONGEST_PARAGRAPH = 1200
ANSWER_TOOLS = frozenset({"AskUserQuestion", "ask_user", "request_user_input", "question", "ask_followup_question"})
"""Tools whose output is what the person chose or typed."""

Run = tuple[str, ...]


class Speaker(Enum):
    """Who brought words into a session."""

    PERSON = auto()
    AGENT = auto()
    FOREIGN = auto()


class WordOrigins:
    """Tells which sentences of a session came from tool output, a paste or a page, whoever repeats them."""

    def __init__(self, steps: Sequence[Observation], sentences: Iterable[str]) -> None:
        """Look only for the runs of these sentences, because a session has millions of others."""
        self._wanted = set(chain.from_iterable(map(_list_runs, sentences)))
        self._origins: dict[Run, Speaker] = {}
        self._paragraphs: list[int] = []
        """Of each paragraph from outside, the position of its step."""
        self._places: dict[str, list[int]] = {}
        """In which of these paragraphs each stem stands."""
        self._typed: list[tuple[int, set[str]]] = []
        """The stems that the person typed at each step."""
        for index, step in enumerate(steps):
            self._add(index, step)

    def _add(self, index: int, step: Observation) -> None:
        """Note who brought each run first: whoever repeats it later does not count."""
        if step.seen is ObservationKind.PROMPT and not step.subagent:
            typed = " ".join(split_typed(step.text))
            self._typed.append((index, _find_stems(typed)))
            self._note(typed, Speaker.PERSON)
            # What is left of a prompt was pasted, or written by the client.
            self._note(step.text, Speaker.FOREIGN)
            return
        for own_text in (step.text, step.command, step.input, step.diff):
            self._note(own_text, Speaker.AGENT)
        if step.output and step.tool not in ANSWER_TOOLS:
            self._note(step.output, Speaker.FOREIGN)
            if OUTSIDE.search(step.tool) or DOWNLOAD.search(step.command):
                for paragraph in _split_paragraphs(step.output):
                    for stem in _find_stems(paragraph):
                        self._places.setdefault(stem, []).append(len(self._paragraphs))
                    self._paragraphs.append(index)

    def _note(self, text: str, speaker: Speaker) -> None:
        if text:
            words = WORD.findall(text.lower())
            for run in self._wanted.intersection(zip(words, words[1:], words[2:], strict=False)):
                self._origins.setdefault(run, speaker)

    def is_foreign(self, sentence: str, index: int) -> bool:
        """Whether a sentence that stands at a step repeats or retells what tool output or a paste brought."""
        if self._measure_share(sentence, Speaker.FOREIGN) >= FOREIGN_SHARE:
            return True
        return bool(self._paragraphs) and self._retells(sentence, index)

    def is_agents(self, sentence: str) -> bool:
        """Whether a person only repeats what the agent said."""
        return self._measure_share(sentence, Speaker.AGENT) >= COPIED_SHARE

    def _measure_share(self, sentence: str, speaker: Speaker) -> float:
        runs = _list_runs(sentence)
        return sum(self._origins.get(run) is speaker for run in runs) / len(runs) if runs else 0.0

    def _retells(self, sentence: str, index: int) -> bool:
        """Whether most words of a sentence stand in one paragraph from outside, and the person did not say them."""
        stems = _find_stems(sentence)
        if len(stems) < FEWEST_RETOLD:
            return False
        counts = Counter(place for stem in stems for place in self._places.get(stem, ()))
        needed = RETOLD_SHARE * len(stems)
        if all(count < needed or self._paragraphs[place] >= index for place, count in counts.items()):
            return False
        typed = {stem for place, words in self._typed if place <= index for stem in words}
        return len(stems & typed) < needed


def _find_stems(text: str) -> set[str]:
    """Return the words of a text that say something, without their endings."""
    return {word[: max(STEM, len(word) - 2)] for word in WORD.findall(text.lower()) if len(word) >= STEM}


def _list_runs(text: str) -> list[Run]:
    words = WORD.findall(text.lower())
    return list(zip(words, words[1:], words[2:], strict=False))


def _split_paragraphs(text: str) -> Iterator[str]:
    for paragraph in PARAGRAPH.split(text):
        for start in range(0, len(paragraph), LONGEST_PARAGRAPH):
            yield paragraph[start : start + LONGEST_PARAGRAPH]
