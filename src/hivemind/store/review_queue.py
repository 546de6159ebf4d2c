"""Conditions of memories that the status line counts too: those that wait for a person, and those that were said.

Imports nothing, because a status line has little time.
"""

DAYS_IN_QUEUE = 30
"""A proposal that nobody has decided, edited or restored for so long leaves the queue; a dispute stays."""
IN_QUEUE = (
    "(m.status = 'disputed' OR m.status = 'proposed' AND (m.revised_at >= :queue_start"
    " OR m.contradicts <> '[]' AND EXISTS (SELECT 1 FROM json_each(m.contradicts) c"
    " JOIN memories o ON o.id = c.value WHERE o.status IN ('active', 'disputed', 'proposed'))))"
)
IS_SAID = (
    "(m.channel = 'agent' AND m.edited_by = '' AND EXISTS (SELECT 1 FROM json_each(m.sources) s"
    " WHERE json_extract(s.value, '$.channel') = 'person' AND coalesce(json_extract(s.value, '$.event'), '') <> ''"
    " AND coalesce(json_extract(s.value, '$.quote'), '') <> ''))"
)
"""Matches memories in which an agent wrote down what a person had typed; ``Memory.is_said`` says the same."""
