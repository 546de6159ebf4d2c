"""What is behind a memory, and what happened."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import click

from hivemind.app import connect
from hivemind.entrypoints.cli.arguments import (
    across_option,
    limit_option,
    maybe_memory_argument,
    memory_argument,
    memory_ids,
    open_mind,
)
from hivemind.entrypoints.cli.framework import store_name
from hivemind.entrypoints.cli.output import (
    described,
    heading,
    life,
    note,
    origin,
    say,
    still_true,
    table,
    tell,
    tell_rows,
    unified,
    warn,
    wrapped,
)
from hivemind.errors import InvalidInput
from hivemind.formats.codec import to_plain
from hivemind.formats.timestamps import format_minute
from hivemind.model.code import SymbolChange
from hivemind.model.events import FACTS
from hivemind.model.fold import HistoryStep
from hivemind.model.ids import MemoryId, shorten_id
from hivemind.model.recall import Receipt, Spent
from hivemind.model.reports import AnchoredCode, Explanation
from hivemind.model.scope import label_other_repository as from_elsewhere
from hivemind.text.clean import first_line, neutralise, plural

chapter = click.Group()
before_option = click.option("--before", type=int, default=0, metavar="ENTRY", help="Continue from an earlier page.")
READING = ("memories.recalled", "observation.made", "repository.seen")
CHANGES = [name for name in FACTS if name not in READING]
COUNTS = {
    **{name: name for name in ("briefs", "prompts", "recalls")},
    "told_before": "again", "not_looked_up": "spared", "unasked_tokens": "unasked", "asked_tokens": "asked",
}  # fmt: skip
"""What fits 80 columns; JSON has the rest."""


@chapter.command("explain")
@memory_argument
def explain(memory: str, everywhere: bool) -> None:
    """Explain a memory: its sources, versions, changed code, and who was shown it.

    \b
    hivemind explain 3f9a2c1e
    """
    with open_mind() as mind:
        known = mind.explain(memory, everywhere=everywhere)
        code, elsewhere = mind.code.behind(known.memory), mind.checkout.is_elsewhere(known.memory.repo)
    tell({**to_plain(known), "code": code}, lambda: _explained(known, code, elsewhere=elsewhere))


def _explained(known: Explanation, code: Sequence[AnchoredCode], *, elsewhere: bool) -> None:
    described(known.memory, elsewhere=elsewhere)
    if code:
        heading("Code")
    for one in code:
        _became(one)
    if any(one.staleness.must_verify for one in code):
        note(still_true(shorten_id(known.memory.id)))
    heading("History")
    life(known.history)
    heading("Shown to")
    rows = [[format_minute(r.at), r.actor, r.query or "unasked", str(r.rank), str(r.tokens)] for r in known.receipts]
    table(["when", "who", "question", "place", "tokens"], rows)
    if not rows:
        note("Nobody yet.")


def _became(one: AnchoredCode) -> None:
    doubt = ". Verify before acting." if one.staleness.must_verify else ""
    label = "" if one.staleness.change is SymbolChange.GONE else f"{one.staleness.anchor.label}: "
    told = wrapped(neutralise(f"{label}{one.staleness.text}{doubt}"))
    click.echo(click.style(told, fg="yellow") if doubt else told)
    if one.then != one.now:
        unified(one.then, one.now, f"when it was said ({one.staleness.anchor.commit[:8]})", "now")


@chapter.command("history")
@maybe_memory_argument
@click.option("--subject", default="", help="Every value a subject has had, such as deploy-target or REQ-12.")
@across_option
def history(memory: str, subject: str, everywhere: bool) -> None:
    """Show the versions of a memory, or the values of a subject.

    \b
    hivemind history 3f9a2c1e
    hivemind history --subject REQ-12
    """
    if bool(memory) == bool(subject):
        raise InvalidInput("name a memory or a --subject")
    with open_mind() as mind:
        ids = [one.id for one in mind.history.of_subject(subject)] if subject else [memory]
        lives = [mind.history.steps(one, everywhere=everywhere) for one in ids]
        elsewhere = [mind.checkout.is_elsewhere(steps[-1].after.repo) for steps in lives]
    tell(lives if subject else lives[0], lambda: _lives(lives, subject, elsewhere))


def _lives(lives: Sequence[Sequence[HistoryStep]], subject: str, elsewhere: Sequence[bool]) -> None:
    for steps, is_elsewhere in zip(lives, elsewhere, strict=True):
        if subject or is_elsewhere:
            heading(origin(steps[-1].after, elsewhere=is_elsewhere))
        life(steps)
    if not lives:
        note(f"Nothing is known about {subject}.")


@chapter.command("diff")
@click.argument("one", metavar="A", shell_complete=memory_ids)
@click.argument("other", metavar="B", required=False, shell_complete=memory_ids)
@across_option
def diff(one: str, other: str | None, everywhere: bool) -> None:
    """Compare two memories, or the last two versions of one.

    \b
    hivemind diff 3f9a2c1e
    hivemind diff 3f9a2c1e 5b2e91aa
    """
    with open_mind() as mind:
        if other:
            before, after = (mind.show(written, everywhere=everywhere).text for written in (one, other))
        else:
            wordings = list(dict.fromkeys(step.after.text for step in mind.history.steps(one, everywhere=everywhere)))
            before, after = [wordings[0], *wordings][-2:]
    if before == after:
        note("No difference.")
    tell({"before": before, "after": after}, lambda: unified(before, after, one, other or one))


@chapter.command("log")
@maybe_memory_argument
@limit_option(30, "Entries on a page.")
@before_option
@across_option
def log(memory: str, **given: Any) -> None:
    """Show the log here, newest first, of one memory or of all.

    \b
    hivemind log --limit 10
    hivemind log 3f9a2c1e
    """
    _entries("hivemind log", memory, **given)


def _entries(
    command: str, memory: str = "", *, limit: int, before: int, everywhere: bool, facts: Sequence[str] = ()
) -> None:
    """Entries of the log with what the memory says that each is about; two lines each where a person looks."""
    with open_mind() as mind:
        found = mind.history.log(memory, limit=limit, before=before, facts=facts, everywhere=everywhere)
        texts = mind.history.log_texts(found, everywhere=everywhere)
        entries = [
            {
                **to_plain(one),
                "text": text,
                "from": from_elsewhere(one.repo) if mind.checkout.is_elsewhere(one.repo) else "",
            }
            for one, text in zip(found, texts, strict=True)
        ]
    again = " ".join(filter(None, [command, memory, "--everywhere" if everywhere else ""]))
    more = f"more: {again} --before {found[-1].position}" if len(found) == limit else ""
    rows = [
        [str(e["position"]), format_minute(e["at"]), f"{e['actor']} ({e['channel']})", e["fact"],
         shorten_id(e["about"]),
         first_line(e["text"], 140), e["from"]]
        for e in entries
    ]  # fmt: skip
    columns = ["entry", "when", "who", "what", "about", "text", "from"]
    tell_rows(entries, columns, rows, after=more, nothing="Nothing happened yet.", seen=lambda: _by_entry(rows))


def _by_entry(rows: Iterable[Sequence[str]]) -> None:
    for position, when, who, what, *about in rows:
        say(f"{position:>5}  {when}  {what}  by {who}")
        if any(about):
            click.echo(wrapped(neutralise("  ".join(filter(None, about))), " " * 7, " " * 17))


@chapter.command("audit")
@click.option("--verify", is_flag=True, help="Check the chain: any entry edited, removed or moved is found.")
@limit_option(50, "Entries on a page.")
@before_option
@across_option
def audit(verify: bool, **given: Any) -> None:
    """Show who changed what here, and verify the log.

    With --verify the exit code is 1 if the log was tampered with.

    \b
    hivemind audit --limit 10
    hivemind audit --verify
    """
    if not verify:
        _entries("hivemind audit", facts=CHANGES, **given)
        return
    with open_mind() as mind:
        broken, total = mind.maintenance.audit(), plural(mind.history.log_length(), "entry")
    for place in broken:
        warn(f"device {place.device[:8]}, entry {place.device_seq}: {place.why}")
    tell(broken, f"{len(broken)} of {total} are not what they were." if broken else f"The chain of {total} verifies.")
    sys.exit(1 if broken else 0)


@chapter.command("receipts")
@click.option("--session", default="", help="Only of this session.")
@limit_option(50, "Lines to show.")
@across_option
def receipts(session: str, limit: int, everywhere: bool) -> None:
    """List which memories were shown to whom, and why.

    \b
    hivemind receipts --limit 10
    """
    with open_mind() as mind:
        lines = mind.history.receipts(session, limit=limit, everywhere=everywhere)
        shown = mind.browse.get_all({line.memory_id for line in lines}, everywhere=everywhere)
        texts = {one.id: first_line(one.text, 60) for one in shown}
    rows = [
        [format_minute(r.at), r.actor, shorten_id(r.memory_id), str(r.rank), f"{r.tokens}", r.query, r.why]
        for r in lines
    ]
    columns = ["when", "who", "memory", "place", "tokens", "question", "why"]
    tell_rows(lines, columns, rows, nothing="Nothing was shown yet.", seen=lambda: _by_question(lines, texts))


def _by_question(lines: Sequence[Receipt], texts: Mapping[MemoryId, str]) -> None:
    for (at, who, question), shown in groupby(lines, key=lambda one: (format_minute(one.at), one.actor, one.query)):
        heading(f"{at}  {who}  {question or 'unasked'}")
        rows = [
            [str(one.rank), shorten_id(one.memory_id), f"{one.tokens}", texts.get(one.memory_id, "(erased)"), one.why]
            for one in shown
        ]
        table(["place", "memory", "tokens", "text", "why"], rows)


@chapter.command("stats")
@click.option("--tokens", is_flag=True, help="What memory cost each session instead.")
def stats(tokens: bool) -> None:
    """Show counts and sizes.

    \b
    hivemind stats --tokens
    """
    with open_mind() as mind:
        if tokens:
            _spent(mind.history.tokens_spent())
            return
        stats = mind.maintenance.stats()
    rows = [[scope, kind, status, f"{count:,}"] for scope, kind, status, count in stats.memories]
    total = sum(row[3] for row in stats.memories)
    summary = (
        f"{plural(total, 'memory')} · {plural(stats.sessions, 'session')}"
        f" with {plural(stats.observations, 'observation')} · {plural(stats.events, 'log entry')}"
        f" · {stats.bytes / 1e6:.1f} MB"
    )
    tell_rows(stats, ["scope", "kind", "status", "memories"], rows, after=summary, nothing=summary)


def _spent(sessions: Sequence[Spent]) -> None:
    rows = [[s.actor, shorten_id(s.session_id), *(f"{getattr(s, count):,}" for count in COUNTS)] for s in sessions]
    columns = ["who", "session", *COUNTS.values()]
    total = sum(s.unasked_tokens + s.asked_tokens for s in sessions)
    again, spared = sum(s.told_before for s in sessions), sum(s.not_looked_up for s in sessions)
    after = (
        f"{plural(total, 'token')} in {plural(len(rows), 'session')} · {again:,} times something an earlier session had"
        f" found (again), {spared:,} of them told unasked and not looked up in memory again (spared)"
    )
    tell_rows(sessions, columns, rows, after=after, nothing="Nothing was shown yet.")


@chapter.command("sql")
@click.argument("statement")
def sql(statement: str) -> None:
    """Query memories with SQL, read-only.

    Views: agent_memory, traces, sessions, tool_outputs, receipts. Nothing can be changed this way.

    \b
    hivemind sql "SELECT kind, count(*) FROM agent_memory GROUP BY kind"
    """
    with connect(store_name()) as connection:
        found = connection.execute(statement)
    rows = [["" if cell is None else str(cell) for cell in row] for row in found]
    tell_rows(found.dictionaries(), found.columns, rows)
