"""The one gate that text passes on its way into the log: what was erased or rejected stays out, in every field."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from hivemind.errors import Refused
from hivemind.model.dataclass import dataclass
from hivemind.model.events import (
    NAME_BY_FACT,
    Event,
    Fact,
    MemoryErased,
    MemoryFact,
    MemoryRejected,
    MemoryRemembered,
    MemoryRetracted,
    MemoryRolledBack,
    MemorySuperseded,
)
from hivemind.model.free_text import change_text, iterate_text
from hivemind.model.ids import EventId
from hivemind.model.memory import Channel
from hivemind.model.scope import Scope
from hivemind.model.wire import WireEntry
from hivemind.store import log
from hivemind.store.database import Database
from hivemind.store.projections import tombstones
from hivemind.store.projections.tombstones import Exclusion
from hivemind.text.escapes import iterate_forms
from hivemind.text.excluded_text import MIN_LETTERS, ErasedTextFilter, digest_value

FEWEST_WORDS = 2
"""Of a whole field other than the text that equals an excluded value; a single word is a tag like any other."""
WITHDRAWALS = (MemoryRejected, MemoryRetracted, MemoryRolledBack, MemorySuperseded)
"""They only take something away, and an entry cannot be changed: a reason in them is not worth losing the verdict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRefusal:
    """Which field of a fact is refused, and why."""

    field: str
    reason: Exclusion

    @property
    def rule(self) -> str:
        """The rule that keeps it out."""
        value = "its value" if self.field == "text" else f"a value in its {self.field.replace('_', ' ')}"
        return f"{value} was {self.reason} before"


class ExclusionGate:
    """Refuses or cleans events that contain an excluded text in any field."""

    def __init__(self, db: Database, keys: Mapping[Scope, Sequence[bytes]]) -> None:
        self._db = db
        self._keys = tuple(dict.fromkeys(key for scope_keys in keys.values() for key in scope_keys))
        self.is_empty = tombstones.is_empty(db)
        """Whether nothing is excluded; then everything passes at no cost."""
        self.text_filter = ErasedTextFilter({}) if self.is_empty else tombstones.load_text_filter(db, keys)

    def has_keys(self, keys: Mapping[Scope, Sequence[bytes]]) -> bool:
        """Whether it recognises texts by these keys."""
        return self._keys == tuple(dict.fromkeys(key for scope_keys in keys.values() for key in scope_keys))

    def admit(self, event: Event) -> Event:
        """Return an event without erased texts; raise Refused if somebody wrote one about a memory.

        What agents did and what was done to the store is recorded with a mark in the place of the text.
        """
        if self.is_empty:
            return event
        if not is_written(event.fact):
            return self._clean(event)
        # Only a claim is refused for what was retracted, and whoever makes one asks for it.
        header = {"author": event.actor, "session": event.session, "repository": event.repo, "batch": event.batch}
        field = next((name for name, text in header.items() if self.text_filter.contains_erased_text(text)), "")
        refusal = (
            FieldRefusal(field=field, reason=Exclusion.ERASED)
            if field
            else self.find_refusal(iterate_text(event.fact), event.repo, by_person=True, besides=event.about)
        )
        if refusal:
            what = "a memory" if isinstance(event.fact, MemoryRemembered) else "the change"
            raise Refused(f"{what} was refused: {refusal.rule}")
        return event

    def find_refusal(
        self, fields: Iterable[tuple[str, str]], repo: str, *, by_person: bool, besides: str = ""
    ) -> FieldRefusal | None:
        """Return which of these fields has an excluded text; None if none has.

        ``by_person`` accepts what a person retracted; verdicts on the memory ``besides`` do not count.
        """
        if self.is_empty:
            return None
        texts = list(fields)
        for field, text in texts:
            if self.text_filter.contains_erased_text(text):
                return FieldRefusal(field=field, reason=Exclusion.ERASED)
        values: dict[str, list[str]] = {field: [] for field, _ in texts}
        for field, text in texts:
            if field == "text" or _is_telling(text):
                values[field] += (digest_value(form, key) for form in iterate_forms(text) for key in self._keys)
        every_value = [value for field_values in values.values() for value in field_values]
        # One statement for all of them, because hardly ever is one refused.
        find_reason = partial(tombstones.find_refusal, self._db, repo=repo, by_person=by_person, besides=besides)
        if not every_value or not find_reason(every_value):
            return None
        reasons = ((field, find_reason(field_values)) for field, field_values in values.items())
        return next(FieldRefusal(field=field, reason=reason) for field, reason in reasons if reason)

    def find_text_refusal(self, text: str, repo: str, *, by_person: bool = False) -> Exclusion | None:
        """Return why a text is refused in a repository, by this person's or the team's verdict; None if it is accepted.

        A text that a person retracted may be added again by a person, and by nobody else.
        """
        refusal = self.find_refusal([("text", text)], repo, by_person=by_person)
        return refusal.reason if refusal else None

    def find_claim_refusal(self, fact: MemoryRemembered, repo: str, *, by_person: bool = False) -> FieldRefusal | None:
        """Return which field of a claim is refused; None if all of them are accepted."""
        return self.find_refusal([*iterate_text(fact), ("repository", repo)], repo, by_person=by_person)

    def strip_excluded(self, entries: Sequence[WireEntry]) -> list[WireEntry]:
        """Return entries that another device sent, without content where it has an excluded text."""
        # A first sync brings every memory of another machine, and most people have rejected nothing.
        if self.is_empty:
            return list(entries)
        return [
            replace(entry, salt=b"", content=None) if entry.event and self._is_excluded(entry.event) else entry
            for entry in entries
        ]

    def _is_excluded(self, event: Event) -> bool:
        if is_written(event.fact):
            by_person = event.channel is Channel.PERSON
            fields = iterate_text(event.fact)
            refusal = self.find_refusal(fields, event.repo, by_person=by_person, besides=event.about)
            return refusal is not None and not isinstance(event.fact, WITHDRAWALS)
        return NAME_BY_FACT.get(type(event.fact)) in log.REPEATING_FACTS and self._clean(event) != event

    def _clean(self, event: Event) -> Event:
        if not self.text_filter:
            return event
        change = self.text_filter.replace_erased_texts
        return replace(
            event,
            id=EventId(self._change_id(event.id)),
            actor=change(event.actor),
            repo=change(event.repo),
            session=self._change_id(event.session),
            fact=change_text(event.fact, change, self._change_id),
        )

    def _change_id(self, identifier: str) -> str:
        """Another id for one that contains an erased text, the same every time."""
        is_clean = self.text_filter.replace_erased_texts(identifier) == identifier
        return identifier if is_clean else digest_value(identifier, self._keys[0])[:32]


def is_written(fact: Fact) -> bool:
    """Whether somebody wrote a fact about a memory; an erasure is carried out whatever its reason says."""
    return isinstance(fact, MemoryFact) and not isinstance(fact, MemoryErased)


def _is_telling(text: str) -> bool:
    """Whether a whole field says as much as a memory: several words, or a name with digits."""
    is_name = any(map(str.isdigit, text)) and any(map(str.isalpha, text))
    return len(text) >= MIN_LETTERS and (len(text.split()) >= FEWEST_WORDS or is_name)
