"""Compares a text with the memories there are: which say the same, contradict it, or are about the same thing."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

from hivemind.memory.contradiction import find_statement_conflict
from hivemind.memory.statements import parse_statements, search_terms
from hivemind.model.events import MemoryRemembered
from hivemind.model.ids import MemoryId
from hivemind.model.memory import CURRENT_STATUSES, Kind, Memory, Period, Status
from hivemind.store.database import Database
from hivemind.store.projections import memories
from hivemind.text.excluded_text import normalise
from hivemind.text.search_terms import extract_terms

MOST_COMPARED = 20
"""Memories with the same topic that are compared, newest first; each comparison takes 50 microseconds."""
WORD = re.compile(r"[^\W_]+")
SEARCHED_CHARACTERS = 200
"""Characters of a text whose words are searched for: long texts are indexed in passages, and this fits into one."""
MOST_SEARCHED_WORDS = 6
"""Fifteen pairs; a pair that both texts have is found although half of the words differ."""

NEGATION = re.compile(r"\b(?:not|no|never|without|stop|avoid|cannot|\w+n['’]?t)\b", re.IGNORECASE)
NUMBER = re.compile(r"\d+(?:\.\d+)*")
COMPOUND_NAME = re.compile(r"\w+(?:[./_-]+\w+)+")
"""Files, paths and other names of several parts; their parts may all be words of the other statement too."""
FEWEST_WORDS = 3
"""Statements with fewer words share them by chance."""
SAME_TOPIC, SAME_STATEMENT = 0.6, 0.75
"""Shares of words: of the shorter statement, and of both together."""

# The values themselves are not recorded: the history of one memory would keep them when the other is erased.
OTHERWISE = "says otherwise"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictingMemory:
    """A memory that contradicts a new claim."""

    memory: Memory
    reason: str
    is_certain: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The result of a comparison: the memory that says the same, or the memories that contradict the claim."""

    same: Memory | None = None
    conflicts: tuple[ConflictingMemory, ...] = ()


def compare_claim(db: Database, fact: MemoryRemembered, scope: str, repo: str, now: str) -> Comparison:
    """Compare a claim with the active memories of its scope and repository."""
    if fact.trace:
        # A trace records what was done once; it does not contradict another trace.
        return Comparison()
    for memory in _find_duplicates(db, fact.text, repo):
        if memory.id not in fact.supersedes and memory.scope == scope and memory.subject == fact.subject:
            return Comparison(same=memory)
    period = Period(fact.valid_from or now, fact.valid_to, fact.expires_at)
    certain_conflicts = (each for each in _find_conflicts(db, fact.text, repo, fact.subject) if each.is_certain)
    others = (each for each in certain_conflicts if each.memory.id not in fact.supersedes)
    return Comparison(conflicts=tuple(each for each in others if each.memory.period.overlaps(period)))


def find_possible_conflicts(db: Database, memory: Memory) -> list[Memory]:
    """Find memories that may contradict this one, including cases too uncertain for a dispute."""
    related_ids = {memory.id, *memory.contradicts, *memory.supersedes}
    return [
        conflict.memory
        # Without its subject: other values of a subject are certain conflicts and disputed already.
        for conflict in _find_conflicts(db, memory.text, memory.repo, subject="")
        if conflict.memory.id not in related_ids and conflict.memory.period.overlaps(memory.period)
    ]


def find_repetition(db: Database, text: str, repo: str) -> Memory | None:
    """Find a memory of the repository that says the same in nearly the same words."""
    words = WORD.findall(text[:SEARCHED_CHARACTERS])
    return next(iter(_find_alike(db, repo, _pair_longest(words), partial(is_same_statement, text))), None)


def find_proposals_about(db: Database, text: str, kind: Kind, repo: str) -> list[Memory]:
    """Find proposals of a kind that nobody has reviewed yet and that are about the same thing."""
    # Words that carry meaning: two statements about one thing give different reasons.
    words = extract_terms(text[:SEARCHED_CHARACTERS])
    alike = _find_alike(db, repo, _pair_longest(words), partial(is_same_topic, text))
    return [memory for memory in alike if memory.status is Status.PROPOSED and memory.kind is kind]


def _pair_longest(words: Iterable[str]) -> list[tuple[str, ...]]:
    # Any two of the longest words: another wording may lack one of them.
    return [*combinations(sorted(set(words), key=len, reverse=True)[:MOST_SEARCHED_WORDS], 2)]


def _find_alike(
    db: Database, repo: str, groups: Sequence[Sequence[str]], is_alike: Callable[[str], bool]
) -> list[Memory]:
    """Find standing memories that have all words of a group and a text that is alike."""
    keys = db.index.find_with_words(groups, repo, MOST_COMPARED)
    ids = [id for id, other in memories.find_standing_texts(db, keys) if is_alike(other)]
    return memories.get_all(db, ids) if ids else []


def _find_duplicates(db: Database, text: str, repo: str) -> list[Memory]:
    # Long words are rare, so few texts have to be compared.
    words = sorted(set(WORD.findall(text[:SEARCHED_CHARACTERS])), key=len, reverse=True)[:3]
    normal_text = normalise(text)
    return _find_alike(db, repo, [words] if words else [], lambda other: normalise(other) == normal_text)


def _find_conflicts(db: Database, text: str, repo: str, subject: str) -> Iterator[ConflictingMemory]:
    """Find active memories of the repository that disagree, in their words or in the value of the subject."""
    normal_text, claims = normalise(text), parse_statements(text)
    subject_memories = _load_subject(db, subject, repo)
    for memory in subject_memories.values():
        # The same text in another scope, such as the original of a published memory, is no contradiction.
        if normalise(memory.text) != normal_text:
            yield ConflictingMemory(memory=memory, reason=f"{subject} has another value")
    keys = db.index.find_with_words(search_terms(claims), repo, MOST_COMPARED)
    conflicts = {
        id: conflict
        for id, other in memories.find_standing_texts(db, keys)
        if (conflict := find_statement_conflict(claims, parse_statements(other))) and normalise(other) != normal_text
    }
    for memory in memories.get_all(db, conflicts) if conflicts else ():
        if memory.id not in subject_memories:
            conflict = conflicts[memory.id]
            yield ConflictingMemory(memory=memory, reason=OTHERWISE, is_certain=conflict.is_certain)


def _load_subject(db: Database, subject: str, repo: str) -> dict[MemoryId, Memory]:
    candidates = memories.find_by_subject(db, subject, repo) if subject else []
    return {memory.id: memory for memory in candidates if memory.status in CURRENT_STATUSES and memory.trace is None}


def is_same_topic(left: str, right: str) -> bool:
    """Whether two statements are about one thing, whatever they say about it."""
    words, others = _stem_words(left), _stem_words(right)
    return min(len(words), len(others)) >= FEWEST_WORDS and len(words & others) >= SAME_TOPIC * min(
        len(words), len(others)
    )


def count_common_words(left: str, right: str) -> int:
    """Count the words that two statements share, ignoring endings."""
    return len(_stem_words(left) & _stem_words(right))


def is_same_statement(left: str, right: str) -> bool:
    """Whether two statements say the same in nearly the same words."""
    words, others = _stem_words(left), _stem_words(right)
    return (
        min(len(words), len(others)) >= FEWEST_WORDS
        and len(words & others) >= SAME_STATEMENT * len(words | others)
        # One word can turn a statement around.
        and len(NEGATION.findall(left)) == len(NEGATION.findall(right))
        and set(NUMBER.findall(left)) == set(NUMBER.findall(right))
        and not _name_different_things(left, right)
    )


def _name_different_things(left: str, right: str) -> bool:
    """Whether each statement names something that the other does not, such as another file."""
    names, others = ({name.lower() for name in COMPOUND_NAME.findall(text)} for text in (left, right))
    return bool(names - others and others - names)


def _stem_words(text: str) -> set[str]:
    # A crude stem: endings differ from one wording to the next.
    singulars = (term.removesuffix("s") for term in extract_terms(text))
    return {term[: max(4, len(term) - 2)] for term in singulars}
