"""``hivemind session show``, ``replay`` and ``resume``."""

import time
from collections.abc import Sequence
from contextlib import nullcontext
from itertools import pairwise

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.manners import Family, wants
from hivemind.entrypoints.cli.output import as_json, heading, indented, on_terminal, paged, patch, say, tell
from hivemind.model.moments import minute, read
from hivemind.model.session import Observation, Seen, SessionState
from hivemind.model.text import first_line, neutral

LONGEST_PAUSE_SECONDS = 3.0
everywhere_option = click.option("--everywhere", is_flag=True, help="Also look in other repositories.")


@click.group("session", cls=Family)
def command() -> None:
    """One run of an agent: where it stands, what happened in it, how to go on from it."""


@command.command("show")
@click.argument("session", default="")
@everywhere_option
def show(session: str, everywhere: bool) -> None:
    """Where a session stands: its task, the files it edited, its last outputs. Without an id, the last one here.

    \b
    hivemind session show
    """
    with open_mind() as mind:
        state = mind.session_state(session, everywhere=everywhere)
    tell(state, lambda: _standing(state))


def _standing(state: SessionState) -> None:
    one = state.session
    say(f"{one.id}  {one.agent}  {minute(one.started_at)} to {minute(one.last_seen_at)}  {one.observations:,} steps")
    say(one.directory)
    heading("Task")
    say(state.task)
    if state.edited:
        heading("Edited")
    for edited in state.edited:
        say(f"{edited.file}  +{edited.added} -{edited.removed}  {edited.why}")
    if state.outputs:
        heading("Last commands")
    for ran in state.outputs:
        say(f"{'failed' if ran.failed else 'ok':<7}{first_line(ran.command, 100)}")


@command.command("replay")
@click.argument("session", default="")
@click.option("--speed", type=float, default=0, metavar="N", help="Pause as then, N times as fast; 0 does not pause.")
@click.option("--step", is_flag=True, help="Wait for a key after each step.")
@everywhere_option
def replay(session: str, speed: float, step: bool, everywhere: bool) -> None:
    """Step through a session: prompts, calls, edits and results, as they came. With --json, a line for each.

    \b
    hivemind session replay --speed 10
    """
    with open_mind() as mind:
        one, trace = mind.session(session, everywhere=everywhere)
    if wants("json"):
        for seen in trace:
            click.echo(as_json(seen, terse=True))
        return
    with nullcontext() if step or speed else paged():
        say(f"{one.id}  {one.agent}  {minute(one.started_at)} to {minute(one.last_seen_at)}")
        _replayed(trace, speed, step=step)


def _replayed(trace: Sequence[Observation], speed: float, *, step: bool) -> None:
    pauses = [_pause(before, after, speed) for before, after in pairwise(trace)]
    for seen, pause in zip(trace, [*pauses, 0.0], strict=True):
        _tell(seen)
        if step and on_terminal():
            click.pause("")
        elif pause:
            time.sleep(pause)


@command.command("resume")
@click.argument("session", default="")
@everywhere_option
def resume(session: str, everywhere: bool) -> None:
    """A hand-over that another agent can start from. Without an id, of the last session here.

    \b
    hivemind session resume | codex exec -
    """
    with open_mind() as mind:
        told = mind.handover(session, everywhere=everywhere)
    tell(told, lambda: say(told.text))


def _pause(before: Observation, after: Observation, speed: float) -> float:
    if not speed:
        return 0.0
    return min(max((read(after.at) - read(before.at)).total_seconds(), 0) / speed, LONGEST_PAUSE_SECONDS)


def _tell(seen: Observation) -> None:
    """One step, as a person would retell it."""
    marks = ["(subagent)" if seen.subagent else "", "failed" if seen.failed else ""]
    who = " ".join(filter(None, [seen.seen, seen.tool, *marks]))
    click.echo(click.style(f"{seen.at[11:19]}  {neutral(who)}", bold=seen.seen is Seen.PROMPT, dim=not seen.text))
    if seen.text:
        _indented(seen.text)
    if seen.command:
        _indented(f"$ {seen.command}")
    elif seen.file:
        _indented(seen.file)
    elif seen.input:
        _indented(first_line(seen.input, 160))
    if seen.diff:
        patch(seen.diff.splitlines(), indent="    ")
    elif seen.output:
        _indented(_ends(seen.output), colour="red" if seen.failed else None)


def _indented(text: str, colour: str | None = None) -> None:
    click.echo(click.style(indented(text), fg=colour))


def _ends(output: str) -> str:
    """The first and the last lines of what was printed."""
    lines = output.splitlines()
    return output if len(lines) <= 12 else "\n".join([*lines[:4], f"… {len(lines) - 10} lines …", *lines[-6:]])
