"""Names of code in running text."""

import random

import pytest

from hivemind import Hivemind
from hivemind.code import code_names

HEX = "".join(random.Random(7).choices("0123456789abcdef", k=40_000))


@pytest.mark.parametrize(
    "data", [HEX, "-_" * 20_000, "a/" * 20_000, "x." * 20_000], ids=["hex", "rule", "path", "dots"]
)
def test_a_long_run_of_data_names_nothing_and_hides_no_name_beside_it(data: str) -> None:
    # Patterns that took the square of its length needed 17 seconds for a pasted dump.
    text = f"see auth/service.py in the billing module {data}"

    assert code_names.find_paths(text) == ["auth/service.py"]
    assert code_names.find_place_names(text) == ["billing"]
    assert code_names.find_addresses(data) == []
    assert not code_names.surely_names_code(data)


def test_a_pasted_dump_is_a_question_like_any_other(mind: Hivemind) -> None:
    mind.remember("Deploys run on Fridays")

    assert mind.recall(f"when do deploys run? {HEX}").hits[0].memory.text == "Deploys run on Fridays"
    assert mind.recall(HEX).hits == ()
