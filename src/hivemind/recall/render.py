"""The block an agent reads.

Recalled text is data: it stands inside a fence whose mark nobody could know beforehand, each entry with
where it comes from, and nothing in it is obeyed by a terminal.
"""

from hivemind.model.ids import short
from hivemind.model.moments import day
from hivemind.model.quoting import NOTE, fenced, label, quoted
from hivemind.model.recall import Hit


def render(hits: tuple[Hit, ...]) -> str:
    """An entry per memory, fenced; nothing at all when there is nothing to say."""
    return fenced(NOTE, "\n".join(map(entry, hits))) if hits else ""


def entry(hit: Hit) -> str:
    """One memory with its id, kind, origin, age, trust and what to beware of."""
    memory = hit.memory
    origin = " ".join(filter(None, (memory.channel.value, memory.agent)))
    about = [short(memory.id), memory.kind.value, memory.scope.value, origin, day(memory.revised_at)]
    return f"[{label(*about, f'trust {memory.trust}', *hit.labels)}] {quoted(hit.passage)}"
