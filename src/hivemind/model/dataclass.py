"""Frozen dataclasses that are cheap to define.

The decorator of the standard library compiles six methods for every class. With the hundred classes that a command
loads this took 79 of the 207 ms of CPU of ``hivemind remember``. Here ``__init__`` is compiled when it is first called,
and the other methods are the same for all classes (docs/decisions/0012).
"""

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

__all__ = ["dataclass"]

T = TypeVar("T")

if TYPE_CHECKING:
    # Type checkers treat the class as what it is, a dataclass; they recognise only the standard decorator.
    from dataclasses import dataclass
else:

    def dataclass(*, frozen: bool, slots: bool = False, kw_only: bool = False) -> Callable[[type[T]], type[T]]:
        """Make a frozen dataclass; for other kinds, use the decorator of the standard library."""
        if not frozen:
            raise TypeError("use dataclasses.dataclass for a class that is not frozen")
        collect_fields = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)
        return lambda plain_class: _add_methods(collect_fields(plain_class))


def _add_methods(cls: Any) -> Any:
    names = [field.name for field in dataclasses.fields(cls)]
    # For a single field this is its value, which compares like a tuple of it.
    values_of: Callable[[Any], Any] = attrgetter(*names) if names else lambda _: ()

    def __init__(self: Any, *values: Any, **named_values: Any) -> None:  # noqa: N807 - becomes a method
        cls.__init__ = _compile_init(cls)
        cls.__init__(self, *values, **named_values)

    def __eq__(self: Any, other: object) -> bool:  # noqa: N807
        return values_of(self) == values_of(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(values_of(self))

    # A class may define its own, as with the standard decorator.
    for method in (__init__, __eq__, __hash__, __repr__):
        if method.__name__ not in cls.__dict__ or cls.__dict__[method.__name__] is None:
            setattr(cls, method.__name__, method)
    cls.__setattr__, cls.__delattr__ = _refuse_assignment, _refuse_deletion
    # Copying and unpickling would otherwise set attributes one by one, which is refused.
    cls.__getstate__, cls.__setstate__ = _get_state, _set_state
    return cls


def _compile_init(cls: Any) -> Any:
    """Compile ``__init__`` with a parameter for each field."""
    fields = [field for field in dataclasses.fields(cls) if field.init]
    parameters = [
        *(_write_parameter(field) for field in fields if not field.kw_only),
        *(["*"] if any(field.kw_only for field in fields) else []),
        *(_write_parameter(field) for field in fields if field.kw_only),
    ]
    lines = [
        f" set_value(self, {field.name!r}, factories[{field.name!r}]() if {field.name} is missing else {field.name})"
        if field.default_factory is not dataclasses.MISSING
        else f" set_value(self, {field.name!r}, {field.name})"
        for field in fields
    ]
    lines += [" self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    # Frozen classes refuse plain assignment, in their own __init__ too.
    namespace: dict[str, Any] = {
        "set_value": object.__setattr__,
        "missing": dataclasses.MISSING,
        "defaults": {field.name: field.default for field in fields},
        "factories": {field.name: field.default_factory for field in fields},
    }
    # Field names are ours, never input, so there is nothing to escape.
    exec(f"def __init__(self, {', '.join(parameters)}):\n" + "\n".join(lines or [" pass"]), namespace)
    init = namespace["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _write_parameter(field: "dataclasses.Field[Any]") -> str:
    if field.default_factory is not dataclasses.MISSING:
        return f"{field.name}=missing"
    return field.name if field.default is dataclasses.MISSING else f"{field.name}=defaults[{field.name!r}]"


def __repr__(self: Any) -> str:  # noqa: N807
    values = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self))
    return f"{self.__class__.__qualname__}({values})"


def _refuse_assignment(self: Any, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
