"""What was learned about the vectors of tasks, and how it is fitted."""

import numpy as np

from hivemind.embedding.embedder import ShippedModel
from hivemind.embedding.semantic_index import TaskModel, load_task_model
from lab.evals.recall.fitting import JudgedHit, Task, fit_curve, fit_tasks, measure_left_out

CHANGE, QUESTION, TOPIC, OTHER_TOPIC = np.eye(4, dtype=np.float32)


def make_tasks() -> list[Task]:
    """Stores whose rules govern changes to their topic, and questions on the same topic."""
    notes = np.array([TOPIC, OTHER_TOPIC])
    kinds = ((CHANGE, [True, False]), (QUESTION, [False, False]))
    return [
        Task(store=store, vector=(0.5 * kind + 0.8 * TOPIC).astype(np.float32), notes=notes, is_right=np.array(right))
        for store in ("a", "b", "c")
        for kind, right in kinds
        for _ in range(3)
    ]


def test_the_installed_model_fits_the_shipped_embedding_model() -> None:
    model = load_task_model()

    assert model.common.shape == model.weights.shape == (ShippedModel.dimension,)


def test_a_model_survives_being_written_and_read() -> None:
    model = fit_tasks(make_tasks())
    copy = TaskModel.from_rows(model.to_rows())

    assert np.allclose(copy.adjust(TOPIC), model.adjust(TOPIC))
    assert abs(copy.measure_need(CHANGE) - model.measure_need(CHANGE)) < 1e-6


def test_the_kind_of_a_task_decides_between_tasks_that_are_equally_close() -> None:
    figures = measure_left_out(make_tasks())

    assert figures["speaks rightly"] == 1
    assert figures["speaks where nothing is needed"] == 0


def test_a_change_needs_a_rule_more_than_a_question_does() -> None:
    model = fit_tasks(make_tasks())

    assert model.measure_need(CHANGE) > model.measure_need(QUESTION)


def make_hits(noise: float, distance_weight: float = 0.0) -> list[JudgedHit]:
    """Hits of which those are right that are closer than 0.45, as far as noise and their distance allow."""
    chance = np.random.default_rng(1)
    cosines, distances = chance.uniform(0.3, 0.6, 4_000), chance.uniform(0, 0.3, 4_000)
    is_right = cosines - distance_weight * distances + chance.normal(0, noise, 4_000) > 0.45
    return [
        JudgedHit(cosine=float(cosine), behind_best=float(distance), is_right=bool(right))
        for cosine, distance, right in zip(cosines, distances, is_right, strict=True)
    ]


def test_the_lowest_cosine_of_an_answer_is_where_half_of_the_hits_are_right() -> None:
    lowest, distance_weight, _ = fit_curve(make_hits(noise=0.03))

    assert abs(lowest - 0.45) < 0.02
    assert abs(distance_weight) < 0.1


def test_what_the_distance_to_the_best_counts_is_fitted_too() -> None:
    _, distance_weight, _ = fit_curve(make_hits(noise=0.03, distance_weight=0.4))

    assert abs(distance_weight - 0.4) < 0.1


def test_a_sharper_border_between_right_and_wrong_is_steeper() -> None:
    sharp, blurred = (fit_curve(make_hits(noise))[2] for noise in (0.03, 0.1))

    assert sharp > blurred > 0
