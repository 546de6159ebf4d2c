"""``hivemind guard``: let a reviewed memory ask or refuse before an agent acts against it."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import click

from hivemind.cli import arguments, output
from hivemind.cli.arguments import open_mind
from hivemind.cli.framework import wants
from hivemind.errors import InvalidInput
from hivemind.hivemind import Hivemind
from hivemind.model.codec import to_plain
from hivemind.model.guard import GuardAnswer, GuardReport, GuardState, GuardTrial, PastCall, Trigger
from hivemind.model.ids import shorten_id
from hivemind.model.timestamps import format_date
from hivemind.text.clean import first_line, plural

commands = click.Group()

NEVER = "never"
MOST_CALLS_SHOWN = 12
"""Lines of a trial; --json has all."""


@commands.command("guard")
@arguments.maybe_memory_argument
@click.option("--command", "patterns", multiple=True, metavar="WORDS", help="A command: 'npm install', 'git push -f'.")
@click.option("--except", "exceptions", multiple=True, metavar="WORDS", help="A command or file that is still allowed.")
@click.option("--file", "files", multiple=True, metavar="GLOB", help="Files that are changed: 'dist/**', '*.lock'.")
@click.option("--symbol", "symbols", multiple=True, metavar="PATH::NAME", help="A function or class that is changed.")
@click.option("--tool", "tools", multiple=True, metavar="NAME", help="A tool, such as WebFetch or 'mcp__github__*'.")
@arguments.enum_option(
    "--answer", among=GuardAnswer, default=None, help="Tell the agent, ask you (the default), or refuse the call."
)
@click.option("--until", default="", metavar="DATE", help="When the guard ends: a date, a span such as 6w, or never.")
@click.option(
    "--pause", default=None, metavar="SPAN", help="Let such calls pass for a while: 1h, 2d; 0 ends the pause."
)
@click.option("--accept", is_flag=True, help="Let a teammate's guard act here.")
@click.option("--off", is_flag=True, help="Remove the guard; the memory stays.")
@click.option("--check", default="", metavar="COMMAND", help="Say which guard would act on a command.")
@arguments.dry_run_option
@arguments.yes_option
@arguments.everywhere_option
def guard(memory: str | None, **options: Any) -> None:
    """Let a reviewed memory ask or refuse before an agent acts.

    Without an ID, list the guards. By default a guard reacts to the commands, files and tools that its memory names.
    You see first what it would have done in your past sessions. Options that you leave out keep their values. A guard
    only reminds when its memory is stale, disputed, expired, replaced or edited. Agents cannot set, pause or remove
    one.

    \b
    hivemind guard 3f9a2c1e
    hivemind guard 3f9a2c1e --command "npm install" --answer deny --until 6w
    hivemind guard 3f9a2c1e --pause 1h
    hivemind guard --check "cd web && npm install"
    """
    with open_mind() as mind:
        if options["check"]:
            _check(mind, options["check"])
        elif not memory:
            _list(mind, everywhere=options["everywhere"])
        elif options["off"]:
            memory_without = mind.guards.lift(memory, everywhere=options["everywhere"])
            output.emit(memory_without, f"Removed the guard of {output.summarise(memory_without)}")
        elif options["accept"]:
            _emit_report(mind.guards.accept(memory, everywhere=options["everywhere"]), "Accepted")
        elif options["pause"] is not None:
            span = "" if options["pause"] in ("0", "") else options["pause"]
            report = mind.guards.pause(memory, span, everywhere=options["everywhere"])
            _emit_report(report, "Paused" if span else "Armed again")
        else:
            _set(mind, memory, options)


def _check(mind: Hivemind, command: str) -> None:
    verdict = mind.guards.check(command)
    if verdict is None:
        output.emit({"acts": False}, "No guard concerns this command.")
        return
    acts = verdict.answer is not GuardAnswer.REMIND
    what = f"{verdict.answer}: the guard {shorten_id(verdict.memory.id)} matches {verdict.pattern}"
    state = f" ({verdict.state.describe(verdict.why_not)})" if verdict.why_not else ""
    output.emit({"acts": acts, **to_plain(verdict)}, f"{what}{state}")


def _list(mind: Hivemind, *, everywhere: bool) -> None:
    reports = mind.guards.list_all(everywhere=everywhere)
    rows = [
        [
            shorten_id(report.memory.id), report.guard.answer.value, report.summary, str(report.acts),
            report.guard.trigger.summary, first_line(report.memory.text, 60),
        ]
        for report in reports
    ]  # fmt: skip
    output.emit_rows(
        reports, ["id", "answer", "state", "acted", "trigger", "memory"], rows,
        if_empty="No guards here. 'hivemind guard ID' makes a reviewed memory one.",
    )  # fmt: skip


def _set(mind: Hivemind, memory: str, options: dict[str, Any]) -> None:
    everywhere = options["everywhere"]
    trigger = Trigger(
        commands=options["patterns"], exceptions=options["exceptions"], files=options["files"],
        symbols=options["symbols"], tools=options["tools"],
    )  # fmt: skip
    old_report, origin = mind.guards.get(memory, everywhere=everywhere), ""
    if trigger.is_empty:
        trigger = mind.guards.propose(memory, everywhere=everywhere)
        origin = " (as it was set)" if old_report else " (from the memory)"
    if trigger.is_empty:
        raise InvalidInput(
            "this memory names no command or file to guard; add --command, --file, --symbol or --tool yourself"
        )
    answer = options["answer"] or (old_report.guard.answer if old_report else GuardAnswer.ASK)
    until = options["until"] or (
        old_report.guard.ends_at if old_report and old_report.state is not GuardState.ENDED else NEVER
    )
    # With --json, who calls consents, and gets one document.
    if options["dry_run"] or not (options["yes"] or wants("json")):
        with output.progress("Trying it on past sessions") as progress:
            trial = mind.guards.try_on_past(trigger, progress)
        output.emit(
            {"trigger": to_plain(trigger), "answer": answer.value, "trial": to_plain(trial)},
            lambda: _print_trial(trigger.summary + origin, answer, trial),
        )
    if options["dry_run"]:
        return
    arguments.confirm(f"Set this guard ({answer})?", yes=options["yes"])
    report = mind.guards.set(
        memory, trigger, answer=answer, until="" if until == NEVER else until, everywhere=everywhere
    )
    _emit_report(report, "Guarded")


def _emit_report(report: GuardReport, what: str) -> None:
    short_id, guard = shorten_id(report.memory.id), report.guard
    end = f", until {format_date(guard.ends_at)}" if guard.ends_at else ""
    is_paused = report.state is GuardState.PAUSED
    state = f", {report.summary}" if is_paused else ""
    output.emit(
        report,
        f"{what} {output.summarise(report.memory)}\n  {guard.answer} at {guard.trigger.summary}{end}{state}",
    )
    if report.state in (GuardState.DISARMED, GuardState.ENDED):
        output.warn(f"it does not act now: {report.summary}")
    what, span = ("End the pause", "0") if is_paused else ("Let such calls pass", "1h")
    output.note(f"{what}: hivemind guard {short_id} --pause {span}\nRemove it: hivemind guard {short_id} --off")


def _print_trial(trigger: str, answer: GuardAnswer, trial: GuardTrial) -> None:
    output.print_field("trigger", trigger)
    output.print_field("answer", answer.value)
    sessions = {call.session_id for call in trial.acts}
    session_count = plural(trial.sessions, "past session")
    if not trial.sessions:
        output.print_field("trial", "no past sessions here to try it on")
    elif not trial.acts:
        output.print_field("trial", f"would not have acted in {session_count}")
    else:
        times = plural(len(trial.acts), "time")
        output.print_field("trial", f"would have acted {times} in {len(sessions)} of {session_count}")
        _print_calls(trial.acts)
    if trial.near:
        output.print_field("left alone", "other calls of the same program, such as")
        _print_calls(trial.near)


def _print_calls(calls: Sequence[PastCall]) -> None:
    counts = Counter(first_line(call.call, 90) for call in calls)
    last = {first_line(call.call, 90): call for call in calls}
    rows = [
        [f"{count}×", format_date(last[text].at), last[text].agent, text]
        for text, count in counts.most_common(MOST_CALLS_SHOWN)
    ]
    output.print_table(["", "last", "agent", "call"], rows)
    if len(counts) > MOST_CALLS_SHOWN:
        output.note(f"and {plural(len(counts) - MOST_CALLS_SHOWN, 'more')}; --json lists all")
