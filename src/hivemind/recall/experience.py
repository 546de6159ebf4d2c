"""What earlier sessions concluded, as it is told: for a prompt or task, before an edit, at the start of a session."""

import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from hivemind.context import Context
from hivemind.memory.contradiction import find_statement_conflict
from hivemind.memory.statements import parse_statements
from hivemind.model.digest import DigestLine, Evidence, Part
from hivemind.model.ids import shorten_id
from hivemind.model.recall import CONCLUSION, Hit, Query, SessionHit
from hivemind.model.scope import label_other_repository
from hivemind.model.session import Session
from hivemind.model.timestamps import format_date
from hivemind.recall.rendering import BYTES_PER_TOKEN, count_tokens, render_conclusion
from hivemind.recall.session_ranking import TASK_CHARACTERS, TOLD_SESSIONS, Conclusion, Experience, find_experience
from hivemind.store.database import Database
from hivemind.store.projections import digests, session_passages
from hivemind.store.projections.session_passages import SessionPassage
from hivemind.text.clean import cut_between_words
from hivemind.text.search_terms import extract_terms, measure_share

if TYPE_CHECKING:
    # NumPy, which a search by words alone does not load.
    from hivemind.embedding.semantic_index import SemanticIndex

CERTAIN = 1.63
"""How far a conclusion must stand out to be told unasked; 98 of 100 prompts that nothing concerns stay below it on the
development part."""
SURER = 0.1
"""How much further where only an agent said it."""
CLOSE_TO_BEST, FIRST_SHARE = 0.25, 0.6
"""How far the second session may be behind the first, and the first one's share of the room."""
LINE_CHARACTERS, ABOUT_CHARACTERS, SUMMARY_CHARACTERS = 350, 120, 600
"""Of a conclusion or reply that is shown, of what it rules on, and of a summary that the person confirmed."""
EXCERPT_CHARACTERS = 320
"""Of a passage that is shown: enough to tell whether the session is worth opening."""
BLANKS = re.compile(r"(?<=\S)[ \t]{2,}(?=\S)|(?<=\n)\s*\n")
"""Padding inside a line, and empty lines."""
REPETITION = 0.6
"""The share of a conclusion's words in a better one from which on it says nothing more."""
SHORT_RULING = 8
"""Terms; a shorter ruling is shown with what it rules on."""
SHORTEST_CUT, CUT_MARGIN = 160, 8
"""Characters; what would be cut shorter is left out. The margin is for the mark of a cut and for longer letters."""

MOST_RULINGS, MOST_RULED_FILES, MOST_LOOKED_AT, SHORTEST_STEM = 2, 4, 2_000, 4
"""Conclusions that are told at an edit, files of a turn that a conclusion may be about, conclusions that are looked at,
the newest, and letters of a file name that a conclusion must have."""
CODE_NAME = re.compile(r"`[^`\n]{3,}`|\b[A-Za-z]+(?:_[A-Za-z0-9]+)+\b|\b[a-z]+[A-Z]\w+\b|\b[A-Z][a-z]+[A-Z]\w+\b")
"""A name of the code: in code quotes, with underscores, or in capitals."""
LATEST_SESSIONS = 5
"""Sessions that the brief looks at."""
SAID_SHARE = 0.5
"""The share of a conclusion's words in a memory from which on the memory says it already."""
SAME_SUBJECT, SHARED_WORDS = 0.95, 0.3
"""How close two sessions must be for the later to amend the earlier: cosine and share of words together, and the share
alone."""
AMENDS = re.compile(
    r"\bamend|\bsupersed|\breplac(?:e[sd]?|ing)\b|\binstead of\b|\bno longer\b|\brather than\b|\bany ?more\b"
    r"|\bchang(?:e|ed|ing) (?:to|from|that|this|it|our|my|the)\b|\bswitch|\brevert|\broll(?:ed|ing)? back"
    r"|\bdeprecat|\bused to\b|\bwe (?:decided|agreed|settled|said)\b",
    re.IGNORECASE,
)
"""Words with which people and agents change what was decided before."""


def find_for_prompt(
    db: Database, query: Query, meaning: "SemanticIndex", told_ids: Collection[str], excluded_ids: Container[str]
) -> tuple[SessionHit, ...]:
    """Return what sessions concluded about a prompt, if that is as good as certain: nobody asked."""
    everything = find_experience(db, query, meaning, excluded_ids, with_replies=True)
    # What is left of a session that was told already says little more.
    told_sessions = {each.session_id for each in everything.conclusions if each.line.event in told_ids}
    # Failures quote the output of a tool, which may say anything; they are shown to whoever asks.
    untold = tuple(
        each
        for each in everything.conclusions
        if each.session_id not in told_sessions and each.line.part in (Part.CONCLUSION, Part.REPLY)
    )
    experience = replace(everything, conclusions=untold)
    certainty = experience.measure_certainty()
    if certainty < CERTAIN:
        return ()
    # An agent's own words need a surer match.
    is_sure = certainty >= CERTAIN + SURER
    tellable = tuple(each for each in untold if is_sure or each.line.evidence.is_reliable)
    return show(db, query, meaning, replace(experience, conclusions=tellable), excluded_ids)


def show(
    db: Database,
    query: Query,
    meaning: "SemanticIndex | None",
    experience: Experience,
    excluded_ids: Container[str] = (),
) -> tuple[SessionHit, ...]:
    """Return the best sessions with those of their conclusions that fit, what amends them first."""
    session_ids = experience.list_sessions()[:TOLD_SESSIONS]
    if not session_ids:
        return ()
    first = make_hit(query, experience, session_ids[0], query.max_tokens)
    amendment = _find_amendment(db, query, meaning, first, excluded_ids) if meaning else None
    if amendment:
        rest = query.max_tokens - amendment.tokens
        return (amendment, *_keep_full([make_hit(query, experience, session_ids[0], rest)]))
    best, *others = (experience.get_best_score(session_id) for session_id in session_ids)
    if not others or others[0] < best - CLOSE_TO_BEST:
        return tuple(_keep_full([first]))
    first = make_hit(query, experience, session_ids[0], int(query.max_tokens * FIRST_SHARE))
    second = make_hit(query, experience, session_ids[1], query.max_tokens - first.tokens)
    return tuple(order_by_time(_keep_full([first, second])))


def _keep_full(hits: Iterable[SessionHit]) -> list[SessionHit]:
    return [hit for hit in hits if hit.conclusions]


def make_hit(query: Query, experience: Experience, session_id: str, max_tokens: int) -> SessionHit:
    """Make the hit of a session: its conclusions that fit, best first, and the passage by which it was found."""
    conclusions = experience.of(session_id)
    lines = fit_lines((conclusion.line for conclusion in conclusions), max_tokens, extract_terms(query.text))
    passage = (experience.passages or {})[session_id]
    return SessionHit(
        session_id=passage.session_id, observation=passage.observation, agent=passage.agent, repo=passage.repo,
        at=max((line.at for line in lines), default=passage.at), what=CONCLUSION, text="",
        score=round(conclusions[0].score, 4) if conclusions else 0.0, conclusions=lines,
        labels=(label_other_repository(passage.repo),) if query.sight.is_elsewhere(passage.repo) else (),
        tokens=sum(map(_count_line_tokens, lines)),
    )  # fmt: skip


def fit_lines(lines: Iterable[DigestLine], max_tokens: int, terms: Sequence[str] = ()) -> tuple[DigestLine, ...]:
    """Return the lines that fit; one that is too long is cut, unless too little of it would be left."""
    selection: list[DigestLine] = []
    for line in (shorten(line, terms) for line in lines):
        if any(measure_share(extract_terms(line.text), better.text) >= REPETITION for better in selection):
            continue
        fitting = line if _count_line_tokens(line) <= max_tokens else _cut_line(line, max_tokens)
        if fitting:
            selection.append(fitting)
            max_tokens -= _count_line_tokens(fitting)
    return tuple(selection)


def _cut_line(line: DigestLine, max_tokens: int) -> DigestLine | None:
    bare = replace(line, about="")
    room = len(bare.text) - BYTES_PER_TOKEN * max(_count_line_tokens(bare) - max_tokens, 0) - CUT_MARGIN
    return replace(bare, text=cut_between_words(bare.text, room)) if room >= SHORTEST_CUT else None


def shorten(line: DigestLine, terms: Sequence[str] = ()) -> DigestLine:
    """Return a line as it is shown: cut, and with what it rules on only where it says little by itself.

    Of a reply, it is the part that has the most of the terms.
    """
    if line.part is Part.REPLY:
        return replace(line, text=cut_excerpt(line.text, terms, LINE_CHARACTERS))
    longest = SUMMARY_CHARACTERS if line.is_summary else LINE_CHARACTERS
    about = line.about if len(extract_terms(line.text)) < SHORT_RULING else ""
    return replace(line, text=cut_between_words(line.text, longest), about=cut_between_words(about, ABOUT_CHARACTERS))


def cut_excerpt(text: str, terms: Sequence[str], longest: int = EXCERPT_CHARACTERS) -> str:
    """Return the part of a passage that has the most of the terms, cut between words."""
    text = BLANKS.sub(lambda blank: "" if "\n" in blank[0] else " ", text)
    if len(text) <= longest:
        return text
    lower_text = text.lower()
    # Windows that overlap by half, so that no sentence is cut in two in each of them.
    starts = range(0, len(text) - longest // 2, longest // 2)
    best = max(starts, key=lambda start: sum(term in lower_text[start : start + longest] for term in terms))
    first = 0 if best == 0 else text.find(" ", best) + 1
    last = len(text) if first + longest >= len(text) else text.rfind(" ", first, first + longest)
    excerpt = text[first : last if last > first else first + longest].strip()
    return f"{'… ' if first else ''}{excerpt}{' …' if last < len(text) else ''}"


def _count_line_tokens(line: DigestLine) -> int:
    return count_tokens(render_conclusion(line))


def order_by_time(hits: Sequence[SessionHit]) -> list[SessionHit]:
    """Put the newer of two sessions about the same first, and say what it amends if its words do."""
    if len(hits) < TOLD_SESSIONS or _share_words(hits[1], hits[0]) < SHARED_WORDS:
        return list(hits)
    older, newer = sorted(hits, key=lambda hit: hit.at)
    if AMENDS.search(_join_texts(newer.conclusions)):
        newer = replace(newer, amends=older.at)
    return [newer, older]


def _share_words(hit: SessionHit, other: SessionHit) -> float:
    other_text = _join_texts(other.conclusions)
    return max((_measure_overlap(line.text, other_text) for line in hit.conclusions), default=0.0)


def _measure_overlap(text: str, other: str) -> float:
    """Return the share of a text's words in another; of few words, less, because they are shared by chance."""
    terms = extract_terms(text)
    return measure_share(terms, other) * len(terms) / (len(terms) + 3)


def _join_texts(lines: Iterable[DigestLine]) -> str:
    """Join conclusions; a reply says too much beside them."""
    return " ".join(line.text for line in lines if line.part is not Part.REPLY)


def _find_amendment(
    db: Database, query: Query, meaning: "SemanticIndex", hit: SessionHit, excluded_ids: Container[str]
) -> SessionHit | None:
    """Find the newest session that changed what a session concluded: about the same, later, and in such words."""
    text = _join_texts(hit.conclusions)[:TASK_CHARACTERS]
    if not text:
        return None
    similar = replace(query, text=text)
    cosines = meaning.compare_sessions(db, similar)
    passages = session_passages.read_visible(db, similar, cosines)
    later: dict[str, tuple[float, SessionPassage]] = {}
    for key in sorted(passages, key=lambda key: -cosines[key]):
        passage = passages[key]
        is_other = passage.session_id != hit.session_id and passage.session_id not in excluded_ids
        if is_other and passage.at > hit.at:
            later.setdefault(passage.session_id, (cosines[key], passage))
    lines = digests.read_speaking(db, later)
    amendments = [
        (line.at, passage, line)
        for session_id, (cosine, passage) in later.items()
        for line in lines.get(session_id, ())
        if line.part is Part.CONCLUSION
        and AMENDS.search(line.text)
        and (share := _measure_overlap(line.text, text)) >= SHARED_WORDS
        and cosine + share >= SAME_SUBJECT
    ]
    if not amendments:
        return None
    _, passage, line = max(amendments, key=lambda amendment: amendment[0])
    conclusion = Conclusion(passage.session_id, line, hit.score)
    experience = Experience((conclusion,), {passage.session_id: passage})
    amendment = make_hit(query, experience, passage.session_id, int(query.max_tokens * FIRST_SHARE))
    return replace(amendment, amends=hit.at) if amendment.conclusions else None


def find_latest(db: Database, query: Query, own_session: str, known: Sequence[str]) -> tuple[SessionHit, ...]:
    """Return what the sessions that were active last concluded and left open, without what is known already."""
    latest_hits: list[SessionHit] = []
    room = query.max_tokens
    for session, lines in digests.find_latest(db, query.sight, LATEST_SESSIONS):
        if session.id == own_session:
            continue
        # Sessions come newest first, so an older conclusion about the same was amended, or says nothing more.
        later = [line.text for hit in latest_hits for line in hit.conclusions]
        new = [
            line
            for line in lines
            if not any(_measure_overlap(line.text, text) >= SAID_SHARE for text in known)
            and not any(_measure_overlap(line.text, text) >= SHARED_WORDS for text in later)
        ]
        reliable = [line for line in new if line.evidence.is_reliable]
        # The last conclusion is where the session ended, and what it left open is where the next may begin.
        candidates = [line for line in reliable if line.part is Part.CONCLUSION][-1:]
        # Not the agent's own plan, which may repeat what it read.
        candidates += [line for line in reliable if line.part is Part.OPEN and line.evidence is Evidence.SAID][:1]
        if fitting := fit_lines(candidates, room):
            hit = _make_session_hit(session, fitting, at=session.last_seen_at)
            latest_hits.append(hit)
            room -= hit.tokens
    return tuple(latest_hits)


class EditRulings(NamedTuple):
    """What sessions that changed a file concluded about what an edit changes, and how much of it is not told yet."""

    hits: Sequence[SessionHit] = ()
    untold: int = 0


def find_for_edit(
    db: Database, query: Query, diffs_by_path: Mapping[str, Sequence[str]], told_ids: Collection[str]
) -> EditRulings:
    """Return what sessions that changed these files concluded about what is being changed, newest first."""
    untold = [
        (session, line)
        for session, line in _find_ruled(db, query)
        if line.event not in told_ids and any(_is_file(file, path) for file in line.files for path in diffs_by_path)
    ]
    diff = "\n".join(text for diffs in diffs_by_path.values() for text in diffs)
    about = [(session, line) for session, line in untold if not diff or _names_something_in(line, diff, diffs_by_path)]
    hits = [_make_session_hit(session, (shorten(line),), at=line.at) for session, line in about[:MOST_RULINGS]]
    return EditRulings(hits, len(untold))


def list_ruled_files(db: Database, query: Query) -> Iterator[str]:
    """Yield the files that sessions changed while something was concluded about them."""
    yield from dict.fromkeys(file for _, line in _find_ruled(db, query) for file in line.files)


def _find_ruled(db: Database, query: Query) -> list[tuple[Session, DigestLine]]:
    """Find the reliable conclusions of turns that changed a few files and that name one of them or a thing in them."""
    found = digests.find_about_files(db, replace(query, limit=MOST_LOOKED_AT))
    return [(session, line) for session, line in found if _is_ruling_about_files(line)]


def _is_ruling_about_files(line: DigestLine) -> bool:
    is_narrow = line.part is Part.CONCLUSION and line.evidence.is_reliable and len(line.files) <= MOST_RULED_FILES
    return is_narrow and (bool(CODE_NAME.search(line.text)) or any(map(partial(_names_file, line), line.files)))


def _names_something_in(line: DigestLine, diff: str, paths: Iterable[str]) -> bool:
    """Whether a conclusion names one of the files, or a name of the code that is being changed."""
    return any(name.strip("`") in diff for name in CODE_NAME.findall(line.text)) or any(
        map(partial(_names_file, line), paths)
    )


def _names_file(line: DigestLine, path: str) -> bool:
    stem = path.rpartition("/")[2].partition(".")[0]
    return len(stem) >= SHORTEST_STEM and stem.lower() in f"{line.text} {line.about}".lower()


def _is_file(file: str, path: str) -> bool:
    """Whether two paths name one file; a session may have begun in a folder of the repository, or elsewhere."""
    return file == path or file.endswith(f"/{path}") or path.endswith(f"/{file}")


def _make_session_hit(session: Session, lines: tuple[DigestLine, ...], *, at: str) -> SessionHit:
    """Make the hit of a session that nobody searched for."""
    return SessionHit(
        session_id=session.id, observation=lines[0].event, agent=session.agent, repo=session.repo, at=at,
        what=CONCLUSION, text="", score=0.0, conclusions=lines, tokens=sum(map(_count_line_tokens, lines)),
    )  # fmt: skip


def label_contradicted(hits: Sequence[Hit], session_hits: Sequence[SessionHit]) -> list[Hit]:
    """Label the memories that a later conclusion among the shown ones contradicts."""
    lines = [line for hit in session_hits for line in hit.conclusions if line.evidence.is_reliable]
    return [_label_contradicted(hit, lines) for hit in hits] if lines else list(hits)


def _label_contradicted(hit: Hit, lines: Sequence[DigestLine]) -> Hit:
    memory = hit.memory
    for line in lines:
        is_later = line.at > memory.stated_at
        if is_later and find_statement_conflict(parse_statements(line.text), parse_statements(memory.text)):
            label = f"a later session says otherwise: {shorten_id(line.event)}, {format_date(line.at)}"
            return replace(hit, labels=(*hit.labels, label))
    return hit


def admit(context: Context, hits: Sequence[SessionHit]) -> tuple[SessionHit, ...]:
    """Return the hits without conclusions whose text was rejected, and without those that have nothing left."""
    gate, repo = context.store.load_gate(), context.repository.id
    admitted_hits = (
        replace(hit, conclusions=tuple(line for line in hit.conclusions if not gate.find_text_refusal(line.text, repo)))
        for hit in hits
    )
    return tuple(hit for hit in admitted_hits if hit.conclusions or hit.text)
