"""The notes that recall is measured on, and the comparison of answers before and after a change."""

from hivemind.text.search_terms import extract_terms, measure_share, split_grams
from lab.benchmarks.notes import NoteWriter
from lab.evals.recall.answers import is_same


def test_the_same_seed_writes_the_same_notes_and_questions() -> None:
    first, second = NoteWriter(1), NoteWriter(1)
    notes = first.write(50)
    assert notes == second.write(50)
    assert [first.ask(note) for note in notes] == [second.ask(note) for note in notes]
    assert len(set(notes)) == 50


def test_notes_are_english_and_their_questions_are_about_them() -> None:
    writer = NoteWriter(2)
    for note in writer.write(200):
        question = writer.ask(note)
        assert 15 <= len(note.split()) <= 30
        # Made-up words would be searched by parts of four letters.
        assert split_grams(note) == split_grams(question) == []
        assert measure_share(extract_terms(question), note) >= 0.3


def test_answers_are_the_same_only_if_order_and_scores_are() -> None:
    assert is_same([["a", "b"], [0.5]], [["a", "b"], [0.5 + 1e-9]])
    assert not is_same([["a", "b"], [0.5]], [["b", "a"], [0.5]])
    assert not is_same([0.5], [0.501])
    assert not is_same([0.5], None)
