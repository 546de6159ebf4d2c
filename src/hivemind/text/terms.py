"""The terms of texts and questions in the search index, beside the words that the index finds itself."""

from hivemind.text.scripts import split_grams, split_pairs
from hivemind.text.thesaurus import find_concepts
from hivemind.text.tokenise import extract_terms, split_identifiers

CONCEPT_MARK = "ǁ"
"""Begins every concept, so that a concept is not taken for a word."""


def expand_text(text: str) -> str:
    """Return what is indexed beside a text: parts of identifiers and of words that are not English, and concepts."""
    return " ".join(
        filter(None, (split_identifiers(text), *split_pairs(text), *split_grams(text), *_list_concepts(text)))
    )


def expand_question(question: str) -> list[str]:
    """Return the terms that a question is searched by."""
    return [*extract_terms(question), *split_grams(question), *_list_concepts(question)]


def _list_concepts(text: str) -> list[str]:
    return [CONCEPT_MARK + concept.replace(" ", "") for concept in find_concepts(text)]
