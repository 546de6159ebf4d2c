"""What commits say: why the lines are so that an edit changes, and which commits match a question."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from hivemind.context import Context
from hivemind.lazy import LazyModule
from hivemind.model.recall import CommitHit, Occasion, Query, Recall
from hivemind.model.timestamps import format_date
from hivemind.recall.rendering import count_tokens, fit_extras, render, render_commit
from hivemind.text import cues
from hivemind.text.fence import format_entry
from hivemind.text.search_terms import extract_terms, measure_share

if TYPE_CHECKING:
    from hivemind.code.commit_index import CommitIndex, ReasonedCommit
    from hivemind.recall import blame
    from hivemind.recall.blame import LineOrigin
else:
    # Only edits need it.
    blame = LazyModule("recall.blame")

MOST_COMMITS = 2
EDIT_TOKENS = 100
"""What the commits that are told at an edit may cost together."""
MOST_FILES = 3
"""Files of one call whose lines are looked at; each starts git twice."""
MOST_CUES = 5000
"""Files at which a hook looks for commits."""
LONGEST_TEXT = 230
"""Characters that are shown of a commit; git shows the rest."""
CANDIDATES = 20
"""Commits that share words with a question and are looked at."""
SURE_TERMS, FEWEST_TERMS = 0.7, 2
"""A commit is to the point if it has this share of a question's words, and at least so many."""
SHORTEST_NAME, STEM = 4, 6
"""Letters of a word by which a message names something in the lines it is about, and how many are compared."""
FEWEST_SHARED, FEWEST_OF_CREATOR = 2, 3
"""Words that a message must share with the lines, their surroundings and the name of the file; one with the lines."""
LINE_SHARE = 0.25
"""Of the changed lines; a commit that made fewer of them says little about the change as a whole."""


class EditReasons(NamedTuple):
    """The commits to tell at an edit, and how many of the edited files this session was not told yet."""

    hits: Sequence[CommitHit] = ()
    untold: int = 0


def list_cues(context: Context) -> Iterator[str]:
    """Yield the cues of the files that commits with a reason changed."""
    if Occasion.EDIT in context.settings.actions.split():
        with context.checkout.read_commits() as index:
            yield from map(cues.make_file_cue, index.list_paths(MOST_CUES) if index else ())


def find_for_edit(
    context: Context, diffs_by_path: Mapping[str, Sequence[str]], list_shown: Callable[[], Collection[str]]
) -> EditReasons:
    """Return the commits that made the lines which an edit changes and that say why, those of most lines first."""
    with context.checkout.read_commits() as index:
        if index is None:
            return EditReasons()
        by_path = {path: index.find_by_path(path) for path in diffs_by_path}
        # The usual case: no commit of the file says why, and git is not started.
        shown_ids = set(list_shown()) if any(by_path.values()) else set()
        untold = {path: [one for one in commits if one.id not in shown_ids] for path, commits in by_path.items()}
        reasons: dict[str, ReasonedCommit] = {}
        for path in [path for path, commits in untold.items() if commits][:MOST_FILES]:
            since = min(commit.at for commit in untold[path])
            origins = blame.find_origins(context.checkout.root, path, diffs_by_path[path], since=since)
            reasons |= {commit.id: commit for commit in select_about_lines(index, path, origins)}
        fresh = {commit_id: commit for commit_id, commit in reasons.items() if commit_id not in shown_ids}
        hits = [make_hit(commit) for commit in _admit(context, fresh.values())]
        return EditReasons(hits, len({commit.id for commits in untold.values() for commit in commits}))
    return EditReasons()


def fit_reasons(hits: Iterable[CommitHit], max_tokens: int) -> tuple[CommitHit, ...]:
    """Return the commits that are told at an edit: the first ones that fit the budget."""
    return fit_extras(hits, min(EDIT_TOKENS, max_tokens), render_reason)[:MOST_COMMITS]


def render_reason(hit: CommitHit) -> str:
    """Render why lines are as they are, by the commit that made them."""
    text = f"changed on purpose in {hit.commit_id[:7]}: {hit.text}"
    return format_entry(text, hit.author, format_date(hit.at), "not reviewed")


def add_commits(context: Context, answer: Recall) -> Recall:
    """Add the commits of this repository that surely match, within what memories and sessions leave of the budget."""
    query = answer.query
    if not query.fits_sessions or query.agent:
        return answer
    hits: tuple[CommitHit, ...] = ()
    with context.checkout.read_commits() as index:
        matches = _search(index, query) if index else []
        room = query.max_tokens - count_tokens(answer.text)
        hits = fit_extras(map(make_hit, _admit(context, matches)), room, render_commit)[:MOST_COMMITS]
    if not hits:
        return answer
    text = render(answer.hits, answer.files, answer.sessions, answer.session_hits, hits)
    return replace(answer, commits=hits, text=text)


def select_about_lines(index: "CommitIndex", path: str, origins: "Sequence[LineOrigin]") -> "Iterator[ReasonedCommit]":
    """Yield those of the commits that made lines of a file which say why."""
    fewest_lines = LINE_SHARE * sum(origin.lines for origin in origins)
    for origin in origins:
        for commit in index.get([origin.commit_id] if origin.lines >= fewest_lines else []):
            words, names = _stem(commit.text), _stem(origin.text)
            # What created a file says why there is one, and seldom why this line is so.
            around = _stem(path) if origin.creates_file else _stem(f"{path} {origin.nearby}")
            fewest = FEWEST_OF_CREATOR if origin.creates_file else FEWEST_SHARED
            if names & words and len((names | around) & words) >= fewest:
                yield commit


def _stem(text: str) -> set[str]:
    """Return the beginnings of the words of a text that can name something."""
    return {word[:STEM] for word in extract_terms(text) if len(word) >= SHORTEST_NAME}


def _search(index: "CommitIndex", query: Query) -> "list[ReasonedCommit]":
    terms = extract_terms(query.text)
    commits = index.search(terms, CANDIDATES) if len(terms) >= FEWEST_TERMS else []
    return [
        commit
        for commit in commits
        if measure_share(terms, commit.text) >= SURE_TERMS
        and (not query.as_of or commit.at <= query.as_of)
        and (not query.since or commit.at >= query.since)
        and (not query.until or commit.at < query.until)
    ]


def _admit(context: Context, commits: "Iterable[ReasonedCommit]") -> "Iterator[ReasonedCommit]":
    """Yield the commits without those whose reason was rejected or erased since they were read."""
    gate, repo = context.store.load_gate(), context.repository.id
    fields = ((commit, (commit.subject, commit.reason, commit.text)) for commit in commits)
    return (commit for commit, texts in fields if not any(gate.find_text_refusal(text, repo) for text in texts))


def make_hit(commit: "ReasonedCommit") -> CommitHit:
    """Make the hit of a commit, with as much of its text as is shown."""
    text = commit.text if len(commit.text) <= LONGEST_TEXT else f"{commit.text[:LONGEST_TEXT].rpartition(' ')[0]} …"
    return CommitHit(commit_id=commit.id, author=commit.author, at=commit.at, text=text)
