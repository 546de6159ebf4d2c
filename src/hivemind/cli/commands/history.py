"""``hivemind log``, ``explain`` and ``sql``: what happened, and what is behind a memory."""

import struct
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any

import click

from hivemind.cli import arguments, output
from hivemind.cli.arguments import open_mind
from hivemind.cli.framework import get_store_name
from hivemind.errors import InvalidInput, NotFound
from hivemind.hivemind import Hivemind
from hivemind.model.code import AnchoredCode
from hivemind.model.codec import to_plain
from hivemind.model.digest import ExplainedConclusion
from hivemind.model.events import CHANGES
from hivemind.model.guard import GuardReport
from hivemind.model.ids import MemoryId, shorten_id
from hivemind.model.recall import Receipt
from hivemind.model.review import Explanation
from hivemind.model.session import Observation, ObservationKind
from hivemind.model.timestamps import format_date, format_minute
from hivemind.sql import connect
from hivemind.text.clean import cut_between_words, first_line, neutralise, plural
from hivemind.text.fence import format_field, quote_line

commands = click.Group()
MOST_OUTCOMES = 12
"""Tellings that are listed one by one."""
LONGEST_STEP = 60
"""Characters of the command or message that shows what followed."""
LONGEST_MESSAGE = 600
"""Characters of each message around a conclusion."""
VECTOR_COLUMN = "embedding"
"""The column of the view agent_memory with vectors, as 32-bit numbers."""


@commands.command("explain")
@arguments.memory_argument
def explain(memory: str, everywhere: bool) -> None:
    """Explain a memory: sources, versions, changed code, who saw it.

    The id of a conclusion shows what was said before and after it.

    \b
    hivemind explain 3f9a2c1e
    """
    with open_mind() as mind:
        try:
            explanation = mind.explain(memory, everywhere=everywhere)
        except NotFound:
            conclusion = mind.sessions.conclusion(memory, everywhere=everywhere)
            if conclusion is None:
                raise
            output.emit(conclusion, lambda: _print_conclusion(conclusion))
            return
        code = mind.code.behind(explanation.memory)
        place = mind.checkout.label_elsewhere(explanation.memory.repo)
        guard = mind.guards.get(explanation.memory.id, everywhere=everywhere)
        evidence = [outcome.evidence or "" for outcome in explanation.record.outcomes[:MOST_OUTCOMES]]
        steps = [mind.sessions.observation(event) for event in evidence]
    value = {**to_plain(explanation), "code": code, "guard": to_plain(guard)}
    output.emit(value, lambda: _print_explanation(explanation, code, place, guard, steps))


def _print_conclusion(conclusion: ExplainedConclusion) -> None:
    """Print a conclusion with the messages around it; the one that it quotes stands out."""
    line, session = conclusion.line, conclusion.session
    output.print_conclusion(line, "forgotten" if conclusion.is_forgotten else "not reviewed")
    output.print_heading("In its context")
    for message in conclusion.around:
        speaker = "you" if message.seen is ObservationKind.PROMPT else session.agent
        heading = f"{format_minute(message.at)}  {format_field(speaker)}"
        click.echo(click.style(heading, bold=message.source_id == line.event, dim=message.source_id != line.event))
        click.echo(output.quote(cut_between_words(message.text, LONGEST_MESSAGE)))
    verb, effect = ("restore", "Tell it again") if conclusion.is_forgotten else ("forget", "Never tell it")
    output.note(f"The session: hivemind session show {format_field(session.id)}")
    output.note(f"{effect}: hivemind {verb} {shorten_id(line.event)}")


def _print_explanation(
    explanation: Explanation,
    code: Sequence[AnchoredCode],
    place: str,
    guard: GuardReport | None,
    steps: Sequence[Observation | None],
) -> None:
    output.print_memory(explanation.memory, place)
    if guard:
        acts = f"; acted {plural(guard.acts, 'time')}" if guard.acts else ""
        output.print_field("guard", f"{guard.guard.answer} at {guard.guard.trigger.summary}; {guard.summary}{acts}")
    if code:
        output.print_heading("Code")
    for anchor in code:
        _print_code_change(anchor)
    if any(anchor.staleness.must_verify for anchor in code):
        output.note(output.describe_choices(shorten_id(explanation.memory.id)))
    output.print_heading("History")
    output.print_history(explanation.history)
    output.print_heading("Shown to")
    rows = [
        [format_minute(line.at), line.actor, first_line(line.moment), str(line.rank), str(line.tokens)]
        for line in explanation.receipts
    ]
    output.print_table(["when", "who", "shown at", "place", "tokens"], rows)
    if not rows:
        output.note("Nobody yet.")
    _print_record(explanation, steps)


def _print_record(explanation: Explanation, steps: Sequence[Observation | None]) -> None:
    """Print how often a memory was told, what followed, and whether it still speaks unasked."""
    record = explanation.record
    if not record.tellings:
        return
    output.print_heading("What followed")
    sessions = f" in {plural(record.sessions, 'session')}" if record.sessions else ", outside of sessions"
    output.print_text(f"Told {plural(record.tellings, 'time')}{sessions}.")
    rows = [
        [
            format_minute(outcome.at),
            shorten_id(outcome.session_id),
            outcome.kind.label,
            first_line(step.command or step.text or step.file, LONGEST_STEP) if step else "",
        ]
        for outcome, step in zip(record.outcomes, steps, strict=False)
    ]
    output.print_table(["told", "session", "what followed", "as seen in"], rows)
    if len(record.outcomes) > MOST_OUTCOMES:
        output.note(f"and {len(record.outcomes) - MOST_OUTCOMES:,} more; --json has all")
    if not rows:
        output.note("The log does not show what followed.")
    if record.quiet_since:
        output.note(
            f"Three sessions were told this, and none shows that it was used. Since {format_date(record.quiet_since)}"
            " it is told only when asked, or where its file, command or error comes up."
            f" To have it told again: hivemind verify {shorten_id(explanation.memory.id)}"
        )


def _print_code_change(code: AnchoredCode) -> None:
    advice = ". Verify before acting." if code.staleness.must_verify else ""
    text = output.wrap(neutralise(f"{code.staleness.anchor.label}: {code.staleness.text}{advice}"))
    click.echo(click.style(text, fg="yellow") if advice else text)
    if code.then != code.now:
        commit = code.staleness.anchor.commit[:8]
        output.print_diff(code.then, code.now, f"when it was stored{f' ({commit})' if commit else ''}", "now")


@commands.command("log")
@arguments.memories_argument
@click.option("--diff", is_flag=True, help="Show what changed from version to version, or between two memories.")
@click.option("--subject", default="", help="Every value that a subject has had, such as REQ-12.")
@click.option("--audit", is_flag=True, help="Only changes: who changed what.")
@click.option("--verify", is_flag=True, help="Check the chain of the log; the exit code is 1 if it was tampered with.")
@click.option("--receipts", is_flag=True, help="Which memories were shown to whom, and why.")
@click.option("--session", default="", help="With --receipts: only of this session.")
@arguments.limit_option(30, "Maximum number of log entries or receipts.")
@click.option("--before", type=int, default=0, metavar="ENTRY", help="Continue from an earlier page.")
@arguments.everywhere_option
def log(
    memories: tuple[str, ...], diff: bool, subject: str, audit: bool, verify: bool, receipts: bool, session: str,
    limit: int, before: int, everywhere: bool,
) -> None:  # fmt: skip
    """Show what happened: here, to a memory, or to a subject.

    \b
    hivemind log                           all entries, newest first
    hivemind log 3f9a2c1e                  the versions of a memory
    hivemind log 3f9a2c1e 5b2e91aa --diff  the difference of two memories
    """
    is_one_mode = sum([diff, bool(subject), audit, verify, receipts]) <= 1
    _require(is_one_mode, "--diff, --subject, --audit, --verify and --receipts exclude each other; choose one")
    _require(receipts or not session, "--session goes with --receipts")
    _require(not (memories and (subject or verify)), "--subject and --verify are not about an id; leave it out")
    _require(len(memories) in (1, 2) or not diff, "with --diff, name one memory or two")
    _require(len(memories) <= 1 or not (audit or receipts), "with --audit and --receipts, name one memory at most")
    with open_mind() as mind:
        if verify:
            _verify_chain(mind)
        elif receipts:
            _list_receipts(mind, "".join(memories), session, limit, everywhere=everywhere)
        elif diff:
            _show_diff(mind, memories, everywhere=everywhere)
        elif subject:
            ids = [memory.id for memory in mind.history.of_subject(subject)]
            _show_versions(mind, ids, subject, everywhere=everywhere)
        elif memories and not audit:
            _show_versions(mind, memories, everywhere=everywhere)
        else:
            _list_entries(mind, "".join(memories), limit, before, is_audit=audit, everywhere=everywhere)


def _require(is_met: bool, message: str) -> None:
    if not is_met:
        raise InvalidInput(message)


def _show_versions(mind: Hivemind, memories: Sequence[str], subject: str = "", *, everywhere: bool) -> None:
    histories = [mind.history.steps(memory, everywhere=everywhere) for memory in memories]
    places = [mind.checkout.label_elsewhere(steps[-1].after.repo) for steps in histories]

    def show() -> None:
        for steps, place in zip(histories, places, strict=True):
            if subject or place or len(histories) > 1:
                output.print_heading(output.summarise(steps[-1].after, place))
            output.print_history(steps)
        if not histories:
            output.note(f"No memory here has the subject {subject!r}.")

    output.emit(histories if subject or len(histories) > 1 else histories[0], show)


def _show_diff(mind: Hivemind, memories: Sequence[str], *, everywhere: bool) -> None:
    if len(memories) == 1:
        steps = mind.history.steps(memories[0], everywhere=everywhere)
        texts = [text for text, _ in groupby(step.after.text for step in steps)]
        names = [f"version {number}" for number in range(1, len(texts) + 1)]
    else:
        texts = [mind.show(memory, everywhere=everywhere).text for memory in memories]
        names = list(memories)
    changes = [
        {"from": old, "to": new, "before": before, "after": after}
        for (old, before), (new, after) in pairwise(zip(names, texts, strict=True))
        if before != after
    ]

    def show() -> None:
        for change in changes:
            output.print_diff(change["before"], change["after"], change["from"], change["to"])
        if not changes:
            output.note("No difference.")

    output.emit(changes, show)


def _list_entries(mind: Hivemind, memory: str, limit: int, before: int, *, is_audit: bool, everywhere: bool) -> None:
    """List entries of the log, each with the text of the memory that it is about."""
    facts = CHANGES if is_audit else ()
    page = mind.history.log(memory, limit=limit, before=before, facts=facts, everywhere=everywhere)
    texts = mind.history.log_texts(page, everywhere=everywhere)
    entries = [
        {**to_plain(entry), "text": text, "from": mind.checkout.label_elsewhere(entry.repo)}
        for entry, text in zip(page, texts, strict=True)
    ]
    rows = [
        [str(e["position"]), format_minute(e["at"]), f"{format_field(e['actor'])} ({e['channel']})", e["fact"],
         shorten_id(e["about"]), e["from"], first_line(e["text"], 140)]
        for e in entries
    ]  # fmt: skip
    flags = ["--audit" if is_audit else "", "--everywhere" if everywhere else ""]
    command = " ".join(filter(None, ["hivemind log", memory, *flags]))
    more = f"more: {command} --before {page[-1].position}" if len(page) == limit else ""
    columns = ["entry", "when", "who", "what", "about", "from", "text"]
    output.emit_rows(
        entries, columns, rows, after=more, if_empty="Nothing happened yet.", on_screen=lambda: _print_entries(rows)
    )


def _print_entries(rows: Iterable[Sequence[str]]) -> None:
    """Print two lines for each entry; one line would not fit a terminal."""
    for position, when, who, fact, *about in rows:
        # Scripts get the name of the fact, people its words: "memory rolled back".
        what = fact.replace(".", " ").replace("_", " ")
        click.echo(output.wrap(neutralise(f"{position:>5}  {when}  {what} by {who}"), "", " " * 7))
        if any(about):
            click.echo(output.wrap(quote_line("  ".join(filter(None, about))), " " * 7, " " * 17))


def _verify_chain(mind: Hivemind) -> None:
    breaks, total = mind.maintenance.audit(), plural(mind.history.log_length(), "entry")
    for place in breaks:
        output.warn(f"device {place.device[:8]}, entry {place.device_seq}: {place.why}")
    warning = f"{len(breaks):,} of {total} changed since they were written. Restore a backup: hivemind backup list"
    output.emit(breaks, warning if breaks else f"The chain of {total} verifies.")
    sys.exit(1 if breaks else 0)


def _list_receipts(mind: Hivemind, memory: str, session: str, limit: int, *, everywhere: bool) -> None:
    receipts = (
        mind.explain(memory, everywhere=everywhere).receipts[:limit]
        if memory
        else mind.history.receipts(session, limit=limit, everywhere=everywhere)
    )
    memories = mind.browse.get_all({receipt.memory_id for receipt in receipts}, everywhere=everywhere)
    texts = {memory.id: first_line(memory.text, 60) for memory in memories}
    rows = [
        [format_minute(r.at), r.actor, shorten_id(r.memory_id), str(r.rank), f"{r.tokens}", r.query, r.why]
        for r in receipts
    ]
    columns = ["when", "who", "memory", "place", "tokens", "question", "why"]
    output.emit_rows(
        receipts, columns, rows, if_empty="Nothing was shown yet.", on_screen=lambda: _print_receipts(receipts, texts)
    )


def _print_receipts(receipts: Sequence[Receipt], texts: Mapping[MemoryId, str]) -> None:
    """Print receipts under the questions that they answered."""
    for (at, who, moment), group in groupby(receipts, key=lambda r: (format_minute(r.at), r.actor, r.moment)):
        output.print_heading(f"{at}  {who}  {first_line(moment)}")
        rows = [
            [str(r.rank), shorten_id(r.memory_id), f"{r.tokens}", texts.get(r.memory_id, "(erased)"), r.why]
            for r in group
        ]
        output.print_table(["place", "memory", "tokens", "text", "why"], rows)


@commands.command("sql")
@click.argument("statement")
def sql(statement: str) -> None:
    """Query memories with SQL, read-only.

    Views: agent_memory, traces, sessions, tool_outputs, prompts, messages, receipts.

    \b
    hivemind sql "SELECT kind, count(*) FROM agent_memory GROUP BY kind"
    """
    with connect(get_store_name()) as connection:
        result = connection.execute(statement)
    rows = [[_describe_cell(name, cell) for name, cell in zip(result.columns, row, strict=True)] for row in result]
    values = [{name: _list_numbers(name, cell) for name, cell in row.items()} for row in result.dictionaries()]
    output.emit_rows(values, result.columns, rows)


def _describe_cell(column: str, cell: Any) -> str:
    """A value for a table; of bytes, which nobody reads, only how many there are."""
    if isinstance(cell, bytes):
        return f"<vector of {len(cell) // 4}>" if column == VECTOR_COLUMN else f"<{len(cell):,} bytes>"
    return "" if cell is None else str(cell)


def _list_numbers(column: str, cell: Any) -> Any:
    """A value for JSON; a vector as its numbers."""
    is_vector = column == VECTOR_COLUMN and isinstance(cell, bytes) and len(cell) % 4 == 0
    return [round(number, 6) for (number,) in struct.iter_unpack("<f", cell)] if is_vector else cell
