"""Review: what waits for a person, one at a time, by keyboard; each verdict can be undone."""

from starlette.responses import Response

from hivemind.entrypoints.viewer.pages.memory import SAID, perform
from hivemind.entrypoints.viewer.request import Visit

DECK = 100
"""More than anybody reviews in a day; Today counts the same cards."""


def page(visit: Visit) -> Response:
    """The card on top: the one asked for, or the first."""
    deck = visit.mind.review.queue(limit=DECK)
    wanted = visit.asked.get("at", "")
    at = next((place for place, one in enumerate(deck) if wanted and one.memory.id.startswith(wanted)), 0)
    card = deck[at] if deck else None
    sources = card.memory.sources if card else ()
    return visit.page(
        "review.html",
        deck=deck,
        at=at,
        card=card,
        evidence=[(one, visit.mind.sessions.observation(one.event) if one.event else None) for one in sources],
        # Whether looking at it again is what is asked for.
        is_doubt=bool(card and card.reason.asks_for_verification),
        behind=visit.mind.code.behind(card.memory) if card else (),
        next=deck[at + 1].memory.id if at + 1 < len(deck) else "",
        previous=deck[at - 1].memory.id if at > 0 else "",
        said=SAID.get(visit.asked.get("did", ""), ""),
    )


def decide(visit: Visit) -> Response:
    """A verdict, then the next card."""
    memory, name = visit.named("id"), visit.form.get("act", "")
    batch = perform(visit, memory, name)
    return visit.go("/review", at=visit.form.get("next", ""), did=name, batch=batch, was=memory)
