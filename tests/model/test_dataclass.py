"""Frozen dataclasses behave like those of the standard library."""

import copy
import dataclasses
import pickle
from typing import Any

import pytest

from hivemind.model.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A point with a name."""

    x: int
    y: int = 0
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("x is negative")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StandardPoint:
    """The same class, by the standard library."""

    x: int
    y: int = 0
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pair:
    """Two values by position, the second with a factory."""

    first: int
    second: list[int] = dataclasses.field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPoint(Point):
    """A subclass with one more field."""

    label: str


def test_values_can_be_given_by_name_and_defaults_apply() -> None:
    point = Point(x=1, names=("a",))

    assert (point.x, point.y, point.names) == (1, 0, ("a",))
    assert Pair(1, [2]).second == [2]


def test_each_object_gets_a_new_value_from_a_factory() -> None:
    first, other = Pair(1), Pair(1)

    assert first.second == []
    assert first.second is not other.second


def test_it_prints_like_the_standard_one() -> None:
    assert repr(Point(x=1)) == repr(StandardPoint(x=1)).replace("StandardPoint", "Point")


def test_equal_values_are_equal_and_hash_alike_but_not_across_classes() -> None:
    assert Point(x=1) == Point(x=1)
    assert hash(Point(x=1)) == hash(Point(x=1))
    assert Point(x=1) != Point(x=2)
    other_class: object = StandardPoint(x=1)
    assert Point(x=1) != other_class
    assert Point(x=1) != NamedPoint(x=1, label="a")


def test_fields_cannot_be_assigned_or_deleted() -> None:
    point: Any = Point(x=1)

    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
        del point.x
    assert point.x == 1


def test_unknown_missing_and_positional_arguments_are_refused_with_the_name() -> None:
    make: Any = Point

    with pytest.raises(TypeError, match="'x'"):
        make()
    with pytest.raises(TypeError, match="'z'"):
        make(x=1, z=2)
    with pytest.raises(TypeError, match="positional"):
        make(1)


def test_the_check_after_creation_runs() -> None:
    with pytest.raises(ValueError, match="negative"):
        Point(x=-1)


def test_a_subclass_has_the_fields_of_both() -> None:
    point = NamedPoint(x=1, label="a")

    assert (point.x, point.label) == (1, "a")
    assert [field.name for field in dataclasses.fields(point)] == ["x", "y", "names", "label"]


def test_replace_copy_and_pickle_give_equal_objects() -> None:
    point = Point(x=1)

    assert dataclasses.replace(point, y=3) == Point(x=1, y=3)
    assert copy.deepcopy(point) == copy.copy(point) == point
    assert pickle.loads(pickle.dumps(point)) == point


def test_classes_that_are_not_frozen_are_left_to_the_standard_library() -> None:
    with pytest.raises(TypeError, match="frozen"):
        dataclass(frozen=False)
