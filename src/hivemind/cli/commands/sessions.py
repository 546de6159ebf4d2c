"""What agents did: ``hivemind session``, ``trace``, ``learn``; and what they are given: ``brief``."""

import time
from collections.abc import Sequence
from contextlib import nullcontext
from itertools import zip_longest
from typing import Any

import click

from hivemind.cli import arguments, output
from hivemind.cli.arguments import open_mind
from hivemind.cli.framework import CommandGroup, wants
from hivemind.model.codec import to_plain
from hivemind.model.digest import Digest, Part
from hivemind.model.ids import shorten_session_ids
from hivemind.model.session import Observation, ObservationKind, Session, SessionState
from hivemind.model.timestamps import format_minute, format_period, parse_timestamp
from hivemind.text import switch
from hivemind.text.clean import first_line, plural
from hivemind.text.fence import format_field

commands = click.Group()
LONGEST_PAUSE_SECONDS = 3.0
"""A replay does not wait through somebody's lunch break."""
DIGEST_HEADINGS = {
    "Task": Part.TASK, "Then asked for": Part.REQUEST, "Concluded": Part.CONCLUSION, "Failed, then passed": Part.FIX,
    "Dead ends": Part.DEAD_END, "Changed": Part.CHANGE, "Committed": Part.COMMIT, "Open": Part.OPEN,
}  # fmt: skip


@commands.command("brief")
@click.option("--prompt", default="", metavar="TEXT", help="Print what would be given for this prompt instead.")
def brief(prompt: str) -> None:
    """Print what an agent is given at the start of a session here.

    \b
    hivemind brief
    hivemind brief --prompt "add a second factor to the login"
    """
    with open_mind() as mind:
        recall = mind.on_prompt(prompt) if prompt else mind.brief()
        is_off = switch.is_off(mind.repository.root)
    why = "no memory fits this prompt" if prompt else "nothing is remembered here yet"
    output.emit(
        recall, lambda: output.print_text(recall.text) if recall.text else output.note(f"Empty: {why}."), is_fenced=True
    )
    if is_off:
        output.note("Agents are not told this, because memory is off in this repository: hivemind on")


@commands.command("learn")
@arguments.session_argument
@click.option("--with", "agent", metavar="AGENT", help="Ask your own agent instead: claude, codex, gemini or opencode.")
@arguments.limit_option(1, "With --with: maximum number of sessions to send.")
def learn(session: str, everywhere: bool, agent: str | None, limit: int) -> None:
    """Learn from a session, or all since last time; proposals wait for review.

    Without a session, also what agents have noted on their own since last time.

    --with sends the redacted record of a session to your own agent, which sends it to the provider of its model. The
    agent can change nothing. Hivemind proposes only what quotes words of the session. 'hivemind status --learning'
    lists what was sent; the setting learn_with_daily limits it.

    \b
    hivemind learn
    hivemind learn --with claude --limit 3
    """
    if agent:
        _learn_with(agent, session, limit)
        return
    with open_mind() as mind, output.progress("Learning") as advance:
        report = mind.learning.learn(session, everywhere=everywhere, progress=advance)
        mind.maintenance.start_catching_up()
    proposals = f"{plural(report.proposed, 'new proposal')}, {report.known:,} already known"
    summary = f"Read {plural(report.sessions, 'session')}: {proposals}."
    has_news = report.sessions or report.proposed
    output.emit(report, summary if has_news else "No session has ended since the last time, and no notes are new.")
    for detector, count in report.by_detector:
        output.note(f"{count:,} from {detector}")
    if report.refused:
        output.note(f"{report.refused:,} left out, because they were rejected or erased here.")


def _learn_with(agent: str, session: str, limit: int) -> None:
    def announce(target: Session, title: str, size: int) -> None:
        task = first_line(target.task, 60)
        output.note(f"Sending {size:,} characters of session {target.id[:12]} ({task}) to {title} and its provider.")

    with open_mind() as mind:
        report = mind.learning.learn_with(agent, session, limit=limit, announce=announce)
    summary = f"{report.agent} read {plural(report.sessions, 'session')}: {plural(report.proposed, 'new proposal')}."
    output.emit(report, summary if report.sessions else "There is no session here that an agent has not read yet.")
    if report.dropped:
        output.note(f"{report.dropped:,} dropped, because no words of the session show them.")
    if report.proposed:
        output.note("Review the proposals: hivemind review")


@commands.group("session", cls=CommandGroup, default="list")
def session_group() -> None:
    """List, search, show, replay or resume sessions of agents. Without a command, list them.

    \b
    hivemind session
    hivemind session replay --speed 10
    """


@session_group.command("list")
@click.option("--agent", default="", help="Only of this agent.")
@arguments.limit_option(20, "Maximum number of sessions.")
@arguments.everywhere_option
def list_sessions(agent: str, limit: int, everywhere: bool) -> None:
    """List the sessions of agents here, newest first.

    \b
    hivemind session list --agent claude-code
    """
    with open_mind() as mind:
        sessions = mind.sessions.list(limit=limit, agent=agent, everywhere=everywhere)
        ids = [session.id for session in sessions]
        rows = [
            [
                shown_id,
                session.agent,
                format_minute(session.last_seen_at),
                f"{session.observations:,}",
                first_line(session.task, 70),
                mind.checkout.label_elsewhere(session.repo),
            ]
            # A whole id takes a third of a screen's width; a script gets all of it.
            for session, shown_id in zip(
                sessions, shorten_session_ids(ids) if output.on_terminal() else ids, strict=True
            )
        ]
    if_empty = "No sessions here yet. Import past ones: hivemind import transcripts; of other folders: --everywhere"
    output.emit_rows(sessions, ["session", "agent", "last seen", "steps", "task", "from"], rows, if_empty=if_empty)


@session_group.command("search")
@arguments.words_argument("question")
@click.option("--agent", default="", help="Only of this agent.")
@click.option("--since", default="", metavar="WHEN", help="Only since then: a date, or a span such as 6w.")
@click.option("--until", default="", metavar="DATE", help="Only up to this date.")
@arguments.limit_option(10, "Maximum number of sessions.")
@arguments.everywhere_option
def search_sessions(question: str, **options: Any) -> None:
    """Search what was asked, answered, run and edited in past sessions; nobody has reviewed it.

    \b
    hivemind session search "camelCase or snake_case"
    hivemind session search "migration failed" --agent codex --since 6w
    """
    with open_mind() as mind:
        recall = mind.sessions.search(question, **options)
    output.emit(recall, lambda: output.print_recall(recall, why=False), is_fenced=True)


@session_group.command("show")
@arguments.session_argument
def show_session(session: str, everywhere: bool) -> None:
    """Show a session: what it was asked, concluded, changed and left open. Without an id, the last one here.

    \b
    hivemind session show
    """
    with open_mind() as mind:
        state = mind.sessions.state(session, everywhere=everywhere)
        digest = mind.sessions.digest(state.session.id, everywhere=everywhere)
        title = _format_title(state.session, mind.checkout.label_elsewhere(state.session.repo))
    output.emit({**to_plain(state), "digest": digest}, lambda: _print_state(state, digest, title))


def _format_title(session: Session, place: str) -> str:
    when = format_period(session.started_at, session.last_seen_at)
    return "  ".join(filter(None, map(format_field, [session.id, session.agent, when, place])))


def _print_state(state: SessionState, digest: Digest, title: str) -> None:
    output.print_text(f"{title}  {plural(state.session.observations, 'step')}")
    output.print_text(format_field(state.session.directory))
    for heading, part in DIGEST_HEADINGS.items():
        if lines := digest.select(part):
            output.print_heading(heading)
            for line in lines:
                # Only of a conclusion does a reader want to know who is behind it.
                if part is Part.CONCLUSION:
                    output.print_conclusion(line)
                else:
                    click.echo(output.quote(line.text, ""))
    if state.outputs:
        output.print_heading("Last commands")
        for run in state.outputs:
            click.echo(output.quote(f"{'failed' if run.failed else 'ok':<7}{first_line(run.command, 100)}", ""))


@session_group.command("replay")
@arguments.session_argument
@click.option("--speed", type=float, default=0, metavar="N", help="Pause as in the session, N times as fast; 0: never.")
@click.option("--step", is_flag=True, help="Wait for a key after each step.")
def replay(session: str, speed: float, step: bool, everywhere: bool) -> None:
    """Replay a session: prompts, calls, edits and results in their order. With --json, a line for each.

    \b
    hivemind session replay --speed 10
    """
    with open_mind() as mind:
        summary, observations = mind.sessions.show(session, everywhere=everywhere)
        title = _format_title(summary, mind.checkout.label_elsewhere(summary.repo))
    if wants("json"):
        for observation in observations:
            click.echo(output.format_json(observation, terse=True))
        return
    with nullcontext() if step or speed else output.page_output(), output.fence_for_agent():
        output.print_text(title)
        _print_steps(observations, speed, step=step)


def _print_steps(observations: Sequence[Observation], speed: float, *, step: bool) -> None:
    for observation, after in zip_longest(observations, observations[1:]):
        _print_step(observation)
        if step and output.on_terminal():
            click.pause("")
        elif speed and after:
            seconds = (parse_timestamp(after.at) - parse_timestamp(observation.at)).total_seconds()
            time.sleep(min(max(seconds, 0) / speed, LONGEST_PAUSE_SECONDS))


def _print_step(observation: Observation) -> None:
    marks = ["(subagent)" if observation.subagent else "", "failed" if observation.failed else ""]
    title = format_field(" ".join(filter(None, [observation.seen, observation.tool, *marks])))
    is_prompt = observation.seen is ObservationKind.PROMPT
    click.echo(click.style(f"{observation.at[11:19]}  {title}", bold=is_prompt, dim=not observation.text))
    action = f"$ {observation.command}" if observation.command else observation.file
    for part in filter(None, [observation.text, action or first_line(observation.input, 160)]):
        click.echo(output.quote(part))
    if observation.diff:
        output.print_patch(observation.diff.splitlines(), indent="    ")
    elif observation.output:
        colour = "red" if observation.failed else None
        click.echo(click.style(output.quote(_shorten_output(observation.output)), fg=colour))


def _shorten_output(text: str) -> str:
    """The first and the last lines of an output."""
    lines = text.splitlines()
    return text if len(lines) <= 12 else "\n".join([*lines[:4], f"… {len(lines) - 10} lines …", *lines[-6:]])


@session_group.command("resume")
@arguments.session_argument
def resume(session: str, everywhere: bool) -> None:
    """Print a summary from which another agent can continue. Without an id, of the last session here.

    \b
    hivemind session resume | codex exec -
    """
    with open_mind() as mind:
        handover = mind.sessions.handover(session, everywhere=everywhere)
    output.emit(handover, lambda: output.print_text(handover.text), is_fenced=True)


@session_group.command("prune")
@arguments.dry_run_option
def prune(dry_run: bool) -> None:
    """Delete old observations, except sources of memories.

    The settings keep_days and keep_megabytes say how much is kept.

    \b
    hivemind session prune --dry-run
    """
    with open_mind() as mind:
        report = mind.sessions.prune(dry_run=dry_run)
    amount = f"{plural(report.observations, 'observation')}, {report.bytes / 1e6:.1f} MB"
    output.emit(report, f"{'Would delete' if dry_run else 'Deleted'} {amount}.")


@commands.group("trace", cls=CommandGroup)
def trace() -> None:
    """Store and search traces of past work."""


@trace.command("store")
@click.option("--agent", default="", help="Who did it; you, if not given.")
@click.option("--action", required=True, help="What was done, in a few words.")
@click.option("--reasoning", default="", help="Why, and what was found out.")
@click.option("--result", default="", help="How it ended: success, failure …")
@arguments.tags_option
@arguments.scope_option
@click.option("--link", "links", multiple=True, metavar="CODE", help="Code it is about.")
def store_trace(**fields: Any) -> None:
    """Store what was done, why, and how it ended.

    \b
    hivemind trace store --agent codex --action "moved the cache to Redis" --result success
    """
    with open_mind() as mind:
        memory = mind.store_trace(**fields)
        output.emit(memory, f"Stored {output.summarise(memory)}")
        if redaction := mind.browse.redaction_note(memory):
            output.warn(redaction)
        if sharing := mind.browse.sharing_note(memory):
            output.note(sharing)


@trace.command("search")
@arguments.words_argument("question")
@arguments.limit_option(None, "Maximum number of traces.")
@arguments.everywhere_option
@click.option("--why", is_flag=True, help="Explain the ranking.")
def search_traces(question: str, limit: int | None, everywhere: bool, why: bool) -> None:
    """Search traces of past work.

    \b
    hivemind trace search "redirect loop" --everywhere
    """
    with open_mind() as mind:
        recall = mind.search_traces(question, limit=limit, everywhere=everywhere)
    output.emit(recall, lambda: output.print_recall(recall, why=why), is_fenced=True)
