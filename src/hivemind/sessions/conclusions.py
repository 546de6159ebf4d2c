"""Find what a talk arrived at: the person's rulings, and what the agent restated or found out.

Structure decides before words do: an answer to a question is a ruling, what the person affirms is confirmed, and the
last message of a turn sums it up. docs/explanation/recall.md has the measurements.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, takewhile, zip_longest

from hivemind.model.digest import DigestLine, Evidence, Part
from hivemind.model.ids import EventId
from hivemind.model.session import Observation
from hivemind.sessions.talk import OBJECTION, TAKEN_BACK, Message
from hivemind.sessions.word_origins import ANSWER_TOOLS, WordOrigins
from hivemind.text.clean import cut_between_words
from hivemind.text.search_terms import extract_terms, measure_share

AFFIRMATION = re.compile(
    r"\A\W*(?:yes|yep|yeah|yup|exactly|precisely|right(?! now)|correct(?! the| this| it)|agreed|confirmed|indeed"
    r"|absolutely(?! not)"
    r"|that(?:'s| is) (?:it|right|correct|exactly|the (?:rule|policy|plan|decision|one|way|idea)|what i (?:want|mean)"
    r"|how)|genau|richtig|stimmt|ja|oui|exact|sí|si|exacto|sim|exato)\b",
    re.IGNORECASE,
)
"""How people begin when they confirm the point; "ok, thanks" and "great" speak of the work, and confirm nothing."""
RESTATEMENT = re.compile(
    r"\A\W*(?:final\b|recap|in (?:short|summary)|to (?:summari[sz]e|recap|sum up|be explicit)|settled|amend|agreed"
    r"|understood|got it|confirmed\b(?! that)|noted|decision|decided|rule\b|policy|so(?: the)? (?:rule|final)"
    r"|the (?:final )?rule|conclusion|tl;?dr|bottom line|locked in)",
    re.IGNORECASE,
)
"""How agents begin when they say again what was agreed."""
CAUSE = re.compile(
    r"\broot cause|\bturns? out\b|\bthe (?:\w+ )?(?:issue|problem|bug|cause|culprit|reason)s? (?:is|was|were)\b"
    r"|\bcaused by\b",
    re.IGNORECASE,
)
"""Words with which an agent says what was wrong."""
FINDING = re.compile(
    rf"{CAUSE.pattern}|\bthe (?:\w+ )?(?:failure|error)s? (?:is|was|were)\b|\bbecause\b(?!:)|\bthe fix (?:is|was)\b"
    r"|\bwhich is why\b|\bthat(?:'s| is) why\b|\b(?:deliberately|intentionally|by design|pre-existing)\b",
    re.IGNORECASE,
)
"""Words of a cause or a choice."""
PLAN = re.compile(
    r"\A\W*(?:(?:so|now|then|next|first|and|ok(?:ay)?|sure|great|perfect|good)[,.!: ]+)*(?:i(?:'ll| will|'m going to|"
    r" am going to|'d| would| can| could| need to| want to| should|'m (?:now )?\w+ing)|let me|let's|my plan|the plan"
    r"|we (?:could|can|should|need)|next steps?|shall|should i|want me|would you|do you|if you|to do|todo)\b",
    re.IGNORECASE,
)
"""What somebody is about to do, or offers: no conclusion, unless the person agrees."""
HEDGE = re.compile(
    r"\b(?:likely|probably|perhaps|maybe|might|may be|seems?|appears?|suspect|guess|should (?:now|pass|work|be|fix|see)"
    r"|will (?:now|be)|could be|possibly)\b|[:(]\s*\Z",
    re.IGNORECASE,
)
"""Guesses and forecasts, which say nothing about how it ended, and beginnings of lists."""
OFFER = re.compile(
    r"\b(?:would you like|(?:do you )?want (?:me|to)|shall (?:i|we)|should i (?:go|proceed|start|continue|implement"
    r"|commit|add"
    r"|create|fix|run|do|make|apply|update|write|push)|ready to|(?:may|can) i|let me know)\b",
    re.IGNORECASE,
)
"""Questions whether to go on, which decide nothing about the work."""
REPORT = re.compile(
    r"\A\s*(?:[✅☑✔🎉]|\[[ xX]\])|\A\W*(?:all (?:\w+ )?(?:tests?|checks?)|tests? (?:pass|are)|done\b"
    r"|build (?:succe|pass)|here(?:'s| is| are)|\w+ing (?:the|a|all|up|it|new)\b"
    r"|let me know|feel free|you(?:'re| are) (?:absolutely )?(?:right|welcome)|good (?:catch|point|question|idea)"
    r"|great|thanks|thank you|sorry|apologies|happy to|no response|looking at|checking|running|this (?:is|confirms"
    r"|gives"
    r"|ensures|makes)"
    # What was done, which the changes show: "Added …", "I've updated …", "✅ Fixed …".
    r"|(?:i(?:'ve| have)? (?:also |now |successfully )?|we(?:'ve| have)? |now |successfully )?(?!need|based|used"
    r"|supposed)"
    r"(?:\w{3,}ed|built|wrote|made|ran|set up|rebuilt)\b)",
    re.IGNORECASE,
)
"""Reports on the work, courtesies and announcements."""
RULING = re.compile(
    r"\b(?:don'?t|do not|never|always|must|shouldn'?t|should|only|instead|rather|prefer|unless|except|because"
    r"|rule|policy|convention|by default|no need|no longer|we (?:use|want|don'?t|do not|need|never|always|only|should)"
    r"|ha(?:s|ve) to|supposed to|wins?|stays?|allowed|forbidden|make sure|remember|keep|not (?:a|an|the|just|in|on)\b)",
    re.IGNORECASE,
)
"""Words of a ruling, rather than of a request that ends with the task."""
OPINION = re.compile(
    r"\A\W*(?:(?:ok|so|yeah|yes|no|and|but|then|well|hm+|nah|actually|alright)[,. ]+)*"
    r"(?:i(?:'d| would)? (?:think|like|prefer|favou?r|agree|vote|say|mean|want|don'?t (?:think|like|want|see))\b"
    r"|let'?s (?:just )?(?:have|use|keep|go with|not|stick|call|leave|drop|only|say|roll|switch)\b"
    r"|(?:so )?we (?:could|can|should|will|'ll|need|want|don'?t|have)\b|option \w\b|[a-d1-5][.)](?:\s|\Z)"
    r"|the (?:first|second|third|last|latter|former)\b"
    r"|both\b|maybe we\b)",
    re.IGNORECASE,
)
"""How people begin when they choose or think aloud with the agent."""
STANDING = re.compile(
    r"\b(?:should|must|shall|may|can|need to|have to) (?:never|always|only|not)\b|\b(?:must|from now on"
    r"|going forward)\b"
    r"|\A\W*(?:please )?(?:never|always|do not|don'?t|only)\b",
    re.IGNORECASE,
)
"""The form of a rule; a first message mostly reports what is wrong, and has no less of the words above."""
SYMPTOM = re.compile(
    r"\A\W*(?:(?:ok|okay|so|but|hm+|and|now|well|also|cool|great|yep|yes|yeah|alright|perfect|good|the|these|those"
    r"|this|then)"
    r"[,.! ]+)*(?:i (?:just|am|'?m|have|'ve|ran|tried|see|saw|get|got|think i|wonder|noticed|still|want (?:you )?to"
    r"|need (?:you )?to|'?d like (?:you )?to)|i'm|i've|i'd like to|it (?:still|says|seems|looks)|still|getting"
    r"|right now|when i"
    r"|if i|one more|question|any ideas?|what|why|how|where|can you|could you|let'?s|lets|please|try|add|create|run"
    r"|check"
    r"|write|look|fix|update|commit|push|show|read|find|go|implement|test|continue|start|switch|move|proceed"
    r"|summari[sz]e"
    r"|document|explain|review|remove|delete|rename|merge)\b",
    re.IGNORECASE,
)
"""What a person sees or wants done now."""
FOR_NOW = re.compile(
    r"\b(?:don'?t|do not|no) (?:\w+ ){0,2}(?:code|coding|implement|changes?|edits?|write|start)\b[^.]*\b(?:yet|now)\b"
    r"|\b(?:talk|walk) me through|\brubber duck|\bfor now\b|\bthink (?:hard|deep)",
    re.IGNORECASE,
)
"""How to go on with this task, which says nothing to another."""
POINTS_BACK = re.compile(
    r"\A\W*(?:(?:yeah|yes|ok|so|and|but|no)[, ]+)*(?:it|this|that|they|these|those|then)\b", re.IGNORECASE
)
"""How a sentence begins whose subject stands elsewhere."""
UNMARKED_QUESTION = re.compile(
    r"\A\W*(?:(?:i mean|ok|so|and|but|also|hm+|well|wait)[, ]+)*(?:what|why|how|who|where|which"
    r"|(?:should|could|can|would|will|is|are|do|does|did|have|has) (?:we|i|it|there|they|this|that|these|you|the))\b",
    re.IGNORECASE,
)
"""A question; many people type none of its marks."""
PASTED = re.compile(r"[⏺⎿│┃├└✓✔✗✘×➜❯●]|\b(?:low|medium|high|critical) severity\b|\A\W*\d+[:|]", re.IGNORECASE)
"""Marks of what a terminal or a reviewing tool wrote."""
CHOICES = re.compile(r"^\W*(?:option|approach|alternative) [A-D1-5]\b", re.IGNORECASE | re.MULTILINE)
"""Options that an agent lists for the person."""
CHOSEN = re.compile(r'"(?P<question>[^"\n]{3,400})"\s*=\s*"(?P<answer>[^"\n]{1,400})"')
"""How the tools by which an agent asks write down what the person answered."""

FEWEST_TERMS, FEWEST_OWN_TERMS = 3, 2
"""Of a sentence; one with fewer says nothing by itself, and one with fewer than the second only tells to go on."""
FEWEST_WORDS, FEWEST_ANSWER_WORDS = 6, 4
"""Of what a person ruled, by itself and with what it rules on."""
FEWEST_OWN_WORDS = 8
"""Of what an agent says by itself, in one line."""
ASKED_SENTENCES = 3
"""Sentences at the end of a reply among which a question to the person stands."""
RESTATED_SHARE = 0.35
"""The share of a summary's words that the person must have said, for it to count as confirmed without a yes."""
RECENT_PROMPTS = 12
"""Prompts whose words a restatement may repeat; what was said long before is about something else."""
LONG_PROMPT = 700
"""Characters; much of a longer prompt is pasted, so only its sentences with words of a ruling count."""
LONGEST_LINE, LONGEST_ABOUT = 700, 240
"""Characters of a conclusion, and of what it rules on."""
MOST_CONCLUSIONS, MOST_OWN = 30, 10
"""Of a session, the last ones; and of those, how many an agent said by itself."""
MOST_REPLIES, LONGEST_REPLY = 30, 1_500
"""The last ones of a session, and their characters."""
REPETITION = 0.85
"""The share of a line's words in a later line, from which on it says nothing more."""
OMISSION = " … "
EMPHASIS = re.compile(r"\*\*|__|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)")


def find_conclusions(steps: Sequence[Observation], talk: Sequence[Message], files: "FilesByTurn") -> list[DigestLine]:
    """Return the conclusions of a session in order, without those that a later one repeats."""
    choices = [*_read_choices(steps)]
    origins = WordOrigins(steps, [*talk, *choices])
    lines = sorted(
        (*_find_rulings(talk, origins), *_find_restatements(talk, origins), *_find_choices(choices, origins)),
        key=lambda entry: entry[0],
    )
    placed = _drop_repeated([replace(line, files=files.find(index)) for index, line in lines])
    own_lines = [line for line in placed if line.evidence is Evidence.AGENT][-MOST_OWN:]
    conclusions = [line for line in placed if line.evidence is not Evidence.AGENT or line in own_lines]
    conclusions = conclusions[-MOST_CONCLUSIONS:]
    by_event = {line.event: line for line in conclusions}
    replies = [
        reply
        for reply in _quote_replies(talk, origins)
        if reply.event not in by_event or not _repeats(by_event[reply.event], reply)
    ]
    return [*conclusions, *replies[-MOST_REPLIES:]]


class FilesByTurn:
    """The files that were changed in each turn of a session, by their paths from the directory of the session."""

    def __init__(self, steps: Sequence[Observation], turn_starts: Iterable[int], directory: str) -> None:
        self._starts = [*turn_starts]
        self._prefix = directory.rstrip("/") + "/"
        self._edits = [
            (index, self.shorten(step.file))
            for index, step in enumerate(steps)
            if step.diff and step.file and not step.failed
        ]

    def shorten(self, file: str) -> str:
        """Return the path of a file from the directory of the session."""
        return file.removeprefix(self._prefix)

    def find(self, index: int) -> tuple[str, ...]:
        """Return the files that were changed in the turn of a step, each once."""
        begin = max((start for start in self._starts if start <= index), default=0)
        end = min((start for start in self._starts if start > index), default=sys.maxsize)
        return self.find_between(begin, end)

    def find_between(self, begin: int, end: int) -> tuple[str, ...]:
        """Return the files that were changed between two steps, each once."""
        return tuple(dict.fromkeys(file for place, file in self._edits if begin <= place < end))


Placed = tuple[int, DigestLine]
"""A line, and the position of the step that it quotes."""


def _find_rulings(talk: Sequence[Message], origins: WordOrigins) -> Iterator[Placed]:
    """Yield what the person ruled: answers to questions, objections, and rules."""
    for place, message in enumerate(talk):
        reply = talk[place - 1] if place and not talk[place - 1].is_persons else None
        if not message.is_persons or _is_taken_back(talk, place):
            continue
        sentences = _select_rulings(message, reply)
        own_words = [s for s in sentences if not origins.is_foreign(s, message.index) and not origins.is_agents(s)]
        text = _join(own_words, message.sentences)
        subject = _find_subject(" ".join(own_words), reply) if reply else []
        # Whoever answers a question about a page has not said what stands on the page.
        is_foreign = reply is not None and any(origins.is_foreign(sentence, reply.index) for sentence in subject)
        about = "" if is_foreign else cut_between_words(_strip_emphasis(" ".join(subject)), LONGEST_ABOUT)
        if not about and POINTS_BACK.match(text):
            continue
        if _count_words(text) >= (FEWEST_ANSWER_WORDS if subject else FEWEST_WORDS):
            yield message.index, _make_line(message.step, text, Evidence.SAID, about)


def _select_rulings(message: Message, reply: Message | None) -> list[str]:
    """Select what a message decides: all of an answer, of an objection or of a confirmation; of others, the rules."""
    sentences = [
        s for s in message.sentences if not _is_question(s) and not is_aside(s) and not _leads_to_question(s, message)
    ]
    rules = [s for s in sentences if RULING.search(s) and not SYMPTOM.match(s)]
    if reply is None or len(message.step.text) > LONG_PROMPT:
        return [s for s in rules if STANDING.search(s)]
    opinions = [s for s in sentences if OPINION.match(s)]
    reacts = AFFIRMATION.match(message.text) or OBJECTION.match(message.text) or opinions
    if not _asks(reply) and not reacts:
        return [s for s in sentences if not SYMPTOM.match(s)] if rules else []
    # An answer to an offer to go on decides only what it adds.
    if _offers(reply) and not opinions:
        return rules
    decisive = [s for s in sentences if s in opinions or not SYMPTOM.match(s)]
    if _asks(reply):
        return decisive
    # Behind a yes or a no, what names nothing of the reply and is no rule says what to do now.
    return [s for s in decisive if s in opinions or s in rules or measure_share(extract_terms(s), reply.text)]


def _leads_to_question(sentence: str, message: Message) -> bool:
    """Whether a sentence only prepares the question after it."""
    place = message.sentences.index(sentence)
    is_before = any(map(_is_question, message.sentences[place + 1 : place + 2]))
    return is_before and not STANDING.search(sentence)


def is_aside(sentence: str) -> bool:
    """Whether a sentence only tells the agent to go on, or how, or that it is right, which confirms what it said."""
    only_affirms = AFFIRMATION.match(sentence) and _count_words(sentence) < FEWEST_WORDS
    says_little = len(extract_terms(sentence)) < FEWEST_OWN_TERMS
    patterns = (FOR_NOW.search, UNMARKED_QUESTION.match, PASTED.search)
    return bool(only_affirms) or says_little or any(matches(sentence) for matches in patterns)


def _asks(reply: Message) -> bool:
    """Whether a reply ends with a question to the person, or gives them a choice."""
    return any(map(_is_question, reply.sentences[-ASKED_SENTENCES:])) or bool(CHOICES.search(reply.step.text))


def _offers(reply: Message) -> bool:
    """Whether all that a reply asks at its end is whether to go on."""
    questions = [*filter(_is_question, reply.sentences[-ASKED_SENTENCES:])]
    return bool(questions) and all(map(OFFER.search, questions))


def _find_subject(text: str, reply: Message) -> list[str]:
    """Return the sentences of a reply that a ruling is about: the question it answers, or what it shares words with."""
    questions = [*filter(_is_question, reply.sentences)]
    if questions and _asks(reply) and not _offers(reply):
        place = reply.sentences.index(questions[-1])
        # A short question stands on the sentence before it.
        first = place - 1 if place and len(extract_terms(questions[-1])) < 2 * FEWEST_TERMS else place
        return list(reply.sentences[first : place + 1])
    terms = extract_terms(text)
    closest = max(reply.sentences, key=lambda sentence: measure_share(terms, sentence), default="")
    return [closest] if measure_share(terms, closest) > 0 else []


def _find_restatements(talk: Sequence[Message], origins: WordOrigins) -> Iterator[Placed]:
    """Yield what the agent said at the end of a turn: confirmed by the person, repeating the person, or its own."""
    prompts: list[str] = []
    for place, message in enumerate(talk):
        if message.is_persons:
            # Whoever takes up the words of a question has not been told the answer.
            prompts.append(" ".join(s for s in message.sentences if not _is_question(s)))
            continue
        following = talk[place + 1] if place + 1 < len(talk) else None
        if following and following.is_persons and OBJECTION.match(following.text):
            continue
        own_words = [s for s in message.sentences if not origins.is_foreign(s, message.index)]
        if following and not following.is_persons:
            # On the way to the end of a turn an agent says much; what it found out counts, until it says better.
            is_last_word = not any(CAUSE.search(later.text) for later in _list_rest_of_turn(talk, place))
            line = _quote_findings(message, [s for s in own_words if CAUSE.search(s)]) if is_last_word else None
            if line:
                yield message.index, line
            continue
        is_confirmed = following is not None and bool(AFFIRMATION.match(following.text)) and not _offers(message)
        # Who asks back has not agreed yet, whatever words the agent took from them.
        is_questioned = following is not None and bool(UNMARKED_QUESTION.match(following.text))
        said_before = "" if is_questioned else " ".join(prompts[-RECENT_PROMPTS:])
        line = _read_restatement(message, own_words, said_before, is_confirmed=is_confirmed)
        if line:
            yield message.index, line


def _quote_replies(talk: Sequence[Message], origins: WordOrigins) -> Iterator[DigestLine]:
    """Yield the own words of each reply that ended a turn, unless it left a choice or the person objected to it."""
    for message, following in zip_longest(talk, talk[1:]):
        if message.is_persons or (following and (not following.is_persons or OBJECTION.match(following.text))):
            continue
        if _asks(message) and not _offers(message):
            continue
        own_words = [
            s
            for s in message.sentences
            if not _is_question(s) and not PLAN.match(s) and not origins.is_foreign(s, message.index)
        ]
        if _says_enough(own_words):
            line = _make_line(message.step, _join(own_words, message.sentences), Evidence.AGENT, longest=LONGEST_REPLY)
            yield replace(line, part=Part.REPLY)


def _list_rest_of_turn(talk: Sequence[Message], place: int) -> list[Message]:
    """List what the agent said after a message in the same turn."""
    return list(takewhile(lambda message: not message.is_persons, talk[place + 1 :]))


def _read_restatement(
    message: Message, sentences: Sequence[str], persons_words: str, *, is_confirmed: bool
) -> DigestLine | None:
    """Make a line of what a message restates, else of what it found out; None if it does neither."""
    opening = next((place for place, sentence in enumerate(sentences) if RESTATEMENT.match(sentence)), None)
    if opening is not None:
        # What follows "Final rule:" belongs to it.
        summary = [s for s in sentences[opening:] if not _is_question(s) and not PLAN.match(s)]
        if _says_enough(summary) and (
            is_confirmed or measure_share(extract_terms(" ".join(summary)), persons_words) >= RESTATED_SHARE
        ):
            text = _join(summary, message.sentences)
            return replace(_make_line(message.step, text, Evidence.CONFIRMED), is_summary=True)
    statements = [s for s in sentences if not REPORT.match(s) and not s.rstrip("*_ ").endswith(":")]
    if not is_confirmed:
        statements = [s for s in statements if not _is_question(s) and not PLAN.match(s)]
    # A yes to a question confirms what was asked, not all that was said before it.
    answer_range = (
        [s for s in message.sentences[-ASKED_SENTENCES:] if s in statements] if _asks(message) else statements
    )
    whole = _find_longest_run(answer_range, message.sentences)
    if is_confirmed and _says_enough(whole):
        return _make_line(message.step, " ".join(whole), Evidence.CONFIRMED)
    return _quote_findings(message, statements)


def _quote_findings(message: Message, sentences: Sequence[str]) -> DigestLine | None:
    """Make a line of the first finding of a message and the one right after it; None if there is none."""
    findings = [sentence for sentence in sentences if _is_finding(sentence)]
    if not findings:
        return None
    place = message.sentences.index(findings[0])
    text = " ".join(sentence for sentence in message.sentences[place : place + 2] if sentence in findings)
    return _make_line(message.step, text, Evidence.AGENT)


def _find_longest_run(selection: Sequence[str], sentences: Sequence[str]) -> list[str]:
    """Return the longest run of selected sentences that stand together: pieces from different places mislead."""
    runs: list[list[str]] = [[]]
    selected_set = set(selection)
    for sentence in dict.fromkeys(sentences):
        if sentence in selected_set:
            runs[-1].append(sentence)
        elif runs[-1]:
            runs.append([])
    return max(runs, key=lambda run: sum(map(len, run)))


def _is_finding(sentence: str) -> bool:
    """Whether an agent's own sentence gives a cause or a choice, as a whole sentence."""
    is_statement = not _is_question(sentence) and not PLAN.match(sentence) and not HEDGE.search(sentence)
    is_whole = sentence.rstrip("*_`) ").endswith((".", "!")) or bool(CAUSE.search(sentence))
    return bool(FINDING.search(sentence)) and is_statement and is_whole and _count_words(sentence) >= FEWEST_OWN_WORDS


def _says_enough(sentences: Sequence[str]) -> bool:
    return len(extract_terms(" ".join(sentences))) >= FEWEST_TERMS if sentences else False


def _count_words(text: str) -> int:
    """Count the words that say something: not what only points to a file."""
    return sum(word[0] != "@" and any(map(str.isalpha, word)) for word in text.split())


def _is_question(sentence: str) -> bool:
    return sentence.rstrip("*_)\"' ").endswith("?")


def _is_taken_back(talk: Sequence[Message], place: int) -> bool:
    later = [message for message in talk[place + 1 :] if message.is_persons][:2]
    return any(TAKEN_BACK.match(message.text) for message in later)


def _read_choices(steps: Sequence[Observation]) -> Iterator[Message]:
    """Yield a message for each time that a tool of the agent asked: each question, and what the person answered."""
    for index, step in enumerate(steps):
        if step.tool in ANSWER_TOOLS and not step.subagent:
            texts = [choice[part] for choice in CHOSEN.finditer(step.output) for part in ("question", "answer")]
            yield Message(index, step, is_persons=True, sentences=tuple(texts))


def _find_choices(choices: Iterable[Message], origins: WordOrigins) -> Iterator[Placed]:
    """Yield what the person chose when a tool of the agent asked."""
    for message in choices:
        for question, answer in zip(message.sentences[::2], message.sentences[1::2], strict=True):
            if not any(origins.is_foreign(text, message.index) for text in (question, answer)):
                yield message.index, _make_line(message.step, answer, Evidence.CONFIRMED, question)


def _make_line(
    step: Observation, text: str, evidence: Evidence, about: str = "", longest: int = LONGEST_LINE
) -> DigestLine:
    return DigestLine(
        part=Part.CONCLUSION, evidence=evidence, event=EventId(step.source_id), at=step.at,
        text=cut_between_words(_strip_emphasis(text), longest), about=about,
    )  # fmt: skip


def _join(selection: Sequence[str], sentences: Sequence[str]) -> str:
    """Join sentences of a message, each once; a mark stands where others were left out between them."""
    places = sorted({sentences.index(sentence) for sentence in selection})
    gaps = [" " if after == before + 1 else OMISSION for before, after in pairwise(places)]
    return "".join(sentences[place] + gap for place, gap in zip(places, [*gaps, ""], strict=True)) if places else ""


def _strip_emphasis(text: str) -> str:
    return EMPHASIS.sub("", text)


def _drop_repeated(lines: Sequence[DigestLine]) -> list[DigestLine]:
    """Leave out a line that a later one repeats."""
    return [line for place, line in enumerate(lines) if not any(_repeats(later, line) for later in lines[place + 1 :])]


def _repeats(later: DigestLine, line: DigestLine) -> bool:
    return measure_share(extract_terms(line.text), later.text) >= REPETITION
