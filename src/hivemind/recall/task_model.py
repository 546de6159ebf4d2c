"""Compare a task with rules: what its vector shares with every task is removed, and its kind says if rules apply.

Every task is close to notes that sound like tasks, and most rules govern changes of behaviour, not questions, renamings
or documentation. ``python -m lab.evals.recall --fit`` learns both from tasks and writes the file.
"""

from functools import cache
from pathlib import Path
from typing import Self

import numpy as np

from hivemind.formats.dataclass import dataclass
from hivemind.recall.weights import Floats

FILE = Path(__file__).with_name("task_model.npy")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskModel:
    """What was learned about the vectors of tasks."""

    common: Floats
    """What is taken off the vector of a task, because all tasks have it."""
    weights: Floats
    """How much each number of a task's vector says that a rule applies."""
    bias: float

    @classmethod
    def from_rows(cls, rows: Floats) -> Self:
        """Make a model of the rows of its file: the common vector, then the weights with the bias last."""
        return cls(common=rows[0, :-1], weights=rows[1, :-1], bias=float(rows[1, -1]))

    def to_rows(self) -> Floats:
        """Return the rows of its file."""
        return np.array([[*self.common, 0.0], [*self.weights, self.bias]], np.float32)

    def adjust(self, vector: Floats) -> Floats:
        """Return the vector to compare with memories instead of the task's own."""
        return vector - self.common

    def measure_need(self, vector: Floats) -> float:
        """Return how much closer or farther than usual a memory may be to be told for this task."""
        return float(vector @ self.weights) + self.bias


@cache
def load_task_model() -> TaskModel:
    """Return the model that was fitted for the shipped embedding model."""
    return TaskModel.from_rows(np.load(FILE, allow_pickle=False))
