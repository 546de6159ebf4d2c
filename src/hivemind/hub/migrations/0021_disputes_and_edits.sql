-- Since when a memory is disputed, and who edited it last.
ALTER TABLE memories ADD COLUMN disputed_at text NOT NULL DEFAULT '', ADD COLUMN edited_by text NOT NULL DEFAULT '',
    ADD COLUMN edited_through text;
