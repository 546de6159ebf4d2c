"""A session as detectors read it: its steps in order, and how to point at them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from hivemind.model.commands import essence, is_looking
from hivemind.model.memory import Channel, Source
from hivemind.model.session import Observation, Seen

LONGEST_QUOTE = 300
ABSOLUTE = re.compile(r"\A(?:/|~|[A-Za-z]:/)")
DRIVES = re.compile(r"\A.*(?=\b[A-Za-z]:/)")
"""A Windows path read elsewhere looks relative, and was put below the directory it was used in."""
NOT_THE_PROGRAMS = re.compile(
    r"The user doesn't want to proceed|\[Request interrupted|This command requires approval|Permission to use"
    r"|was blocked|rejected by (?:the )?user|Cancelled:|tool_use_error",
    re.IGNORECASE,
)
"""A call that was stopped says nothing about the command."""
BAD_END = re.compile(
    r"^(?:FAIL\b|--- FAIL|✗|E  +\w|error(?:\[\w+\])?:|Error:(?! \(none\))|ERROR\b|npm ERR!|panic:"
    r"|Traceback \(most recent|make: \*\*\*)|\b[1-9]\d* (?:failed|failing|failures?|errors?)\b|: error TS\d+|\(fail\)",
    re.MULTILINE,
)
"""How build and test programs say that they failed, for when a filter behind them hid their exit code."""
GOOD_END = re.compile(r"^\s*0 (?:fail(?:ed|ures?|ing)?|errors?)\b", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A command that does something, and how it ended."""

    index: int
    what: str
    failed: bool
    seen: Observation


@dataclass(frozen=True, kw_only=True)
class Trail:
    """The steps of one session, in order."""

    steps: Sequence[Observation]
    root: str = ""
    """Top of the working tree; files below it are named from there."""

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """The commands that do something, leaving out those that only look."""
        return tuple(self._runs())

    def _runs(self) -> Iterator[Run]:
        for index, seen in enumerate(self.steps):
            what = essence(seen.command) if seen.command else ""
            if what and not is_looking(what) and not NOT_THE_PROGRAMS.search(seen.output[:200]):
                said = BAD_END.search(seen.output) and not GOOD_END.search(seen.output)
                yield Run(index=index, what=what, failed=seen.failed or bool(said), seen=seen)

    def edits(self, begin: int = 0, end: int | None = None) -> list[Observation]:
        """The edits among some of the steps."""
        return [seen for seen in self.steps[begin:end] if seen.diff and seen.file and not seen.failed]

    def said(self, begin: int, end: int) -> str:
        """What the agent first had to say among some of the steps."""
        replies = (seen.text for seen in self.steps[begin:end] if seen.seen is Seen.REPLY)
        return next((text for text in replies if len(text) > 40), "")

    def only_said(self, index: int) -> str:
        """What the agent said at the end of the turn a step is part of, if it said nothing else in it."""
        turns = [place for place, seen in enumerate(self.steps) if seen.seen is Seen.PROMPT]
        begin = max((place for place in turns if place <= index), default=0)
        end = min((place for place in turns if place > index), default=len(self.steps))
        replies = [seen.text for seen in self.steps[begin:end] if seen.seen is Seen.REPLY]
        return replies[0] if len(replies) == 1 else ""

    def named(self, file: str) -> str:
        """A file as the repository names it; empty where it lies elsewhere."""
        path = DRIVES.sub("", file.replace("\\", "/"))
        for top in filter(None, (self.root, self.steps[0].directory if self.steps else "")):
            above = top.replace("\\", "/").rstrip("/") + "/"
            if path.startswith(above):
                return path[len(above) :]
        return "" if ABSOLUTE.search(path) or ".." in path.split("/") else path

    def files(self, seen: Iterable[Observation]) -> list[str]:
        """The files of the repository among what was seen, each once."""
        return [file for file in dict.fromkeys(self.named(one.file) for one in seen) if file]


def source(seen: Observation, quote: str = "") -> Source:
    """An observation as what a proposal rests on."""
    return Source(
        channel=Channel.DERIVED,
        actor=seen.agent,
        model=seen.model,
        session_id=seen.session_id,
        event=seen.source_id,
        quote=quote[:LONGEST_QUOTE],
    )


SENTENCE = re.compile(r"(?<=[.!?:])\s+(?=[A-Z0-9`*\"(-])|\n+")
BULLET = re.compile(r"\A(?:[-*•]|\d+[.)])\s+")


def sentences(text: str) -> list[str]:
    """Prose as its sentences; what stands in code blocks is left out."""
    prose = re.sub(r"```.*?(?:```|\Z)", "\n", text, flags=re.DOTALL)
    parts = (BULLET.sub("", part.strip()) for part in SENTENCE.split(prose))
    return [part for part in parts if part]
