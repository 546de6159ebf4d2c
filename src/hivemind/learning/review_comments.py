"""Learn from review comments: rules that reviewers state, and what authors changed because of them.

The same model that judges what people say to agents judges the sentences of a comment. It was trained on prompts, and a
reviewer points at the code before them far more often than a person who talks to an agent, so a sentence must also
stand alone and have the form of a rule. docs/how-to/reviews.md says how often it is right.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from hivemind.context import Context, Progress, quietly
from hivemind.errors import StoreError, Unavailable
from hivemind.learning.commented_lines import CommentedLines, find_changes, find_label, split_hunk
from hivemind.learning.detectors.corrections import complete_statement, split_statements
from hivemind.learning.session_view import LONGEST_QUOTE
from hivemind.learning.statement_forms import FORMS, Judge, SentenceVerdict, SpokenSentence
from hivemind.memory.comparison import find_repetition
from hivemind.model.events import MemoryRemembered
from hivemind.model.ids import MemoryId, derive_id
from hivemind.model.memory import Channel, Kind, Source
from hivemind.model.metadata import NO_METADATA, Metadata
from hivemind.model.scope import Scope
from hivemind.sessions.talk import TAKEN_BACK
from hivemind.store import log
from hivemind.text.clean import neutralise
from hivemind.text.prose import LONGEST_TYPED, QUOTED_LINE
from hivemind.transfer.imports import LONGEST_TEXT, ReviewReport, record_entries
from hivemind.transfer.review_threads import GITLAB, ReviewComment

LEAST_CERTAINTY = 0.6
"""Lower than for prompts, because the forms below leave out most of what the model is wrong about in reviews."""
RULE_FORMS = ("prohibition", "prohibited", "obligation", "choice", "decided", "asks_somebody")
HABIT = re.compile(
    r"\bwe\b(?:'d|'ve)? (?:\w+ly|always|never|don't|do not|try|prefer|want|use|avoid|like|have|keep|already|only)\b",
    re.IGNORECASE,
)
"""How people say what a project does: "we usually prefer …"."""
POINTING = re.compile(
    r"\b(?:here|this|it|its|it's|these|those|them|they|above|below|that's)\b"
    r"|\A\W*(?:no\b|(?:should|must|would|could|can|needs?)\b)",
    re.IGNORECASE,
)
"""Words that point at the code under the comment, which no reader of a memory has, and sentences without a subject."""
NIT = re.compile(r"\A\W*(?:\w+[ -])?nit(?:pick)?s?\b[^:,\n]{0,20}[:,]?\s*", re.IGNORECASE)
HTML_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
SUGGESTION = re.compile(r"^[ \t]*```suggestion[^\n]*\n(?P<code>.*?)^[ \t]*```", re.DOTALL | re.MULTILINE)
COMMENTS_PER_STEP = 200
"""Comments that are judged between two signs of progress."""
MOST_CHANGES = 2
"""Changed lines in a memory; a longer change does not explain a rule."""


class Rule(NamedTuple):
    """A sentence that states a rule, and the comment it stands in."""

    comment: ReviewComment
    statement: SpokenSentence
    text: str
    verdict: SentenceVerdict
    finder: str = ""
    """Who else than the model found it; an agent finds one rule in a comment, in other words each time."""

    @property
    def memory_id(self) -> MemoryId:
        """The same id for the same sentence of a comment, so that reading it again changes nothing."""
        return MemoryId(derive_id("review", self.comment.id, self.finder or self.statement.text))


FindRules = Callable[[Sequence[ReviewComment]], Iterable[Rule]]
"""Returns the rules in comments of people."""


def import_comments(
    context: Context,
    comments: Sequence[ReviewComment],
    find: FindRules,
    *,
    dry_run: bool = False,
) -> ReviewReport:
    """Propose the rules that reviewers stated; what was proposed, rejected or erased before stays as it is."""
    factory, repo = context.new_batch("import-reviews"), context.repository.id
    skip_reasons = Counter(reason for comment in comments if (reason := find_reason_to_skip(comment)))
    withdrawals = {(comment.thread, comment.reviewer) for comment in comments if TAKEN_BACK.match(comment.body)}
    standing = [comment for comment in comments if (comment.thread, comment.reviewer) not in withdrawals]
    people = [comment for comment in standing if not find_reason_to_skip(comment)]
    rules = {rule.memory_id: rule for rule in find(people)}
    new_rules = [rule for rule in rules.values() if not log.has_entries_about(context.store.db, [rule.memory_id])]
    gate = context.store.load_gate()
    new_texts: list[str] = []
    refused_count = 0
    for rule in new_rules:
        fact = make_fact(context, rule, is_linked=not dry_run)
        if gate.find_claim_refusal(fact, repo):
            # Without a record of the refusal: the comment stays where it is and is read again.
            refused_count += 1
        # One by one, because a rule may repeat the one before it.
        elif dry_run or record_entries(context, [(Scope.PROJECT, repo, fact)], factory)[0]:
            new_texts.append(factory.redact(fact.text))
    return ReviewReport(
        comments=len(comments),
        rules=len(rules),
        new=len(new_texts),
        refused=refused_count,
        batch=factory.batch,
        skipped=tuple(skip_reasons.most_common()),
        texts=tuple(new_texts),
    )


def find_reason_to_skip(comment: ReviewComment) -> str:
    """Say why a comment is left out before anything is judged; empty if it is not."""
    if comment.is_bot:
        return "by a bot"
    if comment.is_authors:
        return "by the author of the pull request"
    return f"longer than {LONGEST_TYPED:,} characters" if len(comment.body) > LONGEST_TYPED else ""


def find_rules(comments: Sequence[ReviewComment], judge: Judge, progress: Progress = quietly) -> Iterator[Rule]:
    """Yield the sentences of comments that state a rule."""
    for start in range(0, len(comments), COMMENTS_PER_STEP):
        step = comments[start : start + COMMENTS_PER_STEP]
        candidates = [
            (comment, statement, text)
            for comment in step
            for statement in split_statements(clean_body(comment.body))
            # Before the model, which takes most of the time.
            if (text := complete_statement(statement)) and has_rule_form(text)
        ]
        verdicts = judge([statement for _, statement, _ in candidates])
        for (comment, statement, text), verdict in zip(candidates, verdicts, strict=True):
            if verdict.certainty >= LEAST_CERTAINTY:
                yield Rule(comment, statement, text, verdict)
        progress(start + len(step), len(comments))


def has_rule_form(text: str) -> bool:
    """Whether a sentence stands alone and says what is or should be done, rather than what some code does."""
    if POINTING.search(text):
        return False
    return bool(HABIT.search(text)) or any(FORMS[name].search(text) for name in RULE_FORMS)


def clean_body(body: str) -> str:
    """Return what a reviewer wrote themself: without what they quote, suggest and hide."""
    prose = HTML_COMMENT.sub("", SUGGESTION.sub("\n\n", body))
    return NIT.sub("", QUOTED_LINE.sub("\n\n", prose).strip())


def make_fact(context: Context, rule: Rule, *, is_linked: bool = True) -> MemoryRemembered:
    """Make a proposal of a rule: its words, the code it was said about, and what that became."""
    comment, verdict, place = rule.comment, rule.verdict, _make_place(rule.comment)
    text = neutralise(rule.text)[:LONGEST_TEXT].strip()
    # In the words of the memory that says the same, it counts as another source of it.
    repetition = find_repetition(context.store.db, text, context.repository.id)
    change = _describe_change(context, comment, place) if place else ""
    label = _find_label(context, place) if place and is_linked else ""
    number = comment.pull and f"{'!' if comment.origin == GITLAB else '#'}{comment.pull}"
    details = {"reviewer": neutralise(comment.reviewer[:100]), "review": neutralise(comment.url[:300])}
    source = Source(
        channel=Channel.IMPORT,
        actor=" ".join(filter(None, (comment.origin, number))),
        file=place.path if place else "",
        lines=_name_lines(comment) if place else "",
        commit=comment.commit if place else "",
        quote=neutralise(f"{rule.statement.text}{change}")[:LONGEST_QUOTE],
    )
    return MemoryRemembered(
        memory_id=rule.memory_id,
        # A reviewer's preference is no preference of the person who reads it.
        kind=Kind.CONVENTION if verdict.kind is Kind.PREFERENCE else verdict.kind,
        text=repetition.text if repetition else text,
        subject=repetition.subject if repetition else "",
        owner=context.settings.person,
        tags=("review",),
        sources=(source,),
        links=(label,) if label else (),
        confidence=round(verdict.certainty, 2),
        valid_from=comment.written_at,
        # Not the actor of the source: an erasure by name looks in metadata, and keeps who wrote something. A repetition
        # would put the second reviewer in the place of the first.
        metadata=NO_METADATA if repetition else Metadata({name: value for name, value in details.items() if value}),
    )


def _name_lines(comment: ReviewComment) -> str:
    first = comment.line - comment.line_count + 1
    return "" if not comment.line else str(comment.line) if first == comment.line else f"{first}-{comment.line}"


def _make_place(comment: ReviewComment) -> CommentedLines | None:
    """Return the lines that a comment is about; None for a path that no file of the repository can have."""
    path = comment.path
    if not path or path.startswith(("/", "~")) or ".." in path.split("/") or not path.isprintable():
        return None
    lines, before = split_hunk(comment.hunk, comment.line_count)
    suggestion = SUGGESTION.search(comment.body)
    return CommentedLines(
        path=path,
        lines=lines,
        before=before,
        replacement=tuple(suggestion["code"].splitlines()) if suggestion else (),
    )


def _find_label(context: Context, place: CommentedLines) -> str:
    """Find the code of today that a place is in; empty without a working tree or if its file is gone."""
    with suppress(Unavailable, StoreError):
        return find_label(context.checkout.index, place)
    return ""


def _describe_change(context: Context, comment: ReviewComment, place: CommentedLines) -> str:
    """Say what the author changed after the comment; empty if that is not known."""
    if not context.checkout.is_under_git or not comment.written_at:
        return ""
    changes = find_changes(context.checkout.root, place, comment.written_at, comment.pull)[:MOST_CHANGES]
    return f" After the review: {'; '.join(map(str, changes))}" if changes else ""
