"""A person may say which detectors are believed without being asked each time."""

import pytest

from hivemind import Hivemind, Kind
from hivemind.errors import InvalidInput
from hivemind.learning.proposals import Outcome, parse_believed, propose
from hivemind.model.claim import Proposal
from hivemind.model.memory import Channel, Source, Status, Trust


def found(confidence: float) -> Proposal:
    return Proposal(
        detector="commands",
        kind=Kind.PROCEDURE,
        text=f"Run the tests with make check, confidence {confidence}",
        confidence=confidence,
        sources=(Source(channel=Channel.DERIVED, session_id="s1", event=f"e{confidence}"),),
    )


@pytest.mark.parametrize(
    ("setting", "confidence", "status"),
    [
        ("", 0.95, Status.PROPOSED),
        ("commands:0.9", 0.95, Status.ACTIVE),
        ("commands:0.9", 0.5, Status.PROPOSED),
        ("fixes:0.1", 0.95, Status.PROPOSED),
    ],
)
def test_only_what_the_settings_believe_becomes_active_by_itself(
    mind: Hivemind, setting: str, confidence: float, status: Status
) -> None:
    context, outcome = mind._context, Outcome()
    propose(
        context,
        context.factory,
        [found(confidence)],
        mind.repository.id,
        outcome,
        trust=parse_believed(setting),
    )

    (memory,) = mind.list()
    assert (memory.status, memory.trust) == (status, Trust.LOW)


def test_a_setting_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"commands:0\.9"):
        parse_believed("commands:often")
