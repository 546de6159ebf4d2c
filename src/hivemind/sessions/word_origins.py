"""Who first brought words into a session, so that nobody's repetition makes them more trusted."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum, auto

from hivemind.model.session import Observation, ObservationKind
from hivemind.sessions.talk import Message
from hivemind.text.escapes import iterate_forms
from hivemind.text.excluded_text import UNSPACED, fold, split_words
from hivemind.text.prose import split_typed
from hivemind.text.search_terms import STOP_WORDS

RUN = 3
"""Words in a row that are compared: two occur by chance, and four miss a sentence that changes every fourth word."""
FOREIGN_SHARE, COVERED_SHARE = 0.4, 0.6
"""The share of a sentence's runs that tool output brought, or of its words that stand in such runs, from which on the
sentence is tool output's."""
COPIED_SHARE = 0.6
"""The share of what a person typed that the agent had said before, from which on it is copied."""
RETOLD_SHARE, OUTSIDE_SHARE, FEW_RETOLD = 0.7, 0.6, 6
"""The share of a sentence's words in one foreign passage, from which on it retells that: less is enough for a passage
from outside of the repository, and all are needed of so few words, which stand in some file by chance."""
FEWEST_RETOLD, NEW_SHARE = 1, 0.4
"""Words of a sentence that the person had not said, and their share; a sentence with fewer repeats the person."""
FEWEST_JUDGED = 4
"""Words of a sentence; a shorter one is judged together with those around it."""
PASSAGE = 60
"""Words of a passage; passages overlap by half."""
STEM = 5
"""Letters of a word that are compared, which leaves out most endings."""
OUTSIDE = re.compile(r"web|fetch|search|browser|mcp|http|crawl|scrape", re.IGNORECASE)
"""Names of tools that bring text from outside of the repository."""
DOWNLOAD = re.compile(r"\b(?:curl|wget|gh|lynx|http)\s")
LINK = re.compile(r"(?:https?://|\bwww\.)[^\s()<>\[\]\"'`]+|\b[\w.+-]+@[\w-]+\.[\w.]+\w")
OPENING = re.compile(r"\A\W*\w+(?: \w+){0,3}:\s")
"""Words before a colon with which a sentence begins: "Got it: …", "The final rule: …"."""
ANSWER_TOOLS = frozenset({"AskUserQuestion", "ask_user", "request_user_input", "question", "ask_followup_question"})
"""Tools whose output is what the person chose or typed."""

UNSPACED_WORD = re.compile(f"[{UNSPACED}]")

Run = tuple[str, ...]


class Speaker(Enum):
    """Who brought words into a session."""

    PERSON = auto()
    AGENT = auto()
    FOREIGN = auto()


class WordOrigins:
    """Tells which sentences of a session came from tool output, a paste or a page, whoever repeats them."""

    def __init__(self, steps: Sequence[Observation], messages: Iterable[Message]) -> None:
        """Look only for what these messages say, because a session has millions of other words."""
        self._messages = {message.index: message for message in messages}
        self._words = {index: [*map(_split, message.sentences)] for index, message in self._messages.items()}
        texts = [_join(sentences) for sentences in self._words.values()]
        self._wanted = {run for words in texts for run in _list_runs(words)}
        self._origins: dict[Run, Speaker] = {}
        self._wanted_links = {
            link for message in self._messages.values() for text in message.sentences for link in _find_links(text)
        }
        self._link_origins: dict[str, Speaker] = {}
        self._passages = _Passages({stem for words in texts for stem in _find_stems(words)})
        self._said: list[tuple[int, set[str]]] = []
        """The stems of what the person stated at each step; a question states nothing."""
        self._foreign_places: dict[int, frozenset[int]] = {}
        """Of each message that was asked about, which of its sentences are foreign."""
        for index, step in enumerate(steps):
            self._add(index, step)

    def _add(self, index: int, step: Observation) -> None:
        """Note who brought each run first: whoever repeats it later does not count."""
        if step.seen is ObservationKind.PROMPT and not step.subagent:
            self._add_prompt(index, step.text)
            return
        for own_text in (step.command, step.input, step.diff):
            self._note(own_text, Speaker.AGENT)
        if _is_report(step):
            self._add_foreign(index, step.text)
        else:
            self._note(step.text, Speaker.AGENT)
        if step.tool not in ANSWER_TOOLS:
            is_outside = bool(OUTSIDE.search(step.tool) or DOWNLOAD.search(step.command))
            self._add_foreign(index, step.output, is_outside=is_outside)

    def _add_prompt(self, index: int, prompt: str) -> None:
        typed = split_typed(prompt)
        statements = (sentence for sentence in typed if not sentence.rstrip("*_)\"' ").endswith("?"))
        self._said.append((index, _find_stems(_split(" ".join(statements)))))
        self._note(" ".join(typed), Speaker.PERSON)
        # What is left of a prompt was pasted, or written by the client.
        self._add_foreign(index, prompt, typed)

    def _add_foreign(self, index: int, text: str, typed: Sequence[str] = (), *, is_outside: bool = False) -> None:
        """Note a text as foreign, as it is and without escapes, except for sentences in it that a person typed."""
        for version in iterate_forms(text) if text else ():
            words = self._note(version, Speaker.FOREIGN)
            self._passages.add(index, _remove(map(_split, typed), words), is_outside=is_outside)

    def _note(self, text: str, speaker: Speaker) -> list[str]:
        """Note who brought the runs and links of a text, and return its words."""
        words = _split(text)
        for run in self._wanted.intersection(_list_runs(words)):
            self._origins.setdefault(run, speaker)
        for link in self._wanted_links:
            if link in text.lower():
                self._link_origins.setdefault(link, speaker)
        return words

    def is_foreign(self, sentence: str, index: int) -> bool:
        """Whether a sentence of the message at a step repeats or retells what tool output or a paste brought."""
        message = self._messages[index]
        if index not in self._foreign_places:
            self._foreign_places[index] = frozenset(self._find_foreign(message))
        return message.sentences.index(sentence) in self._foreign_places[index]

    def is_agents(self, sentence: str) -> bool:
        """Whether a person only repeats what the agent said."""
        return self._measure_share(_split(sentence), Speaker.AGENT) >= COPIED_SHARE

    def _find_foreign(self, message: Message) -> Iterator[int]:
        """Yield the places of the sentences that are foreign."""
        sentences = self._words[message.index]
        coverages = self._measure_coverage(sentences)
        said = {stem for index, stems in self._said if index <= message.index for stem in stems}
        # The words with which a sentence opens may be the agent's own, or a part of what it retells.
        bare_sentences = [
            _split(text[opening.end() :]) if (opening := OPENING.match(text)) else words
            for text, words in zip(message.sentences, sentences, strict=True)
        ]
        for place, text in enumerate(message.sentences):
            repeats = self._measure_share(sentences[place], Speaker.FOREIGN) >= FOREIGN_SHARE
            links = any(self._link_origins.get(link) is Speaker.FOREIGN for link in _find_links(text))
            # People who use some words of what they have read say something of their own.
            retells = not message.is_persons and (
                coverages[place] >= COVERED_SHARE
                or self._retells(_widen(sentences, place), said, message.index)
                or self._retells(_widen(bare_sentences, place), said, message.index)
            )
            if repeats or links or retells:
                yield place

    def _measure_share(self, words: Sequence[str], speaker: Speaker) -> float:
        runs = _list_runs(words)
        return sum(self._origins.get(run) is speaker for run in runs) / len(runs) if runs else 0.0

    def _measure_coverage(self, sentences: Sequence[list[str]]) -> list[float]:
        """Return for each sentence the share of its words in foreign runs, which may reach into the next sentence."""
        covered = {
            start + offset
            for start, run in enumerate(_list_runs(_join(sentences)))
            if self._origins.get(run) is Speaker.FOREIGN
            for offset in range(RUN)
        }
        shares: list[float] = []
        begin = 0
        for words in sentences:
            telling = [at for at, word in enumerate(words, start=begin) if word not in STOP_WORDS]
            shares.append(sum(at in covered for at in telling) / len(telling) if telling else 0.0)
            begin += len(words)
        return shares

    def _retells(self, words: Sequence[str], said: set[str], index: int) -> bool:
        """Whether those of these words that the person had not said stand in one foreign passage."""
        stems = _find_stems(words)
        new = stems - said
        return len(new) >= max(FEWEST_RETOLD, NEW_SHARE * len(stems)) and self._passages.have(new, index)


EMPTY: frozenset[int] = frozenset()


class _Passages:
    """Passages of foreign text, by the words in them."""

    def __init__(self, vocabulary: set[str]) -> None:
        self._vocabulary = vocabulary
        self._steps: list[tuple[int, bool]] = []
        """Of each passage, the position of its step, and whether it came from outside of the repository."""
        self._places: dict[str, set[int]] = {}
        """In which passages each stem stands."""

    def add(self, index: int, words: Sequence[str], *, is_outside: bool) -> None:
        """Add the passages of a text."""
        stems = [word[:STEM] for word in words]
        half = PASSAGE // 2
        for start in range(0, max(len(stems) - half, 1), half):
            wanted_stems = self._vocabulary.intersection(stems[start : start + PASSAGE])
            if len(wanted_stems) >= FEWEST_RETOLD:
                for stem in wanted_stems:
                    self._places.setdefault(stem, set()).add(len(self._steps))
                self._steps.append((index, is_outside))

    def have(self, stems: set[str], index: int) -> bool:
        """Whether a passage before a step has so many of these stems that they were taken from it."""
        share = RETOLD_SHARE if len(stems) >= FEW_RETOLD else 1.0
        outside_share = OUTSIDE_SHARE if len(stems) >= FEWEST_JUDGED else 1.0
        rarest_first = sorted((self._places.get(stem, EMPTY) for stem in stems), key=len)
        # A passage with enough of the stems lacks fewer than the others, so it has one of the rarest.
        lacking = len(stems) - math.ceil(outside_share * len(stems))
        for place in set().union(*rarest_first[: lacking + 1]):
            step, is_outside = self._steps[place]
            needed = (outside_share if is_outside else share) * len(stems)
            if step <= index and sum(place in places for places in rarest_first) >= needed:
                return True
        return False


def _is_report(step: Observation) -> bool:
    """Whether a text is what another agent or an earlier context reported, which may quote anything."""
    is_subagents = step.subagent and step.seen is ObservationKind.REPLY
    return bool(is_subagents) or step.seen in (ObservationKind.SUBAGENT, ObservationKind.COMPACTED)


def _split(text: str) -> list[str]:
    """Split a text into words in one spelling; in scripts without spaces, into pairs of characters."""
    words = split_words(text)
    if text.isascii():
        return [word.lower() for word in words]
    pairs = zip(words, [*words[1:], ""], strict=False)
    return [word + other if all(map(UNSPACED_WORD.match, (word, other))) else fold(word) for word, other in pairs]


def _find_stems(words: Iterable[str]) -> set[str]:
    """Return the beginnings of the words that say something."""
    return {word[:STEM] for word in words if len(word) > 1 and word not in STOP_WORDS}


def _list_runs(words: Sequence[str]) -> list[Run]:
    return list(zip(words, words[1:], words[2:], strict=False))


def _join(sentences: Iterable[list[str]]) -> list[str]:
    return [word for words in sentences for word in words]


def _widen(sentences: Sequence[list[str]], place: int) -> list[str]:
    """Return the words of a sentence, and of those after and before it while they are few."""
    begin, end = place, place + 1
    while len(_find_stems(_join(sentences[begin:end]))) < FEWEST_JUDGED and (begin > 0 or end < len(sentences)):
        begin, end = (begin, end + 1) if end < len(sentences) else (begin - 1, end)
    return _join(sentences[begin:end])


def _remove(sentences: Iterable[list[str]], words: list[str]) -> list[str]:
    """Return words without the first occurrence of each of these sentences."""
    for sentence in sentences:
        places = range(len(words) - len(sentence) + 1)
        start = next((at for at in places if words[at : at + len(sentence)] == sentence), None)
        if start is not None:
            words = [*words[:start], *words[start + len(sentence) :]]
    return words


def _find_links(text: str) -> list[str]:
    return [link.rstrip(".,;:").lower() for link in LINK.findall(text)]
