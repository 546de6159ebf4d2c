"""Who said something in a team: the member whose token brought it, whatever name the entry claims.

The header of an entry keeps the name that the device claimed; it is part of a hash chain and never changes.
"""

from dataclasses import replace

from hivemind.model.events import Event, MemoryCorroborated, MemoryRemembered
from hivemind.model.memory import Channel, Source, Trust


def attribute(event: Event, member: str) -> Event:
    """Return an event in the name of the member whose device recorded it; unchanged if that is not known."""
    if not member:
        return event
    # The actor of a less trusted channel is the agent or tool, which the member does not replace.
    actor = member if event.channel.trust is Trust.HIGH else event.actor
    fact = event.fact
    if isinstance(fact, MemoryRemembered):
        sources = tuple(_attribute_source(source, member) for source in fact.sources)
        fact = replace(fact, owner=member, sources=sources)
    elif isinstance(fact, MemoryCorroborated):
        fact = replace(fact, source=_attribute_source(fact.source, member))
    return replace(event, actor=actor, fact=fact)


def _attribute_source(source: Source, member: str) -> Source:
    return replace(source, actor=member) if source.channel is Channel.PERSON else source
