"""Symbols of a codebase, their fingerprints, the anchors of memories, and staleness."""

import re
from dataclasses import fields
from enum import StrEnum
from typing import Self

from hivemind.errors import InvalidInput
from hivemind.model.dataclass import dataclass
from hivemind.model.ids import Digest, SessionId, Timestamp, shorten_id
from hivemind.model.timestamps import format_date
from hivemind.text.clean import count_equal, first_line

FILE = "file"
"""The kind of a symbol that represents a whole file."""

FOLDER = "folder"
"""The kind of a symbol that represents a folder with its files."""

CALLABLES = frozenset({"function", "method", "prototype"})
"""Kinds that count as one, so that a function that becomes a method is still the same symbol."""

MAX_TASK = 100
"""Characters of a session's task in its summary."""

MAX_SHOWN_PART = 40
"""Characters of the part of a changed line that is shown; whoever needs more opens the file."""

MIN_SHOWN_PART = 4
"""Characters of such a part that say by themselves where it is."""

_LINE_PART = re.compile(r"\w+|\s+|.")

MAX_PATHS = 5
"""Edited files, and read files, in that summary."""

LOOSE_KINDS = frozenset({FILE, FOLDER, "module", "section"})
"""Kinds that hold so much that a change somewhere inside says little about a memory of the whole."""

MEMBERLESS_KINDS = CALLABLES | {"macro", "const", "property", "field", "key"}
"""Kinds without members: a local function is part of its function, not a symbol of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """Digests of a symbol's parts, by which a later comparison can tell what changed without storing the code."""

    raw: str
    """Digest of the exact bytes; equal means unchanged."""
    signature: str
    """Digest of the header without the symbol's own name, comments and layout."""
    body: str
    """Digest of the body without members, comments, docs and layout."""
    docs: str
    """Digest of the docstring or of the comment directly above; empty if there is none."""
    members: str
    """Digest of the members' names, headers and bodies; empty if there are none."""
    tokens: int
    """Size of the body with its members; a short body is weak evidence that two symbols are the same."""
    sketch: str
    """Sample of the body's token triples with its members, for similarity."""

    SCHEME = 2  # Increase it whenever the same code gives different digests.

    @property
    def code_digests(self) -> tuple[str, str, str]:
        """What is the same in two versions that differ in comments and layout alone."""
        return self.signature, self.body, self.members

    def __str__(self) -> str:
        parts = (self.raw, self.signature, self.body, self.docs, self.members, self.tokens, self.sketch)
        return ":".join(map(str, (self.SCHEME, *parts)))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the text that `str` produced."""
        try:
            scheme, raw, signature, body, docs, members, tokens, sketch = text.split(":")
            size = int(tokens)
        except ValueError:
            raise InvalidInput(f"{text[:40]!r} is not a fingerprint; link the memory to its code again") from None
        if int(scheme) != cls.SCHEME:
            # Another version of the program computed the other digests in another way; the bytes stay comparable.
            signature = body = docs = members = sketch = ""
        return cls(raw=raw, signature=signature, body=body, docs=docs, members=members, tokens=size, sketch=sketch)


@dataclass(frozen=True, slots=True, kw_only=True)
class SymbolLocation:
    """A symbol without its fingerprint: its name, position and neighbours."""

    path: str
    """Relative to the root of the working tree, with forward slashes."""
    kind: str
    name: str
    qualified: str
    """The dotted name with its containers; empty for a whole file."""
    ordinal: int
    """0 for the first symbol of this name and kind in the file, 1 for the next."""
    line: int
    end_line: int
    signature: str
    """The header as a person wrote it, on one line."""
    before: str
    """Name of the sibling above; unchanged neighbours are evidence of a rename."""
    after: str
    """Name of the sibling below."""

    @property
    def label(self) -> str:
        """The symbol as people write it: `path::qualified`."""
        return f"{self.path}::{self.qualified}" if self.qualified else self.path


LOCATION_FIELDS = tuple(field.name for field in fields(SymbolLocation))
"""The fields that symbols and anchors share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbol(SymbolLocation):
    """A symbol as it is in the working tree now."""

    fingerprint: Fingerprint

    @property
    def family(self) -> str:
        """The kind, where everything callable counts as one kind."""
        return "callable" if self.kind in CALLABLES else self.kind

    @property
    def key(self) -> tuple[str, str, str, int]:
        """Identity within one working tree; independent of line numbers and content, which change."""
        return (self.path, self.qualified, self.family, self.ordinal)

    @property
    def parent(self) -> str:
        """The qualified name of its container; empty at the top level."""
        return self.qualified[: -len(self.name) - 1] if len(self.qualified) > len(self.name) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor(SymbolLocation):
    """A memory's link to a symbol: its position and fingerprint when the link was made."""

    fingerprint: Digest
    commit: str = ""
    """The commit that was checked out, if any; the file may have had uncommitted changes."""

    @classmethod
    def of(cls, symbol: Symbol, commit: str = "") -> Self:
        """Make an anchor from the symbol as it is now."""
        # The anchor keeps all of it, because the symbol may be gone when somebody asks what it was.
        location = {name: getattr(symbol, name) for name in LOCATION_FIELDS}
        return cls(**location, fingerprint=str(symbol.fingerprint), commit=commit)

    @property
    def symbol(self) -> Symbol:
        """The symbol as it was when the anchor was made."""
        location = {name: getattr(self, name) for name in LOCATION_FIELDS}
        return Symbol(**location, fingerprint=Fingerprint.parse(self.fingerprint))


class SymbolChange(StrEnum):
    """How a symbol changed, from not at all to deleted."""

    UNREAD = "unread"
    """Its file changed and is being read, so that nothing is known yet."""
    FRESH = "fresh"
    COSMETIC = "cosmetic"
    DOCS = "docs"
    MEMBERS = "members"
    BODY_MINOR = "body-minor"
    BODY_MAJOR = "body-major"
    SIGNATURE = "signature"
    RENAMED = "renamed"
    MOVED = "moved"
    MISSING = "missing"
    """Not in its place; where it went is being searched for."""
    ELSEWHERE = "elsewhere"
    """Not on this branch: another one or the stash has it."""
    GONE = "gone"


UNCHANGED = (SymbolChange.FRESH, SymbolChange.COSMETIC, SymbolChange.DOCS)
"""What leaves everything that the code does as it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineChange:
    """A line of code then and now; either is empty if there is no such line."""

    old: str
    new: str

    def __str__(self) -> str:
        """What differs, old before new, without what both lines have in common."""
        return self.show(MAX_SHOWN_PART)

    def show(self, most: int) -> str:
        """The same with at most so many characters of each line."""
        if not (self.old and self.new):
            line = _shorten(self.old or self.new, most)
            return f"removed `{line}`" if self.old else f"added `{line}`"
        old, new = _cut_common(_LINE_PART.findall(self.old), _LINE_PART.findall(self.new))
        if _shorten(old, most) == _shorten(new, most):
            equal = count_equal(old, new)
            old, new = old[equal:].lstrip(", "), new[equal:].lstrip(", ")
        if not (old and new):
            return LineChange(old=old, new=new).show(most)
        return f"`{_shorten(old, most)}` → `{_shorten(new, most)}`"


def _cut_common(old: list[str], new: list[str]) -> tuple[str, str]:
    """Two lines without their common beginning and end, but with a word on either side of what was only inserted."""
    head = count_equal(old, new)
    tail = count_equal(old[head:][::-1], new[head:][::-1])
    # Where little or nothing stands on one side, the word before says where that is.
    if min(len("".join(parts[head : len(parts) - tail])) for parts in (old, new)) < MIN_SHOWN_PART:
        head = next((place for place in range(head - 1, -1, -1) if re.match(r"\w", old[place])), 0)
    # A bracket that is opened is closed too.
    while tail and any(_count_open(parts[head : len(parts) - tail]) > 0 for parts in (old, new)):
        tail -= 1
    return "".join(old[head : len(old) - tail]).strip(), "".join(new[head : len(new) - tail]).strip()


def _count_open(parts: list[str]) -> int:
    return sum((part in ("(", "[", "{")) - (part in (")", "]", "}")) for part in parts)


def _shorten(code: str, most: int) -> str:
    if len(code) <= most:
        return code
    start = code[: most - 1]
    # Labels keep square brackets only in pairs.
    return f"{start}…" + "]" * (start.count("[") - start.count("]"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Staleness:
    """How one anchor's symbol changed in the current working tree."""

    anchor: Anchor
    change: SymbolChange
    edit: SymbolChange
    """How its content changed; differs from `change` only for renamed, moved and deleted symbols."""
    text: str
    """What changed, for people and agents, without the name of the symbol."""
    summary: str
    """The same without code."""
    now: Anchor | None
    """The symbol as it is now, wherever it is; none if it was deleted."""
    must_verify: bool
    """Whether the memory must be checked against the code before anyone acts on it."""
    lines: tuple[LineChange, ...] = ()
    """The changed lines, those that concern the memory first; none if the old code is not available."""

    @property
    def is_followed(self) -> bool:
        """Whether the symbol is elsewhere now and otherwise the same."""
        return self.change in (SymbolChange.RENAMED, SymbolChange.MOVED) and self.edit in UNCHANGED


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchoredCode:
    """The code of an anchor, then and now, and how it changed."""

    staleness: Staleness
    then: str
    """Empty if no commit contains it."""
    now: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedFile:
    """A file related to the code in question, and why."""

    path: str
    weight: float
    """Comparable only within one answer."""
    why: tuple[str, ...]
    """Reasons for people, the strongest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedSession:
    """A session that read or edited files together; paths are relative to the current working tree."""

    id: SessionId
    agent: str
    at: Timestamp
    """When its last event arrived."""
    task: str
    """The first request a person made in it."""
    edited: tuple[str, ...]
    read: tuple[str, ...]
    """Files that it read but did not edit."""

    @property
    def summary(self) -> str:
        """One line with the agent, date, files and the task, quoted word for word."""
        edited_paths, read_paths = _join_paths(self.edited), _join_paths(self.read)
        work = "; ".join(filter(None, (edited_paths and f"edited {edited_paths}", read_paths and f"read {read_paths}")))
        task = f'; task: "{first_line(self.task, MAX_TASK)}"' if self.task else ""
        return f"session {shorten_id(self.id)} of {self.agent}, {format_date(self.at)}: {work}{task}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Callers:
    """Symbols that use a symbol, as far as imports show."""

    symbols: tuple[Symbol, ...]
    unresolved: int
    """How many symbols mention the name without importing its file; some may mean this one."""
    namesakes: int
    """How many other symbols have the same name, which those may mean instead."""


def _join_paths(paths: tuple[str, ...]) -> str:
    more = len(paths) - MAX_PATHS
    return ", ".join(paths[:MAX_PATHS]) + (f" and {more} more" if more > 0 else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitReport:
    """The result of reading a history."""

    commits: int
    """Commits that were read."""
    reasons: int
    """How many of them give a reason."""
