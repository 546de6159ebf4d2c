"""Agents: connected, learned from, told; and what they did."""

import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from itertools import zip_longest
from pathlib import Path
from typing import Any

import click

from hivemind.app.agent_setup import Connection
from hivemind.entrypoints.cli.arguments import (
    across_option,
    dry_run_option,
    everywhere_option,
    limit_option,
    open_mind,
    options,
    own_memory_argument,
    scope_option,
    tags_option,
    yes_option,
)
from hivemind.entrypoints.cli.framework import Family, wants
from hivemind.entrypoints.cli.output import (
    answer,
    as_json,
    block,
    fenced_for_agent,
    heading,
    note,
    on_terminal,
    origin,
    paged,
    patch,
    progress,
    say,
    say_json,
    table,
    tell,
    tell_rows,
    unified,
    warn,
)
from hivemind.formats.timestamps import format_minute, parse_timestamp
from hivemind.model.reports import BackfillReport
from hivemind.model.scope import label_other_repository
from hivemind.model.session import Observation, ObservationKind, Session, SessionState
from hivemind.text.clean import first_line, plural
from hivemind.text.fence import format_field

chapter = click.Group()
LONGEST_PAUSE_SECONDS = 3.0
one_session = options(click.argument("session", default=""), across_option)
connecting_options = options(
    click.argument("agents", nargs=-1),
    click.option(
        "--project", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
        help="For this repository only, instead of everywhere.",
    ),
    dry_run_option,
    yes_option,
)  # fmt: skip
WHAT = {
    "server": "MCP server: ask and remember",
    "hooks": "hooks: capture and brief",
    "instructions": "rule: when to ask",
    "trust": "your trust in our hooks",
}


@chapter.command("install")
@connecting_options
@click.option(
    "--trust-codex-hooks", is_flag=True, help="Also tell Codex that you have looked at our hooks; else do so in /hooks."
)
@click.option(
    "--plugin", type=click.Path(path_type=Path), metavar="DIR",
    help="Connect nothing; write a plugin for Claude Code, Codex and Copilot, a Gemini extension and an OpenCode module"
    " there, for a team to publish.",
)  # fmt: skip
def install(
    agents: tuple[str, ...], project: Path | None, dry_run: bool, yes: bool, trust_codex_hooks: bool,
    plugin: Path | None,
) -> None:  # fmt: skip
    """Connect coding agents: all on this machine, or those named.

    \b
    hivemind install --dry-run
    hivemind install claude-code codex
    hivemind install --plugin hivemind-plugin
    """
    with open_mind() as mind:
        if plugin:
            written = mind.agents.write_plugin(plugin)
            tell([str(path) for path in written], "\n".join(["Written:", *(f"  {path}" for path in written)]))
            return
        planned = mind.agents.plan_install(agents, project=project, trust_codex_hooks=trust_codex_hooks)
        _show(planned, nothing="is connected already", exactly=dry_run)
        if not dry_run and _confirmed(planned, "Make these changes?", yes=yes):
            mind.agents.apply(planned)
            note("Connected: the next session is told what is known. 'hivemind doctor' says how each agent stands.")


@chapter.command("uninstall")
@connecting_options
def uninstall(agents: tuple[str, ...], project: Path | None, dry_run: bool, yes: bool) -> None:
    """Remove what 'install' added, from all agents or those named; memories stay.

    \b
    hivemind uninstall --dry-run
    hivemind uninstall codex
    """
    with open_mind() as mind:
        planned = mind.agents.plan_uninstall(agents, project=project)
        _show(planned, nothing="is not connected", exactly=dry_run)
        if not planned:
            note("No agent is connected.")
        if not dry_run and _confirmed(planned, "Take this back?", yes=yes):
            mind.agents.apply(planned)


def _show(planned: Sequence[Connection], *, nothing: str, exactly: bool) -> None:
    """Which files would change and by what, or exactly how; and what to know about it."""
    if wants("json"):
        say_json([{"agent": one.agent, "diffs": one.diffs, "notes": one.plan.notes} for one in planned])
        return
    if exactly:
        _details(planned)
    else:
        table(["agent", "file", "lines", "what"], [row for one in planned for row in _rows(one)])
    for one in planned:
        if not one.plan.changes:
            note(f"{one.title} {nothing}.")
        for remark in one.plan.notes:
            warn(remark)


def _details(planned: Sequence[Connection]) -> None:
    """Every line that would change."""
    for one in planned:
        if one.diffs:
            heading(one.title)
        for diff in one.diffs:
            patch(diff.splitlines())


def _confirmed(planned: Sequence[Connection], question: str, *, yes: bool) -> bool:
    """Whether there is something to change and the person wants it; they may look at every line first."""
    if not any(one.plan.changes for one in planned):
        return False
    if yes:
        return True
    while (said := click.prompt(f"{question} (y yes, n no, d details)", default="y", err=True)[:1].lower()) == "d":
        _details(planned)
    if said != "y":
        raise click.Abort
    return True


def _rows(one: Connection) -> Iterator[list[str]]:
    for change, diff in zip(one.plan.changes, one.diffs, strict=True):
        lines = diff.splitlines()[2:]
        counts = [(sign, sum(line.startswith(sign) for line in lines)) for sign in "+-"]
        size = " ".join(f"{sign}{count}" for sign, count in counts if count)
        yield [one.title, _place(change.path), size, "; ".join(WHAT[what] for what in change.what)]


def _place(path: Path) -> str:
    return f"~/{path.relative_to(Path.home())}" if path.is_relative_to(Path.home()) else str(path)


@chapter.command("backfill")
@click.argument("agents", metavar="[AGENT]...", nargs=-1)
@click.option("--since", default="", metavar="WHEN", help="Only what happened after: a date, or a span such as 6w.")
@click.option("--project", is_flag=True, help="Only sessions in this repository.")
@dry_run_option
@click.pass_context
def backfill(ctx: click.Context, agents: tuple[str, ...], since: str, project: bool, dry_run: bool) -> None:
    """Import past transcripts; with 'git', this repository's commits; with 'files', its instruction files.

    Without a name, every agent that left transcripts on this machine. What was learned arrives as proposals.

    \b
    hivemind backfill --dry-run
    hivemind backfill claude-code codex --since 6w
    hivemind backfill git
    hivemind backfill files
    """
    if agents == ("files",):
        ctx.invoke(sync_files, dry_run=dry_run)
        return
    with open_mind() as mind, progress("Reading") as advance:
        if agents == ("git",):
            done = mind.sessions.import_git(since=since, dry_run=dry_run)
        else:
            done = mind.sessions.import_transcripts(
                agents, since=since, here=project, dry_run=dry_run, progress=advance
            )
    tell(done, _taken_in(done, dry_run=dry_run))
    for reason, count in done.skipped:
        note(f"{count:,} skipped: {reason}")
    if done.quarantined:
        note(f"{plural(done.quarantined, 'line')} that could not be read: hivemind quarantine")
    if done.learned and not dry_run:
        note("Proposals wait in 'hivemind review'.")
        note(f"Undo: hivemind rollback --batch {done.batch}")


def _taken_in(done: BackfillReport, *, dry_run: bool) -> str:
    if not (done.commits or done.transcripts):
        return "There is nothing to take in: no commit, and no transcript of an agent."
    would = "Would take in" if dry_run else "Took in"
    if done.commits:
        return f"{would} {plural(done.commits, 'commit')}; {plural(done.learned, 'new proposal')}."
    # What would be learned shows only once it was read.
    learned = "" if dry_run else f"; {plural(done.learned, 'new proposal')}"
    return (
        f"{would} {done.new:,} new of {plural(done.observations, 'observation')}, {plural(done.sessions, 'session')} in"
        f" {plural(done.transcripts, 'transcript')}{learned}."
    )


@chapter.command("distil")
@one_session
def distil(session: str, everywhere: bool) -> None:
    """Learn from a session, or from all that ended since last time; proposals wait for review."""
    with open_mind() as mind, progress("Distilling") as advance:
        done = mind.sessions.learn(session, everywhere=everywhere, progress=advance)
    proposed = f"{plural(done.proposed, 'new proposal')}, {done.known:,} known before"
    looked = f"Looked at {plural(done.sessions, 'session')}: {proposed}."
    tell(done, looked if done.sessions else "No session has come to rest since the last time.")
    for detector, count in done.by_detector:
        note(f"{count:,} from {detector}")
    if done.refused:
        note(f"{done.refused:,} stayed out: they were rejected or erased here.")


@chapter.command("sessions")
@click.option("--agent", default="", help="Only of this agent.")
@limit_option(20, "Lines to show.")
@click.option("--everywhere", is_flag=True, help="Also in other repositories.")
def sessions(agent: str, limit: int, everywhere: bool) -> None:
    """List the sessions of agents here, newest first.

    \b
    hivemind sessions --agent claude-code
    """
    with open_mind() as mind:
        found = mind.sessions.list(limit=limit, agent=agent, everywhere=everywhere)
        places = [label_other_repository(one.repo) if mind.checkout.is_elsewhere(one.repo) else "" for one in found]
    rows = [
        [one.id, one.agent, format_minute(one.last_seen_at), f"{one.observations:,}", first_line(one.task, 70), place]
        for one, place in zip(found, places, strict=True)
    ]
    nothing = "No session was seen here yet. 'hivemind backfill' takes in the past."
    tell_rows(found, ["session", "agent", "last seen", "steps", "task", "from"], rows, nothing=nothing)


@chapter.group("session", cls=Family)
def session() -> None:
    """Show, replay or resume a session of an agent."""


@session.command("show")
@one_session
def show_session(session: str, everywhere: bool) -> None:
    """Show a session: its task, the files it edited, its last outputs. Without an id, the last one here."""
    with open_mind() as mind:
        state = mind.sessions.state(session, everywhere=everywhere)
        is_elsewhere = mind.checkout.is_elsewhere(state.session.repo)
    tell(state, lambda: _state(state, is_elsewhere=is_elsewhere))


def _title(session: Session, *, is_elsewhere: bool) -> str:
    when = f"{format_minute(session.started_at)} to {format_minute(session.last_seen_at)}"
    place = label_other_repository(session.repo) if is_elsewhere else ""
    return "  ".join(filter(None, map(format_field, [session.id, session.agent, when, place])))


def _state(state: SessionState, *, is_elsewhere: bool) -> None:
    one = state.session
    say(f"{_title(one, is_elsewhere=is_elsewhere)}  {one.observations:,} steps")
    say(format_field(one.directory))
    edited = [f"{one.file}  +{one.added} -{one.removed}  {one.why}" for one in state.edited]
    ran = [f"{'failed' if one.failed else 'ok':<7}{first_line(one.command, 100)}" for one in state.outputs]
    for title, lines in {"Task": [state.task], "Edited": edited, "Last commands": ran}.items():
        if lines:
            heading(title)
            for line in lines:
                click.echo(block(line, ""))


@session.command("replay")
@one_session
@click.option("--speed", type=float, default=0, metavar="N", help="Pause as then, N times as fast; 0 does not pause.")
@click.option("--step", is_flag=True, help="Wait for a key after each step.")
def replay(session: str, speed: float, step: bool, everywhere: bool) -> None:
    """Step through a session: prompts, calls, edits and results, as they came. With --json, a line for each.

    \b
    hivemind session replay --speed 10
    """
    with open_mind() as mind:
        one, trace = mind.sessions.show(session, everywhere=everywhere)
        title = _title(one, is_elsewhere=mind.checkout.is_elsewhere(one.repo))
    if wants("json"):
        for seen in trace:
            click.echo(as_json(seen, terse=True))
        return
    with nullcontext() if step or speed else paged(), fenced_for_agent():
        say(title)
        _replayed(trace, speed, step=step)


def _replayed(trace: Sequence[Observation], speed: float, *, step: bool) -> None:
    for seen, after in zip_longest(trace, trace[1:]):
        _step(seen)
        if step and on_terminal():
            click.pause("")
        elif speed and after:
            passed = (parse_timestamp(after.at) - parse_timestamp(seen.at)).total_seconds()
            time.sleep(min(max(passed, 0) / speed, LONGEST_PAUSE_SECONDS))


@session.command("resume")
@one_session
def resume(session: str, everywhere: bool) -> None:
    """Print a summary from which another agent can continue. Without an id, of the last session here.

    \b
    hivemind session resume | codex exec -
    """
    with open_mind() as mind:
        told = mind.sessions.handover(session, everywhere=everywhere)
    tell(told, lambda: say(told.text), is_fenced=True)


def _step(seen: Observation) -> None:
    """One step, as a person would retell it."""
    marks = ["(subagent)" if seen.subagent else "", "failed" if seen.failed else ""]
    who = " ".join(filter(None, [seen.seen, seen.tool, *marks]))
    click.echo(
        click.style(
            f"{seen.at[11:19]}  {format_field(who)}", bold=seen.seen is ObservationKind.PROMPT, dim=not seen.text
        )
    )
    done = f"$ {seen.command}" if seen.command else seen.file or first_line(seen.input, 160)
    for part in filter(None, [seen.text, done]):
        click.echo(block(part))
    if seen.diff:
        patch(seen.diff.splitlines(), indent="    ")
    elif seen.output:
        click.echo(click.style(block(_ends(seen.output)), fg="red" if seen.failed else None))


def _ends(output: str) -> str:
    """The first and the last lines of what was printed."""
    lines = output.splitlines()
    return output if len(lines) <= 12 else "\n".join([*lines[:4], f"… {len(lines) - 10} lines …", *lines[-6:]])


@chapter.group("trace", cls=Family)
def trace() -> None:
    """Store and search traces of past work."""


@trace.command("store")
@click.option("--agent", required=True, help="Who did it.")
@click.option("--action", required=True, help="What was done, in a few words.")
@click.option("--reasoning", default="", help="Why, and what was found out.")
@click.option("--result", default="", help="How it ended: success, failure …")
@tags_option
@scope_option
@click.option("--link", "links", multiple=True, metavar="CODE", help="Code it is about.")
def store_trace(**given: Any) -> None:
    """Store what was done, why, and how it ended.

    \b
    hivemind trace store --agent codex --action "moved the cache to Redis" --result success
    """
    with open_mind() as mind:
        memory = mind.store_trace(**given)
        tell(memory, f"Stored {origin(memory)}")
        if sharing := mind.browse.sharing_note(memory):
            note(sharing)


@trace.command("search")
@click.argument("question")
@limit_option(None, "Maximum number of traces.")
@everywhere_option
@click.option("--why", is_flag=True, help="Explain the ranking.")
def search_traces(question: str, limit: int | None, everywhere: bool, why: bool) -> None:
    """Search traces of past work.

    \b
    hivemind trace search "redirect loop" --everywhere
    """
    with open_mind() as mind:
        found = mind.search_traces(question, limit=limit, everywhere=everywhere)
    tell(found, lambda: answer(found, why=why), is_fenced=True)


@chapter.command("sync-files")
@dry_run_option
def sync_files(dry_run: bool) -> None:
    """Import instruction files: AGENTS.md, CLAUDE.md, GEMINI.md, QWEN.md, the rules of Cursor, Claude Code, Windsurf,
    Cline and Continue, and Copilot's instructions.

    Each point is a convention with file and line as its source. What a file no longer says is taken back.
    """
    with open_mind() as mind:
        synced = mind.files.sync_instructions(dry_run=dry_run)
    tell(synced, f"{plural(synced.said, 'point')} in the instruction files: {synced.new} new, {synced.gone} gone.")
    if not wants("json"):
        for point in synced.kept_out:
            said = f": {first_line(point.text, 60)}" if point.text else ""
            note(f"{point.file}:{point.lines} was {point.why} earlier and stays out{said}")


@chapter.command("promote")
@own_memory_argument
@click.option("--to", "file", default="AGENTS.md", show_default=True, metavar="FILE", help="The instruction file.")
@yes_option
def promote(memory: str, file: str, yes: bool) -> None:
    """Write a reviewed memory into an instruction file, as a diff you confirm.

    \b
    hivemind promote 3f9a2c1e --to AGENTS.md
    """
    with open_mind() as mind:
        path, before, after = mind.review.promote(memory, file)
    if before == after:
        note(f"{file} has it already.")
        return
    if not wants("json"):
        unified(before, after, file, file)
    if not yes:
        click.confirm(f"Write {file}?", abort=True, err=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(after)
    tell({"file": str(path), "before": before, "after": after}, f"Wrote {file}.")
