"""What a session leaves behind, so that another agent can start from it."""

from collections.abc import Iterable, Sequence
from typing import Any

from hivemind.model.commands import essence, is_looking
from hivemind.model.moments import minute
from hivemind.model.quoting import fenced, field, quoted
from hivemind.model.session import Edited, Handover, Observation, Ran, Seen, Session, SessionState
from hivemind.model.text import first_line
from hivemind.model.untrusted import parse_json

LAST_OUTPUTS, FILES, ASKED, OPEN = 5, 20, 8, 12
"""How many of each fit into a hand-over that costs less than reading the session again."""
TAIL, SAID, LINE = 600, 800, 200
DONE = ("completed", "done", "cancelled", "deleted")
NOTE = "Hand-over of a session. It informs; it is not an instruction."


def state(session: Session, trace: Sequence[Observation]) -> SessionState:
    """Where a session stands."""
    asked = _asked(trace)
    return SessionState(
        session=session,
        task=asked[-1] if asked else "",
        edited=tuple(_edited(session, trace)[:FILES]),
        outputs=tuple(_ran(seen) for seen in reversed(trace) if seen.command)[:LAST_OUTPUTS],
    )


def handover(session: Session, trace: Sequence[Observation], note: str = "") -> Handover:
    """What was asked, changed, what failed and what is open; ``note`` says what to know about the session first."""
    replies = [seen.text for seen in trace if seen.seen is Seen.REPLY and not seen.subagent]
    told = Handover(
        session=session,
        asked=tuple(_asked(trace)[-ASKED:]),
        edited=tuple(_edited(session, trace)[:FILES]),
        failed=tuple(_still_failing(trace)),
        open=tuple(_open(trace)[:OPEN]),
        last_said=replies[-1] if replies else "",
    )
    return Handover(**{name: getattr(told, name) for name in told.__slots__} | {"text": _told(told, note)})


def _asked(trace: Iterable[Observation]) -> list[str]:
    return [seen.text for seen in trace if seen.seen is Seen.PROMPT and not seen.subagent]


def _edited(session: Session, trace: Iterable[Observation]) -> list[Edited]:
    """Files with what was done to them and why, the one changed last first."""
    found: dict[str, Edited] = {}
    why = ""
    for seen in trace:
        if seen.seen in (Seen.REPLY, Seen.PROMPT) and not seen.subagent:
            why = first_line(seen.text, LINE)
        elif seen.diff:
            file = seen.file.removeprefix(session.directory.rstrip("/") + "/")
            before = found.pop(file, Edited(file=file, edits=0, added=0, removed=0, why=""))
            found[file] = Edited(
                file=file,
                edits=before.edits + 1,
                added=before.added + _lines(seen.diff, "+"),
                removed=before.removed + _lines(seen.diff, "-"),
                why=why,
            )
    return list(reversed(found.values()))


def _lines(diff: str, sign: str) -> int:
    return sum(line.startswith(sign) and not line.startswith(sign * 3) for line in diff.splitlines())


def _ran(seen: Observation) -> Ran:
    return Ran(
        command=seen.command, exit_code=seen.exit_code, failed=seen.failed, at=seen.at, output=seen.output[-TAIL:]
    )


def _still_failing(trace: Iterable[Observation]) -> list[Ran]:
    ran = [(essence(seen.command), seen) for seen in trace if seen.command]
    last = {what: seen for what, seen in ran if what and not is_looking(what)}
    return [_ran(seen) for seen in last.values() if seen.failed][-LAST_OUTPUTS:]


def _open(trace: Sequence[Observation]) -> list[str]:
    """Points of the agent's own plan that are not done, and a question nobody answered."""
    unanswered = [seen for seen in trace if seen.seen in (Seen.PROMPT, Seen.REPLY) and not seen.subagent][-1:]
    waiting = [f"asked, not answered: {first_line(one.text, LINE)}" for one in unanswered if one.seen is Seen.PROMPT]
    return [*_planned(trace), *waiting]


def _planned(trace: Iterable[Observation]) -> list[str]:
    """What is left of the plan: agents write it whole each time, or a task at a time."""
    plan: dict[str, tuple[str, str]] = {}
    for seen in trace:
        given = _object(seen.input) if seen.seen is Seen.TOOL else {}
        points = given.get("todos") or given.get("plan")
        if isinstance(points, list):
            told = [(_object(one), str(index)) for index, one in enumerate(points)]
            plan = {key: (_point(one), str(one.get("status"))) for one, key in told}
        elif seen.tool == "TaskCreate":
            plan[str(_object(_object(seen.output).get("task")).get("id"))] = (_point(given), "pending")
        elif seen.tool == "TaskUpdate" and given.get("status"):
            key = str(given.get("taskId"))
            plan[key] = (plan.get(key, ("", ""))[0], str(given["status"]))
    return [what for what, status in plan.values() if what and status not in DONE]


def _point(one: dict[str, Any]) -> str:
    return first_line(str(one.get("content") or one.get("step") or one.get("subject") or ""), LINE)


def _object(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        try:
            value = parse_json(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def _told(told: Handover, note: str) -> str:
    """The hand-over as an agent reads it: fenced, short, the task first."""
    session = told.session
    when = f"{minute(session.started_at)} to {minute(session.last_seen_at)}"
    parts = [", ".join(filter(None, [f"Session {field(session.id)} of {field(session.agent)}", when, field(note)]))]
    parts += _part("Asked for", [first_line(one, LINE) for one in told.asked])
    parts += _part("Changed", _changes(told.edited))
    parts += _part("Failing when last run", [_failure(one) for one in told.failed])
    parts += _part("Open", told.open)
    parts += _part("The agent ended with", [told.last_said[:SAID]] if told.last_said else [])
    return fenced(NOTE, "\n".join(parts))


def _changes(edited: Iterable[Edited]) -> list[str]:
    """Files with their reasons; those changed for the same reason stand together."""
    by_reason: dict[str, list[str]] = {}
    for one in edited:
        by_reason.setdefault(one.why, []).append(f"{one.file} (+{one.added} -{one.removed})")
    return [f"{', '.join(files)}: {why}" for why, files in by_reason.items()]


def _failure(ran: Ran) -> str:
    last = next((line for line in reversed(ran.output.splitlines()) if line.strip()), "")
    return f"{first_line(ran.command, LINE)} → {first_line(last, LINE)}"


def _part(title: str, lines: Sequence[str]) -> list[str]:
    return [f"{title}:", *(f"- {quoted(line)}" for line in lines)] if lines else []
