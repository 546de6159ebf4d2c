"""What a guard says: to the agent as the reason of a refusal, and to the person in one line."""

from hivemind.model.guard import GuardAnswer, GuardState, GuardVerdict
from hivemind.model.ids import shorten_id
from hivemind.model.timestamps import format_date
from hivemind.text.clean import first_line
from hivemind.text.fence import format_field

LONGEST_RULE, LONGEST_IN_LINE = 300, 60
"""Characters of a memory in a reason, and of a memory or call in a line for the person."""


def render_reason(verdict: GuardVerdict) -> str:
    """Return why a call is refused or asked about: the memory, what matched, and how the person lets it pass."""
    if verdict.changes_guard:
        return f"This call could change a guard ({verdict.pattern}). Only the person may, in a terminal of their own."
    short_id = shorten_id(verdict.memory.id)
    rule = format_field(first_line(verdict.memory.text, LONGEST_RULE))
    origin = f"memory {short_id}, guarded by {format_field(verdict.set_by)} since {format_date(verdict.set_at)}"
    heading = f'The rule "{rule}" ({origin}) concerns this call: it matches {format_field(verdict.pattern)}.'
    override = f"To let such calls pass for an hour, the person runs: hivemind guard {short_id} --pause 1h"
    if verdict.answer is GuardAnswer.ASK:
        return f"{heading} {override}"
    return f"{heading} The call was refused. Do it as the rule says, or ask the person. {override}"


def render_message(verdict: GuardVerdict, *, is_refused: bool) -> str:
    """Return a line for the person about what a guard did; empty where the client shows the question itself."""
    short_id = shorten_id(verdict.memory.id)
    call, rule = (format_field(first_line(text, LONGEST_IN_LINE)) for text in (verdict.call, verdict.memory.text))
    if is_refused and verdict.changes_guard:
        return f"hivemind: refused {call} · only you change guards, in a terminal of your own"
    if is_refused:
        return f'hivemind: refused {call} · rule: "{rule}" · let it pass: hivemind guard {short_id} --pause 1h'
    if verdict.state is GuardState.DISARMED:
        return f"hivemind: the guard {short_id} did not act on {call}: {verdict.why_not}"
    return ""
