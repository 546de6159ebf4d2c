"""The form of a sentence in a prompt: what its words and its place say about whether it holds beyond the task.

Each pattern is one number of the lasting-statement model; `lab/training/lasting` measures what each is worth.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hivemind.model.memory import Kind

OPENING = (
    r"\A(?:\W*(?:please|pls|and|but|also|so|no|nope|ok|okay|yes|yeah|hey|oh|hmm|well|again|btw|then|just|actually"
    r"|right|sure|ah|i think|imo|now|note(?: that)?|in fact)[,:;.]*\s+)*"
)
"""Words that people put before what they mean."""

FORMS = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        # Rules and their force.
        "prohibition": OPENING + r"(?:do not|don'?t|never|avoid|stop|no)\b",
        "general": r"\b(?:always|never|ever|every|everywhere|all|any|each|whenever|by default|strictly|no matter)\b",
        "from_now_on": r"\b(?:always|never|from now on|going forward|moving forward|next time|in (?:the )?future"
        r"|every time|whenever|as a rule|in general|general rule)\b",
        "rule_opening": OPENING + r"(?:always|never(?! ?mind)|from now on|going forward|moving forward|next time"
        r"|in (?:the )?future|every time|whenever|as a (?:general )?rule|in general|general rule|remember|keep in mind"
        r"|fyi|important|reminder|be aware)\b",
        "standing_duty": r"\b(?:should|must|shall|you|we|to|can|will|do|please|not) (?:always|never)\b"
        r"|\b(?:from now on|going forward|moving forward|in (?:the )?future|next time|as a rule)\b",
        "obligation": r"\b(?:should|shouldn'?t|must|mustn'?t|needs? to|ha(?:ve|s) to|supposed to|ought)\b",
        "prohibited": r"\b(?:we|you|it) (?:can'?t|cannot|must never|must not|mustn'?t|shouldn'?t|should not"
        r"|should never|should only|should always|don'?t want|never)\b",
        "care": r"\b(?:make sure|ensure|be sure|don'?t forget)\b",
        "condition": OPENING + r"(?:when|if|whenever|before|after|once|for|in|on|during|unless|until)\b[^?]{3,90},?\s*"
        r"(?:always|never|only|should|must|use|run|do not|don'?t|make sure|ensure|please|ask|check)\b",
        "reminder": OPENING + r"(?:remember|keep in mind|fyi|important|reminder|just so you know|be aware"
        r"|as a (?:general )?rule)\b",
        "rule_noun": r"\b(?:remember|keep in mind|note that|important|rules?|conventions?|guidelines?|standards?|policy"
        r"|principles?|best practices?)\b",
        # Choices.
        "use": r"\b(?:use|using|uses)\b",
        "choice": OPENING + r"(?:let'?s |lets |we (?:should|will|can|need to) |you (?:should|must|can|need to) |always "
        r"|only |i want to )*(?:use|stick|keep|follow|adopt|prefer|go with|switch)\b",
        "choice_against": r"\b(?:use|using|run|call|put|keep|write|create|do)\b[^.?]{1,60}"
        r"\b(?:not|instead|rather|only)\b",
        "instead": r"\b(?:instead|rather|over|and not)\b|,\s*not\b",
        "decided": r"\b(?:we(?:'| wi)ll (?:use|go|focus|keep|need)|decided|let'?s (?:use|go|keep|not|stick|only|just"
        r"|focus|switch|leave)|i want to use|i(?:'d| would) (?:rather|prefer)|is better"
        r"|makes? (?:more )?sense|prefer)\b",
        "dropped": r"\b(?:no longer|deprecated?|any ?more|obsolete|phased out|on purpose|intentional(?:ly)?"
        r"|by design)\b",
        "compatibility": r"\b(?:deprecat\w+|backwards?|breaking|no users|greenfield|legacy|compatib\w+)\b",
        "goal": r"\b(?:goal|idea|plan|purpose|intent(?:ion)?|direction|strategy|focus|vision|aim|priority"
        r"|constraint)\b",
        # Wishes.
        "wish": r"\bi(?:'d| would)? (?:want|like|prefer|need|don'?t want|don'?t like|hate)\b",
        "dislike": r"\bi (?:don'?t|do not|didn'?t) (?:want|like|need|think we)|\bnot a fan\b|\bi (?:hate|wish)\b",
        "permission": r"\b(?:ask me|without asking|my permission|approval|confirm with me|i will|i'll do)\b",
        # Facts.
        "fact": r"\A\W*(?:the|our|my|all|each|every|this|there)\b[^.?!]{0,60}"
        r"\b(?:is|are|has|have|was|were|lives?|runs?|uses?|needs?|requires?|supports?|contains?)\b",
        "place": r"\b(?:is|are) (?:at|in|on|under|located|stored|generated|installed|hosted|deployed|called|named"
        r"|available)\b|\b(?:lives? (?:in|at|under)|located|points? to|runs? on|cloned)\b",
        "people": r"\b(?:users?|customers?|people|someone|clients?|developers?|contributors?)\b",
        # Persons and negation.
        "first_person": r"\b(?:i|my|me|i'm|i've|i'd|i'll)\b",
        "we": r"\b(?:we|our|us|we're|we've|we'll)\b",
        "you": r"\b(?:you|your|you're|u)\b",
        "negation": r"\b(?:not|no|never|none|without|nothing|cannot|\w+n'?t)\b",
        # Passing things: questions, requests, reports, other voices.
        "question": r"\?\s*\Z",
        "question_word": OPENING
        + r"(?:can|could|would|should|is|are|do|does|did|why|what|how|where|when|which|who|will"
        r"|shall|have|has|isn'?t|aren'?t|wouldn'?t|shouldn'?t|q|question)\b",
        "asks_somebody": r"\b(?:can|could|would|will) (?:you|we|u)\b|\bplease\b|\bhelp me\b|\bi (?:need|want) you to\b",
        "now": r"\b(?:now|currently|today|at the moment|this time|again|still|yet|already|first|then|next|later)\b",
        "for_now": r"\b(?:for now|for the moment|right now|at this point|in this case|for this one)\b",
        "scenario": r"\b(?:scenario|for example|e\.g\.|i\.e\.|in theory|what if|question|wonder|thinking|understand)\b",
        "task_number": r"\b(?:task|issue|pr|ticket|phase|step|slice|block|epic|story|bead|option|bug)s? ?#?\d+"
        r"|\bthis (?:pr|branch|task|issue|commit|session)\b|\boption [a-d]\b",
        "screen": r"\b(?:button|modal|header|footer|colou?r|font|padding|icon|sidebar|page|view|screen|section|row"
        r"|column|tab|card|image|layout|chart|menu|widget)s?\b",
        "pasted": r"[│┃├└⎿✓✅❌]|\A\W*\d+[:|]|\A\s*(?:at|File|Error|DEBUG|INFO|WARNING|PASS|FAIL)\b|\bline \d+"
        r"|[{}\[\]]\s*,?\Z|\A\"|\":|;\Z",
        "agent_voice": r"\b(?:would you like me|let me|i'll|i can see|i need to|i notice|looking at|here's|here is"
        r"|this means|this explains|this is happening|should i)\b",
        "reviewer_voice": r"\b(?:consider|lines? \d+|the function|the comment|is never|silently|unused|duplicat\w*"
        r"|the test)\b",
        "leads_in": r":\s*\Z",
    }.items()
}
STARTS_WITH_PRONOUN = re.compile(
    r"\A\W*(?:it|this|that|they|these|those|them|which|because|so|and|but)\b", re.IGNORECASE
)
HEDGE = re.compile(r"\b(?:maybe|perhaps|probably|i think|i guess|not sure|might|wonder|seems?|i feel)\b", re.IGNORECASE)
SYMBOL = re.compile(r"[^\w\s,.'!?-]|_")
REQUEST = re.compile(
    OPENING + r"(?:(?:can|could) (?:you|we) |go ahead and |i want you to |let'?s |help me )*"
    r"(?:add|fix|create|make|update|remove|delete|change|move|run|check|look|read|write|implement|commit|push|show|give"
    r"|review|test|explain|find|rename|open|start|continue|investigate|analy[sz]e|refactor|merge|generate|build|deploy"
    r"|install|convert|replace|verify|try|put|set|tell|draft|spawn|extract|list|split|clean|close|revert|rebase)\b",
    re.IGNORECASE,
)
REPORT = re.compile(
    r"\bi (?:see|get|got|noticed|found|tried|ran|just|still)\b|\bgetting\b|\bis not (?:working|showing|rendering)\b"
    r"|\bit (?:says|shows|does|seems)\b|\bthere (?:is|are) (?:an?|some|still)\b",
    re.IGNORECASE,
)
FORM_NAMES = (
    *FORMS, "question_obligation", "question_we", "pronoun_negation", "hedged_obligation", "general_request",
    "previous_rule", "previous_request", "previous_report", "following_rule", "following_obligation", "reply_asks",
    "is_first", "starts_upper", "word_length", "symbols", "is_short_prompt",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenSentence:
    """A sentence that a person typed, and what stands around it."""

    text: str
    previous: str = ""
    """The sentence before it in the same prompt."""
    following: str = ""
    reply: str = ""
    """The last sentence of what the agent said before the prompt."""
    position: int = 0
    prompt_length: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceVerdict:
    """How certain it is that a statement holds beyond the task, and its kind if it does."""

    certainty: float
    """Between 0 and 1. It orders statements; even of the most certain ones not all are worth keeping."""
    kind: Kind


Judge = Callable[[Sequence[SpokenSentence]], Sequence[SentenceVerdict]]
"""Returns a verdict for each statement."""


def is_explicit(statement: SpokenSentence) -> bool:
    """Whether a statement opens by saying that it holds for more than this time, as rules do ("always …")."""
    # Elsewhere such words often report what happens: "it always fails".
    return bool(FORMS["rule_opening"].match(statement.text))


def measure_form(statement: SpokenSentence) -> list[float]:
    """Return a number for each name in ``FORM_NAMES``."""
    text, before, after = statement.text, statement.previous, statement.following
    matches = {name: 1.0 if pattern.search(text) else 0.0 for name, pattern in FORMS.items()}
    words = text.split()
    return [
        *matches.values(),
        matches["question"] * matches["obligation"],
        matches["question"] * matches["we"],
        matches["negation"] * _matches(STARTS_WITH_PRONOUN, text),
        matches["obligation"] * _matches(HEDGE, text),
        matches["general"] * _matches(REQUEST, text),
        max(_matches(FORMS["prohibition"], before), _matches(FORMS["from_now_on"], before)),
        _matches(REQUEST, before),
        _matches(REPORT, before),
        max(_matches(FORMS["prohibition"], after), _matches(FORMS["from_now_on"], after)),
        _matches(FORMS["obligation"], after),
        float(statement.reply.endswith("?")),
        float(statement.position == 0),
        float(text[:1].isupper()),
        sum(map(len, words)) / max(len(words), 1) / 5 - 1,
        5 * len(SYMBOL.findall(text)) / len(text),
        float(statement.prompt_length < 150),
    ]


def _matches(pattern: re.Pattern[str], text: str) -> float:
    return 1.0 if pattern.search(text) else 0.0
