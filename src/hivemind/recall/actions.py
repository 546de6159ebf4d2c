"""What an agent is told at its actions: before an edit or a command, after a failure, when a subagent starts."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hivemind.context import Context
from hivemind.errors import HivemindError
from hivemind.model.memory import Status
from hivemind.model.recall import Hit, Occasion, Query, Recall
from hivemind.model.runs import STOPPED_CALL, list_runs
from hivemind.model.session import Observation
from hivemind.recall import at_action
from hivemind.recall import brief as briefs
from hivemind.recall.answers import Answers
from hivemind.recall.prompt import find_for_prompt
from hivemind.store import log
from hivemind.store.projections import sessions
from hivemind.text import cue_file, cues
from hivemind.text.fence import UNASKED_NOTE, format_field

REMOVED_LINE = re.compile(r"^-(?!--)", re.MULTILINE)
"""A line that an edit replaces; a diff without any writes a whole file."""
LONGEST_TASK = 2000
"""Characters of a subagent's task that are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionReply:
    """What an agent is told at an action."""

    text: str = ""
    is_complete: bool = True
    """Whether the same action has nothing more to tell in this session."""


NOTHING = ActionReply()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEdit:
    """What an edit changes in one file."""

    diff: str
    symbols: frozenset[str]
    """The symbols it changes, as far as they were found."""

    def changes(self, qualified: str, name: str) -> bool:
        """Whether it changes a symbol or a part of it; if unclear, whether it writes the whole file or names it."""
        if self.symbols:
            return any(symbol == qualified or symbol.startswith(f"{qualified}.") for symbol in self.symbols)
        return not REMOVED_LINE.search(self.diff) or bool(re.search(rf"\b{re.escape(name)}\b", self.diff))


class Actions:
    """Finds what concerns an action; each memory is told at most once a session for the same reason."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._answers = Answers(context)

    def before_call(self, steps: Sequence[Observation]) -> ActionReply:
        """Return what is known of the files that a call is about to change, or of the command it is about to run."""
        edits = [step for step in steps if step.diff and step.file]
        if edits:
            return self._tell_about_files(edits)
        command = next((step.command for step in steps if step.command), "")
        return self._tell_about_command(command) if command else NOTHING

    def after_call(self, steps: Sequence[Observation], *, hears_before: bool) -> ActionReply:
        """Return the fix of a failure, or what is known of a file to an agent that could not be told before."""
        failed_step = next((step for step in steps if _has_failed(step)), None)
        if failed_step:
            return self._tell_about_failure(failed_step)
        files = [step for step in steps if step.file]
        if files and not hears_before:
            return self._tell_about_files(files)
        # An output that only quotes an error, as a log does, must not keep the error itself from being answered.
        return ActionReply(is_complete=False)

    def for_subagent(self, task: str) -> Recall:
        """Return a brief for a subagent: what matches its task, then what holds here."""
        context, db = self._context, self._context.store.db
        # Most agents do not say what a subagent is for; the person's last request is the closest there is.
        task = (task or self._find_last_prompt()).strip()[:LONGEST_TASK]
        query = self._query(task or "a subagent", Occasion.SUBAGENT)
        if query is None:
            return Recall(query=context.query("off"), hits=(), text="")
        # By words only: the model would take half of the time that a hook may take.
        matching = find_for_prompt(db, query, (), lambda: None) if task else ()
        standing = [hit for hit in briefs.find_standing(db, query) if hit.memory.status is Status.ACTIVE]
        hits = {hit.memory.id: hit for hit in (*matching, *standing)}
        heading = f"What is remembered for this subagent's work. {UNASKED_NOTE}"
        return self._answers.at_action(query, hits.values(), heading, Occasion.SUBAGENT)

    def _find_last_prompt(self) -> str:
        waiting = self._answers.read_waiting_session()
        last_prompt = waiting.last_prompt if waiting else ""
        return last_prompt or sessions.find_last_prompt(self._context.store.db, self._context.author.session_id)

    def write_cues(self, directory: Path) -> None:
        """Write the file by which hooks recognise the actions that a memory concerns, unless it is there."""
        context = self._context
        home, root = str(context.settings.home), cue_file.find_root(str(directory))
        if context.store.directory != context.settings.home or cue_file.exists(home, root):
            return
        position = log.last_position(context.store.db)
        query = self._query("cues", None)
        try:
            cue_file.write(home, root, at_action.list_cues(context.store.db, query) if query else ())
        except OSError:
            # A full or read-only disk; without the file, hooks ask the store.
            return
        # Whoever recorded a memory meanwhile deleted the file before it was written.
        if log.last_position(context.store.db) != position:
            context.store.discard_cues()

    def _query(self, text: str, occasion: Occasion | None) -> Query | None:
        """Make the query for an occasion; None if the settings switch it off."""
        settings = self._context.settings
        if settings.action_tokens < 1 or (occasion and occasion not in settings.actions.split()):
            return None
        return self._context.query(text, max_tokens=settings.action_tokens, statuses=(Status.ACTIVE,))

    def _tell_about_files(self, steps: Sequence[Observation]) -> ActionReply:
        paths = list(dict.fromkeys(filter(None, (self._find_path(step.file) for step in steps))))
        query = self._query(", ".join(paths), Occasion.EDIT) if paths else None
        if query is None:
            return NOTHING
        hits = self._without_told(at_action.find_for_files(self._context.store.db, query, paths), Occasion.EDIT)
        fitting = self._about_edited_symbols(hits, steps)
        heading = f"Memory about {format_field(query.text)}. {UNASKED_NOTE}"
        answer = self._answers.at_action(query, fitting, heading, Occasion.EDIT)
        return ActionReply(text=answer.text, is_complete=len(answer.hits) == len(hits))

    def _tell_about_command(self, command: str) -> ActionReply:
        query = self._query(command[:LONGEST_TASK], Occasion.COMMAND)
        if query is None:
            return NOTHING
        hits = self._without_told(at_action.find_for_command(self._context.store.db, query), Occasion.COMMAND)
        heading = f"Memory about a command that is about to run. {UNASKED_NOTE}"
        return ActionReply(text=self._answers.at_action(query, hits, heading, Occasion.COMMAND).text)

    def _tell_about_failure(self, step: Observation) -> ActionReply:
        lines = cues.find_error_lines(step.output)
        query = self._query("\n".join(lines)[:LONGEST_TASK], Occasion.FAILURE) if lines else None
        if query is None:
            return NOTHING
        hits = self._without_told(at_action.find_for_failure(self._context.store.db, query, lines), Occasion.FAILURE)
        heading = f"Memory about the error that just occurred. {UNASKED_NOTE}"
        return ActionReply(text=self._answers.at_action(query, hits, heading, Occasion.FAILURE).text)

    def _without_told(self, hits: Iterable[Hit], occasion: Occasion) -> list[Hit]:
        """Leave out what this session was told for the same reason, and what is not true now."""
        lines = self._answers.lines_in_session()
        told_ids = {line.memory_id for line in lines if line.occasion == occasion}
        return [hit for hit in hits if hit.memory.id not in told_ids and hit.memory.is_valid(self._context.now)]

    def _about_edited_symbols(self, hits: Sequence[Hit], steps: Sequence[Observation]) -> list[Hit]:
        """Keep the memories about the symbols being changed, or about a file as a whole."""
        diffs_by_path: dict[str, list[str]] = {}
        for step in steps:
            diffs_by_path.setdefault(self._find_path(step.file), []).append(step.diff)
        # Only files with memories about their symbols are parsed.
        anchored_paths = {anchor.path for hit in hits for anchor in hit.memory.anchors if anchor.qualified}
        edits = {
            path: FileEdit(diff="\n".join(diffs), symbols=self._find_edited_symbols(path, diffs))
            for path, diffs in diffs_by_path.items()
            if path in anchored_paths
        }
        return [hit for hit in hits if _is_about_edit(hit, edits)]

    def _find_edited_symbols(self, path: str, diffs: Sequence[str]) -> frozenset[str]:
        # It loads the parsers.
        from hivemind.code.links import find_edited_names

        try:
            return find_edited_names(self._context.checkout.index, path, list(filter(None, diffs)))
        except HivemindError:
            # Without the index it is unclear what the edit changes.
            return frozenset()

    def _find_path(self, file: str) -> str:
        """Return the path of a file from the top of the working tree; empty if it lies outside."""
        root = self._context.checkout.root.resolve()
        path = (root / file).resolve()
        return path.relative_to(root).as_posix() if path.is_relative_to(root) else ""


def _has_failed(step: Observation) -> bool:
    """Whether a call failed, also where the agent reports no exit code."""
    # A person or the agent stopped the call; that says nothing about it.
    if STOPPED_CALL.search(step.output[:200]):
        return False
    return step.failed or any(run.has_failed for run in list_runs([step]))


def _is_about_edit(hit: Hit, edits: Mapping[str, FileEdit]) -> bool:
    """Whether an edit changes a symbol of the memory, or the memory or the edit is about a whole file."""
    anchors = [anchor for anchor in hit.memory.anchors if anchor.path in edits]
    return not anchors or any(
        not anchor.qualified or edits[anchor.path].changes(anchor.qualified, anchor.name) for anchor in anchors
    )
