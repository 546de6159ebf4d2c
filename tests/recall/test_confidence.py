"""How sure a hit is, from its score, its cosine, the words it shares and the size of the store."""

from hivemind.recall.confidence import SMALL_STORE, SURE, measure_confidence, repeat_rare_words


def test_a_close_hit_is_sure_and_a_distant_one_is_not() -> None:
    near = measure_confidence(0.55, 0.0, 0.2, SMALL_STORE)
    far = measure_confidence(0.3, 0.0, 0.2, SMALL_STORE)

    assert far < SURE <= near


def test_a_hit_far_behind_the_best_is_less_sure_than_the_best() -> None:
    best, behind = (measure_confidence(0.45, distance, 0.0, SMALL_STORE) for distance in (0.0, 0.6))

    assert behind < SURE <= best


def test_the_same_match_is_less_sure_in_a_larger_store() -> None:
    by_size = [measure_confidence(0.45, 0.0, 0.25, size) for size in (10, SMALL_STORE, 400, 5_000, 1_000_000)]

    assert by_size == sorted(by_size, reverse=True)
    assert by_size[1] > by_size[2] > by_size[3]


def test_a_hit_with_most_of_the_words_need_not_be_as_close() -> None:
    many, few, far_off = (
        measure_confidence(*match, 1_000) for match in ((0.3, 0.0, 0.6), (0.3, 0.0, 0.4), (0.1, 0.0, 0.6))
    )

    assert few < SURE <= many
    assert far_off < SURE


def test_a_word_that_the_vocabulary_lacks_counts_three_times() -> None:
    ranks = {"deploy": 900, "staging": 4_000}

    assert repeat_rare_words(["deploy", "kestrel", "staging"], ranks.get) == [
        "deploy", "kestrel", "kestrel", "kestrel", "staging",
    ]  # fmt: skip


def test_without_a_model_a_third_of_the_words_is_enough() -> None:
    assert measure_confidence(None, 0.0, 0.34, 0) >= SURE
    assert measure_confidence(None, 0.0, 0.2, 0) < SURE


def test_confidence_stays_between_nothing_and_one() -> None:
    extremes = [measure_confidence(cosine, behind, 1.0, 0) for behind in (0.0, 9.0) for cosine in (-1.0, 1.0, None)]

    assert all(0 <= confidence <= 1 for confidence in extremes)
