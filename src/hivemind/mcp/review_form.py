"""Review in the agent by a form that the client shows to the person, whose decisions these are: MCP's elicitation.

A model cannot answer such a form.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hivemind.hivemind import Hivemind
from hivemind.mcp.protocol import Json, ShowForm
from hivemind.model.ids import shorten_id
from hivemind.model.review import DisputeSide, ReviewItem
from hivemind.text.clean import first_line
from hivemind.text.fence import quote_line

LONGEST_TEXT = 1000
"""Characters of a text in a form; nobody should approve what they do not see whole, so longer ones are left out."""
LETTERS = "ABCDEFGHI"
LATER, KEEP, REJECT, ALL_TRUE = "later", "keep", "reject", "all are true"
MESSAGE = "These memories wait for your decision. The same text as one that you reject is refused from now on."
CONTRADICTION = "An agent stored something that contradicts what is known. Which is right?"
UNHEARD = "An agent stored this with words that it says are yours. Is it right?"
NOTHING_DECIDED = "The user decided nothing. Ask again only if they want to."


def ask_person(
    items: Sequence[ReviewItem],
    show_form: ShowForm,
    open_for_person: Callable[[], Hivemind],
    *,
    client: str,
    heading: str = MESSAGE,
    note: str = "",
) -> str | None:
    """Have the person decide these memories, and return what they decided; None if the client shows no such form."""
    message, fields = make_form(items, heading)
    values = show_form(message, fields, note)
    if not values:
        return None if values is None else NOTHING_DECIDED
    choices = [(item, values.get(name)) for name, item in zip(fields, items, strict=True)]
    mind = open_for_person()
    try:
        return _record_choices(mind, choices, f"answered in {client}")
    finally:
        mind.close()


def fits_form(item: ReviewItem) -> bool:
    """Whether a form can show the memory and all that contradicts it."""
    texts = [item.memory.text, *(side.text for side in item.sides)]
    return len(item.sides) <= len(LETTERS) and all(len(text) <= LONGEST_TEXT for text in texts)


def make_form(items: Sequence[ReviewItem], heading: str) -> tuple[str, Json]:
    """Return the message of a form, with the texts, and a field for each memory."""
    lines, fields = [heading], {}
    for number, item in enumerate(items, 1):
        if item.sides:
            lines.append(f"{number}. These cannot all be true:")
            lines += [f"   {letter}. {quote_line(side.text)}" for letter, side in _name_sides(item).items()]
        else:
            lines.append(f"{number}. {quote_line(item.memory.text)} ({quote_line(item.why)})")
        title = f"{number}. {quote_line(first_line(item.memory.text, 60))}"
        fields[f"memory_{number}"] = {"type": "string", "title": title, "enum": _list_choices(item)}
    return "\n".join(lines), fields


def _list_choices(item: ReviewItem) -> list[str]:
    # The harmless one first, in case a client selects it by itself.
    if not item.sides:
        return [LATER, KEEP, REJECT]
    return [LATER, *(f"{KEEP} {letter}" for letter in _name_sides(item)), *([ALL_TRUE] if item.against else [])]


def _name_sides(item: ReviewItem) -> Mapping[str, DisputeSide]:
    return dict(zip(LETTERS, item.sides, strict=False))


def _record_choices(mind: Hivemind, choices: Sequence[tuple[ReviewItem, Any]], reason: str) -> str:
    ids_by_result: dict[str, list[str]] = defaultdict(list)
    with mind.review.batch("review") as batch:
        for item, choice in choices:
            is_choice = choice != LATER and choice in _list_choices(item)
            result = _apply(mind, item, choice, reason) if is_choice else LATER
            ids_by_result[result].append(shorten_id(item.memory.id))
    results = "; ".join(f"{result}: {', '.join(ids)}" for result, ids in ids_by_result.items())
    return f"The user decided in a form. {results}. Undo: hivemind rollback --batch {batch}."


def _apply(mind: Hivemind, item: ReviewItem, choice: str, reason: str) -> str:
    """Record a choice, and return what became of the memory."""
    if not _is_unchanged(mind, item):
        return "changed meanwhile, not decided"
    memory_id = item.memory.id
    if choice == REJECT:
        mind.reject(memory_id, reason=reason)
        return "rejected"
    if choice == ALL_TRUE:
        mind.review.settle(memory_id, *(other.id for other in item.against), reason=reason)
    elif choice == KEEP and item.reason.asks_for_verification:
        mind.review.verify(memory_id, reason=reason)
    elif choice == KEEP:
        mind.approve(memory_id, reason=reason)
    else:
        side = _name_sides(item)[choice.removeprefix(f"{KEEP} ")]
        if side.edit:
            mind.edit(memory_id, side.text, reason=reason)
        else:
            mind.approve(side.memory.id, reason=reason)
        return f"settled for {shorten_id(side.memory.id)}"
    return "kept"


def _is_unchanged(mind: Hivemind, item: ReviewItem) -> bool:
    """Whether it still says what the person saw; somebody else may have decided or edited it meanwhile."""
    now = mind.review.look_again(item)
    return now is not None and now.sides == item.sides and mind.show(item.memory.id).head == item.memory.head
