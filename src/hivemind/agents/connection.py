"""Connecting agents and taking them back, planned here and made by ``changes.apply``; and how they stand."""

from dataclasses import dataclass, replace
from pathlib import Path

from hivemind import agents
from hivemind.agents import codex
from hivemind.agents.changes import on_disk
from hivemind.agents.pieces import Files, Hooks, Launch, Place, Plan, planned
from hivemind.errors import InvalidInput

UNTRUSTED = "Codex runs none of these hooks until you trust them: open Codex, type /hooks, and look at them"


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How an agent stands to us."""

    agent: str
    present: bool
    server: bool
    hooks: bool
    missing: tuple[str, ...] = ()
    """Events that should run our hook and do not."""
    trusted: bool | None = None
    """Whether the agent will run the hooks; nothing, where it does not ask for trust."""
    notes: tuple[str, ...] = ()


def detect(home: Path) -> tuple[str, ...]:
    """The agents on this machine."""
    return tuple(name for name in agents.NAMES if _is_present(name, home))


def install(name: str, place: Place, launch: Launch, *, trust: bool = False, read: Files = on_disk) -> Plan:
    """The changes that connect an agent; trusting our hooks is the user's to ask for."""
    pieces = agents.of(name).pieces(place, launch)
    plan = planned(pieces, place, read)
    if name != codex.NAME or not (trust or plan.changes):
        return plan
    if not trust:
        return replace(plan, notes=(*plan.notes, UNTRUSTED))
    after = {change.path: change.after for change in plan.changes}
    trusting = codex.trusting(place, lambda path: after[path] if path in after else read(path))
    return planned((*pieces, *trusting), place, read)


def uninstall(name: str, place: Place, read: Files = on_disk) -> Plan:
    """The changes that take back all we added, whatever command it named."""
    trusting = codex.trusting(place, read) if name == codex.NAME else ()
    return planned((*agents.of(name).pieces(place, Launch()), *trusting), place, read, back=True)


def health(name: str, place: Place) -> Health:
    """Whether an agent is here, connected, and will run our hooks."""
    held: dict[str, bool] = {}
    missing: tuple[str, ...] = ()
    notes: list[str] = []
    for piece in agents.of(name).pieces(place, Launch()):
        text = on_disk(piece.path) or ""
        try:
            held[piece.what] = held.get(piece.what, True) and piece.is_in(text)
            missing += piece.missing(text) if isinstance(piece, Hooks) else ()
        except InvalidInput as problem:
            held[piece.what] = False
            notes.append(f"{piece.path}: {problem}")
    trusted = codex.are_trusted(place) if name == codex.NAME and held.get("hooks") else None
    return Health(
        agent=name,
        present=_is_present(name, place.home),
        server=held.get("server", False),
        hooks=held.get("hooks", False),
        missing=missing,
        trusted=trusted,
        notes=(*notes, *([UNTRUSTED] if trusted is False else ())),
    )


def _is_present(name: str, home: Path) -> bool:
    return any((home / path).exists() for path in agents.of(name).HOMES)
