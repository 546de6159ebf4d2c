"""Propose a trigger for each of 255 rules, and try it on calls that break the rule or do not.

``python -m lab.evals.guards [COMMANDS]``. 95 rules are reworded from instruction files of 91 repositories, split by
repository: forms were chosen on ``dev.jsonl``; report ``test.jsonl``. A language model wrote 90 rules as people type
them in a hurry: forms were chosen on the first 70, the last 20 were written afterwards. Another one that had not seen
the code wrote 70 rules in free wording: forms were chosen on ``free-dev.jsonl``. A third, which saw the description of
``remember`` alone, wrote ``forbids`` for each of these. Language models wrote the calls, before any trigger was seen.
A proposal is right if it acts on every call that breaks the rule and on none of the others; for a rule that no guard
fits, if there is none. COMMANDS is a file with one command a line, as JSON strings: how often the proposed guards of
the test part would have acted on them is counted, with examples to read.
"""

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hivemind.guard.patterns import find_match, matches_file
from hivemind.guard.proposals import propose_from_text, read_forbidden
from hivemind.guard.shell import list_invocations
from hivemind.model.guard import Trigger

EXAMPLES = 3
"""Acts of each trigger that are printed."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule, the kind of guard that fits it, and calls that it forbids and allows."""

    text: str
    kind: str
    forbidden: tuple[str, ...]
    allowed: tuple[str, ...]
    named: str = ""
    """What an agent named as forbidden when it stored the rule."""

    def is_right(self, trigger: Trigger) -> bool:
        """Whether a trigger acts on all forbidden calls and on no other."""
        if self.kind == "none":
            return trigger.is_empty
        acts_on_all = all(acts(trigger, call) for call in self.forbidden)
        return acts_on_all and not any(acts(trigger, call) for call in self.allowed)


def read_rules(part: str) -> list[Rule]:
    """Read the rules of a part."""
    rows = map(json.loads, Path(__file__).with_name(f"{part}.jsonl").read_text("utf-8").splitlines())
    return [
        Rule(
            row["rule"], row["kind"], tuple(row["must_act"]), tuple(row["must_not_act"]),
            ", ".join(row.get("forbids", ())),
        )
        for row in rows
    ]  # fmt: skip


def acts(trigger: Trigger, call: str) -> bool:
    """Whether a trigger acts on a command or on a change of a file."""
    if find_match(trigger.commands, trigger.exceptions, list_invocations(call)):
        return True
    paths = [
        path for path in list_relative_paths(call) if not any(matches_file(text, path) for text in trigger.exceptions)
    ]
    return any(matches_file(pattern, path) for pattern in trigger.files for path in paths)


def list_relative_paths(path: str) -> Iterator[str]:
    """List what a path may be from the top of a repository, which an absolute path does not tell."""
    parts = path.removeprefix("./").strip("/").split("/")
    starts = range(len(parts)) if path.startswith("/") else range(1)
    return ("/".join(parts[start:]) for start in starts)


def count_right(part: str, *, use_names: bool = False) -> dict[str, tuple[int, int]]:
    """Count the right proposals and the rules of each kind."""
    right, total = Counter[str](), Counter[str]()
    for rule in read_rules(part):
        named_trigger = read_forbidden(rule.named if use_names else "")
        total[rule.kind] += 1
        right[rule.kind] += rule.is_right(propose_from_text(rule.text) if named_trigger.is_empty else named_trigger)
    return {kind: (right[kind], total[kind]) for kind in total}


def print_acts(commands: list[str]) -> None:
    """Print how often the triggers of the test part act on commands, with examples."""
    triggers = [(rule.text, propose_from_text(rule.text)) for rule in read_rules("test")]
    acts_by_rule: dict[str, list[str]] = {text: [] for text, trigger in triggers if trigger.commands}
    for command in commands:
        invocations = list_invocations(command)
        for text, trigger in triggers:
            if trigger.commands and find_match(trigger.commands, trigger.exceptions, invocations):
                acts_by_rule[text].append(command)
    total = sum(map(len, acts_by_rule.values()))
    print(f"{len(acts_by_rule)} guards on {len(commands):,} commands: {total:,} acts")
    for text, found_commands in sorted(acts_by_rule.items(), key=lambda item: -len(item[1])):
        print(f"{len(found_commands):6,}  {text}")
        for command in random.Random(1).sample(found_commands, min(EXAMPLES, len(found_commands))):
            print(f"            {command[:100]!r}")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commands", nargs="?", type=Path)
    options = parser.parse_args()
    parts = ("dev", "test", "careless-dev", "careless-test", "free-dev", "free-test")
    for part, use_names in (*((part, False) for part in parts), ("free-dev", True), ("free-test", True)):
        counts = count_right(part, use_names=use_names)
        guarded = [count for kind, count in counts.items() if kind != "none"]
        summary = ", ".join(f"{kind} {right} of {total}" for kind, (right, total) in counts.items())
        name = part + ", as named by an agent" * use_names
        right, total = sum(map(min, guarded)), sum(map(max, guarded))
        print(f"{name}: {right} of {total} triggers right ({summary})")
    if options.commands:
        print_acts([json.loads(line) for line in options.commands.read_text("utf-8").splitlines()])


if __name__ == "__main__":
    main()
