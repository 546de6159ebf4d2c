"""Code as memories see it: symbols, their fingerprints, anchors and what became of them."""

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Self

from hivemind.errors import InvalidInput
from hivemind.model.ids import SessionId, short
from hivemind.model.moments import day
from hivemind.model.text import first_line

FILE = "file"
"""The kind of a symbol that stands for a whole file."""

FOLDER = "folder"
"""The kind of a symbol that stands for a folder with its files."""

BROKEN = "broken"
"""In place of a signature: a file that could not be parsed in full."""

CALLABLES = frozenset({"function", "method", "prototype"})
"""Kinds between which a symbol may change and stay the same thing."""

MAX_TASK = 100
"""Characters of a task in a line about a session."""

MAX_PATHS = 5
"""Files of each sort in that line."""

LEAVES = CALLABLES | {"macro", "const", "property", "field", "key"}
"""Kinds whose inside belongs to them: a local function is part of its function, not a symbol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """What a symbol looked like, so that a later look can say what changed without keeping the code."""

    raw: str
    """Digest of the exact bytes: equal means untouched."""
    signature: str
    """Digest of the header without the symbol's own name, comments and layout."""
    body: str
    """Digest of the body without members, comments, docs and layout."""
    docs: str
    """Digest of the docstring or of the comment that stands directly above; empty without any."""
    members: str
    """Digest of the members' names, headers and bodies; empty without any."""
    tokens: int
    """Size of the body with its members; little of it is little evidence."""
    sketch: str
    """Sample of the body's token triples with its members, for similarity."""

    SCHEME = 1  # raised when the same code begins to give other digests

    def __str__(self) -> str:
        parts = (self.raw, self.signature, self.body, self.docs, self.members, self.tokens, self.sketch)
        return ":".join(map(str, (self.SCHEME, *parts)))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what `str` wrote."""
        try:
            scheme, raw, signature, body, docs, members, tokens, sketch = text.split(":")
            size = int(tokens)
        except ValueError:
            raise InvalidInput(f"{text[:40]!r} is not a fingerprint; link the memory again") from None
        if int(scheme) != cls.SCHEME:
            # Only the exact bytes can be compared with what another version of the program wrote.
            signature = body = docs = members = sketch = ""
        return cls(raw=raw, signature=signature, body=body, docs=docs, members=members, tokens=size, sketch=sketch)


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A named thing in a file: where it stands and what is said there."""

    path: str
    """Relative to the root of the working tree, with forward slashes."""
    kind: str
    name: str
    qualified: str
    """The name with those of its containers, joined by dots; empty for a whole file."""
    ordinal: int
    """0 for the first symbol of this name and kind in the file, 1 for the next."""
    line: int
    end_line: int
    signature: str
    """The header as a person wrote it, on one line."""
    before: str
    """The sibling above, by name; neighbours that stay are evidence of a rename."""
    after: str
    """The sibling below, by name."""

    @property
    def label(self) -> str:
        """How people write it: `path::qualified`."""
        return f"{self.path}::{self.qualified}" if self.qualified else self.path


SEEN = tuple(field.name for field in fields(Named))
"""What is told of a symbol beside what it looks like."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbol(Named):
    """A named thing in a file, as it is now."""

    fingerprint: Fingerprint

    @property
    def family(self) -> str:
        """The kind, with all that can be called in one: a function that becomes a method is still it."""
        return "callable" if self.kind in CALLABLES else self.kind

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What identifies it within one working tree; never a line, never its content."""
        return (self.path, self.qualified, self.family, self.ordinal)

    @property
    def parent(self) -> str:
        """The qualified name of its container, or nothing."""
        return self.qualified[: -len(self.name) - 1] if len(self.qualified) > len(self.name) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor(Named):
    """A memory's hold on a symbol: where it was and what it looked like when the memory was written."""

    fingerprint: str
    commit: str = ""
    """The commit that was checked out, if any; the file may have differed from it."""

    @classmethod
    def of(cls, symbol: Symbol, commit: str = "") -> Self:
        """Take hold of the symbol as it is now."""
        seen = {name: getattr(symbol, name) for name in SEEN}
        return cls(**seen, fingerprint=str(symbol.fingerprint), commit=commit)

    @property
    def symbol(self) -> Symbol:
        """The symbol as it was then."""
        seen = {name: getattr(self, name) for name in SEEN}
        return Symbol(**seen, fingerprint=Fingerprint.parse(self.fingerprint))


class Change(StrEnum):
    """What became of a symbol, from nothing to the worst."""

    FRESH = "fresh"
    COSMETIC = "cosmetic"
    DOCS = "docs"
    MEMBERS = "members"
    BODY_MINOR = "body-minor"
    BODY_MAJOR = "body-major"
    SIGNATURE = "signature"
    RENAMED = "renamed"
    MOVED = "moved"
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Staleness:
    """What became of one anchor's symbol in the working tree that asks."""

    anchor: Anchor
    change: Change
    edit: Change
    """What happened to its content: the same as `change`, except beside renamed, moved and gone."""
    text: str
    """One sentence for a person: what changed."""
    now: Anchor | None
    """The symbol of today, wherever it is; none when it is gone."""

    @property
    def must_verify(self) -> bool:
        """Whether acting on the memory without looking would be careless."""
        return self.change is Change.GONE or self.edit in (Change.BODY_MAJOR, Change.SIGNATURE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """A file that bears on what is at hand, and why."""

    path: str
    weight: float
    """Comparable within one answer only."""
    why: tuple[str, ...]
    """Reasons in a person's words, the strongest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedSession:
    """A session in which files were touched together, as paths in the working tree at hand."""

    id: SessionId
    agent: str
    at: str
    """When it was last heard of."""
    task: str
    """What a person first asked for in it."""
    edited: tuple[str, ...]
    read: tuple[str, ...]
    """Files it read and did not edit."""

    @property
    def summary(self) -> str:
        """Who, when, which files, and what a person asked for, in one line; the task is quoted as it was said."""
        edited, read = _listed(self.edited), _listed(self.read)
        done = "; ".join(filter(None, (edited and f"edited {edited}", read and f"read {read}")))
        task = f'; task: "{first_line(self.task, MAX_TASK)}"' if self.task else ""
        return f"session {short(self.id)} of {self.agent}, {day(self.at)}: {done}{task}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Callers:
    """Who uses a symbol, as far as imports can tell."""

    symbols: tuple[Symbol, ...]
    unresolved: int
    """Symbols that mention the name without importing its file; some may mean this one."""
    namesakes: int
    """Other symbols of the same name that those may mean."""


def _listed(paths: tuple[str, ...]) -> str:
    more = len(paths) - MAX_PATHS
    return ", ".join(paths[:MAX_PATHS]) + (f" and {more} more" if more > 0 else "")
