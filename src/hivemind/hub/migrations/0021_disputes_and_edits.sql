-- Since when a memory is disputed, and who edited it last.
ALTER TABLE memories ADD COLUMN disputed_at text NOT NULL DEFAULT '', ADD COLUMN edited_by text NOT NULL DEFAULT '',
    ADD COLUMN edited_through text;
-- Whether a reviewer must agree before an edit of somebody else's memory counts.
ALTER TABLE teams ADD COLUMN review_edits boolean NOT NULL DEFAULT false;
