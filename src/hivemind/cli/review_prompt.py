"""The interactive review: a key decides a memory or a group of them, and another key undoes that."""

import shutil
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import click

from hivemind.cli.framework import INTERRUPTED
from hivemind.cli.output import note, print_heading, print_memory, quote, summarise
from hivemind.hivemind import Hivemind
from hivemind.model.review import ReviewItem, Selection
from hivemind.model.timestamps import format_date
from hivemind.text.clean import first_line, plural
from hivemind.text.fence import format_label

SIDE_KEYS = "123456789"
LONGEST_QUOTE = 160
"""Enough to judge a proposal by what it rests on; `d` shows all sources."""
REPORTS = {
    "a": "approved", "e": "edited", "m": "merged", "r": "rejected", "n": "rejected", "b": "settled",
    **dict.fromkeys(SIDE_KEYS, "settled"),
}  # fmt: skip
"""What each key did, for the last line."""
GROUP_KEYS = ("A", "R")
HELP = {
    "1-9": "keep this side of a dispute; it supersedes the others",
    "b": "both are true: end the dispute, and keep all sides",
    "n": "neither is true: reject all sides of a dispute",
    "a": "approve, or confirm that it is still correct",
    "r": "reject: the same text is refused from now on",
    "A R": "approve or reject all that are like it",
    "e": "write a new wording in its place",
    "m": "write one wording in place of all sides of a dispute",
    "d": "show all fields and sources",
    "s": "skip for now",
    "u": "undo the last decision",
    "q": "quit; what is decided stays decided",
    "?": "show these keys",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a person decided, so that it can be undone."""

    position: int
    batch: str
    report: str
    memory_ids: tuple[str, ...]


class ReviewPrompt:
    """Goes through a queue with a person, one key per decision."""

    def __init__(
        self,
        mind: Hivemind,
        queue: Sequence[ReviewItem],
        *,
        everywhere: bool = False,
        read_key: Callable[[], str] = click.getchar,
    ) -> None:
        self._mind = mind
        self._queue = list(queue)
        self._everywhere = everywhere
        # A parameter, because a test has no terminal that could send keys.
        self._read_key = read_key
        self._decisions: list[Decision] = []

    def run(self) -> None:
        """Ask about each memory until the queue ends or the person quits, then sum up."""
        position = self._find_undecided(0)
        key = ""
        while key != "q" and (position < len(self._queue) or self._decisions):
            if position < len(self._queue):
                self._show(position)
                choices = self._list_choices(self._queue[position])
            else:
                # The last decision can be a slip too.
                print_heading("End of the queue")
                choices = {"u": "undo", "q": "quit"}
            key = self._ask(choices, position)
            # A key that was not offered cannot arrive here.
            if key == "u":
                position = self._undo()
            elif key == "s":
                position = self._find_undecided(position + 1)
            elif key != "q" and self._confirm_group(position, key):
                self._decide(position, key)
                position = self._find_undecided(position + 1)
        self._sum_up()

    def _find_undecided(self, start: int) -> int:
        """The position of the next memory without a decision; the length of the queue if there is none."""
        for position in range(start, len(self._queue)):
            # To settle one dispute may change others, or end them.
            if item := self._look_again(self._queue[position]):
                self._queue[position] = item
                return position
        return len(self._queue)

    def _look_again(self, item: ReviewItem) -> ReviewItem | None:
        is_decided = item.memory.id in self._decided_ids
        return None if is_decided else self._mind.review.look_again(item, everywhere=self._everywhere)

    def _sum_up(self) -> None:
        counts = Counter[str]()
        for decision in self._decisions:
            counts[decision.report] += len(decision.memory_ids)
        left_count = sum(self._look_again(item) is not None for item in self._queue)
        summary = ", ".join(f"{count} {report}" for report, count in sorted(counts.items()))
        note(f"\n{summary or 'Nothing decided'}; {left_count} left in this queue.")

    @property
    def _decided_ids(self) -> set[str]:
        return {memory_id for decision in self._decisions for memory_id in decision.memory_ids}

    def _group(self, item: ReviewItem) -> list[ReviewItem]:
        """What is decided together with an item, and not yet."""
        # Computed anew for each question, because what was decided meanwhile must not be decided twice.
        decided_ids = self._decided_ids
        return [other for other in item.select_group(self._queue) if other.memory.id not in decided_ids]

    def _show(self, position: int) -> None:
        """Print a memory with no more than a decision needs, so that a hundred can be read."""
        item = self._queue[position]
        print_heading(f"{position + 1} of {len(self._queue)}: {item.memory.kind}, {item.why}")
        if item.sides:
            self._show_sides(item)
            return
        click.echo(quote(item.memory.text, ""))
        # A quotation that only repeats the text would be read for nothing.
        evidence = next((source.quote for source in item.memory.sources if source.quote), "")
        if evidence and evidence not in item.memory.text:
            click.echo(click.style(quote(first_line(evidence, LONGEST_QUOTE), "  from: "), dim=True))

    def _show_sides(self, item: ReviewItem) -> None:
        """Print the sides of a dispute below each other, each with its key."""
        for key, side in zip(SIDE_KEYS, item.sides, strict=False):
            click.echo(click.style(f"{key}  ", bold=True) + quote(side.text, "   ").lstrip())
            if side.edit:
                label = format_label("edit", side.edit.by, format_date(side.edit.at))
            else:
                label = summarise(side.memory, self._mind.checkout.label_elsewhere(side.memory.repo))
            note(f"   {label}")

    def _list_choices(self, item: ReviewItem) -> dict[str, str]:
        group_size = len(self._group(item))
        if item.sides:
            choices = {key: f"keep {key}" for key, _ in zip(SIDE_KEYS, item.sides, strict=False)}
            choices |= {"b": "both true" if len(item.sides) == 2 else "all true", "n": "neither", "m": "merge"}
            # An edit is a wording of the same memory, so only one of them can stay.
            choices = {key: what for key, what in choices.items() if item.against or key not in ("b", "m")}
        else:
            choices = {"a": "still correct" if item.reason.asks_for_verification else "approve"}
            choices |= {"r": "reject", "e": "edit"}
        # A new wording is stored in the repository of this directory, so it cannot replace one of another.
        if self._mind.checkout.is_elsewhere(item.memory.repo):
            choices = {key: what for key, what in choices.items() if key not in ("m", "e")}
        if group_size > 1:
            choices |= {"A": f"approve all {group_size}", "R": f"reject all {group_size}"}
        choices |= {"d": "details", "s": "skip"}
        if self._decisions:
            choices["u"] = "undo"
        return choices | {"q": "quit"}

    def _ask(self, choices: Mapping[str, str], position: int) -> str:
        """Read keys until one of them decides; other keys are ignored, so that a slip changes nothing."""
        shown_choices = {**choices, "?": "help"}
        lines: list[dict[str, str]] = [{}]
        for key, what in shown_choices.items():
            if len(_join_choices({**lines[-1], key: what})) > shutil.get_terminal_size().columns:
                lines.append({})
            lines[-1][key] = what
        question = "\n".join(
            _join_choices({click.style(key, bold=True): what for key, what in line.items()}) for line in lines
        )
        click.echo(question)
        while True:
            try:
                key = self._read_key()
            except EOFError:
                # Ctrl-D, or a terminal that was closed.
                return "q"
            except KeyboardInterrupt:
                # Reading single keys turns the signal off, and Ctrl-C arrives as a key.
                sys.exit(INTERRUPTED)
            if key == "?":
                for name, what in HELP.items():
                    click.echo(f"{click.style(f'{name:>3}', bold=True)}  {what}")
                click.echo(f"\n{question}")
            elif key == "d" and "d" in choices:
                item = self._queue[position]
                for memory in (item.memory, *item.against):
                    click.echo()
                    print_memory(memory)
                click.echo(f"\n{question}")
            elif key in choices:
                return key

    def _confirm_group(self, position: int, key: str) -> bool:
        """Show what a decision about a group covers and have it confirmed; one about a single memory needs none."""
        if key not in GROUP_KEYS:
            return True
        # Nobody may raise the trust of texts that they have not seen.
        group = self._group(self._queue[position])
        for item in group:
            click.echo(quote(first_line(item.memory.text, LONGEST_QUOTE), ""))
        verb = "approve" if key == "A" else "reject"
        return self._ask({key: f"{verb} these {len(group)}", "b": "back"}, position) == key

    def _decide(self, position: int, key: str) -> None:
        """Apply a decision as a batch of its own, which undo rolls back."""
        item = self._queue[position]
        items = self._group(item) if key in GROUP_KEYS else [item]
        # One batch for the whole group, so that one key undoes it.
        with self._mind.review.batch("review") as batch:
            for chosen_item in items:
                self._apply(chosen_item, key.lower())
        report = REPORTS[key.lower()]
        self._decisions.append(
            Decision(
                position=position, batch=batch, report=report, memory_ids=tuple(other.memory.id for other in items)
            )
        )
        note(f"{report} {plural(len(items), 'memory')}" if len(items) > 1 else report)

    def _apply(self, item: ReviewItem, key: str) -> None:
        mind, memory, everywhere = self._mind, item.memory, self._everywhere
        match key:
            case "a" if item.reason.asks_for_verification:
                mind.review.verify(memory.id, everywhere=everywhere)
            case "a":
                mind.approve(memory.id, everywhere=everywhere)
            case "r" | "n":
                for rejected_memory in (memory, *item.against):
                    mind.reject(rejected_memory.id, everywhere=everywhere)
            case "b":
                mind.review.settle(memory.id, *(other.id for other in item.against), everywhere=everywhere)
            case _ if key in SIDE_KEYS:
                side = item.sides[SIDE_KEYS.index(key)]
                if side.edit:
                    mind.edit(side.memory.id, side.text, everywhere=everywhere)
                else:
                    mind.approve(side.memory.id, everywhere=everywhere)
            case _:
                wording = click.edit("\n".join(side.text for side in item.sides) or memory.text) or memory.text
                replaces = [memory.id, *(other.id for other in item.against)]
                mind.remember(
                    wording.strip(), scope=memory.scope, kind=memory.kind, tags=memory.tags, subject=memory.subject,
                    replaces=replaces, metadata=memory.metadata,
                )  # fmt: skip

    def _undo(self) -> int:
        """Roll the last decision back and return to its position."""
        decision = self._decisions.pop()
        self._mind.review.rollback(Selection(batch=decision.batch), reason="undone in the review")
        note(f"undone: {plural(len(decision.memory_ids), 'memory')}")
        return decision.position


def _join_choices(choices: Mapping[str, str]) -> str:
    return " · ".join(f"{key} {what}" for key, what in choices.items())
