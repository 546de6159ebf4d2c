-- The action at which a memory was told unasked: before an edit or a command, after a failure, to a subagent.
ALTER TABLE receipts ADD COLUMN occasion text NOT NULL DEFAULT '';
