"""The words of the viewer for what it shows."""

from hivemind.model.code import SymbolChange
from hivemind.viewer.templating import CHANGE_WORDS


def test_the_viewer_has_a_word_for_every_change_of_a_symbol() -> None:
    assert set(CHANGE_WORDS) == set(SymbolChange)
