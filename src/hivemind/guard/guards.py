"""Guards: set, try on the past, list, pause and lift them, and judge a call that is about to be made."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import PurePath

from hivemind.agents.callers import SIGNS
from hivemind.code import lazy_modules
from hivemind.context import Context, Progress, quietly
from hivemind.errors import HivemindError, InvalidInput, NotFound
from hivemind.guard import patterns, proposals
from hivemind.guard.proposals import list_invocations
from hivemind.model.events import Event, Fact, GuardLifted, GuardSet, MemoryDisputed
from hivemind.model.fold import filter_effective
from hivemind.model.guard import (
    GuardAnswer,
    GuardReport,
    GuardState,
    GuardTrial,
    GuardVerdict,
    MemoryGuard,
    PastCall,
    Trigger,
)
from hivemind.model.ids import shorten_id
from hivemind.model.memory import Memory, Status, Trust
from hivemind.model.recall import Occasion, Recall
from hivemind.model.scope import Scope
from hivemind.model.session import Observation, ObservationKind
from hivemind.model.timestamps import When, format_date, format_minute, parse_deadline
from hivemind.recall.brief import mark_stale
from hivemind.recall.session_receipts import SessionReceipts
from hivemind.recall.unasked_hits import make_hit
from hivemind.store import log
from hivemind.store.projections import guards, memories, receipts, sessions
from hivemind.text import cues, switch
from hivemind.text.clean import check_text
from hivemind.text.shell_edits import find_edited_files

PERSON_RULE = "only a person may do that"
OWN_PROGRAMS = ("hivemind", "hivemind-memory")
OWN_CALLS = Trigger(
    commands=(
        *(f"{program} {command}" for program in OWN_PROGRAMS for command in ("guard *", "off", "uninstall")),
        # With a prompt that nobody typed, an agent could quote the person against a rule.
        "hivemind-hook",
    ),
    exceptions=tuple(f"{program} guard --check" for program in OWN_PROGRAMS),
    files=(switch.FILE,),
)
"""A guard that asks or refuses answers these too, because they change guards or switch them off."""
SIGN_VARIABLES = tuple(sign for sign, _, _ in SIGNS)
HIDES_AGENT = re.compile(
    rf"\b(?:{'|'.join(SIGN_VARIABLES)})=|(?:-u|unset)\b[^;&|\n]*\b(?:{'|'.join(SIGN_VARIABLES)})\b"
    r"|\benv\s+(?:-\S+\s+)*(?:-\s|-\w*i\b|--ignore-environment\b)"
)
"""Takes away the variables that say that an agent runs a command: ours would take it for the person's."""
MOST_SESSIONS = 1000
"""The newest sessions on which a trigger is tried."""
MOST_NEAR = 20
"""Calls of the same program that a trial lists beside those at which the guard would have acted."""
STRENGTHS = tuple(GuardAnswer)


class Guards:
    """Sets guards and judges calls; only a person sets, pauses or lifts one."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._receipts = SessionReceipts(context)

    def list_all(self, *, everywhere: bool = False) -> tuple[GuardReport, ...]:
        """List the guards of this repository, and whether each acts now."""
        sight = self._context.limit_sight(everywhere=everywhere)
        return tuple(self._report(guards.list_guards(self._context.store.db, sight)))

    def get(self, memory: str, *, everywhere: bool = False) -> GuardReport | None:
        """Return the guard of a memory; None if it has none."""
        memory_id = self._context.resolve(memory, everywhere=everywhere)
        guard = guards.get(self._context.store.db, memory_id)
        return next(self._report([guard])) if guard else None

    def propose(self, memory: str, *, everywhere: bool = False) -> Trigger:
        """Return the trigger of a memory's guard; without one, the calls that its words and links seem to forbid."""
        target = self._context.find_memory(memory, everywhere=everywhere)
        guard = guards.get(self._context.store.db, target.id)
        return guard.trigger if guard else proposals.propose_trigger(target)

    def try_on_past(self, trigger: Trigger, progress: Progress = quietly) -> GuardTrial:
        """Return what a trigger would have done in the recorded sessions of this repository."""
        context = self._context
        recent = sessions.list_sessions(context.store.db, context.limit_sight(), limit=MOST_SESSIONS)
        acts, near = list[PastCall](), list[PastCall]()
        programs = {patterns.get_program(pattern.split()) for pattern in trigger.commands}
        for count, session in enumerate(recent, start=1):
            progress(count, len(recent))
            for step in sessions.read_observations(context.store.db, session):
                if not (step.command or step.diff or step.tool):
                    continue
                pattern = self._find_match(trigger, [step])
                call = PastCall(
                    session_id=session.id, at=step.at, agent=session.agent, call=self._describe_call(step),
                    pattern=pattern,
                )  # fmt: skip
                if pattern:
                    acts.append(call)
                elif len(near) < MOST_NEAR and _runs_one_of(programs, step.command):
                    near.append(call)
        return GuardTrial(sessions=len(recent), acts=tuple(acts), near=tuple(near))

    def set(
        self,
        memory: str,
        trigger: Trigger,
        *,
        answer: GuardAnswer | str = GuardAnswer.ASK,
        until: When = "",
        everywhere: bool = False,
    ) -> GuardReport:
        """Make a reviewed memory a guard, or change its guard; for a team memory, offer it to the team too."""
        target = self._find_target(memory, everywhere=everywhere)
        if target.status is not Status.ACTIVE or target.trust is not Trust.HIGH:
            raise InvalidInput(f"{shorten_id(target.id)} cannot be a guard: {_explain_not_reviewed(target)}")
        fact = GuardSet(
            memory_id=target.id, trigger=_validate(trigger), answer=GuardAnswer.parse(answer),
            ends_at=parse_deadline(until, self._context.clock()) if until else "", head=target.head,
        )  # fmt: skip
        return self._record(target, fact)

    def accept(self, memory: str, *, everywhere: bool = False) -> GuardReport:
        """Let a teammate's guard act here as the person's own."""
        target, guard = self._find_guard(memory, everywhere=everywhere)
        return self._record(target, _make_fact(guard, head=target.head), is_shared=False)

    def pause(self, memory: str, until: When, *, everywhere: bool = False) -> GuardReport:
        """Let calls pass that the guard would ask about or refuse, until a time; empty ends the pause."""
        target, guard = self._find_guard(memory, everywhere=everywhere)
        if not guard.is_own:
            raise InvalidInput(f"the guard of {shorten_id(target.id)} is {guard.set_by}'s and only reminds here")
        paused_until = parse_deadline(until, self._context.clock()) if until else ""
        # The pause is the person's alone, also where the guard was offered to the team.
        fact = _make_fact(replace(guard, paused_until=paused_until), head=guard.head)
        return self._record(target, fact, is_shared=False)

    def lift(self, memory: str, *, everywhere: bool = False) -> Memory:
        """Take a memory's guard away; the memory stays."""
        target, guard = self._find_guard(memory, everywhere=everywhere)
        self._context.record(self._make_events(target, GuardLifted(memory_id=target.id), is_shared=guard.is_own))
        return target

    def judge(self, steps: Sequence[Observation]) -> GuardVerdict | None:
        """Return what the strongest guard says to a call that is about to be made, and leave a receipt if it acts."""
        verdict = self._find_verdict(steps)
        if verdict and verdict.answer is not GuardAnswer.REMIND:
            self._leave_receipt(verdict)
        return verdict

    def check(self, command: str) -> GuardVerdict | None:
        """Return what the strongest guard would say to a command; None if no guard concerns it."""
        step = Observation(
            agent=self._context.author.actor, session_id="", source_id="", at=self._context.now,
            seen=ObservationKind.TOOL, command=check_text(command, "the command"),
        )  # fmt: skip
        return self._find_verdict([step])

    def _find_verdict(self, steps: Sequence[Observation]) -> GuardVerdict | None:
        """Return what the strongest guard says; a command that changes a guard is answered by the one it names."""
        return max(
            self._list_verdicts(steps) if steps else (),
            key=lambda verdict: (STRENGTHS.index(verdict.answer), shorten_id(verdict.memory.id) in verdict.call),
            default=None,
        )

    def _list_verdicts(self, steps: Sequence[Observation]) -> Iterator[GuardVerdict]:
        call, change = self._describe_call(steps[0]), self._find_match(OWN_CALLS, steps) or _find_hiding_command(steps)
        for guard in guards.list_guards(self._context.store.db, self._context.limit_sight()):
            pattern = self._find_match(guard.trigger, steps)
            if not (pattern or change):
                continue
            report = next(self._report([guard]))
            answer = guard.answer if report.state is GuardState.ARMED else GuardAnswer.REMIND
            if report.state is GuardState.ENDED or not (pattern or answer is not GuardAnswer.REMIND):
                continue
            yield GuardVerdict(
                memory=report.memory, answer=answer, pattern=pattern or change, call=call, changes_guard=not pattern,
                set_by=guard.set_by, set_at=guard.set_at, state=report.state, why_not=report.why,
            )  # fmt: skip

    def list_cues(self) -> Iterator[str]:
        """Yield the cues by which a hook recognises calls that a guard may concern."""
        context = self._context
        for guard in guards.list_guards(context.store.db, context.limit_sight()):
            trigger = guard.trigger
            commands = [spelling for pattern in trigger.commands for spelling in patterns.list_spellings(pattern)]
            yield from cues.list_guard_cues(commands, trigger.files, trigger.symbols, trigger.tools)
            if guard.answer is not GuardAnswer.REMIND:
                hiding_commands = (f"{program} {word}" for program in OWN_PROGRAMS for word in ("env", *SIGN_VARIABLES))
                yield from cues.list_guard_cues((*OWN_CALLS.commands, *hiding_commands), OWN_CALLS.files, (), ())

    def _report(self, set_guards: Iterable[MemoryGuard]) -> Iterator[GuardReport]:
        db = self._context.store.db
        newest_guards = list(set_guards)
        counts = receipts.count_guard_acts(db, [guard.memory_id for guard in newest_guards])
        by_id = {memory.id: memory for memory in memories.get_all(db, [guard.memory_id for guard in newest_guards])}
        for guard in newest_guards:
            memory = by_id[guard.memory_id]
            state, why = self._find_state(guard, memory)
            yield GuardReport(guard=guard, memory=memory, state=state, why=why, acts=counts.get(memory.id, 0))

    def _find_state(self, guard: MemoryGuard, memory: Memory) -> tuple[GuardState, str]:
        now = self._context.now
        if guard.ends_at and guard.ends_at <= now:
            return GuardState.ENDED, f"on {format_date(guard.ends_at)}"
        if doubt := self._find_doubt(guard, memory):
            return GuardState.DISARMED, doubt
        if guard.paused_until > now:
            return GuardState.PAUSED, f"until {format_minute(guard.paused_until)}"
        if not guard.is_own:
            return GuardState.OFFERED, f"set by {guard.set_by}; it only reminds until you accept it"
        return GuardState.ARMED, ""

    def _find_doubt(self, guard: MemoryGuard, memory: Memory) -> str:
        """Return why memory is not sure of what the guard rests on; empty if it is."""
        now = self._context.now
        if memory.status is not Status.ACTIVE and not self._is_doubted_by_agents_alone(memory):
            return f"its memory is {memory.status}"
        if memory.is_expired(now) or not memory.is_valid(now):
            return "its memory has expired" if memory.valid_from <= now else "its memory is not valid yet"
        if memory.is_overdue(now):
            return f"its memory was to be verified by {format_date(memory.verify_by)}"
        if memory.trust is not Trust.HIGH:
            return "its memory was edited by an agent and not reviewed since"
        if guard.head and guard.head != memory.head:
            return "its memory was edited since; set the guard again"
        if memory.anchors:
            query = self._context.query(limit=1)
            hit = mark_stale(self._context, [make_hit(memory, query, "guards this call")], query)[0]
            if hit.is_in_doubt:
                return "the code that its memory is about has changed; 'hivemind verify' arms it again"
        return ""

    def _is_doubted_by_agents_alone(self, memory: Memory) -> bool:
        """Whether only claims of agents dispute a memory; else saying the opposite would take a guard away."""
        if memory.status is not Status.DISPUTED or memory.rivals:
            return False
        db = self._context.store.db
        others = memories.get_all(db, memory.contradicts)
        disputed_by_person = {
            event.fact.against
            for event in filter_effective(log.read_events_about(db, memory.id))
            if isinstance(event.fact, MemoryDisputed) and event.channel.trust is Trust.HIGH
        }
        return all(other.trust is not Trust.HIGH and other.id not in disputed_by_person for other in others)

    def _find_match(self, trigger: Trigger, steps: Sequence[Observation]) -> str:
        """Return the pattern of a trigger that matches a call; empty if none does."""
        command = next((step.command for step in steps if step.command), "")
        if command and _may_run(trigger.commands, command):
            pattern = patterns.find_match(trigger.commands, trigger.exceptions, list_invocations(command))
            if pattern:
                return pattern
        tools = {step.tool for step in steps}
        for tool in trigger.tools:
            if any(patterns.matches_tool(tool, name) for name in tools):
                return tool
        for path, diff in self._list_changes(steps) if trigger.files or trigger.symbols else ():
            if any(patterns.matches_file(exception, path) for exception in trigger.exceptions):
                continue
            if pattern := next((pattern for pattern in trigger.files if patterns.matches_file(pattern, path)), ""):
                return pattern
            if pattern := self._find_symbol(trigger.symbols, path, diff) if diff else "":
                return pattern
        return ""

    def _list_changes(self, steps: Sequence[Observation]) -> Iterator[tuple[str, str]]:
        """Yield the path of each file that a call changes, and what changes in it, as far as that is known."""
        for step in steps:
            if step.file and (step.diff or patterns.CHANGING_TOOL.search(step.tool)):
                yield from ((path, step.diff) for path in self._list_paths(step.file))
            # What ``sed -i`` changes in a file is not known before it has run.
            for file in find_edited_files(step.command) if step.command else ():
                for path in self._list_paths(os.path.join(step.directory, file)):
                    # Whatever lies in a folder that is removed or copied to is changed too.
                    yield f"{path}/" if (self._context.checkout.root / path).is_dir() else path, ""

    def _list_paths(self, file: str) -> Iterable[str]:
        """List the path of a file from the top of the tree, and as it is written if a folder in it is a link."""
        root = self._context.checkout.root.resolve()
        written_path = PurePath(os.path.normpath(root / file))
        relative_path = written_path.relative_to(root).as_posix() if written_path.is_relative_to(root) else ""
        return dict.fromkeys((self._context.checkout.find_path(file), relative_path))

    def _find_symbol(self, symbols: Sequence[str], path: str, diff: str) -> str:
        """Return the symbol of a trigger that an edit changes."""
        here = [symbol for symbol in symbols if symbol.partition("::")[0] == path]
        if not here:
            return ""
        try:
            index = self._context.checkout.index
            names = lazy_modules.edited_symbols.find_edited_names(index, path, [diff]) or ()
        except HivemindError:
            # Where it is unclear what an edit changes, a guard does not act.
            return ""
        for symbol in here:
            name = symbol.partition("::")[2]
            # ``Cart.add`` is a part of ``Cart``, and may be named without its class.
            if any(f".{name}." in f".{edited_name}." for edited_name in names):
                return symbol
        return ""

    def _describe_call(self, step: Observation) -> str:
        path = self._context.checkout.find_path(step.file) if step.file else ""
        return step.command or path or step.file or step.tool

    def _leave_receipt(self, verdict: GuardVerdict) -> None:
        occasion = Occasion.GUARD_ASK if verdict.answer is GuardAnswer.ASK else Occasion.GUARD_DENY
        query = self._context.query(verdict.call, limit=1)
        hit = make_hit(verdict.memory, query, f"guards {verdict.pattern}")
        self._receipts.record(Recall(query=query, hits=(hit,), text=""), is_unasked=True, occasion=occasion)

    def _find_target(self, memory: str, *, everywhere: bool) -> Memory:
        context = self._context
        # Whatever the settings let agents review: a rule with teeth is a person's.
        if not context.is_person:
            context.refuse("setting or lifting a guard", PERSON_RULE)
        return context.find_memory_to_change(memory, everywhere=everywhere)

    def _find_guard(self, memory: str, *, everywhere: bool) -> tuple[Memory, MemoryGuard]:
        target = self._find_target(memory, everywhere=everywhere)
        guard = guards.get(self._context.store.db, target.id)
        if guard is None:
            raise NotFound(f"{shorten_id(target.id)} has no guard; 'hivemind guard {shorten_id(target.id)}' sets one")
        return target, guard

    def _record(self, memory: Memory, fact: GuardSet, *, is_shared: bool = True) -> GuardReport:
        self._context.record(self._make_events(memory, fact, is_shared=is_shared))
        guard = guards.get(self._context.store.db, memory.id)
        assert guard is not None
        return next(self._report([guard]))

    def _make_events(self, memory: Memory, fact: Fact, *, is_shared: bool) -> list[Event]:
        """Make the person's own event, and for a team memory one that offers the same to the team."""
        factory = self._context.factory
        if memory.scope is not Scope.TEAM:
            return [factory.event(fact, memory.scope, memory.repo)]
        own = factory.event(fact, Scope.PROJECT if memory.repo else Scope.USER, memory.repo)
        return [own, factory.event(fact, Scope.TEAM, memory.repo)] if is_shared else [own]


def _make_fact(guard: MemoryGuard, *, head: str) -> GuardSet:
    return GuardSet(
        memory_id=guard.memory_id, trigger=guard.trigger, answer=guard.answer, ends_at=guard.ends_at,
        paused_until=guard.paused_until, head=head,
    )  # fmt: skip


def _validate(trigger: Trigger) -> Trigger:
    if trigger.is_empty:
        raise InvalidInput("a guard needs a trigger; add --command, --file, --symbol or --tool")
    return Trigger(
        commands=tuple(map(patterns.validate_command_pattern, trigger.commands)),
        exceptions=tuple(map(patterns.validate_command_pattern, trigger.exceptions)),
        files=tuple(map(patterns.validate_file_pattern, trigger.files)),
        symbols=tuple(map(patterns.validate_symbol, trigger.symbols)),
        tools=trigger.tools,
    )


def _explain_not_reviewed(memory: Memory) -> str:
    match memory.status:
        case Status.SUPERSEDED | Status.RETRACTED | Status.ERASED:
            return f"it is {memory.status}; to bring it back: hivemind restore {shorten_id(memory.id)}"
        case Status.DISPUTED:
            return "it is disputed; 'hivemind review' settles it"
        case Status.ACTIVE | Status.PROPOSED:
            return f"nobody has reviewed it; 'hivemind approve {shorten_id(memory.id)}' does"


def _may_run(command_patterns: Sequence[str], command: str) -> bool:
    """Whether a script has the program of one of these patterns; only then it is parsed."""
    words = set(cues.split_into_words(command))
    programs = (patterns.get_program(pattern.split()) for pattern in command_patterns)
    return any("*" in program or program in words for program in programs)


def _find_hiding_command(steps: Sequence[Observation]) -> str:
    """Return the program of ours that a call runs without the variables that say that an agent runs it; else empty."""
    command = next((step.command for step in steps if step.command), "")
    if not HIDES_AGENT.search(command):
        return ""
    own_commands = [
        words for chain in list_invocations(command) for words in chain if patterns.get_program(words) in OWN_PROGRAMS
    ]
    # A text that our command is given may tell of such a variable.
    texts = (word for words in own_commands for word in words if " " in word)
    if not own_commands or not HIDES_AGENT.search(reduce(lambda rest, text: rest.replace(text, ""), texts, command)):
        return ""
    return patterns.get_program(own_commands[0])


def _runs_one_of(programs: set[str], command: str) -> bool:
    if not programs.intersection(cues.split_into_words(command)):
        return False
    return any(patterns.get_program(words) in programs for chain in list_invocations(command) for words in chain)
