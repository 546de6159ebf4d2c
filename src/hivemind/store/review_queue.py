"""The condition under which a memory waits for a person.

Imports nothing, because the status line needs it too.
"""

DAYS_IN_QUEUE = 30
"""A proposal that nobody has decided, edited or restored for so long leaves the queue; a dispute stays."""
IN_QUEUE = (
    "(m.status = 'disputed' OR m.status = 'proposed' AND (m.revised_at >= :queue_start"
    " OR m.contradicts <> '[]' AND EXISTS (SELECT 1 FROM json_each(m.contradicts) c"
    " JOIN memories o ON o.id = c.value WHERE o.status IN ('active', 'disputed', 'proposed'))))"
)
