"""Explain why an answer is empty, and what to try."""

from dataclasses import replace

from hivemind.context import Context
from hivemind.model.memory import Kind
from hivemind.model.recall import Query
from hivemind.store.projections import memories, sessions
from hivemind.text.clean import plural


def explain_no_memories(context: Context, query: Query) -> str:
    """Return why no memory is shown: nothing near, filters, expiry, another repository, or a review that waits."""
    waiting, _ = memories.count_proposals(context.store.db, query, context.queue_start)
    review = f"{plural(waiting, 'proposal')} {'waits' if waiting == 1 else 'wait'} for review: hivemind review."
    return " ".join(filter(None, (_explain_no_memory(context, query), review if waiting else "")))


def explain_no_sessions(context: Context, query: Query) -> str:
    """Return why no session is shown."""
    db = context.store.db
    if sessions.list_sessions(db, query.sight, limit=1, agent=query.agent):
        return f"No session here is near this question. Try fewer or other words{_name_others(context, query)}."
    if query.agent and sessions.list_sessions(db, query.sight, limit=1):
        return "No session here is of this agent."
    is_elsewhere = _may_widen(context, query) and sessions.list_sessions(db, _widen(query).sight, limit=1)
    return "No sessions in this repository; --everywhere searches others." if is_elsewhere else "No sessions yet."


def _explain_no_memory(context: Context, query: Query) -> str:
    db = context.store.db
    if query.as_of:
        return f"Nothing that matches was known on {query.as_of[:10]}."
    if query.text and memories.has_others(db, query, ()):
        return f"Nothing here is near this question. Try fewer or other words{_name_others(context, query)}."
    filters = _name_filters(query)
    if query.kinds == (Kind.TRACE,) and len(filters) == 1:
        return "No traces here. Store one: hivemind trace store." if context.is_person else "No traces here."
    current, expired = memories.count_current(db, query)
    if current:
        noun = "filter" if len(filters) == 1 else "filters"
        none = (
            "The one memory here does not match" if current == 1 else f"None of the {current:,} memories here matches"
        )
        return f"{none} the {noun} {', '.join(filters)}."
    if expired:
        return f"All memories here have expired ({expired:,}); recall --as-of DATE searches those of that time."
    elsewhere, _ = memories.count_current(db, _widen(query)) if _may_widen(context, query) else (0, 0)
    if elsewhere:
        return f"No memories in this repository; others have {elsewhere:,}: --everywhere."
    return 'No memories here. Store one: hivemind remember "…".' if context.is_person else "No memories here."


def _name_filters(query: Query) -> list[str]:
    """The filters that a caller has set."""
    names = {"scope": "scope", "kinds": "kind", "tags": "tags", "agent": "agent", "since": "since", "until": "until",
             "true_at": "true-at", "where": "metadata"}  # fmt: skip
    return [name for field, name in names.items() if getattr(query, field)] or ["status"]


def _name_others(context: Context, query: Query) -> str:
    return ", or --everywhere for other repositories" if _may_widen(context, query) else ""


def _may_widen(context: Context, query: Query) -> bool:
    """Whether the caller looks in one repository and may look in others; nobody else learns what those have."""
    return context.may_look_everywhere and context.checkout.exists and not query.sight.everywhere


def _widen(query: Query) -> Query:
    return replace(query, sight=replace(query.sight, everywhere=True))
