"""What an agent is told at its actions: before an edit or a command, after a failure, when a subagent starts.

Nobody asked, so a memory is told only if it names the file, the command or the error; see ``text/cues.py``.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hivemind.background import find_deadline
from hivemind.code import lazy_modules
from hivemind.code.code_names import list_parent_folders
from hivemind.context import Context
from hivemind.errors import HivemindError
from hivemind.model.code import Anchor
from hivemind.model.commands import STOPPED_CALL, list_runs
from hivemind.model.ids import shorten_id
from hivemind.model.memory import Channel, Kind, Memory, Status
from hivemind.model.recall import CommitHit, Hit, Occasion, Query, Recall, SessionHit
from hivemind.model.session import Observation
from hivemind.model.timestamps import format_date
from hivemind.recall import commits, experience
from hivemind.recall.brief import UNASKED_SECONDS, mark_stale, mark_unasked
from hivemind.recall.candidates import find_candidates
from hivemind.recall.conflicting_hits import join_sides, mark_conflicts
from hivemind.recall.ranking import rank
from hivemind.recall.rendering import fit, fit_extras, make_fence_mark, render_entry, render_session_entry
from hivemind.recall.session_receipts import SessionReceipts
from hivemind.recall.unasked_hits import find_for_prompt, find_standing, leave_out_quiet, make_hit
from hivemind.settings import Unasked
from hivemind.store import log
from hivemind.store.database import Database
from hivemind.store.projections import memories, sessions
from hivemind.text import cues
from hivemind.text.fence import UNASKED_NOTE, format_field, wrap_in_fence
from hivemind.text.search_terms import extract_terms
from hivemind.text.shell_edits import find_edited_files

KINDS = tuple(kind for kind in Kind if kind.bucket != "episodic" or kind is Kind.FIX)
"""What describes one session says little about an action in another; only fixes do."""
MOST_CANDIDATES = 30
"""Memories that share words with an action and are looked at."""
FRAME_TOKENS = 60
"""Tokens of the fence, the heading and the last line."""
MOST_HITS = 3
MOST_FILES = 4
"""A memory about more files is about none of them in particular."""
DIRECTIVE = re.compile(
    r"\b(?:must|never|always|only|do not|don't|does not|doesn't|should|shall|avoid|instead|unless|because"
    r"|requires?|needs?|remember to|make sure|ensure|update|register|keep|prefer|breaks?|fails?|careful"
    r"|warning|important)\b",
    re.IGNORECASE,
)
"""Words of a rule or a warning, rather than of a description."""
FEWEST_SHARED_WORDS, FEWEST_WITH_CODE = 2, 1
"""Words that a line and a memory must share beside the class of the error, such as TypeError, which many errors have,
or beside its code, such as ECONNREFUSED."""
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
    occasion: Occasion | None = None
    notes: int = 0
    """How many memories, conclusions and commits it tells."""


NOTHING = ActionReply()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEdit:
    """What an edit changes in one file."""

    diff: str
    symbols: frozenset[str] | None
    """The symbols it changes; None if that is unclear."""

    def affects(self, qualified: str, name: str) -> bool:
        """Whether it changes a symbol or a part of it; if unclear, whether it writes the whole file or names it."""
        if self.symbols is not None:
            return any(symbol == qualified or symbol.startswith(f"{qualified}.") for symbol in self.symbols)
        return not REMOVED_LINE.search(self.diff) or bool(
            # Not a word's border: names in Ruby end in a mark, and private ones in JavaScript begin with one.
            re.search(rf"(?<!\w){re.escape(name)}(?!\w)", self.diff)
        )


class Actions:
    """Finds what concerns an action; each memory is told at most once a session for the same reason."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._receipts = SessionReceipts(context)

    def before_call(self, steps: Sequence[Observation]) -> ActionReply:
        """Return what is known of the files that a call is about to change, or of the command it is about to run."""
        edits = [step for step in steps if step.diff and step.file]
        if edits:
            return self._tell_about_files(edits)
        command = next((step.command for step in steps if step.command), "")
        reply = self._tell_about_command(command) if command else NOTHING
        files = map(self._context.checkout.complete_path, find_edited_files(command) if not reply.text else ())
        # A command may change anything in a file.
        edits = [replace(step, file=file, diff="") for step in steps[:1] for file in files]
        return self._tell_about_files(edits) if edits else reply

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

    def remind(self, memory: Memory, call: str, occasion: Occasion) -> ActionReply:
        """Return a memory whose guard only reminds, unless the session was told it at a call before, or it is over."""
        query = self._query(call[:LONGEST_TASK], None)
        is_over = memory.status not in (Status.ACTIVE, Status.DISPUTED) or memory.is_expired(self._context.now)
        if query is None or is_over:
            return NOTHING
        hit = make_hit(memory, query, "guards this call")
        return self._reply(query, [hit], "a call that is about to be made", occasion)

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
        standing = [hit for hit in find_standing(db, query) if hit.memory.status is Status.ACTIVE]
        hits = {hit.memory.id: hit for hit in leave_out_quiet(db, (*matching, *standing))}
        heading = f"What is remembered for this subagent's work. {UNASKED_NOTE}"
        return self._tell(query, hits.values(), heading, Occasion.SUBAGENT)

    def _find_last_prompt(self) -> str:
        waiting = self._receipts.read_waiting()
        last_prompt = waiting.last_prompt if waiting else ""
        return last_prompt or sessions.find_last_prompt(self._context.store.db, self._context.author.session_id)

    def write_cues(self, directory: Path, list_guard_cues: Callable[[], Iterable[str]] = tuple) -> None:
        """Write the file by which hooks recognise the actions that a memory or guard concerns, unless it is there."""
        context = self._context
        home, root = str(context.settings.home), cues.find_root(str(directory))
        if context.store.directory != context.settings.home or cues.has_file(home, root):
            return
        position = log.read_last_position(context.store.db)
        query = self._query("cues", None)
        try:
            listed_cues = [*list_guard_cues(), *(list_cues(context.store.db, query) if query else ())]
            if query and self._tells_experience:
                files = experience.list_ruled_files(context.store.db, query)
                listed_cues += (*commits.list_cues(context), *map(cues.make_file_cue, files))
            cues.write_file(home, root, listed_cues)
        except OSError:
            # A full or read-only disk; without the file, hooks ask the store.
            return
        # Whoever recorded a memory meanwhile deleted the file before it was written.
        if log.read_last_position(context.store.db) != position:
            context.store.discard_cues()

    def _query(self, text: str, occasion: Occasion | None) -> Query | None:
        """Make the query for an occasion; None if the settings switch it off."""
        settings = self._context.settings
        if settings.unasked == Unasked.NOTHING or settings.action_tokens < 1:
            return None
        if occasion and occasion not in settings.actions.split():
            return None
        return self._context.query(text, max_tokens=settings.action_tokens, statuses=(Status.ACTIVE,))

    def _tell_about_files(self, steps: Sequence[Observation]) -> ActionReply:
        paths = list(dict.fromkeys(self._context.checkout.find_paths(step.file for step in steps)))
        query = self._query(", ".join(paths), Occasion.EDIT) if paths else None
        if query is None:
            return NOTHING
        hits = self._leave_out_told(find_for_files(self._context.store.db, query, paths), Occasion.EDIT)
        fitting = self._select_about_edit(hits, steps)
        diffs_by_path = self._group_diffs(steps)
        reasons, rulings = commits.EditReasons(), experience.EditRulings()
        if self._tells_experience:
            reasons = commits.find_for_edit(self._context, diffs_by_path, self._receipts.list_shown_commits)
            told_ids = self._receipts.list_told_passages()
            rulings = experience.find_for_edit(self._context.store.db, query, diffs_by_path, told_ids)
        heading = f"Memory about {format_field(query.text)}. {UNASKED_NOTE}"
        answer = self._tell(query, fitting, heading, Occasion.EDIT, reasons.hits, rulings.hits)
        is_complete = answer.notes == len(hits) + reasons.untold + rulings.untold
        return ActionReply(text=answer.text, is_complete=is_complete, occasion=Occasion.EDIT, notes=answer.notes)

    @property
    def _tells_experience(self) -> bool:
        return self._context.settings.unasked == Unasked.ALL

    def _tell_about_command(self, command: str) -> ActionReply:
        query = self._query(command[:LONGEST_TASK], Occasion.COMMAND)
        if query is None:
            return NOTHING
        hits = find_for_command(self._context.store.db, query)
        return self._reply(query, hits, "a command that is about to run", Occasion.COMMAND)

    def _tell_about_failure(self, step: Observation) -> ActionReply:
        lines = cues.find_error_lines(step.output)
        query = self._query("\n".join(lines)[:LONGEST_TASK], Occasion.FAILURE) if lines else None
        if query is None:
            return NOTHING
        hits = find_for_failure(self._context.store.db, query, lines)
        return self._reply(query, hits, "the error that just occurred", Occasion.FAILURE)

    def _reply(self, query: Query, hits: Iterable[Hit], subject: str, occasion: Occasion) -> ActionReply:
        untold_hits = self._leave_out_told(hits, occasion)
        answer = self._tell(query, untold_hits, f"Memory about {subject}. {UNASKED_NOTE}", occasion)
        return ActionReply(text=answer.text, occasion=occasion, notes=answer.notes)

    def _tell(
        self,
        query: Query,
        hits: Iterable[Hit],
        heading: str,
        occasion: Occasion,
        reasons: Sequence[CommitHit] = (),
        rulings: Sequence[SessionHit] = (),
    ) -> Recall:
        """Render the memories, conclusions and commits that concern an action and fit, and record a receipt."""
        all_sides = join_sides(self._context.store.db, hits, query)
        marked_hits = mark_conflicts(mark_unasked(mark_stale(self._context, all_sides, query)))
        room = query.max_tokens - FRAME_TOKENS
        fitting = fit(marked_hits, MOST_HITS, room)
        room -= sum(hit.tokens for hit in fitting)
        told_rulings = fit_extras(experience.admit(self._context, rulings), room, render_session_entry)
        told_reasons = commits.fit_reasons(reasons, room - sum(hit.tokens for hit in told_rulings))
        answer = Recall(query=query, hits=fitting, session_hits=told_rulings, commits=told_reasons, text="")
        answer = self._receipts.record(answer, is_unasked=True, occasion=occasion)
        mark = make_fence_mark(self._context.store.secret, fitting, told_rulings, told_reasons)
        return replace(answer, text=render_note(heading, answer, mark))

    def _leave_out_told(self, hits: Iterable[Hit], occasion: Occasion) -> list[Hit]:
        """Leave out what this session was told for the same reason, and what is not true now."""
        lines = self._receipts.list_shown()
        told_ids = {line.memory_id for line in lines if line.occasion == occasion}
        return [hit for hit in hits if hit.memory.id not in told_ids and hit.memory.is_valid(self._context.now)]

    def _select_about_edit(self, hits: Sequence[Hit], steps: Sequence[Observation]) -> list[Hit]:
        """Keep the memories about the symbols being changed, or about a file as a whole."""
        # Only files with memories about their symbols are parsed.
        anchors_by_path: dict[str, list[Anchor]] = {}
        for anchor in (anchor for hit in hits for anchor in hit.memory.anchors if anchor.qualified):
            anchors_by_path.setdefault(anchor.path, []).append(anchor)
        edits = {
            path: FileEdit(diff="\n".join(diffs), symbols=self._find_edited_symbols(path, diffs, anchors_by_path[path]))
            for path, diffs in self._group_diffs(steps).items()
            if path in anchors_by_path
        }
        return [hit for hit in hits if _is_about_edit(hit, edits)]

    def _group_diffs(self, steps: Sequence[Observation]) -> dict[str, list[str]]:
        diffs_by_path: dict[str, list[str]] = {}
        for step in steps:
            diffs_by_path.setdefault(self._context.checkout.find_path(step.file), []).append(step.diff)
        return diffs_by_path

    def _find_edited_symbols(self, path: str, diffs: Sequence[str], anchors: Sequence[Anchor]) -> frozenset[str] | None:
        """Find the symbols of a file that an edit changes, by their names of today and those of these anchors."""
        try:
            index = self._context.checkout.index
            names = lazy_modules.edited_symbols.find_edited_names(index, path, list(filter(None, diffs)))
            symbols = index.read_symbols(path) if names else ()
        except HivemindError:
            # Without the index it is unclear what the edit changes.
            return None
        lost_anchors = [anchor for anchor in anchors if not lazy_modules.code_changes.find_in_place(anchor, symbols)]
        if not names or not lost_anchors:
            return names
        verdicts = self._context.checkout.try_to_judge(lost_anchors, deadline=find_deadline(UNASKED_SECONDS))
        renamed = {verdict.anchor.qualified for verdict in verdicts if verdict.now and verdict.now.qualified in names}
        return names | renamed


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
        not anchor.qualified or edits[anchor.path].affects(anchor.qualified, anchor.name) for anchor in anchors
    )


def list_cues(db: Database, query: Query) -> Iterator[str]:
    """Yield the cues of all memories that match a query: their files, commands they warn of, errors they state."""
    for memory in memories.find_cue_fields(db, replace(query, kinds=KINDS)):
        yield from map(cues.make_file_cue, memory.paths)
        yield from cues.list_warning_cues(memory.text)
        yield from cues.list_error_cues([*memory.quotes, *cues.find_stated_errors(memory.text)])
        yield from (f"x {code.lower()}" for code in cues.find_codes(memory.text))


def find_for_files(db: Database, query: Query, paths: Sequence[str]) -> tuple[Hit, ...]:
    """Return the memories tied to these files, to symbols in them, or to folders around them."""
    places = [*paths, *sorted(list_parent_folders(paths), key=len, reverse=True)]
    linked_memories = memories.find_linked(db, replace(query, kinds=KINDS, limit=MOST_CANDIDATES), places)
    tied_memories = [memory for memory in linked_memories if _is_tied(memory, places)]
    # What is known of the file itself comes before what is known of its folder.
    in_order = sorted(tied_memories, key=lambda memory: {anchor.path for anchor in memory.anchors}.isdisjoint(paths))
    return tuple(make_hit(memory, query, f"is about {paths[0]}, which is being edited") for memory in in_order)


def find_for_command(db: Database, query: Query) -> tuple[Hit, ...]:
    """Return the memories that warn of the command in the query, or say what it needs."""
    command_cues = set(cues.list_command_cues(query.text))
    # Without the letter of its kind a cue is a text to search for; a note says "tests" where a command says "test".
    words = [cue[2:] for cue in command_cues] + [f"{cue[2:]}s" for cue in command_cues if cue.startswith("t")]
    return tuple(
        make_hit(memory, query, "says what to know before this command")
        for memory in _search(db, query, " ".join(words))
        if not command_cues.isdisjoint(cues.list_warning_cues(memory.text))
    )


def find_for_failure(db: Database, query: Query, lines: Sequence[str]) -> tuple[Hit, ...]:
    """Return the memories about an error that these lines of output state, fixes first."""
    candidates = [memory for memory in _search(db, query, "\n".join(lines)) if _is_about_error(memory, lines)]
    in_order = sorted(candidates, key=lambda memory: memory.kind is not Kind.FIX)
    hits = (make_hit(memory, query, "states the error that just occurred") for memory in in_order)
    return tuple(replace(hit, labels=(*_describe_evidence(hit.memory), *hit.labels)) for hit in hits)


def render_note(heading: str, answer: Recall, mark: str) -> str:
    """Render what an agent is told at an action; empty if there is nothing to tell."""
    if not answer.hits and not answer.commits and not answer.session_hits:
        return ""
    entries = [
        *(render_entry(hit, with_kind=False) for hit in answer.hits),
        *map(render_session_entry, answer.session_hits),
        *map(commits.render_reason, answer.commits),
    ]
    return wrap_in_fence(heading, "\n".join([*entries, f"Receipt {answer.receipt or ''}"]), mark)


def _is_tied(memory: Memory, paths: Collection[str]) -> bool:
    """Whether a memory is about one of these files in particular, and says more than what is in it."""
    anchored_paths = {anchor.path for anchor in memory.anchors}
    linked_paths = {link.partition("::")[0] for link in memory.links}
    # What is known of the code it is about is more exact than the files that it was learned in.
    if len(anchored_paths | linked_paths) > MOST_FILES or (anchored_paths and anchored_paths.isdisjoint(paths)):
        return False
    # Lines of an instruction file mostly describe; a person or an agent made the effort to note the others.
    return memory.channel is not Channel.FILE or bool(DIRECTIVE.search(memory.text))


def _search(db: Database, query: Query, text: str) -> list[Memory]:
    """Return the memories that share words with a text, best first."""
    wide_query = replace(query, text=text, kinds=KINDS, limit=MOST_CANDIDATES)
    places = rank(find_candidates(db, wide_query, None), wide_query)[:MOST_CANDIDATES]
    ids = [place.candidate.passage.memory_id for place in places]
    by_id = {memory.id: memory for memory in memories.get_visible(db, ids, query.sight)}
    return [by_id[memory_id] for memory_id in dict.fromkeys(ids) if memory_id in by_id]


def _is_about_error(memory: Memory, lines: Sequence[str]) -> bool:
    """Whether the memory states the error of one of these lines, or names its kind and shares other words with it."""
    if any(cues.states_error(error, lines) for error in _list_errors(memory)):
        return True
    codes = {code.lower() for code in cues.find_codes(memory.text)}
    if not codes:
        return False
    terms = set(extract_terms(memory.text)) - codes
    return any(_shares_error(codes, terms, line) for line in lines)


def _shares_error(codes: Collection[str], terms: Collection[str], line: str) -> bool:
    """Whether a line names one of these kinds of errors, and enough of these words."""
    line_codes = {code.lower() for code in cues.find_codes(line)}
    common_codes = line_codes.intersection(codes)
    is_class = all(code.endswith(("error", "exception")) for code in common_codes)
    shared_words = ({*cues.find_signature_words(line), *extract_terms(line)} - line_codes).intersection(terms)
    return bool(common_codes) and len(shared_words) >= (FEWEST_SHARED_WORDS if is_class else FEWEST_WITH_CODE)


def _list_errors(memory: Memory) -> Iterable[str]:
    """Return the errors that a memory states: in its text, or as what its sources quote."""
    quotes = [source.quote for source in memory.sources if source.quote] if memory.kind is Kind.FIX else []
    return dict.fromkeys([*quotes, *cues.find_stated_errors(memory.text)])


def _describe_evidence(memory: Memory) -> tuple[str, ...]:
    """Say in a label what a fix rests on: the session or commit in which it worked."""
    for source in memory.sources:
        when = format_date(memory.recorded_at)
        if source.commit:
            return (f"rests on commit {source.commit[:8]}",)
        if source.session_id:
            return (f"worked in session {shorten_id(source.session_id)} on {when}",)
    return ()
