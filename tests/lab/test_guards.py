"""The evaluation of proposed guards, on its own rules."""

from hivemind.guard.proposals import propose_from_text
from lab.evals.guards.__main__ import Rule, acts, count_right, list_relative_paths


def test_most_proposed_triggers_are_right() -> None:
    counts = count_right("test")
    right, total = (sum(count[place] for kind, count in counts.items() if kind != "none") for place in (0, 1))

    assert total == 60
    assert right > 40


def test_a_proposal_that_misses_or_reaches_too_far_is_not_right() -> None:
    rule = Rule("We use pnpm, not npm", "command", ("npm install",), ("pnpm install",))

    assert rule.is_right(propose_from_text("We use pnpm, not npm"))
    assert not rule.is_right(propose_from_text("We use npm, not pnpm"))
    assert not rule.is_right(propose_from_text("We like tea"))


def test_files_are_looked_for_below_any_top_of_a_repository() -> None:
    assert list(list_relative_paths("/home/ada/dist/x.js"))[-2:] == ["dist/x.js", "x.js"]
    assert acts(propose_from_text("Never edit files in `dist/`"), "/home/ada/dist/x.js")
    assert not acts(propose_from_text("Never edit files in `dist/`"), "/home/ada/src/x.js")
