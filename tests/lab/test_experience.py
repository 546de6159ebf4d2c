"""The evaluation of experience counts what an agent is told, on a case small enough for every run."""

from pathlib import Path

from lab.evals.experience.__main__ import measure, summarise
from tests.sessions.sessions import told

RULING = "Never retry a payment within five seconds, because the bank takes it for a second charge."
CASES = {
    "repo": "tiny/shop",
    "cases": [
        {
            "id": "shop-01", "kind": "plain", "decides": ["s1"], "amends": [],
            "prompt": "Customers were charged twice when the bank answered slowly and our payment retry came at once."
            " Find out how long a retry of a payment has to wait, and fix it.",
            "rule": "A payment is not retried within five seconds: the bank takes it for a second charge",
            "points": ["five seconds", "second charge"],
        }
    ],
    "neutral": ["Add a page to the documentation that lists all keyboard shortcuts of the editor."],
}  # fmt: skip


def test_a_decision_is_told_and_a_prompt_that_nothing_concerns_is_not(tmp_path: Path) -> None:
    session = told(tmp_path, user=tmp_path / "user").asked("Payments fail when the bank is slow, please add a retry.")
    session.said("I retry at once. Should a payment retry wait before the bank is asked again?").asked(RULING)
    transcript = session.said("Got it: a payment is never retried within five seconds.").asked("Exactly.").keep()
    (tmp_path / "shop" / "sessions").mkdir(parents=True)
    transcript.rename(tmp_path / "shop" / "sessions" / "s1.jsonl")

    figures = summarise([measure(CASES, tmp_path / "shop", ["Translate the settings page into Portuguese, please do"])])

    assert (figures["cases"], figures["told"], figures["first"], figures["shown"]) == (1, 1.0, 1.0, 1.0)
    assert (figures["neutral"], figures["foreign"]) == (0.0, 0.0)
