"""Tells the kind of a memory from its words, or from another program's word for it."""

import re

from hivemind.memory.grammar import word_set
from hivemind.memory.statements import LONGEST_TEXT, MOST_SENTENCES, SENTENCE_END
from hivemind.model.memory import Kind

KINDS = {kind.value: kind for kind in Kind} | {"architecture": Kind.DECISION}
"""Kinds by a part of another program's word for them: ``error_fix`` is a fix."""
FILLERS = word_set(
    "please pls and but also so no, nope ok okay yes hey oh well again btw then just actually right sure note that fyi"
    " personally remember important reminder now"
)
"""Words that people put before what they mean."""

# Strings, compiled when first used: most commands tell no kind. The first that fits decides.
KIND_PATTERNS: dict[Kind, str] = {
    Kind.PREFERENCE: r"\b(?:i|i'd|id) (?:\S+ ){0,2}"
    r"(?:prefer|hate|dislike|like|love|want(?! to use)|rather|enjoy|stand)\b"
    r"|\bmy preference\b|\bnot a fan\b|\bask me\b",
    Kind.DECISION: r"\b(?:decided|agreed (?:to|on|that)|settled on|opted|in favou?r of|adr[ -]?\d+)\b"
    r"|\bi (?:chose|picked|want to use)\b|\bwe(?:'ll| will) (?:use|need|focus|stay)\b"
    r"|\b(?:we|team)(?:'re| are|'ve| have|'ll| will)? (?:all )?(?:not )?(?:going (?:to|with)|go|went with"
    r"|chose|chosen|picked|switch(?:ed)?|moved|migrated?|drop(?:ped)?|removed|replaced|adopt(?:ed)?|keep|stick)\b"
    r"|\A(?:going with|went with|picked|chose|switched|moved|migrated|dropped|replaced|let'?s)\b",
    Kind.PROCEDURE: r"\A(?:run|call|execute) (?:\S+ )+?(?:to|for|if|when|after|and|then)\b"
    r"|\A(?:run|execute) (?:`[^`]+`|\S*[/.]\S+|\S+ \S+)\Z"
    r"|\A(?:in order )?to [^.:]{3,60}?(?:,|:| then)? ?(?:run|call|use|do|execute|type|start)\b"
    r"|\A(?:in order )?to [^.:,]{3,60}:|\Ahow to\b|\bsteps?:|\A(?:use|with) `[^`]+` to\b"
    r"|\A(?:first|step 1)\b.*\bthen\b|\A(?:when|if|once|for an?|after)\b[^.]{3,60}?\b(?:run|call|execute)\b"
    r"|\A(?:you can )?(?:re)?(?:run|start|stop|build|install|deploy|reset|generate|test|serve|launch|load|seed)\b"
    r"[^,.]{2,60} (?:with|via|using|by) \S",
    Kind.REQUIREMENT: r"\b(?:requirements?(?![./]\w)|req-\d+|shall|acceptance criteria)\b"
    r"|\bmust (?:support|handle|work|respond|answer|be able|comply|finish)\b",
    Kind.CONVENTION: r"\A(?:never(?! ?mind)|always|do not|don'?t|avoid|stop|only|keep|prefer|use|every|no|make sure"
    r"|ensure|from now on|going forward|in (?:the )?future|as a rule)\b"
    r"|\b(?:must|should|shouldn'?t|mustn'?t|ought|have to)\b|\b(?:we|you|please) (?:always|never|only|don'?t|do not)\b"
    r"|\b(?:from now on|going forward|by convention)\b|\balways\W*\Z|\b(?:are|is) (?:forbidden|not allowed|banned)\b"
    r"|\b(?:all|every|each) \S+(?: \S+)? needs?\b|\A(?:when|if|before|after|whenever) (?:you|an?|each)\b[^,]+, \S",
}


def tell_kind(text: str) -> Kind:
    """Return the kind that the words of a short note tell; a fact if none of its sentences tells another."""
    if len(text) > LONGEST_TEXT:
        return Kind.FACT
    sentences = re.split(SENTENCE_END, text.replace("’", "'"))[:MOST_SENTENCES]
    kinds = (_tell_kind_of_sentence(_drop_fillers(sentence)) for sentence in sentences)
    return next((kind for kind in kinds if kind is not Kind.FACT), Kind.FACT)


def _tell_kind_of_sentence(sentence: str) -> Kind:
    # A question tells nothing by itself.
    if sentence.endswith("?"):
        return Kind.FACT
    return next((kind for kind, pattern in KIND_PATTERNS.items() if re.search(pattern, sentence)), Kind.FACT)


def _drop_fillers(sentence: str) -> str:
    words = sentence.lower().split()
    while words and words[0].strip(",:;.-") in FILLERS:
        words.pop(0)
    return " ".join(words)


def guess_kind(memory_type: str) -> Kind | None:
    """Return the kind that fits another program's word best, if one does."""
    parts = re.split(r"[\W_]+", memory_type.lower())
    return next((KINDS[part] for part in reversed(parts) if part in KINDS), None)
