"""The order of memories, from the scores of their passages."""

from hivemind.model.ids import MemoryId
from hivemind.model.recall import Query
from hivemind.model.scope import Visibility
from hivemind.recall.candidates import Candidate
from hivemind.recall.ranking import rank
from hivemind.store.database import PassageHit

NOW = "2026-11-16T12:00:00Z"
SHORT, PASTED = "where is the importer?", "the importer fails " * 30


def order(text: str, *passages: tuple[str, float, float | None], session_id: str = "") -> list[str]:
    """Return the memories in order, from passages given as memory, score of words and cosine."""
    query = Query(text=text, sight=Visibility(repos=("r",)), now=NOW, limit=10, max_tokens=1_000)
    candidates = [
        Candidate(
            PassageHit(key, key, MemoryId(memory), session_id, "fact", 3, "r", NOW, f"text {key}", "", words), cosine
        )
        for key, (memory, words, cosine) in enumerate(passages)
    ]
    return [place.candidate.passage.memory_id for place in rank(candidates, query)]


def test_a_long_memory_with_one_passage_of_shared_words_ranks_below_one_that_shares_them_throughout() -> None:
    accident = [("accident", 10.0, 0.5), ("accident", 2.0, 0.4), ("accident", 2.0, 0.4)]
    throughout = [("throughout", 8.0, 0.5), ("throughout", 8.0, 0.4), ("throughout", 7.0, 0.4)]

    assert order(PASTED, *accident, *throughout) == ["throughout", "accident"]


def test_words_and_meaning_of_a_memory_may_come_from_different_passages() -> None:
    divided = [("divided", 9.0, 0.2), ("divided", 9.0, 0.6)]
    mixed = [("mixed", 8.0, 0.4), ("mixed", 8.0, 0.4)]

    assert order(PASTED, *mixed, *divided) == ["divided", "mixed"]


def test_many_passages_are_many_chances_for_a_short_question_but_not_for_a_pasted_text() -> None:
    long_memory = [("long", 8.0, 0.51), ("long", 8.0, 0.1), ("long", 8.0, 0.1)]
    short_memory = [("short", 8.0, 0.5)]

    assert order(SHORT, *long_memory, *short_memory) == ["short", "long"]
    assert order(PASTED, *long_memory, *short_memory) == ["long", "short"]


def test_a_passage_without_a_vector_counts_by_its_words() -> None:
    assert order(SHORT, ("weak", 2.0, None), ("strong", 9.0, None)) == ["strong", "weak"]


def test_a_remark_next_to_a_closer_one_of_its_session_counts_as_closer() -> None:
    talk = ("question", 0.0, 0.6), ("answer", 0.0, 0.3), ("later", 0.0, 0.25), ("far away", 0.0, 0.4)

    assert order(SHORT, *talk, session_id="s") == ["question", "answer", "later", "far away"]
    assert order(SHORT, *talk) == ["question", "far away", "answer", "later"]


def test_what_matches_best_by_itself_stays_before_a_neighbour() -> None:
    talk = ("close", 0.0, 0.6), ("shares words and is next to it", 10.0, 0.2), ("elsewhere", 0.0, 0.1)

    assert order(SHORT, *talk)[0] == "close"
    assert order(SHORT, *talk, session_id="s")[0] == "close"
