"""Say what followed in a session after a memory was told there, from the session's steps alone.

A wrong claim harms a memory that nobody can defend, so each rule claims only what a reader of the session would see,
and everything else is unknown.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from hivemind.memory.comparison import FEWEST_WORDS, count_common_words, is_same_topic
from hivemind.model.commands import PROGRAMS, STOPPED_CALL, SessionRun, list_runs
from hivemind.model.ids import EventId
from hivemind.model.memory import Kind, Memory
from hivemind.model.outcomes import OutcomeKind, Telling, TellingOutcome
from hivemind.model.recall import Occasion, Receipt
from hivemind.model.session import Observation, ObservationKind, list_diff_lines
from hivemind.sessions.talk import OBJECTION
from hivemind.text import cues
from hivemind.text.prose import split_prompt, split_typed
from hivemind.text.search_terms import extract_terms, measure_share
from hivemind.text.shell_edits import find_edited_files

GUARDS = (Occasion.GUARD_ASK, Occasion.GUARD_DENY)
STATED_SHARE = 0.9
"""The share of an error's words that the memory must have: with another name in it, it is another error."""
NO_ERROR = re.compile(
    r"\s*[$>+] |.*\b\d+ (?:errors?|warnings?|problems?|failures?|failed|failing|passed|tests?)\b"
    r"|.*\bexit(?:ed)?\b.*\bcode\b",
    re.IGNORECASE,
)
"""A line that repeats the command, or counts errors; every failure of a tool has it."""
IN_BACKGROUND = re.compile(r"running in (?:the )?background|moved to the background", re.IGNORECASE)
"""A command that has not ended has not passed."""
NOT_RUN = re.compile(r" --(?:dry-run|help|version|collect-only|list\S*)\b")
"""Options with which a command only says what it would do."""
SHORTEST_LINE = 4
"""Characters of a changed line that say which line it is; brackets and blank lines are everywhere."""
REVERTED_SHARE, KEPT_SHARE = 0.8, 0.8
"""The share of an edit's new lines that a later edit takes out, or that still stand at the end."""
RESTORED_SHARE = 0.6
"""The share of the old lines that come back; lines that are replaced by others were changed, not taken back."""
RESTORING = re.compile(
    r"\bgit (?:-C \S+ )?(?:checkout (?!-b)|restore |revert\b|stash\b|apply\b|reset --(?:hard|merge|keep)"
    r"|switch .*(?:-f\b|--force|--discard))|(?:\A|[;&|] *)(?:rm|mv) "
)
"""Commands that may take back an edit, so that nothing is claimed unless they name the file."""
TAKES_BACK = re.compile(r"(?:\A|[;&|(] *)git (?:checkout|restore(?! --staged)) ([^;&|)]*)", re.MULTILINE)
WARNING_FORMS = (cues.REPLACEMENT, cues.NEEDS[0])
"""Forms in which a note says that a command is wrong; the other forms of needs say when it is right."""
CONDITION = re.compile(
    r"\b(?:if|when|whenever|unless|without|before|after|during|until|while|except|directly|manually|yourself|again"
    r"|on|for|from|as|to|with|twice|outside|inside|within|via|where|because|since)\b|\bin (?!(?:this|the|our) "
    r"(?:repo|repository|project|monorepo|codebase)\b)",
    re.IGNORECASE,
)
"""Words after which a warning holds only sometimes; whether it does the log seldom shows."""
RECOMMENDED = re.compile(
    r"`([^`\n]+)`|\b(?:use|run|prefer)\s+([a-z][\w.-]*)(?=(?:,|;)? (?:and )?(?:not|instead of|rather than)\b)",
    re.IGNORECASE,
)
"""A command in backticks, or a program that a note prefers to another."""
FIXED_BY = re.compile(r"\bFixed by `([^`\n]+)`")
"""What made a command pass, in the words of our own detector."""
NO_RECOMMENDATION = re.compile(
    r"\b(?:if|directly|alone|broken|breaks?|fail(?:s|ed)?|stale|legacy|deprecated|removed?|instead of running|wrong"
    r"|hangs?|slow|requires?|bug|error|replaced|old|formerly|used to|was|were|warning)\b",
    re.IGNORECASE,
)
"""Words of a sentence that describes a command rather than asks for it."""
NEGATED = re.compile(
    r"\b(?:not|never|n't|don't|avoid|instead of|rather than|without|no longer)\W+(?:\w+\W+){0,2}\Z", re.I
)
"""Stands before a command that is not recommended."""
CORRECTIVE = re.compile(
    r"\bi (?:already )?(?:told|asked|said)\b|\bas i said\b|\bwhy (?:did|didn't|are|aren't|do|don't) you\b"
    r"|\byou (?:should(?:n't)?|forgot|didn't|did not|keep|still|were supposed|are supposed|are not supposed|ignored)\b"
    r"|\b(?:do not|don't|stop|never)\b.*\b(?:again|anymore)\b|\bnot supposed to\b|\bwe (?:don't|never) \w+",
    re.IGNORECASE,
)
"""Words with which people correct what an agent did."""
RULES = (Kind.CONVENTION, Kind.PROCEDURE, Kind.PREFERENCE, Kind.REQUIREMENT, Kind.DECISION)
FEWEST_SHARED_STEMS = 3
"""Words that a correction and a memory must share, besides being about one thing."""
NAME = re.compile(r"`([^`\n]{3,80})`|((?:[\w@-]+[./_:-]+)+[\w-]{2,}|[a-z]+[A-Z]\w+|[A-Z][a-z]+[A-Z]\w+|--[a-z][\w-]+)")
NEGATION = re.compile(r"\b(?:not|never|no|avoid|instead|rather|without|stop)\b|n['’]t\b", re.IGNORECASE)
"""Before a name in a clause; to name what a note warns of is no use of it."""
CLAUSE_END = re.compile(r"[.;:,!?(](?=\s)|\n| - | – | but ")
SHORTEST_NAME = 5
"""Characters of a name that does not occur by chance."""


@dataclass(frozen=True, slots=True)
class _Finding:
    kind: OutcomeKind
    evidence: Observation | None = None


def judge_tellings(tellings: Iterable[Telling], steps: Sequence[Observation]) -> list[TellingOutcome]:
    """Return what followed each telling of a session, whose steps are in order."""
    findings = ((each.receipt, next(_find_outcomes(each, steps), _Finding(OutcomeKind.UNKNOWN))) for each in tellings)
    return [
        TellingOutcome(
            receipt=receipt.id, rank=receipt.rank, memory_id=receipt.memory_id, session_id=receipt.session_id,
            at=receipt.at, kind=finding.kind,
            evidence=EventId(finding.evidence.source_id) if finding.evidence else None,
        )
        for receipt, finding in findings
    ]  # fmt: skip


def _find_outcomes(telling: Telling, steps: Sequence[Observation]) -> Iterator[_Finding]:
    """Yield what followed, the weightiest first."""
    receipt, memory = telling.receipt, telling.memory
    if receipt.occasion in GUARDS:
        yield _Finding(OutcomeKind.GUARDED)
        return
    # A subagent has a context of its own: it was not told what the agent was, nor the agent what it was.
    is_subagents = receipt.occasion == Occasion.SUBAGENT
    own_steps = [step for step in steps if bool(step.subagent) == is_subagents]
    before = [step for step in own_steps if step.at <= receipt.at]
    after = _leave_out_told_call(receipt, [step for step in own_steps if step.at > receipt.at])
    heeding_steps = _cut_at_compaction(after)
    yield from _find_correction(memory, after)
    if receipt.occasion == Occasion.FAILURE:
        yield from _find_recurrence(telling, before, after)
    # The prompt with which it was told comes after the receipt.
    later_steps = [step for step in heeding_steps if not (receipt.query and step.text.startswith(receipt.query))]
    yield from _find_obedience(memory, later_steps)
    if receipt.occasion == Occasion.EDIT:
        yield from _find_fate_of_edit(telling, before, after, steps)
    yield from _find_mention(telling, before, heeding_steps)


def _leave_out_told_call(receipt: Receipt, after: list[Observation]) -> list[Observation]:
    """Leave out the call before which it was told: agents hear a note with the result, when they cannot change it."""
    if receipt.occasion != Occasion.COMMAND:
        return after
    call = next((step for step in after if step.command and step.command.startswith(receipt.query)), None)
    return [step for step in after if step is not call]


def _cut_at_compaction(steps: Sequence[Observation]) -> list[Observation]:
    """Return the steps until the agent's context was compacted, and with it what it was told."""
    end = next((at for at, step in enumerate(steps) if step.seen is ObservationKind.COMPACTED), len(steps))
    return list(steps[:end])


def _find_correction(memory: Memory, after: Sequence[Observation]) -> Iterator[_Finding]:
    """Find a prompt in which the person corrects the agent about what the memory says."""
    has_acted = False
    for step in after:
        has_acted = has_acted or step.seen is ObservationKind.TOOL
        # Before its first act there is nothing that the person could correct.
        if step.seen is ObservationKind.PROMPT and has_acted and _corrects(step.text, memory.text):
            yield _Finding(OutcomeKind.CORRECTED, step)


def _corrects(prompt: str, text: str) -> bool:
    sentences = split_typed(prompt)
    is_objection = bool(sentences) and bool(OBJECTION.match(sentences[0]))
    points = [sentence.text for sentence in split_prompt(text)]
    return any(
        (CORRECTIVE.search(sentence) or (is_objection and place < FEWEST_WORDS))
        and any(_is_about(sentence, point) for point in points)
        for place, sentence in enumerate(sentences)
    )


def _is_about(sentence: str, point: str) -> bool:
    return is_same_topic(sentence, point) and count_common_words(sentence, point) >= FEWEST_SHARED_STEMS


def _find_recurrence(
    telling: Telling, before: Sequence[Observation], after: Sequence[Observation]
) -> Iterator[_Finding]:
    """Find whether the error came again, or the command that failed passed without it."""
    error = _find_told_error(telling)
    failure = next((run for run in reversed([*list_runs(before)]) if run.has_failed), None)
    if not error or failure is None or not _has_error(error, cues.find_error_lines(failure.step.output)):
        return
    passing_runs = (run for run in list_runs([*before, *after]) if not run.has_failed)
    # What a run that passes prints as well was not what failed.
    if any(_has_error(error, run.step.output.splitlines()) for run in passing_runs):
        return
    success = None
    for run in list_runs(after):
        if run.has_failed and _has_error(error, cues.find_error_lines(run.step.output)):
            # After a success it may have another cause.
            if success is None:
                yield _Finding(OutcomeKind.RECURRED, run.step)
            return
        if not run.has_failed and _is_same_run(run, failure) and not IN_BACKGROUND.search(run.step.output):
            success = success or run.step
    if success:
        yield _Finding(OutcomeKind.RESOLVED, success)


def _has_error(error: str, lines: Sequence[str]) -> bool:
    """Whether one of these lines states an error; one of few words must have the same words."""
    words = cues.find_signature_words(error)
    return cues.states_error(error, lines) or any(cues.find_signature_words(line) == words for line in lines)


def _find_told_error(telling: Telling) -> str:
    """Return the line of the failure that the memory is about; empty if none is clearly."""
    lines = [line for line in telling.receipt.query.splitlines() if not NO_ERROR.match(line)]
    shares = [measure_share(cues.find_signature_words(line), telling.memory.text) for line in lines]
    best = max(range(len(lines)), key=shares.__getitem__, default=-1)
    return lines[best] if lines and shares[best] >= STATED_SHARE else ""


def _is_same_run(run: SessionRun, other: SessionRun) -> bool:
    """Whether two commands are the same but for their options, and do the same."""
    words, other_words = ([word for word in each.command.split() if word[0] != "-"] for each in (run, other))
    return words == other_words and not NOT_RUN.search(run.command)


def _find_obedience(memory: Memory, after: Sequence[Observation]) -> Iterator[_Finding]:
    """Find a command that the memory warns of, else one that it recommends."""
    steps = [step for step in after if not STOPPED_CALL.search(step.output[:200])]
    warnings = [*_list_warned(memory.text)]
    recommendations = [*_list_recommended(memory)]
    for step in steps:
        if step.seen is ObservationKind.PROMPT:
            # What the person asks for meanwhile the agent does for the person.
            warnings = [command for command in warnings if command not in step.text]
        elif any(_runs(step.command, command) for command in warnings):
            yield _Finding(OutcomeKind.IGNORED, step)
            return
    for step in steps:
        if step.seen is ObservationKind.PROMPT:
            recommendations = [command for command in recommendations if command not in step.text]
        elif any(_runs(step.command, command) for command in recommendations):
            yield _Finding(OutcomeKind.OBEYED, step)
            return


def _list_warned(text: str) -> Iterator[str]:
    """Yield the commands that a note always warns of."""
    for sentence in split_prompt(text):
        for command in cues.find_warned_things(sentence.text, WARNING_FORMS):
            condition = sentence.text.partition(command)[2]
            if _names_command(command) and not CONDITION.search(condition):
                yield command.strip("`")


def _names_command(name: str) -> bool:
    """Whether a note means a command by this: it stands in backticks, or is one word that no sentence has."""
    words = name.strip("`").split()
    if not words or not re.match(r"[a-z./]", words[0]):
        return False
    return name.startswith("`") or (len(words) == 1 and words[0] in PROGRAMS - ENGLISH)


ENGLISH = frozenset("make go just task mix swift hub node black bundle dart volta next fly pod gem rails".split())  # noqa: SIM905
"""Programs whose names are words too."""


def _list_recommended(memory: Memory) -> Iterator[str]:
    """Yield the commands that a note says to use, or that made a command pass."""
    if memory.kind is Kind.FIX:
        yield from FIXED_BY.findall(memory.text)
    if memory.kind not in RULES:
        return
    for sentence in split_prompt(memory.text):
        if NO_RECOMMENDATION.search(sentence.text):
            continue
        for match in RECOMMENDED.finditer(sentence.text):
            words = (match[1] or match[2]).lower().split()
            # A program alone is in backticks where a note speaks of it; a command has an argument.
            is_command = words[0] in PROGRAMS and (len(words) > 1 or bool(match[2])) if words else False
            if is_command and not NEGATED.search(sentence.text[: match.start()]):
                yield " ".join(words)


def _runs(line: str, command: str) -> bool:
    """Whether a command line runs a command that a note names, with the options that the note names."""
    words = next(iter(cues.split_commands(command)), ())
    options = [word for word in command.split() if word.startswith("-")]
    is_run = bool(words) and any(run[: len(words)] == words for run in cues.split_commands(line))
    return is_run and all(option in line.split() for option in options)


def _find_fate_of_edit(
    telling: Telling, before: Sequence[Observation], after: Sequence[Observation], steps: Sequence[Observation]
) -> Iterator[_Finding]:
    """Find whether the edit that the memory was told about was taken back, or stayed until the end."""
    paths = telling.receipt.query.split(", ")
    edit = _find_told_edit(paths, before, after)
    if edit is None:
        return
    new_lines, old_lines = _read_lines(edit.diff, "+"), _read_lines(edit.diff, "-")
    standing_lines = new_lines - old_lines
    if not standing_lines:
        return
    remaining_lines = set(standing_lines)
    # Also those of subagents, who work in the same tree.
    for step in steps[next(at for at, step in enumerate(steps) if step is edit) + 1 :]:
        if step.command and _may_restore(step.command, edit.file):
            if _restores(step, edit.file):
                yield _Finding(OutcomeKind.UNDONE, step)
            # Whether such a command reached the file is not clear.
            return
        if step.file == edit.file and step.diff and not step.failed:
            later_new_lines, later_old_lines = _read_lines(step.diff, "+"), _read_lines(step.diff, "-")
            lost_lines = remaining_lines & (later_old_lines - later_new_lines)
            is_taken_out = len(lost_lines) >= REVERTED_SHARE * len(standing_lines)
            if is_taken_out and _comes_back(old_lines - new_lines, later_new_lines):
                yield _Finding(OutcomeKind.UNDONE, step)
                return
            remaining_lines = (remaining_lines - lost_lines) | (standing_lines & later_new_lines)
    if len(remaining_lines) >= KEPT_SHARE * len(standing_lines):
        yield _Finding(OutcomeKind.KEPT, edit)


def _find_told_edit(
    paths: Sequence[str], before: Sequence[Observation], after: Sequence[Observation]
) -> Observation | None:
    """Return the edit that follows the telling, else the one just before it."""
    for step in after:
        if step.seen is ObservationKind.PROMPT:
            break
        if step.diff and not step.failed and _is_one_of(step.file, paths):
            return step
    last = before[-1] if before else None
    return last if last is not None and last.diff and not last.failed and _is_one_of(last.file, paths) else None


def _is_one_of(file: str, paths: Sequence[str]) -> bool:
    return any(file == path or file.endswith(f"/{path}") for path in paths if path)


def _read_lines(diff: str, sign: str) -> set[str]:
    """Return the lines that a diff adds or removes, without those that say nothing."""
    return {line for line in map(str.strip, list_diff_lines(diff, sign)) if len(line) >= SHORTEST_LINE}


def _comes_back(old_lines: set[str], later_new_lines: set[str]) -> bool:
    """Whether a later edit puts the old lines back, or nothing in place of what was only added."""
    if not old_lines:
        return not later_new_lines
    return len(old_lines & later_new_lines) >= RESTORED_SHARE * len(old_lines)


def _may_restore(command: str, file: str) -> bool:
    """Whether a command may take back an edit of a file, or change the file in another way than an edit does."""
    return bool(RESTORING.search(command)) or any(_is_one_of(file, [name]) for name in find_edited_files(command))


def _restores(step: Observation, file: str) -> bool:
    """Whether a command takes back all changes of a file that it names."""
    words = (word for match in TAKES_BACK.finditer(step.command) for word in match[1].split())
    names = [PurePath(word.strip("'\"")).as_posix() for word in words]
    return not step.failed and _is_one_of(file, names)


def _find_mention(telling: Telling, before: Sequence[Observation], after: Sequence[Observation]) -> Iterator[_Finding]:
    """Find a step in which the agent names something that in this session only the memory had named."""
    text = telling.memory.text
    # To run what a note warns of is no use of it.
    warnings = {command.strip("`") for command in cues.find_warned_things(text, (cues.REPLACEMENT, *cues.NEEDS))}
    names = [name for name in _list_names(text) if name not in warnings]
    earlier_texts = [telling.receipt.query, *(_join_texts(step) for step in before)]
    names = [name for name in names if not any(name in text for text in earlier_texts)]
    for step in after if names else ():
        if step.seen is ObservationKind.PROMPT:
            # What the person names the agent may have from there.
            names = [name for name in names if name not in step.text]
        elif any(name in text for text in (step.text, step.command, step.diff) for name in names):
            yield _Finding(OutcomeKind.MENTIONED, step)
            return
        else:
            # What the agent reads somewhere it may have from there.
            names = [name for name in names if name not in step.output and name not in step.input]


def _list_names(text: str) -> list[str]:
    """Return the names of files, commands, options and symbols in a note, but for those that it says not to use."""
    names = []
    for match in NAME.finditer(text):
        name, clause = match[1] or match[2], CLAUSE_END.split(text[: match.start()])[-1]
        if len(name) >= SHORTEST_NAME and len(extract_terms(name)) > 0 and not NEGATION.search(clause):
            names.append(name)
    return list(dict.fromkeys(names))


def _join_texts(step: Observation) -> str:
    return "\n".join((step.text, step.command, step.input, step.output, step.diff, step.file))
