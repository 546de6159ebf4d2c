"""Every field of every fact is either free text, which gates reach, or of a type that cannot hold any."""

import dataclasses
from enum import Enum
from typing import Annotated, Any, Literal, NewType, get_args, get_origin, get_type_hints

import pytest

from hivemind.model.events import FACTS, MemoryAnnotated, MemoryTagged, UnknownFact
from hivemind.model.free_text import TextSort, change_text, classify_type, iterate_text
from hivemind.model.ids import CLOSED, FOREIGN, MemoryId
from hivemind.model.metadata import Metadata
from hivemind.sessions.redact import redact

WRITTEN, GATED, OTHER_ID = "what somebody wrote", "gated", "another id"
TOKEN = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"


def sample(hint: Any) -> Any:
    """A value of a type, with the same words in every string."""
    arguments = [part for part in get_args(hint) if part not in (type(None), Ellipsis)]
    if get_origin(hint) is Literal:
        return arguments[0]
    if get_origin(hint) is tuple:
        return (sample(arguments[0]),)
    if arguments:
        return sample(arguments[0])
    if hint is Metadata:
        return Metadata({"what_somebody_wrote": WRITTEN, "number": 3})
    if dataclasses.is_dataclass(hint):
        hints = get_type_hints(hint, include_extras=True)
        return hint(**{field.name: sample(hints[field.name]) for field in dataclasses.fields(hint)})  # type: ignore[operator]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return next(iter(hint))
    return {int: 1, float: 0.5, bool: True}.get(hint, WRITTEN)


def check(hint: Any, value: Any, path: str) -> list[str]:
    """The strings of a type that should have been changed and were not, or the other way round."""
    if get_origin(hint) is tuple:
        return [problem for item in value for problem in check(get_args(hint)[0], item, path)]
    if isinstance(value, Metadata):
        return [] if dict(value) == {GATED: GATED, f"{GATED}_": 3} else [f"{path}: {value}"]
    if dataclasses.is_dataclass(value):
        hints = get_type_hints(type(value), include_extras=True)
        return [
            problem
            for field in dataclasses.fields(value)
            for problem in check(hints[field.name], getattr(value, field.name), f"{path}.{field.name}")
        ]
    if type(value) is not str or get_origin(hint) is Literal:
        return []
    marks = hint.__metadata__ if get_origin(hint) is Annotated else ()
    is_closed = CLOSED in marks or isinstance(hint, NewType)
    expected = WRITTEN if is_closed else OTHER_ID if FOREIGN in marks else GATED
    return [] if value == expected else [f"{path}: {value!r} instead of {expected!r}"]


@pytest.mark.parametrize("shape", [*FACTS.values(), UnknownFact], ids=lambda shape: shape.__name__)
def test_a_gate_reaches_every_field_that_is_not_of_a_closed_type(shape: Any) -> None:
    fact = sample(shape)

    changed = change_text(fact, lambda text: GATED, lambda text: OTHER_ID)

    assert check(shape, changed, shape.__name__) == []
    # What is searched is what is changed.
    assert {text for _, text in iterate_text(changed)} <= {GATED, f"{GATED}_", OTHER_ID, "3", "gated gated", "gated_ 3"}


def test_redaction_leaves_the_ids_of_other_programs_as_they_are() -> None:
    for shape in FACTS.values():
        assert all(text != OTHER_ID for _, text in iterate_text(change_text(sample(shape), lambda text: GATED)))


def test_a_field_of_a_type_that_nobody_has_thought_about_is_an_error() -> None:
    for hint in (dict, list, list[str], bytes, Any):
        with pytest.raises(TypeError, match="neither free text nor closed"):
            classify_type(hint)
    assert classify_type(tuple[str, ...]) is TextSort.FREE


def test_a_secret_in_a_key_a_value_or_a_tag_is_redacted_and_the_rest_stays() -> None:
    memory_id = MemoryId("a" * 32)
    annotated = MemoryAnnotated(memory_id=memory_id, metadata=Metadata({TOKEN: "x", "note": TOKEN, "language": "Go"}))
    tagged = MemoryTagged(memory_id=memory_id, added=(TOKEN, "billing"))

    metadata, tags = change_text(annotated, redact).metadata, change_text(tagged, redact).added

    assert "16C7e42F292c" not in f"{metadata} {tags}"
    assert metadata["language"] == "Go"
    assert sorted(metadata)[:1] == ["language"]
    assert tags[1] == "billing"


def test_two_secret_keys_keep_both_their_values() -> None:
    metadata = Metadata({TOKEN: 1, TOKEN.replace("16C7", "98Zq"): 2}).change_text(redact)

    assert sorted(metadata.values(), key=str) == [1, 2]
    assert all(name.startswith("redacted") for name in metadata)
