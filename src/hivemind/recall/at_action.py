"""Find the memories that concern an action: an edit of a file, a command, or a failure.

Nobody asked, so a memory is told only if it names the file, the command or the error; see ``text/cues.py``.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from hivemind.model.ids import shorten_id
from hivemind.model.memory import Channel, Kind, Memory
from hivemind.model.recall import Hit, Query
from hivemind.model.timestamps import format_date
from hivemind.recall.brief import make_hit
from hivemind.recall.candidates import find_candidates
from hivemind.recall.ranking import rank
from hivemind.recall.rendering import render_entry
from hivemind.store.database import Database
from hivemind.store.projections import memories
from hivemind.text import cues
from hivemind.text.fence import wrap_in_fence
from hivemind.text.tokenise import extract_terms

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


def list_cues(db: Database, query: Query) -> Iterator[str]:
    """Yield the cues of all memories that match a query: their files, commands they warn of, errors they state."""
    for memory in memories.find_cue_fields(db, replace(query, kinds=KINDS)):
        yield from map(cues.make_file_cue, memory.paths)
        yield from cues.list_warning_cues(memory.text)
        yield from cues.list_error_cues([*memory.quotes, *cues.find_stated_errors(memory.text)])
        yield from (f"x {code.lower()}" for code in cues.find_codes(memory.text))


def find_for_files(db: Database, query: Query, paths: Sequence[str]) -> tuple[Hit, ...]:
    """Return the memories tied to these files or to symbols in them."""
    return tuple(
        make_hit(memory, query, f"is about {paths[0]}, which is being edited")
        for memory in memories.find_linked(db, replace(query, kinds=KINDS, limit=MOST_CANDIDATES), paths)
        if _is_tied(memory, paths)
    )


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


def render_note(heading: str, hits: Sequence[Hit], mark: str, receipt: str) -> str:
    """Render what an agent is told at an action; empty if there is nothing to tell."""
    if not hits:
        return ""
    entries = [render_entry(hit, with_kind=False) for hit in hits]
    return wrap_in_fence(heading, "\n".join([*entries, f"Receipt {receipt}"]), mark)


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
