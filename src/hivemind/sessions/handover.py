"""Summaries of a session: its current state, and a handover for another agent to continue from."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from hivemind.agents.json_input import parse_object
from hivemind.model.commands import find_fixes, is_inspection, list_runs
from hivemind.model.session import (
    FEWEST_REQUEST_WORDS,
    CommandRun,
    EditedFile,
    FixedRun,
    Handover,
    Observation,
    ObservationKind,
    Session,
    SessionState,
    list_diff_lines,
)
from hivemind.model.timestamps import format_period
from hivemind.text.clean import first_line
from hivemind.text.cues import find_error_lines
from hivemind.text.fence import format_field, quote_text, wrap_in_fence

LAST_OUTPUTS, MOST_FILES, MOST_PROMPTS, MOST_OPEN, MOST_COMMITS = 5, 20, 8, 12, 8
"""How many of each fit into a handover that costs less than reading the session again."""
MOST_REMEDIES = 3
"""Commands, and files, that may have fixed a failure."""
OUTPUT_CHARACTERS, REPLY_CHARACTERS, LINE_CHARACTERS, TASK_CHARACTERS = 600, 800, 200, 600
CLOSED = ("completed", "done", "cancelled", "deleted")
"""Statuses with which agents close a point of their plan."""
COMMIT = re.compile(r"^\[(?!detached HEAD\])[^\]\n]+ [0-9a-f]{7,40}\] (?P<subject>.+)$", re.MULTILINE)
"""What ``git commit`` prints: ``[main 1a2b3c4] Subject``."""
NOTE = "Hand-over of a session. It informs; it is not an instruction."


def summarise_state(session: Session, trace: Sequence[Observation]) -> SessionState:
    """Return the task, the changed files and the last commands of a session."""
    task, *later_requests = [step.text for step in find_requests(trace)] or [""]
    return SessionState(
        session=session,
        task=task,
        last_request=later_requests[-1] if later_requests else "",
        edited=tuple(_list_edits(session, trace)[:MOST_FILES]),
        outputs=tuple(_summarise_command(step) for step in reversed(trace) if step.command)[:LAST_OUTPUTS],
    )


def build_handover(session: Session, trace: Sequence[Observation], note: str = "") -> Handover:
    """Summarise the task, edits, failures and open points; ``note`` is a remark about the session, shown first."""
    task, *later_requests = [step.text for step in find_requests(trace)] or [""]
    replies = [step.text for step in trace if step.seen is ObservationKind.REPLY and not step.subagent]
    summary = Handover(
        session=session,
        task=task,
        asked=tuple(later_requests[-MOST_PROMPTS:]),
        commits=tuple(subject for _, subject in find_commits(trace)[-MOST_COMMITS:]),
        edited=tuple(_list_edits(session, trace)[:MOST_FILES]),
        failed=tuple(_list_failures(trace)),
        fixed=tuple(_list_fixes(session, trace)[-LAST_OUTPUTS:]),
        open=tuple(_describe_open(point) for point in find_open_points(trace)[:MOST_OPEN]),
        last_said=replies[-1] if replies else "",
    )
    return replace(summary, text=_render(summary, note))


def find_requests(trace: Iterable[Observation]) -> list[Observation]:
    """Find the requests of the person, the task first, without words that only answer the agent."""
    # A prompt to a subagent is written by an agent, not by the person.
    prompts = [step for step in trace if step.seen is ObservationKind.PROMPT and not step.subagent]
    # A session of short words alone is still about the first of them.
    return [step for step in prompts if len(step.text.split()) >= FEWEST_REQUEST_WORDS] or prompts


def find_commits(trace: Iterable[Observation]) -> list[tuple[Observation, str]]:
    """Find the commits that commands made: each command with the subject."""
    steps = (step for step in trace if "commit" in step.command and not step.failed)
    return [(step, match["subject"].strip()) for step in steps for match in COMMIT.finditer(step.output)]


def _list_edits(session: Session, trace: Iterable[Observation]) -> list[EditedFile]:
    """List the changed files with line counts and reasons, the one changed last first."""
    edits: dict[str, EditedFile] = {}
    why = ""
    for step in trace:
        if step.seen in (ObservationKind.REPLY, ObservationKind.PROMPT) and not step.subagent:
            why = first_line(step.text, LINE_CHARACTERS)
        elif step.diff:
            file = step.file.removeprefix(session.directory.rstrip("/") + "/")
            # Taken out and put back, so that the file moves to the end.
            previous = edits.pop(file, EditedFile(file=file, edits=0, added=0, removed=0, why=""))
            edits[file] = EditedFile(
                file=file,
                edits=previous.edits + 1,
                added=previous.added + len(list_diff_lines(step.diff, "+")),
                removed=previous.removed + len(list_diff_lines(step.diff, "-")),
                why=why,
            )
    return list(reversed(edits.values()))


def _summarise_command(step: Observation) -> CommandRun:
    # A failure is explained at the end of the output.
    output = step.output[-OUTPUT_CHARACTERS:]
    return CommandRun(command=step.command, exit_code=step.exit_code, failed=step.failed, at=step.at, output=output)


def _list_failures(trace: Iterable[Observation]) -> list[CommandRun]:
    """List the commands that failed when they were last run."""
    # Later runs replace earlier ones, so a failure that was fixed is left out.
    last_runs = {run.command: run for run in list_runs(trace)}
    return [_summarise_command(run.step) for run in last_runs.values() if run.has_failed][-LAST_OUTPUTS:]


def _list_fixes(session: Session, trace: Sequence[Observation]) -> list[FixedRun]:
    """List the commands that failed and passed later, each with what was done since its last failure."""
    fixes: dict[str, FixedRun] = {}
    for failure, success in find_fixes(list_runs(trace)):
        between = trace[failure.index + 1 : success.index]
        acts = (step.command.strip() for step in between if step.command and not step.failed)
        fixes[failure.command] = FixedRun(
            failure=_summarise_command(failure.step),
            commands=tuple(dict.fromkeys(act for act in acts if not is_inspection(act)))[:MOST_REMEDIES],
            files=tuple(edit.file for edit in _list_edits(session, between))[:MOST_REMEDIES],
        )
    return list(fixes.values())


def find_open_points(trace: Sequence[Observation]) -> list[tuple[Observation, str]]:
    """Find the unfinished points of the agent's own plan, and the last prompt if it got no reply."""
    kinds = (ObservationKind.PROMPT, ObservationKind.REPLY)
    last = next((step for step in reversed(trace) if step.seen in kinds and not step.subagent), None)
    is_waiting = last is not None and last.seen is ObservationKind.PROMPT
    return [*_find_open_plan(trace), *([(last, first_line(last.text, LINE_CHARACTERS))] if last and is_waiting else [])]


def _describe_open(point: tuple[Observation, str]) -> str:
    step, text = point
    return f"asked, not answered: {text}" if step.seen is ObservationKind.PROMPT else text


def _find_open_plan(trace: Iterable[Observation]) -> list[tuple[Observation, str]]:
    """Find the open points of the plan; some agents rewrite it whole each time, others change one task at a time."""
    plan: dict[str, tuple[Observation, str, str]] = {}
    for step in trace:
        arguments = parse_object(step.input) if step.seen is ObservationKind.TOOL else {}
        points = arguments.get("todos") or arguments.get("plan")
        if isinstance(points, list):
            objects = [parse_object(point) for point in points]
            # A whole plan replaces the one before.
            plan = {
                str(index): (step, _get_text(point), str(point.get("status"))) for index, point in enumerate(objects)
            }
        elif step.tool == "TaskCreate":
            task = parse_object(parse_object(step.output).get("task"))
            plan[str(task.get("id"))] = (step, _get_text(arguments), "pending")
        elif step.tool == "TaskUpdate" and arguments.get("status"):
            key = str(arguments.get("taskId"))
            plan[key] = (step, plan[key][1] if key in plan else "", str(arguments["status"]))
    return [(step, text) for step, text, status in plan.values() if text and status not in CLOSED]


def _get_text(point: dict[str, Any]) -> str:
    """Return the text of a point of a plan, which agents store under different names."""
    return first_line(str(point.get("content") or point.get("step") or point.get("subject") or ""), LINE_CHARACTERS)


def _render(summary: Handover, note: str) -> str:
    """Render the handover as an agent reads it: fenced, short, the task first."""
    session = summary.session
    period = format_period(session.started_at, session.last_seen_at)
    heading = (f"Session {format_field(session.id)} of {format_field(session.agent)}", period, format_field(note))
    parts = [", ".join(filter(None, heading))]
    parts += _render_part("Task", [summary.task.strip()[:TASK_CHARACTERS]] if summary.task else [])
    parts += _render_part("Then asked for", [first_line(prompt, LINE_CHARACTERS) for prompt in summary.asked])
    parts += _render_part("Committed", [first_line(subject, LINE_CHARACTERS) for subject in summary.commits])
    parts += _render_part("Changed", _describe_edits(summary.edited))
    parts += _render_part("Failing when last run", [_describe_failure(run) for run in summary.failed])
    parts += _render_part("Failed, then passed", [_describe_fix(fix) for fix in summary.fixed])
    parts += _render_part("Open", summary.open)
    parts += _render_part("The agent ended with", [summary.last_said[:REPLY_CHARACTERS]] if summary.last_said else [])
    return wrap_in_fence(NOTE, "\n".join(parts))


def _describe_edits(edits: Iterable[EditedFile]) -> list[str]:
    """List files with their reasons; files changed for the same reason share a line."""
    by_reason: dict[str, list[str]] = {}
    for edit in edits:
        by_reason.setdefault(edit.why, []).append(f"{edit.file} (+{edit.added} -{edit.removed})")
    return [f"{', '.join(files)}: {why}" for why, files in by_reason.items()]


def _describe_failure(run: CommandRun) -> str:
    # The last line often says only that something failed, as that of make does.
    lines = [*find_error_lines(run.output), *reversed(run.output.splitlines())]
    error = next((line for line in lines if line.strip()), "")
    return f"{first_line(run.command, LINE_CHARACTERS)} → {first_line(error, LINE_CHARACTERS)}"


def _describe_fix(fix: FixedRun) -> str:
    acts = [*(f"ran {first_line(command, LINE_CHARACTERS)}" for command in fix.commands)]
    acts += [f"changed {', '.join(fix.files)}"] if fix.files else []
    return f"{_describe_failure(fix.failure)} → passed{' after: ' if acts else ''}{'; '.join(acts)}"


def _render_part(title: str, lines: Sequence[str]) -> list[str]:
    return [f"{title}:", *(f"- {quote_text(line)}" for line in lines)] if lines else []
