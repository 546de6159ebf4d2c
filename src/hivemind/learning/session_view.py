"""A session as detectors read it: its steps in order, and helpers to search and cite them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from hivemind.memory.comparison import is_same_topic
from hivemind.model.claim import Proposal
from hivemind.model.commands import SessionRun, list_runs
from hivemind.model.memory import Channel, Source
from hivemind.model.session import Observation, ObservationKind
from hivemind.sessions.talk import OBJECTION, TAKEN_BACK

if TYPE_CHECKING:
    # Its patterns take 8 ms to compile, and a hook at an action needs none of them.
    from hivemind.learning.statement_forms import Judge

LONGEST_QUOTE = 300
ABSOLUTE_PATH = re.compile(r"\A(?:/|~|[A-Za-z]:/)")
BEFORE_DRIVE = re.compile(r"\A.*(?=\b[A-Za-z]:/)")
"""On other systems a Windows path looks relative and was appended to the working directory."""
VERSION = re.compile(r"\bv?(\d+(?:\.\d+)+)\b")
PROMPTS_TO_OVERRULE = 2
"""Later prompts are about something else."""


@dataclass(frozen=True, kw_only=True)
class SessionView:
    """The steps of one session, in order."""

    steps: Sequence[Observation]
    root: str = ""
    """Top of the working tree; paths below it are made relative to it."""
    judge: "Judge | None" = None
    """Tells lasting statements from passing ones; absent where no embedding model is installed."""
    least_certainty: float = 0.65
    """From which certainty on a statement is proposed."""

    @cached_property
    def runs(self) -> tuple[SessionRun, ...]:
        """The commands of the session, without those that only look."""
        return tuple(list_runs(self.steps))

    def list_edits(self, begin: int = 0, end: int | None = None) -> list[Observation]:
        """List the successful edits among these steps."""
        return [step for step in self.steps[begin:end] if step.diff and step.file and not step.failed]

    def find_first_reply(self, begin: int, end: int) -> str:
        """Return the agent's first reply of some length among these steps; empty if there is none."""
        replies = (step.text for step in self.steps[begin:end] if step.seen is ObservationKind.REPLY)
        # Shorter replies only announce the next step.
        return next((text for text in replies if len(text) > 40), "")

    def find_only_reply(self, index: int) -> str:
        """Return the agent's reply in the turn of a step, if it is the only one in that turn."""
        prompts = [position for position, step in enumerate(self.steps) if step.seen is ObservationKind.PROMPT]
        begin = max((position for position in prompts if position <= index), default=0)
        end = min((position for position in prompts if position > index), default=len(self.steps))
        replies = [step.text for step in self.steps[begin:end] if step.seen is ObservationKind.REPLY]
        return replies[0] if len(replies) == 1 else ""

    def is_overruled(self, index: int) -> bool:
        """Whether the person rejected in the next prompts what the agent said at a step."""
        versions = set(VERSION.findall(self.steps[index].text))
        prompts = self._list_next_prompts(index)
        other_versions = set(VERSION.findall(" ".join(prompts)))
        names_another = bool(versions and other_versions and versions.isdisjoint(other_versions))
        return names_another or any(OBJECTION.match(prompt) for prompt in prompts)

    def is_taken_back(self, index: int) -> bool:
        """Whether the person took back in the next prompts what they said at a step."""
        return any(TAKEN_BACK.match(prompt) for prompt in self._list_next_prompts(index))

    def _list_next_prompts(self, index: int) -> list[str]:
        prompts = (step.text for step in self.steps[index + 1 :] if step.seen is ObservationKind.PROMPT)
        return [*islice(prompts, PROMPTS_TO_OVERRULE)]

    def make_relative(self, file: str) -> str:
        """Return a path relative to the repository; empty if it lies outside."""
        path = BEFORE_DRIVE.sub("", file.replace("\\", "/"))
        for folder in filter(None, (self.root, self.steps[0].directory if self.steps else "")):
            prefix = folder.replace("\\", "/").rstrip("/") + "/"
            if path.startswith(prefix):
                return path[len(prefix) :]
        return "" if ABSOLUTE_PATH.search(path) or ".." in path.split("/") else path

    def list_files(self, steps: Iterable[Observation]) -> list[str]:
        """List the repository's files that these steps are about, each once."""
        return [file for file in dict.fromkeys(self.make_relative(step.file) for step in steps) if file]


def make_source(step: Observation, quote: str = "") -> Source:
    """Make an observation the source of a proposal."""
    return Source(
        channel=Channel.DERIVED,
        actor=step.agent,
        model=step.model,
        session_id=step.session_id,
        event=step.source_id,
        quote=quote[:LONGEST_QUOTE],
    )


def keep_last_about_each(proposals: Sequence[Proposal]) -> list[Proposal]:
    """Keep of several proposals about one thing the last."""
    return [
        proposal
        for position, proposal in enumerate(proposals)
        if not any(is_same_topic(proposal.text, later.text) for later in proposals[position + 1 :])
    ]
