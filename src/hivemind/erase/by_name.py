"""Finds everything that names a person, customer, ticket or value, however it is spelled, and erases what is confirmed.

"ACME Corp" is named by acme-corp, ACME_Corp, AcmeCorp, "acme corp's" and acme.corp, but not by acme corporation; REQ-12
by req_12 and REQ12, but not by REQ-123. A name ends where an identifier or address would not go on: REQ-12 is not in
REQ-12.1, and x@y.example not in x@y.example.org.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path

from hivemind.context import Progress
from hivemind.erase.plan import Targets, load_ignoring_rollbacks
from hivemind.erase.receipt import merge_places
from hivemind.erase.residue import QUARANTINE_FOLDER, list_backups, name_backup, remove_copies_in_index
from hivemind.erase.sweep import UNREADABLE_BACKUP, drop_entries, erase, make_erasures
from hivemind.errors import InvalidInput, StoreError
from hivemind.model.erasure import ErasedLocation, Erasure, Mention, Mentions, MentionSort
from hivemind.model.events import (
    AgentAsked,
    Event,
    Fact,
    MemoriesRecalled,
    MemoryErased,
    MemoryFact,
    MemoryRemembered,
    MemoryRevised,
    ObservationMade,
    RepositorySeen,
    WriteRefused,
)
from hivemind.model.free_text import iterate_text
from hivemind.model.ids import EventId, MemoryId
from hivemind.model.memory import Memory
from hivemind.model.scope import Scope
from hivemind.model.session import ObservationKind
from hivemind.model.team import TeamMember
from hivemind.store import backup, log
from hivemind.store.database import Database
from hivemind.store.event_factory import EventFactory
from hivemind.store.projections import memories
from hivemind.store.sqlite import Sqlite
from hivemind.store.store import Store
from hivemind.text.clean import neutralise, validate_label
from hivemind.text.escapes import iterate_forms
from hivemind.text.excluded_text import SEPARATOR, fold, normalise, word_pattern

ORIGIN_FIELDS = {"owner", "actor", "directory", "model", "agent", "session_id", "event", "observation"}
"""Fields about the writer and the place, not about content; log headers keep the same values permanently."""
LARGEST_FILE = 1 << 24
"""Bytes of a quarantined file that are searched."""
PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_]+")
"""The parts of a camel-case identifier; only Latin letters have such parts."""
JOINT = re.compile(r"[-_./\\:@#+~&'’]{1,2}")
"""Characters that may join the parts of an identifier."""
GAP = re.compile(r"\s*[^\w\s]{0,2}\s*")
"""Characters that may separate two words of a name."""
NOT_A_LETTER = re.compile(r"[\W_]+")
ASCII_PUNCTUATION = str.maketrans("", "", "".join(chr(code) for code in range(128) if not chr(code).isalnum()))
ADDRESS = re.compile(r"\w@|\w\.\w")
"""What only an address, a host or a file's name has."""
ADDRESS_JOINTS = frozenset({"", ".", "-"})
"""With these a host goes on; behind a mail address or in a path stand others."""
LOCAL_PART_JOINTS = frozenset({"", ".", "-", "_", "+"})
NUMBER_JOINTS = frozenset({".", "-", "_"})
LATIN_LETTERS = {
    "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ħ": "h", "ŧ": "t", "ŋ": "ng", "ı": "i",
    "ß": "ss", "ĸ": "k",
}  # fmt: skip
"""Letters that Unicode does not take apart into a base letter and a mark."""
AS_BASE_LETTERS = str.maketrans(
    LATIN_LETTERS | {letter.upper(): base.capitalize() for letter, base in LATIN_LETTERS.items() if letter not in "ßıĸ"}
)
MIN_LETTERS = 2
EXCERPT_MARGIN = 40
"""Characters that an excerpt shows on either side of the name."""


@dataclass(frozen=True, slots=True)
class _Part:
    text: str
    start: int
    end: int
    is_joined: bool
    """Joined to the part before it, as in an identifier."""
    is_near: bool
    """As close to the part before it as the words of a name."""
    gap: str
    """What stands between the part before it and this one."""


@dataclass(frozen=True, slots=True)
class NamePattern:
    """A name to search for, independent of its spelling."""

    label: str
    forms: frozenset[str]
    """Its letters and digits without separators, in each inflection."""
    borders: frozenset[int]
    """Positions in them where a word ends."""
    is_address: bool = False
    """Whether it is an address, a host or a file's name."""
    is_mail: bool = False

    @classmethod
    def parse(cls, text: str) -> "NamePattern":
        """Parse a name that a person typed; raises InvalidInput with what to correct."""
        label = validate_label(text, "the name")
        parts = [part.text for part in _split_parts(label)]
        letters = "".join(parts)
        if len(letters) < MIN_LETTERS:
            raise InvalidInput(f"{label!r} is too short to search for; give at least two letters or digits")
        ends = {sum(map(len, parts[:count])) for count in range(1, len(parts) + 1)}
        # The last word as the person separated it may be a whole identifier of several parts.
        words = [fold(_strip_accents(word)) for word in word_pattern().findall(label) if word]
        last = words[-1] if words and letters.endswith(words[-1]) else parts[-1]
        is_address = ADDRESS.search(label) is not None
        # An address has no plural.
        forms = {letters} if is_address else {letters.removesuffix(last) + form for form in _inflect(last)}
        return cls(label, frozenset(forms), frozenset(ends), is_address=is_address, is_mail="@" in label)

    def may_be_in(self, text: str) -> bool:
        """A fast check whether a text may contain the name; ``excerpt`` is exact."""
        return any(map(self._has_letters_in, iterate_forms(text)))

    def excerpt(self, text: str) -> str:
        """A short line around the first occurrence of the name; empty if there is none."""
        return next(filter(None, map(self._excerpt, iterate_forms(text))), "")

    def _excerpt(self, text: str) -> str:
        span = self._find(text)
        if span is None:
            return ""
        start, end = max(0, span[0] - EXCERPT_MARGIN), min(len(text), span[1] + EXCERPT_MARGIN)
        passage = " ".join(neutralise(text[start:end]).split())
        return f"{'… ' if start else ''}{passage}{' …' if end < len(text) else ''}"

    def _has_letters_in(self, text: str) -> bool:
        letters = _squeeze(text)
        return any(form in letters for form in self.forms)

    def _find(self, text: str) -> tuple[int, int] | None:
        """Start and end of the first occurrence of the name; none if there is none."""
        if not self._has_letters_in(text):
            return None
        parts = list(_split_parts(text))
        for index, first in enumerate(parts):
            last = self._find_last(parts, index)
            if last is not None and not self._is_part_of_another(parts, index, last):
                return first.start, parts[last].end
        return None

    def _is_part_of_another(self, parts: list[_Part], first: int, last: int) -> bool:
        """Whether an address or number goes on before or after these parts, so that it is another one."""
        following = parts[last + 1] if last + 1 < len(parts) and parts[last + 1].is_joined else None
        is_after_another = first > 0 and parts[first].is_joined
        if following and self.is_address and following.gap in ADDRESS_JOINTS:
            return True
        if is_after_another and self.is_mail and parts[first].gap in LOCAL_PART_JOINTS:
            return True
        return (following is not None and _continues_number(parts[last], following)) or (
            is_after_another and _continues_number(parts[first - 1], parts[first])
        )

    def _find_last(self, parts: list[_Part], first: int) -> int | None:
        """The index of the last part of a name that begins with this part; none if none does."""
        letters = ""
        max_length = max(map(len, self.forms))
        for index, part in enumerate(parts[first:], start=first):
            if letters and not self._may_follow(letters, part):
                return None
            letters += part.text
            if letters in self.forms:
                return index
            if len(letters) >= max_length:
                return None
        return None

    def _may_follow(self, letters: str, part: _Part) -> bool:
        if len(letters) in self.borders:
            return part.is_joined or part.is_near
        # REQ1-2 is not REQ12.
        return part.is_joined and not (letters[-1].isdigit() and part.text[0].isdigit())


@dataclass(slots=True)
class LogMentions:
    """Where a log mentions a name: entries, and for each memory its last event with an excerpt."""

    entries: list[Mention] = field(default_factory=list)
    memories: dict[str, tuple[Event, str]] = field(default_factory=dict)
    titles: dict[str, Mention] = field(default_factory=dict)
    """Sessions whose title, their first prompt, mentions it."""


def find_mentions(
    store: Store, home: Path, name: NamePattern, progress: Progress, kept_ids: Set[str] = frozenset()
) -> Mentions:
    """Find everything in this store that mentions a name: in its log, its backups and its quarantine.

    A backup that only mentions it in ``kept_ids`` is not listed.
    """
    log_mentions = _search_log(store.db, name, progress)
    mentions = [*_list_memories(store, log_mentions, name), *log_mentions.titles.values(), *log_mentions.entries]
    mentions += [mention for file in list_backups(store) for mention in _search_backup(file, name, progress, kept_ids)]
    mentions += _search_quarantine(home, name)
    return Mentions(about=name.label, found=tuple(mentions))


def erase_mentions(
    store: Store,
    home: Path,
    factory: EventFactory,
    name: NamePattern,
    mentions: Sequence[Mention],
    kept_ids: Set[str],
    reason: str,
    progress: Progress,
) -> Erasure:
    """Erase the chosen mentions, search again, and return one receipt for everything."""

    def list_ids(*sorts: MentionSort) -> list[str]:
        return [mention.id for mention in mentions if mention.sort in sorts]

    memory_ids = list_ids(MentionSort.MEMORY, MentionSort.VERSION, MentionSort.TRACE)
    erased_memories = (load_ignoring_rollbacks(store.db, memory_id) for memory_id in memory_ids)
    entries = map(EventId, list_ids(MentionSort.OBSERVATION, MentionSort.QUESTION, MentionSort.RECORD))
    targets = Targets(memories=tuple(filter(None, erased_memories)), entries=tuple(entries))
    receipt = erase(store, factory, targets, reason, home=home)
    ids = {mention.id for mention in mentions}
    backup_places = [
        place
        for file in list_backups(store)
        if name_backup(file) in ids
        for place in _erase_in_backup(store, factory, file, name, kept_ids)
    ]
    if backup_places:
        store.checkpoint()
    quarantine_places = _delete_items(home, list_ids(MentionSort.QUARANTINE))
    index_places = list(remove_copies_in_index(home, name.excerpt))
    remaining = _report_remaining(find_mentions(store, home, name, progress, kept_ids), ids)
    store_places = merge_places([*receipt.places, *backup_places])
    return replace(receipt, places=(*store_places, *quarantine_places, *index_places, remaining))


def _search_log(db: Database, name: NamePattern, progress: Progress) -> LogMentions:
    mentions = LogMentions()
    for event in log.find_events_matching(db, name.may_be_in, progress):
        # The search filters whole entries quickly; only a free text that names it counts as a mention.
        excerpt = next(filter(None, map(name.excerpt, _iterate_texts(event.fact))), "")
        if not excerpt:
            continue
        if isinstance(event.fact, MemoryFact) and not isinstance(event.fact, MemoryErased):
            mentions.memories[event.about] = event, excerpt
            continue
        sort, stays = _classify_entry(event.fact)
        mention = _make_mention(sort, event, excerpt, stays)
        mentions.entries.append(mention)
        match event.fact:
            case ObservationMade(seen=ObservationKind.PROMPT, subagent="", session_id=session):
                mentions.titles.setdefault(session, replace(mention, sort=MentionSort.SESSION, id=session))
    return mentions


def _classify_entry(fact: Fact) -> tuple[MentionSort, str]:
    """Return the sort of an entry that is not about a memory, and why it stays; empty if it can be erased."""
    match fact:
        case ObservationMade():
            return MentionSort.OBSERVATION, ""
        case MemoriesRecalled() | AgentAsked():
            return MentionSort.QUESTION, ""
        case WriteRefused():
            return MentionSort.RECORD, ""
        case RepositorySeen():
            return MentionSort.RECORD, "the name of a repository or folder, which its entries contain"
        case MemoryErased():
            return MentionSort.RECORD, "the reason of an erasure, which its receipt keeps"
        case _:
            return MentionSort.RECORD, "a record of what was done to the store"


def _make_mention(sort: MentionSort, event: Event, excerpt: str, stays: str) -> Mention:
    session = str(getattr(event.fact, "session_id", ""))
    return Mention(sort=sort, id=event.id, repo=event.repo, at=event.at, excerpt=excerpt, session=session, stays=stays)


def _list_memories(store: Store, log_mentions: LogMentions, name: NamePattern) -> Iterator[Mention]:
    current_memories = {memory.id: memory for memory in memories.get_all(store.db, log_mentions.memories)}
    for memory_id, (event, excerpt) in log_mentions.memories.items():
        # A memory that was rolled back is no longer listed, but its texts are still in the log.
        memory = current_memories.get(MemoryId(memory_id)) or load_ignoring_rollbacks(store.db, memory_id)
        current_excerpt = memory is not None and name.excerpt(memory.text)
        if memory is not None and memory.trace:
            sort = MentionSort.TRACE
        else:
            is_version = isinstance(event.fact, MemoryRemembered | MemoryRevised)
            sort = MentionSort.VERSION if is_version and not current_excerpt else MentionSort.MEMORY
        stays = _explain_ownership(store, memory) if memory else ""
        yield replace(_make_mention(sort, event, current_excerpt or excerpt, stays), id=memory_id)


def _explain_ownership(store: Store, memory: Memory) -> str:
    """Return why this person may not erase a memory; empty if they may."""
    member = store.membership
    if memory.scope is not Scope.TEAM or member is None or memory.owner == member.person:
        return ""
    if TeamMember(person=member.person, role=member.role).may_review:
        return ""
    return f"not yours: ask {memory.owner} or a reviewer"


def _iterate_texts(fact: Fact) -> Iterator[str]:
    """Yield every free text in a fact; for an observation, without its working directory."""
    texts = (text for _, text in iterate_text(fact, skipped=ORIGIN_FIELDS))
    # The directory is in the header of the entry, which stays; a path below it is not a mention.
    directory = fact.directory if isinstance(fact, ObservationMade) else ""
    return (text.replace(directory, "") for text in texts) if directory else texts


def _search_backup(file: Path, name: NamePattern, progress: Progress, kept_ids: Set[str]) -> Iterator[Mention]:
    mention = Mention(sort=MentionSort.BACKUP, id=name_backup(file), repo="", at="", excerpt="")
    try:
        with Sqlite.open_for_reading(file) as copy:
            log_mentions = _search_log(copy, name, progress)
    except StoreError:
        yield replace(mention, excerpt="(cannot be read)", stays=UNREADABLE_BACKUP)
        return
    count = len({*log_mentions.memories, *(entry.id for entry in log_mentions.entries if not entry.stays)} - kept_ids)
    if count:
        yield replace(mention, excerpt="one entry names it" if count == 1 else f"{count} entries name it")


def _erase_in_backup(
    store: Store, factory: EventFactory, file: Path, name: NamePattern, kept_ids: Set[str]
) -> list[ErasedLocation]:
    """Erase from a backup what mentions the name there; the store itself may have dropped it long ago."""
    with Sqlite.open_for_reading(file) as copy:
        log_mentions = _search_log(copy, name, lambda position, total: None)
        erased_memories = [
            memory
            for memory_id in log_mentions.memories
            if memory_id not in kept_ids and (memory := load_ignoring_rollbacks(copy, memory_id))
        ]
        events = make_erasures(store, factory, erased_memories, copy)
    erasable_ids = {mention.id for mention in log_mentions.entries if not mention.stays} - kept_ids
    events += drop_entries(factory, [EventId(entry_id) for entry_id in sorted(erasable_ids)])
    if not events:
        return []
    # Recorded in the store as well, so that it refuses these values from now on.
    store.record(events)
    try:
        with backup.open_backup(file) as copy:
            backup.record(copy, events)
    except StoreError:
        return [ErasedLocation(name=name_backup(file), state="pending", detail=UNREADABLE_BACKUP)]
    return [ErasedLocation(name=name_backup(file), state="done", detail="erased there too")]


def _search_quarantine(home: Path, name: NamePattern) -> Iterator[Mention]:
    for file in sorted((home / QUARANTINE_FOLDER).glob("*")):
        if file.is_file():
            with file.open("rb") as raw:
                text = raw.read(LARGEST_FILE).decode("utf-8", "replace")
            if excerpt := name.excerpt(text):
                yield Mention(
                    sort=MentionSort.QUARANTINE, id=f"{QUARANTINE_FOLDER}/{file.name}", repo="", at="", excerpt=excerpt
                )


def _delete_items(home: Path, names: Sequence[str]) -> list[ErasedLocation]:
    for name in names:
        (home / name).unlink(missing_ok=True)
    place = ErasedLocation(name=QUARANTINE_FOLDER, state="done", detail=f"files deleted: {len(names)}")
    return [place] if names else []


def _report_remaining(after: Mentions, chosen_ids: set[str]) -> ErasedLocation:
    """Report what a second search finds of the chosen mentions."""
    remaining_ids = [mention.id for mention in after.erasable if mention.id in chosen_ids]
    if remaining_ids:
        examples = ", ".join(mention_id[:12] for mention_id in remaining_ids[:5])
        detail = f"still there: {len(remaining_ids)} ({examples}); erase again"
        return ErasedLocation(name="second search", state="pending", detail=detail)
    if after.found:
        return ErasedLocation(
            name="second search", state="outside", detail=f"{len(after.found)} left as you chose, or not yours"
        )
    return ErasedLocation(name="second search", state="done", detail="nothing mentions it any more")


def _continues_number(part: _Part, following: _Part) -> bool:
    """Whether two digits are joined as in INC-4407.1 or 1.2.0."""
    return following.gap in NUMBER_JOINTS and part.text[-1].isdigit() and following.text[0].isdigit()


def _split_parts(text: str) -> Iterator[_Part]:
    end = 0
    for word in word_pattern().finditer(text):
        if not word[1]:
            continue
        start, gap = word.start(1), SEPARATOR.sub(" ", text[end : word.start(1)])
        is_first = end == 0
        end = word.end(1)
        humps = PART.findall(_strip_accents(word[1])) or [word[1]]
        for index, hump in enumerate(humps):
            if part := fold(hump):
                inside = index > 0
                yield _Part(
                    part, start, end,
                    is_joined=inside or (not is_first and JOINT.fullmatch(gap) is not None),
                    is_near=inside or (not is_first and GAP.fullmatch(gap) is not None),
                    gap="" if inside else gap,
                )  # fmt: skip


def _strip_accents(word: str) -> str:
    if word.isascii():
        return word
    letters = unicodedata.normalize("NFKD", neutralise(word)).translate(AS_BASE_LETTERS)
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def _squeeze(text: str) -> str:
    if any(mark in text for mark in "\\\t→"):
        text = SEPARATOR.sub(" ", text)
    if text.isascii():
        return text.lower().translate(ASCII_PUNCTUATION)
    return NOT_A_LETTER.sub("", normalise(text).translate(AS_BASE_LETTERS))


def _inflect(word: str) -> set[str]:
    """A word, its singular and its plural, by the rules of English."""
    # Digits and words of one or two letters have no plural.
    if not word.isalpha() or len(word) < 3:
        return {word}
    if word.endswith("ies") and len(word) > 4:
        single = word[:-3] + "y"
    elif word.endswith(("sses", "xes", "ches", "shes", "zes")):
        single = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        single = word[:-1]
    else:
        single = word
    plural = single[:-1] + "ies" if single.endswith("y") else single + "s"
    has_es_plural = single.endswith(("s", "x", "z", "ch", "sh"))
    return {word, single, plural} | ({single + "es"} if has_es_plural else set())
