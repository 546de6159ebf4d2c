import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivemind.agents import jsonc
from hivemind.errors import InvalidInput
from tests.hypothesis_profile import examples

names = st.text(alphabet="abc", min_size=1, max_size=2)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='x"\\/{}[]:, ', max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
layouts = st.sampled_from([None, 2, 4, "\t"])


@st.composite
def documents(draw: st.DrawFn) -> str:
    """An object as people keep it: in any layout, with comments at the ends of lines."""
    text = json.dumps(draw(st.dictionaries(names, values, max_size=4)), indent=draw(layouts))
    lines = text.split("\n")
    commented = [f"{line}{draw(st.sampled_from(['', ' // note {[', ' /* , */']))}" for line in lines]
    return "\n".join(commented) + draw(st.sampled_from(["", "\n"]))


@given(documents(), st.lists(names, min_size=1, max_size=3), values)
@examples(100)
def test_what_was_put_in_is_read_back_and_everything_else_as_before(text: str, path: list[str], value: Any) -> None:
    before = jsonc.load(text)
    held: Any = before
    for key in path[:-1]:
        held = held.get(key, {}) if isinstance(held, dict) else held
    if not isinstance(held, dict):
        with pytest.raises(InvalidInput):
            jsonc.put(text, path, value)
        return

    changed = jsonc.put(text, path, value)

    assert jsonc.get(changed, path) == value
    expected = json.loads(json.dumps(before))
    inner = expected
    for key in path[:-1]:
        inner = inner.setdefault(key, {})
    inner[path[-1]] = value
    assert jsonc.load(changed) == expected


@given(documents(), st.lists(names, max_size=2), values)
@examples(100)
def test_taking_a_member_out_again_gives_back_every_byte(text: str, parents: list[str], value: Any) -> None:
    path = [*parents, "ours"]
    try:
        changed = jsonc.put(text, path, value)
    except InvalidInput:
        return

    restored = jsonc.remove(changed, path)

    assert restored == text
    assert changed != text


@given(documents(), values)
@examples(100)
def test_taking_an_element_out_again_gives_back_every_byte(text: str, value: Any) -> None:
    held = jsonc.load(text)
    path = ["a"] if isinstance(held.get("a"), list) else ["hooks", "Stop"]

    changed = jsonc.append(text, path, value)

    elements = jsonc.get(changed, path)
    assert elements[-1] == value
    assert jsonc.remove(changed, [*path, len(elements) - 1]) == text


def test_a_file_of_ours_alone_is_left_with_nothing() -> None:
    made = jsonc.put("", ["mcpServers", "hivemind"], {"command": "x"})

    assert jsonc.load(made) == {"mcpServers": {"hivemind": {"command": "x"}}}
    assert jsonc.remove(made, ["mcpServers", "hivemind"]) == ""


def test_an_object_the_user_left_empty_stays_there() -> None:
    text = '{"mcpServers": {}}\n'

    changed = jsonc.put(text, ["mcpServers", "hivemind"], {"command": "x"})

    assert jsonc.remove(changed, ["mcpServers", "hivemind"]) == text


def test_our_element_goes_behind_those_of_others_so_that_their_places_stay() -> None:
    text = '{\n  "hooks": {\n    "Stop": [\n      {"command": "mine"}\n    ]\n  }\n}\n'

    changed = jsonc.append(text, ["hooks", "Stop"], {"command": "ours"})

    assert jsonc.get(changed, ["hooks", "Stop"]) == [{"command": "mine"}, {"command": "ours"}]
    assert jsonc.remove(changed, ["hooks", "Stop", 1]) == text


@pytest.mark.parametrize("text", ["[1]", '{"a": ', "nonsense", '{"a": "b'])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        jsonc.put(text, ["a", "b"], 1)


def test_a_value_of_the_users_where_a_list_belongs_is_not_overwritten() -> None:
    with pytest.raises(InvalidInput, match="not a list"):
        jsonc.append('{"hooks": {"Stop": {"mine": 1}}}', ["hooks", "Stop"], {"ours": 1})


def test_of_a_key_that_is_written_twice_the_last_one_counts_as_for_a_parser() -> None:
    text = '{\n  "hooks": {"Stop": ["first"]},\n  "hooks": {"Stop": ["last"]}\n}\n'

    changed = jsonc.append(text, ["hooks", "Stop"], "ours")

    assert json.loads(changed) == {"hooks": {"Stop": ["last", "ours"]}}
    assert jsonc.remove(changed, ["hooks", "Stop", 1]) == text
