"""Turn what people say about themselves into questions that somebody asks about it later.

A question need not be answerable: training only asks in which order the teachers put passages for it.
"""

import random
import re

STATEMENT = re.compile(
    r"\b(?:I|[Ww]e)(?:'ve| have|'m| just| also| finally| recently| really| actually| even)*"
    r" (?P<verb>[a-z]{2,}) (?P<rest>[a-z0-9][^.!?;:\n]{3,120})"
)
PAST = {
    "ate": "eat",
    "became": "become",
    "began": "begin",
    "bought": "buy",
    "broke": "break",
    "brought": "bring",
    "built": "build",
    "came": "come",
    "caught": "catch",
    "chose": "choose",
    "did": "do",
    "drank": "drink",
    "drove": "drive",
    "fell": "fall",
    "felt": "feel",
    "flew": "fly",
    "forgot": "forget",
    "found": "find",
    "gave": "give",
    "gone": "go",
    "got": "get",
    "grew": "grow",
    "had": "have",
    "heard": "hear",
    "kept": "keep",
    "knew": "know",
    "learnt": "learn",
    "left": "leave",
    "lost": "lose",
    "made": "make",
    "met": "meet",
    "paid": "pay",
    "ran": "run",
    "read": "read",
    "rode": "ride",
    "said": "say",
    "sang": "sing",
    "saw": "see",
    "seen": "see",
    "sent": "send",
    "slept": "sleep",
    "sold": "sell",
    "spent": "spend",
    "swam": "swim",
    "taught": "teach",
    "thought": "think",
    "told": "tell",
    "took": "take",
    "tried": "try",
    "went": "go",
    "won": "win",
    "wore": "wear",
    "wrote": "write",
}
BEING = frozenset({"am", "was", "were", "are", "been", "be"})
MODAL = frozenset({"can", "could", "will", "would", "should", "might", "must", "don", "didn", "do", "not", "never"})
PRONOUNS = {"my": "their", "me": "them", "our": "their", "us": "them", "myself": "themselves", "mine": "theirs"}
PAST_FORMS = (
    "When did {name} {verb} {rest}?",
    "Where did {name} {verb} {rest}?",
    "Why did {name} {verb} {rest}?",
    "What did {name} {verb}?",
    "Who did {name} {verb} {rest} with?",
    "How did {name} {verb} {rest}?",
    "How many times did {name} {verb} {rest}?",
    "What happened after {name} {was} {rest}?",
)
PRESENT_FORMS = (
    "What does {name} {verb}?",
    "What kind of {last} does {name} {verb}?",
    "Does {name} {verb} {rest}?",
    "How often does {name} {verb} {rest}?",
    "Why does {name} {verb} {rest}?",
    "Who does {name} {verb} {rest} with?",
    "How long has it been since {name} {verb} {rest}?",
)
BEING_FORMS = (
    "When was {name} {rest}?",
    "Why was {name} {rest}?",
    "Is {name} {rest}?",
    "Where is {name} {rest}?",
    "What is {name} {rest}?",
    "How does {name} feel about being {rest}?",
)


def ask_about(text: str, rng: random.Random) -> str:
    """Return a question about one thing that the speaker of ``Name: words`` says, empty if nothing fits."""
    speaker, _, words = text.partition(": ")
    name = speaker if re.fullmatch(r"[A-Z][a-z]+", speaker) else "I"
    statements = [match for match in STATEMENT.finditer(words or text) if match["verb"] not in MODAL]
    if not statements:
        return ""
    statement = rng.choice(statements)
    verb, rest = statement["verb"], statement["rest"].split()
    rest = [PRONOUNS.get(word, word).strip(",") for word in rest[: rng.randint(2, 6)]] if name != "I" else rest[:6]
    past = PAST.get(verb) or (_find_stem(verb) if verb.endswith("ed") else "")
    forms = BEING_FORMS if verb in BEING or verb.endswith("ing") else PAST_FORMS if past else PRESENT_FORMS
    question = rng.choice(forms).format(
        name=name, verb=past or verb, rest=" ".join(rest), last=rest[-1], was="had " + (past or verb)
    )
    # A diary asks about oneself: "did I", not "does I".
    question = question.replace("does I ", "do I ").replace(" is I ", " am I ") if name == "I" else question
    return re.sub(r"[^\w?]+\?$", "?", question)


def _find_stem(verb: str) -> str:
    """Return a regular verb without its ending: planned, moved, started."""
    stem = verb[:-2]
    if len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "ls":
        return stem[:-1]
    return stem + "e" if re.search(r"[aeiou][vszcg]$|[^aeiou][aiou][rtmdkp]$|[vcs]$|u$", stem) else stem
